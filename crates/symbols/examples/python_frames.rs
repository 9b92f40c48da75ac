//! Prints the Python frames of all threads of a process, and behind `~` what their event loops await:
//! `python_frames PID [LOOKS]`. With a number of looks it also measures what a look at each thread costs.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use std::error::Error;
use std::time::Duration;

use culprit_symbols::runtimes::cpython::{CPython, PyFrame};
use live::LiveMemory;

#[path = "../tests/it/python/live.rs"]
mod live;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let pid = arguments.next().ok_or("usage: python_frames PID [LOOKS]")?.parse()?;
    let looks = arguments.next().map(|looks| looks.parse::<u32>()).transpose()?;
    let memory = LiveMemory(pid);
    let mut python = live::interpreter(pid)?;
    println!("Python {:?}", python.version());
    if let Some(table) = live::asyncio(pid) {
        python.set_asyncio(&memory, table)?;
    }
    let mut threads = Vec::new();
    python.look(&memory, &mut threads)?;
    for thread in &threads {
        println!("thread {}: {:?}", thread.tid, thread.look);
        thread.frames.iter().for_each(|frame| println!("  {}", describe(&python, frame)));
        let (mut awaited, tid) = (Vec::new(), thread.tid);
        match python.look_at_tasks(&memory, tid, &mut awaited) {
            Ok(()) => awaited.iter().for_each(|frame| println!("  ~ {}", describe(&python, frame))),
            Err(error) => println!("  ~ {error}"),
        }
        if let Some(looks) = looks {
            let cost = measure(&mut python, &memory, thread.tid, looks)?;
            println!("  {} frames, {cost:?} a look", thread.frames.len());
        }
    }
    Ok(())
}

fn describe(python: &CPython, frame: &PyFrame) -> String {
    let PyFrame::Code { code, line } = frame else { return "--".to_owned() };
    let Some(code) = python.code(*code) else { return "?".to_owned() };
    let line = line.map_or_else(|| "?".to_owned(), |line| line.to_string());
    format!("{} {}:{line} ({})", code.qualname, code.file, code.first_line)
}

#[expect(clippy::disallowed_methods, reason = "it measures")]
fn measure(
    python: &mut CPython,
    memory: &LiveMemory,
    tid: u32,
    looks: u32,
) -> Result<Duration, Box<dyn Error>> {
    let begin = std::time::Instant::now();
    let (mut frames, mut changed) = (Vec::new(), 0);
    for _ in 0..looks {
        let look = python.look_at(memory, tid, &mut frames);
        changed += u32::from(!matches!(look, Ok(Some(look)) if !look.changed));
    }
    if changed > 0 {
        eprintln!("{changed} of {looks} looks changed or failed");
    }
    Ok(begin.elapsed() / looks.max(1))
}
