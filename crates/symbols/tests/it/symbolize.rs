//! Names, inlined frames and lines, compared with those of `addr2line` (binutils) over every few bytes of
//! all code.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use culprit_symbols::{ModuleImage, Svma, SymbolFrame};

use crate::programs::{Workshop, open, run, run_with};

/// Function and line of each frame at each address, innermost first, as addr2line tells.
fn addr2line(
    workshop: &Workshop,
    binary: &Path,
    addresses: &[u64],
) -> Result<Vec<Vec<Frame>>, String> {
    let mut list = String::new();
    for address in addresses {
        writeln!(list, "{address:#x}").expect("a string takes all");
    }
    let input = workshop.path("addresses");
    fs::write(&input, list).expect("a temporary file");
    let text = run_with(
        "addr2line",
        &["-a", "-i", "-f", "-e", binary.to_str().expect("UTF-8")],
        Some(&input),
    )?;
    let mut answers: Vec<Vec<Frame>> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("0x") {
            answers.push(Vec::new());
            continue;
        }
        let location = lines.next().unwrap_or_default();
        // `file:12 (discriminator 3)`
        let place = location.split(' ').next().and_then(|place| place.rsplit_once(':'));
        let (file, number) = place.unwrap_or_default();
        let frame = Frame::new(line, Some(file), number.parse().ok());
        answers.last_mut().expect("an address comes first").push(frame);
    }
    Ok(answers)
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Frame {
    function: String,
    file: String,
    line: u32,
}

impl Frame {
    /// Without a line number the file says nothing (binutils then shows the compilation unit's name).
    fn new(function: &str, file: Option<&str>, line: Option<u32>) -> Self {
        let line = line.unwrap_or(0);
        let file =
            file.filter(|_| line != 0).and_then(|file| file.rsplit('/').next()).unwrap_or_default();
        Self { function: function.to_owned(), file: file.to_owned(), line }
    }
}

fn ours(image: &ModuleImage, address: u64) -> Vec<Frame> {
    let frames = image.symbolize(Svma(address)).frames;
    let frame = |frame: &SymbolFrame| {
        Frame::new(frame.mangled.as_deref().unwrap_or("??"), frame.file.as_deref(), frame.line)
    };
    frames.iter().map(frame).collect()
}

/// Addresses inside the sized functions of a program, every `step` bytes, with the function's name.
fn code_addresses(binary: &Path, step: usize) -> Vec<u64> {
    let symbols =
        run("nm", &["-S", "--defined-only", binary.to_str().expect("UTF-8")]).expect("binutils");
    let mut addresses = Vec::new();
    for line in symbols.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [start, size, kind, _name] = words[..] else { continue };
        if !matches!(kind, "t" | "T" | "w" | "W") {
            continue;
        }
        let (start, size) = (u64::from_str_radix(start, 16), u64::from_str_radix(size, 16));
        let (Ok(start), Ok(size)) = (start, size) else { continue };
        addresses.extend((start..start + size).step_by(step));
    }
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// Share of addresses where function, file and line of all frames agree; prints the first differences.
fn agreement(workshop: &Workshop, binary: &Path, step: usize) -> Option<(f64, f64)> {
    let addresses = code_addresses(binary, step);
    assert!(addresses.len() > 100, "{}: only {} addresses", binary.display(), addresses.len());
    let theirs = match addr2line(workshop, binary, &addresses) {
        Ok(theirs) => theirs,
        Err(reason) => {
            println!("skipped: {}: addr2line: {reason}", binary.display());
            return None;
        }
    };
    assert_eq!(theirs.len(), addresses.len());
    let image = open(binary);
    let (mut functions, mut lines, mut shown) = (0u32, 0u32, 0);
    for (&address, theirs) in addresses.iter().zip(&theirs) {
        let ours = ours(&image, address);
        let names = |frames: &[Frame]| {
            frames.iter().map(|frame| frame.function.clone()).collect::<Vec<_>>()
        };
        let places = |frames: &[Frame]| {
            frames.iter().map(|frame| (frame.file.clone(), frame.line)).collect::<Vec<_>>()
        };
        let (same_names, same_places) =
            (names(&ours) == names(theirs), places(&ours) == places(theirs));
        functions += u32::from(same_names);
        lines += u32::from(same_places);
        if !(same_names && same_places) && shown < 12 {
            println!("{address:#x}\n  ours   {ours:?}\n  theirs {theirs:?}");
            shown += 1;
        }
    }
    assert!(image.problems().is_empty(), "{:?}", image.problems());
    let count = f64::from(u32::try_from(addresses.len()).expect("small"));
    println!(
        "{}: {count} addresses, functions {:.4}, places {:.4}",
        binary.display(),
        f64::from(functions) / count,
        f64::from(lines) / count
    );
    Some((f64::from(functions) / count, f64::from(lines) / count))
}

fn check(test: &str, source: &str, variants: &[&[&str]], step: usize) {
    let workshop = Workshop::new();
    for (index, flags) in variants.iter().enumerate() {
        let Some(binary) = workshop.compile(test, source, &format!("program{index}"), flags) else {
            continue;
        };
        let Some((functions, places)) = agreement(&workshop, &binary, step) else { continue };
        assert!(functions > 0.99, "{flags:?}: functions agree on {functions}");
        assert!(places > 0.99, "{flags:?}: places agree on {places}");
    }
}

#[test]
fn c_programs_agree_with_addr2line() {
    check(
        "c_programs_agree_with_addr2line",
        "inline.c",
        &[
            &["-O2", "-g"],
            &["-O2", "-g", "-no-pie"],
            &["-O0", "-g"],
            &["-O2", "-g", "-gdwarf-4"],
            &["-O2", "-g", "-gz=zlib"],
        ],
        1,
    );
}

#[test]
fn cpp_programs_agree_with_addr2line() {
    check("cpp_programs_agree_with_addr2line", "shapes.cpp", &[&["-O2", "-g"], &["-O0", "-g"]], 13);
}

#[test]
fn rust_programs_agree_with_addr2line() {
    check("rust_programs_agree_with_addr2line", "generic.rs", &[&["-O", "-g"]], 61);
}
