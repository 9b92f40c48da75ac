//! Who has the CPUs while a thread is ready for one.
//!
//! ```text
//! first   ###rrrr###rrr      r ready, its CPU is taken
//! second  rrr####rrr###      what the first one waits for is the second one's work
//! ```
//!
//! Where the program's own threads take a CPU from each other, waiting for it is a symptom: what they do
//! there is the reason.

use culprit_engine::wakers::is_descendant;
use culprit_model::{Interval, Nanos, ProcessId, Recording, ThreadId, Time};

use super::chain::IntervalId;

/// Time on a run queue below which nobody is looked for: every wakeup takes some microseconds.
const MIN_QUEUED: Nanos = Nanos(50_000);

/// A thread's time on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Occupied {
    pub(super) from: Time,
    pub(super) to: Time,
    pub(super) thread: ThreadId,
}

/// The threads on each CPU, in order of time.
#[derive(Debug, Default)]
pub(super) struct CpuUsers {
    cpus: Vec<Vec<Occupied>>,
}

impl CpuUsers {
    /// Linear in intervals; empty where no thread of the chain waits for a CPU for long.
    pub(super) fn of(recording: &Recording) -> Self {
        let queued = |row: &Interval| row.cause.is_runnable() && row.duration >= MIN_QUEUED;
        if !recording.intervals.iter().any(queued) {
            return Self::default();
        }
        let mut cpus: Vec<Vec<Occupied>> = Vec::new();
        for row in recording.intervals.iter().filter(|row| row.cause.is_cpu()) {
            let Some(cpu) = row.cpu.map(|cpu| cpu as usize) else { continue };
            if cpus.len() <= cpu {
                cpus.resize_with(cpu + 1, Vec::new);
            }
            let (from, to) = (row.start, row.start + row.duration);
            match cpus[cpu].last_mut() {
                Some(last) if (last.thread, last.to) == (row.thread, from) => last.to = to,
                _ => cpus[cpu].push(Occupied { from, to, thread: row.thread }),
            }
        }
        cpus.iter_mut().for_each(|users| users.sort_unstable_by_key(|user| user.from));
        Self { cpus }
    }

    /// Who had the CPU for which a thread was ready between two moments: the CPU that it then got.
    /// Only threads of its own program and of those that either started count.
    pub(super) fn during<'u>(
        &'u self,
        recording: &'u Recording,
        (at, row): (IntervalId, &Interval),
        (from, to): (Time, Time),
    ) -> impl Iterator<Item = Occupied> + 'u {
        let waits = row.cause.is_runnable() && to.since(from) >= MIN_QUEUED;
        let next = recording
            .intervals
            .get(at.index() + 1)
            .filter(|next| next.thread == row.thread && next.start == row.start + row.duration);
        let cpu = next.and_then(|next| next.cpu).or(row.cpu).filter(|_| waits);
        let users = cpu.and_then(|cpu| self.cpus.get(cpu as usize)).map_or(&[][..], Vec::as_slice);
        let process = recording.thread(row.thread).process;
        let waiter = row.thread;
        let first = users.partition_point(|user| user.to <= from);
        let within = users[first..].iter().take_while(move |user| user.from < to).copied();
        within.filter(move |user| {
            user.thread != waiter
                && is_related(recording, process, recording.thread(user.thread).process)
        })
    }
}

/// True for a process itself, and for those of which one started the other or one started both.
fn is_related(recording: &Recording, one: ProcessId, other: ProcessId) -> bool {
    let command = recording.meta.root_process.is_some();
    command
        || one == other
        || is_descendant(recording, one, other)
        || is_descendant(recording, other, one)
}
