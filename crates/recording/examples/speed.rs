//! Measures how fast recordings are written and opened: `make bench`, or
//! `cargo run --release -p culprit-recording --example speed [ROWS]...`.
//!
//! Prints one line a size: the CPU time of the best of five runs, since the machine's other work
//! only ever adds time, and to the time on the clock most of all. Everything measured runs on one
//! thread and in the page cache, so on an idle machine the two are the same. The rows are synthetic, with lengths that compress no better than real ones; times are no
//! gate, they are for looking at.

use std::io;
use std::time::Duration;

use culprit_model::{
    Basis, Cause, Frame, FrameId, Interval, Nanos, Pid, Process, ProcessId, Recording, Stack,
    StackId, Text, Thread, ThreadId, Tid, Time, WakeSource,
};
use culprit_recording::{SpoolOptions, SpoolWriter, open, write};

/// Threads among which the rows are shared.
const THREADS: u32 = 16;
/// Stacks that the rows name, as a server under load has them.
const STACKS: u32 = 20_000;
/// Rows that a recorder appends at a time.
const PART_ROWS: usize = 50_000;
/// Runs of which the best counts.
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sizes: Vec<u32> = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let sizes = if sizes.is_empty() { vec![1_000_000, 4_000_000] } else { sizes };
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("speed.culprit");
    let mut out = io::stdout().lock();
    for rows in sizes {
        let recording = recording(rows);
        let (writing, ()) = best(|| write(&path, &recording))?;
        let size = std::fs::metadata(&path)?.len();
        let (opening, opened) = best(|| open(&path))?;
        assert_eq!(opened.recording, recording, "what was written is what opens");
        let (spooling, ()) = best(|| spool(&path, &recording))?;
        let line = format!(
            "{rows} intervals: {:.1} bytes a row, write {}, open {}, spool {}\n",
            ratio(size, rows),
            speed(writing, rows),
            speed(opening, rows),
            speed(spooling, rows),
        );
        io::Write::write_all(&mut out, line.as_bytes())?;
    }
    Ok(())
}

fn spool(path: &std::path::Path, recording: &Recording) -> Result<(), culprit_recording::Error> {
    let mut spool = SpoolWriter::create(path, &recording.meta, SpoolOptions::default())?;
    recording.intervals.chunks(PART_ROWS).try_for_each(|rows| spool.append_events(rows))
}

/// The shortest of some runs, and the last one's value.
fn best<T, E>(mut run: impl FnMut() -> Result<T, E>) -> Result<(Duration, T), E> {
    let mut shortest = Duration::MAX;
    let mut last = None;
    for _ in 0..RUNS {
        drop(last.take());
        let start = cpu_time();
        let value = run()?;
        shortest = shortest.min(cpu_time().saturating_sub(start));
        last = Some(value);
    }
    match last {
        Some(value) => Ok((shortest, value)),
        None => unreachable!("there is at least one run"),
    }
}

/// CPU time of this process so far, in user code and in the kernel.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn speed(time: Duration, rows: u32) -> String {
    let millis = time.as_secs_f64() * 1e3;
    format!("{millis:.0} ms ({:.1} M rows/s)", f64::from(rows) / 1e3 / millis)
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn ratio(bytes: u64, rows: u32) -> f64 {
    bytes as f64 / f64::from(rows)
}

fn recording(rows: u32) -> Recording {
    let mut recording = Recording::default();
    recording.processes.push(Process::new(Pid(1), "server", Time::START));
    for i in 0..STACKS {
        recording.frames.push(Frame {
            module: None,
            function: Text::from(format!("function_{i}")),
            address: Some(u64::from(i) * 64),
            file: Some(Text::from(format!("src/file_{}.c", i % 100))),
            line: Some(i % 1000),
            inlined: false,
            instruction: None,
            guessed: None,
        });
        let parent = (i > 0).then(|| StackId(hash(i) % i));
        recording.stacks.push(Stack { parent, frame: FrameId(i) });
    }
    for thread in 0..THREADS {
        recording.threads.push(Thread::new(ProcessId(0), Tid(thread), "worker", Time::START));
        let mut at = Time::START;
        for i in 0..rows / THREADS + u32::from(thread < rows % THREADS) {
            let interval = interval(ThreadId(thread), at, i);
            at = at + interval.duration;
            recording.intervals.push(interval);
        }
    }
    recording
}

fn interval(thread: ThreadId, start: Time, i: u32) -> Interval {
    let random = hash(i ^ thread.0);
    let causes = [Cause::CpuUser, Cause::Lock, Cause::Runnable, Cause::CpuKernel, Cause::Net];
    let cause = causes[i as usize % causes.len()];
    let woken = cause.is_blocked();
    Interval {
        thread,
        start,
        duration: Nanos(u64::from(random >> 10)),
        cause,
        // Squared, so that some stacks are much more frequent than others.
        stack: (!random.is_multiple_of(50))
            .then(|| StackId((random % 141) * (random / 141 % 141) % STACKS)),
        basis: if cause.is_cpu() { Basis::Sample } else { Basis::Switch },
        cpu: Some(random % 2),
        waker: woken.then_some(ThreadId(random % THREADS)),
        waker_stack: woken.then_some(StackId(random % 500)),
        woken_by: woken.then_some(WakeSource::Thread),
        uncertain: false,
    }
}

/// Spreads numbers: the multiplicative hash of Knuth, folded.
fn hash(i: u32) -> u32 {
    let i = i.wrapping_mul(2_654_435_761);
    i ^ (i >> 15)
}
