//! How many addresses a second get names, and how many stacks a second are walked.
//!
//! `cargo bench -p culprit-symbols [-- PROGRAM...]`: prints one line per measurement and asserts nothing.
//! Without arguments this program measures itself and the C library that it finds; stacks are those of the
//! dumping program of the tests.

#![expect(clippy::print_stdout, reason = "a benchmark reports")]

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use culprit_symbols::{Svma, Unwinder};
use object::{Object, ObjectSection};

#[path = "../tests/it/programs.rs"]
mod programs;
#[path = "../tests/it/recorded.rs"]
mod recorded;

const ADDRESSES: u64 = 100_000;
const ROUNDS: usize = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let named = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let mut programs: Vec<String> = named.collect();
    if programs.is_empty() {
        programs.push(std::env::current_exe()?.to_string_lossy().into_owned());
        let libc = "/lib/x86_64-linux-gnu/libc.so.6";
        programs.extend(Path::new(libc).exists().then(|| libc.to_owned()));
    }
    for program in &programs {
        symbolize(program)?;
    }
    unwind();
    Ok(())
}

/// Evenly spread distinct addresses over `.text`: a first round, and a second when all is parsed.
fn symbolize(program: &str) -> Result<(), Box<dyn Error>> {
    let (image, opening) = timed(|| programs::open(Path::new(program)));
    let bytes = fs::read(program)?;
    let file = object::File::parse(bytes.as_slice())?;
    let text = file.section_by_name(".text").ok_or("no .text")?;
    let step = (text.size() / ADDRESSES).max(1);
    let code: Vec<Svma> =
        (0..text.size() / step).map(|n| Svma(text.address() + n * step)).collect();
    let all = || code.iter().map(|&address| image.symbolize(address).frames.len()).sum::<usize>();
    let (frames, cold) = timed(all);
    let (_, warm) = timed(all);
    println!(
        "{program}: opened in {opening:.2?}; {} addresses, {frames} frames: {cold:.2?}, again {warm:.2?}; {} KiB held",
        code.len(),
        image.memory_bytes() >> 10
    );
    Ok(())
}

fn unwind() {
    let workshop = programs::Workshop::new();
    let flags = ["-O2", "-fomit-frame-pointer"];
    let Some(process) = recorded::Process::record("unwind", &workshop, &flags, false) else {
        return;
    };
    let mut unwinder = Unwinder::new();
    let (frames, took) = timed(|| {
        let mut frames = 0;
        for _ in 0..ROUNDS {
            for dump in &process.dumps {
                frames += process.unwind(&mut unwinder, dump).1.len();
            }
        }
        frames
    });
    let first = process.dumps.first().map(|dump| process.unwind(&mut unwinder, dump).1);
    println!("a stack: {}", process.names(&first.unwrap_or_default()).join(" < "));
    let stacks = process.dumps.len() * ROUNDS;
    println!(
        "{stacks} stacks, {frames} frames: {took:.2?}, {:.0} ns a frame",
        took.as_nanos() as f64 / frames as f64
    );
}

#[expect(clippy::disallowed_methods, reason = "a benchmark is a clock")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed())
}
