//! What a recorder would have seen of a drawing: switches, clock samples and wakeups.
//!
//! ```text
//! strip     UUUbbbrrU
//! switches  in  out   in        an `out` has the stack of the wait that follows
//! samples    ,,,      ,         one in the middle of each character on the CPU
//! wakeups         ^             where ready time follows a wait: its `wake` line, else a timer
//! ```

use super::NotationError;
use super::parse::{Run, read};
use crate::cause::Cause;
use crate::recording::Recording;
use crate::tables::{Sample, SampleKind, Switch, SwitchKind, WakeSource, Wakeup, WakeupKind};
use crate::time::{Nanos, Time};

/// The recording before its intervals were built. Every thread runs on CPU 0.
///
/// # Errors
/// As [`parse`](super::parse), and for a wait that follows another without time on the CPU between.
pub fn parse_raw(text: &str) -> Result<Recording, NotationError> {
    let mut script = read(text)?;
    let tick = script.tick;
    let mut before: Option<Run> = None;
    for run in &script.runs {
        let before = before.replace(*run).filter(|last| last.thread == run.thread);
        if before.is_some_and(|last| !follows(last.meaning.cause, run.meaning.cause)) {
            let reason = format!("the thread must be on a CPU before it is {}", run.meaning.cause);
            return Err(NotationError { line: 0, reason });
        }
        observe(&mut script.recording, before.as_ref(), run, tick);
    }
    let recording = &mut script.recording;
    recording.switches.sort_by_key(|row| row.time);
    recording.samples.sort_by_key(|row| row.time);
    recording.wakeups.sort_by_key(|row| row.time);
    Ok(script.recording)
}

/// Whether the kernel lets a thread go from one to the other.
fn follows(before: Cause, after: Cause) -> bool {
    before.is_cpu() || after.is_cpu() || (before.is_blocked() && after.is_runnable())
}

fn observe(recording: &mut Recording, before: Option<&Run>, run: &Run, tick: Nanos) {
    let cause = run.meaning.cause;
    let was_on = before.is_some_and(|last| last.meaning.cause.is_cpu());
    let switch = |kind, stack| Switch {
        time: run.from,
        thread: run.thread,
        kind,
        cpu: 0,
        stack,
        state: None,
    };
    if cause.is_cpu() {
        if !was_on {
            recording.switches.push(switch(SwitchKind::In, None));
        }
        sample(recording, run, tick);
    } else if was_on {
        let kind = if cause.is_runnable() { SwitchKind::Preempted } else { SwitchKind::Out };
        recording.switches.push(switch(kind, run.meaning.stack));
    }
    let waited = before.is_some_and(|last| last.meaning.cause.is_blocked());
    let told = |row: &Wakeup| row.thread == run.thread && row.time == run.from;
    if cause.is_runnable() && waited && !recording.wakeups.iter().any(told) {
        recording.wakeups.push(Wakeup {
            time: run.from,
            thread: run.thread,
            kind: WakeupKind::Wakeup,
            source: WakeSource::Timer,
            waker: None,
            waker_stack: None,
        });
    }
}

fn sample(recording: &mut Recording, run: &Run, tick: Nanos) {
    let kind = match run.meaning.cause {
        Cause::CpuKernel => SampleKind::Kernel,
        _ => SampleKind::User,
    };
    let mut time = Time(run.from.0 + tick.0 / 2);
    while time < run.to {
        let stack = run.meaning.stack;
        recording.samples.push(Sample { time, thread: run.thread, kind, cpu: 0, stack });
        time = time + tick;
    }
}
