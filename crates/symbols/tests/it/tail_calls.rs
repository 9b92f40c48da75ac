//! Functions that left the stack by a jump, in compiled programs: each of their functions prints where it
//! will return to, and we say what lies between.

use std::path::Path;

use culprit_symbols::{CodePlace, HiddenFunction, ModuleImage, Svma, hidden_by_tail_calls};

use crate::programs::{Workshop, open, run};

/// What was found at each call that the program printed, one line a call.
fn found(test: &str, workshop: &Workshop, flags: &[&str]) -> Option<Vec<String>> {
    let library = [flags, &["-shared", "-fPIC"]].concat();
    let library = workshop.compile(test, "tail_calls_library.c", "libtails.so", &library)?;
    let path = library.to_str().expect("UTF-8");
    let needs = ["-pie", "-fPIE", "-Wl,--no-as-needed", path];
    let needs = [flags, &needs].concat();
    let program = workshop.compile(test, "tail_calls.c", "tails", &needs)?;
    let printed = run(program.to_str().expect("UTF-8"), &[]).expect("the program ends");
    let images = [(program.as_path(), open(&program)), (library.as_path(), open(&library))];
    Some(printed.lines().map(|line| describe(line, &images)).collect())
}

/// `function: hidden functions`, of a line `function module return-address module address`.
fn describe(line: &str, images: &[(&Path, ModuleImage); 2]) -> String {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let words: [&str; 5] = words.try_into().expect("five words");
    let [function, from, back, at, here] = words;
    let place = |path: &str, address: &str| {
        let file = Path::new(path).file_name();
        let module = images.iter().position(|(own, _)| own.file_name() == file)?;
        let address = Svma(u64::from_str_radix(address, 16).expect("a number"));
        Some(CodePlace { module, image: &images[module].1, address })
    };
    let (call, callee) = (place(from, back), place(at, here));
    let linked = |name: &[u8]| {
        let exports = images.iter().enumerate().map(|(module, (_, image))| {
            let starts = image.exported_functions(name).into_iter();
            starts.map(move |address| CodePlace { module, image, address })
        });
        let all: Vec<_> = exports.flatten().collect();
        if let [only] = all[..] { Some(only) } else { None }
    };
    let hidden = hidden_by_tail_calls(call.expect("ours"), callee.expect("ours"), &linked);
    let names: Vec<String> = hidden.iter().map(|hidden| name(hidden, images)).collect();
    format!("{function}: {}", names.join(" "))
}

/// The name of a hidden function; its jump is one of its instructions.
fn name(hidden: &HiddenFunction<usize>, images: &[(&Path, ModuleImage); 2]) -> String {
    let image = &images[hidden.module].1;
    let at_start = image.symbolize(hidden.start);
    // Of several jumps to the same function none is taken.
    let jump = hidden.jump.map_or(at_start.function, |jump| image.symbolize(jump).function);
    assert_eq!(jump, at_start.function, "{hidden:?}");
    let several = hidden.jump.is_none();
    let frames = hidden.frames(image);
    assert!(!several || frames.iter().all(|frame| frame.line.is_none()), "{frames:?}");
    at_start.frames.last().and_then(|frame| frame.function.clone()).expect("a name").to_string()
}

#[test]
fn the_only_way_is_found_and_no_other() {
    const TEST: &str = "the_only_way_is_found_and_no_other";
    let ways = |switched| {
        [
            "direct: ",
            "one: wraps_one",
            "chained: outer middle inner",
            "picked: picks",
            "both: ",
            "pointed: ",
            "selected: ",
            switched,
            "circled: ",
            "normal: ",
            "lib_leaf: wraps_lib",
            "lib_end: lib_wraps",
            "seldom: ",
            "seldom: wraps_splits",
            // Called through a pointer.
            "direct: ",
        ]
    };
    let variants: [&[&str]; 6] = [
        &["-O2"],
        &["-O2", "-g"],
        &["-O2", "-gdwarf-4"],
        &["-O2", "-fno-plt"],
        &["-O2", "-fcf-protection"],
        &["-O2", "-Wl,-z,now"],
    ];
    for flags in variants {
        let Some(found) = found(TEST, &Workshop::new(), flags) else { return };
        let with_lines = flags.iter().any(|flag| flag.starts_with("-g"));
        let switched = if with_lines { "switched: switches" } else { "switched: " };
        assert_eq!(found, ways(switched), "{flags:?}");
    }
}

#[test]
fn calls_without_tail_calls_hide_nothing() {
    const TEST: &str = "calls_without_tail_calls_hide_nothing";
    let flags = ["-O2", "-fno-optimize-sibling-calls"];
    let Some(found) = found(TEST, &Workshop::new(), &flags) else { return };
    assert!(found.iter().all(|line| line.ends_with(": ")), "{found:?}");
    assert_eq!(found.len(), 15);
}

#[test]
fn a_stripped_program_has_no_names_to_guess() {
    const TEST: &str = "a_stripped_program_has_no_names_to_guess";
    let Some(found) = found(TEST, &Workshop::new(), &["-O2", "-s"]) else { return };
    let own: Vec<_> = found.iter().filter(|line| !line.starts_with("lib_")).collect();
    assert!(own.iter().all(|line| line.ends_with(": ")), "{own:?}");
    // What a library exports keeps its name.
    assert!(found.contains(&"lib_end: lib_wraps".to_owned()), "{found:?}");
}
