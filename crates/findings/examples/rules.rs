//! Measures what the rules cost: `cargo run --release -p culprit-findings --example rules REC...`;
//! `make bench` runs it on a recording of four million intervals and more.
//!
//! For each recording prints its intervals and the time from them to ranked findings: the best of
//! five, wall clock and CPU, without the file's opening, with the program's allocator. Times are no
//! gate, they are for looking at.

use std::path::Path;
use std::time::Duration;

use culprit_findings::{Options, find};
use rustix::time::{ClockId, clock_gettime};

#[expect(unsafe_code, unreachable_pub, reason = "the program's own allocator, out of its crate")]
#[path = "../../record/src/sys/memory.rs"]
mod memory;

#[global_allocator]
static ALLOCATOR: memory::HugePages = memory::HugePages;

/// Runs of which the best counts.
const RUNS: usize = 5;

#[expect(clippy::print_stdout, reason = "a program that prints what it measured")]
fn main() {
    for path in std::env::args_os().skip(1) {
        let opened = culprit_recording::open(Path::new(&path)).expect("a recording");
        let recording = opened.recording;
        let mut count = 0;
        let runs = (0..RUNS).map(|_| {
            let before = (now(ClockId::Monotonic), now(ClockId::ProcessCPUTime));
            let report = find(&recording, &Options::default());
            count = report.findings.len();
            (now(ClockId::Monotonic) - before.0, now(ClockId::ProcessCPUTime) - before.1)
        });
        let (wall, cpu) = runs.min().expect("a run");
        let rows = recording.intervals.len();
        println!("{rows} intervals: {count} findings in {wall:.2?}, {cpu:.2?} of CPU");
    }
}

fn now(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::try_from(time).expect("a clock after its start")
}
