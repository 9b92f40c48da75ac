//! Prints the frames of a Ruby or PHP process: `script_frames PID [LOOKS]`. With a number of looks it
//! also measures what a look at each thread costs.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use culprit_symbols::runtimes::{InterpretedFrame, InterpretedFunction, Look};
use live::LiveMemory;

#[expect(dead_code, reason = "other examples and tests use the rest")]
#[path = "../tests/it/python/live.rs"]
mod live;
#[path = "../tests/it/scripts/open.rs"]
mod open;

type Frames = Vec<InterpretedFrame>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let pid: u32 = arguments.next().ok_or("usage: script_frames PID [LOOKS]")?.parse()?;
    let looks = arguments.next().map_or(Ok(1), |looks| looks.parse::<u32>())?;
    let memory = LiveMemory(pid);
    let mut frames = Frames::new();
    if let Ok(mut php) = open::php(pid) {
        let look = measure(looks, || php.look(&memory, &mut frames).map(Some))?;
        println!("thread {pid}: {look:?}");
        frames.iter().for_each(|frame| print(frame, |id| php.function(id)));
        return Ok(());
    }
    let (mut ruby, program) = open::ruby(pid, looks % 2 == 1)?;
    println!("{program:?}");
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let tid: u32 = task?.file_name().to_str().unwrap_or_default().parse()?;
        let look = measure(looks, || ruby.look_at(&memory, tid, &mut frames))?;
        println!("thread {tid}: {look:?}");
        frames.iter().for_each(|frame| print(frame, |id| ruby.function(id)));
    }
    Ok(())
}

fn print<'f>(
    frame: &InterpretedFrame,
    function: impl Fn(culprit_symbols::runtimes::FunctionId) -> Option<&'f InterpretedFunction>,
) {
    let InterpretedFrame::Function { function: id, line } = frame else { return println!("  --") };
    let Some(known) = function(*id) else { return println!("  ?") };
    let file = known.file.as_deref().unwrap_or("[C]");
    println!("  {} {file}:{}", known.name, line.map_or("?".to_owned(), |line| line.to_string()));
}

#[expect(clippy::disallowed_methods, reason = "it measures")]
fn measure<E>(
    looks: u32,
    mut look: impl FnMut() -> Result<Option<Look>, E>,
) -> Result<Option<Look>, E> {
    let begin = std::time::Instant::now();
    let (mut last, mut torn) = (None, 0);
    for _ in 0..looks {
        match look() {
            Ok(found) => {
                torn += u32::from(found.is_some_and(|look| look.changed));
                last = found;
            }
            Err(_) if looks > 2 => torn += 1,
            Err(error) => return Err(error),
        }
    }
    println!("{:?} a look, {torn} of {looks} changed or failed", begin.elapsed() / looks.max(1));
    Ok(last)
}
