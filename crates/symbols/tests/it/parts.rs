//! Parts that the compiler moved away from their functions, in a program without their symbols.

use std::ops::Range;
use std::path::{Path, PathBuf};

use culprit_symbols::{ModuleImage, NameSource, Svma};

use crate::programs::{Workshop, open, run};

/// Where a symbol's code is, by `nm` of the unstripped program.
fn extent(binary: &Path, symbol: &str) -> Option<Range<u64>> {
    let symbols = run("nm", &["-S", binary.to_str().expect("UTF-8")]).expect("binutils");
    symbols.lines().find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [start, size, _, name] = words[..] else { return None };
        let number = |text| u64::from_str_radix(text, 16).expect("a number");
        (name == symbol).then(|| number(start)..number(start) + number(size))
    })
}

/// The program without the symbols that the dynamic linker does not need.
fn stripped(workshop: &Workshop, whole: &Path) -> PathBuf {
    let stripped = workshop.path("stripped");
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    run("strip", &["-o", &text(&stripped), &text(whole)]).expect("binutils");
    stripped
}

fn name(image: &ModuleImage, address: u64) -> Option<String> {
    let symbols = image.symbolize(Svma(address));
    let function = symbols.frames.last()?.function.as_deref()?.to_owned();
    assert_eq!(symbols.source, NameSource::Symbol, "{address:#x}");
    let range = symbols.function.expect("an extent");
    assert!((range.start.0..range.end.0).contains(&address), "{address:#x}: {range:?}");
    Some(function)
}

#[test]
fn a_part_without_a_symbol_has_the_name_of_the_function_that_jumps_to_it() {
    const TEST: &str = "a_part_without_a_symbol_has_the_name_of_the_function_that_jumps_to_it";
    let workshop = Workshop::new();
    let flags = ["-O2", "-rdynamic", "-freorder-blocks-and-partition"];
    let Some(whole) = workshop.compile(TEST, "parts.c", "parts", &flags) else { return };
    let image = open(&stripped(&workshop, &whole));
    for (function, expected) in [("work", true), ("hidden", false), ("other", true)] {
        let Some(part) = extent(&whole, &format!("{function}.cold")) else {
            println!("skipped: {TEST}: the compiler splits no function");
            return;
        };
        let own = extent(&whole, function).expect("a function");
        let expected = expected.then(|| function.to_owned());
        for address in part.chain(own) {
            assert_eq!(name(&image, address), expected, "{function} at {address:#x}");
        }
    }
}

#[test]
fn a_part_whose_rules_are_shared_has_the_name_of_its_function() {
    const TEST: &str = "a_part_whose_rules_are_shared_has_the_name_of_its_function";
    let workshop = Workshop::new();
    // Refused on other machines than x86-64.
    let Some(whole) = workshop.compile(TEST, "parts.s", "parts", &["-rdynamic"]) else { return };
    let image = open(&stripped(&workshop, &whole));
    for (symbol, function) in [("work", "work"), ("part", "work"), ("main", "main")] {
        let code = extent(&whole, symbol).expect("a symbol");
        assert_eq!(name(&image, code.start).as_deref(), Some(function), "{symbol}");
    }
}

#[test]
fn code_that_no_function_jumps_to_has_no_name() {
    const TEST: &str = "code_that_no_function_jumps_to_has_no_name";
    let workshop = Workshop::new();
    let flags = ["-O2", "-Wl,-z,lazy"];
    let Some(whole) = workshop.compile(TEST, "parts.c", "parts", &flags) else { return };
    // The linker's entry for its stubs begins as that of a part does.
    let header = run("readelf", &["-SW", whole.to_str().expect("UTF-8")]).expect("binutils");
    let plt = header.lines().find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let at = words.iter().position(|word| *word == ".plt")?;
        u64::from_str_radix(words.get(at + 2)?, 16).ok()
    });
    if let Some(plt) = plt {
        assert_eq!(name(&open(&whole), plt), None, "the stub that binds the others");
    }
}
