//! The time of threads by cause, and whose part of the run is largest.

use std::cmp::Reverse;

use culprit_engine::calls::Query;
use culprit_engine::causes::FutexWaits;
use culprit_engine::wakers::Relevance;
use culprit_model::{Cause, Label as _, Nanos, Recording, ThreadId};

/// One thread's time by cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadTime {
    /// Which thread.
    pub id: ThreadId,
    /// `NAME (PID)` of its process.
    pub process: String,
    /// `NAME (TID)`.
    pub name: String,
    /// Its life within the recording.
    pub wall: Nanos,
    /// Time by cause, in the order of the causes; no zeros.
    pub parts: Vec<(Cause, Nanos)>,
    /// How much of the run was its: what the run waited for of it, or what its waits delayed.
    pub counted: Nanos,
    /// True when nobody waited for it and it hardly ran.
    pub idle: bool,
}

impl ThreadTime {
    /// The time of the causes that `holds` picks.
    #[must_use]
    pub fn sum(&self, holds: impl Fn(Cause) -> bool) -> Nanos {
        self.parts.iter().filter(|(cause, _)| holds(*cause)).map(|(_, time)| *time).sum()
    }
}

/// The time of every recorded thread that a query keeps, within its range, where there is any: those
/// that the run waited for come first, the longest first; of the others those that ever ran, for a
/// machine has many that never do. Idle threads are last.
pub fn thread_times(
    recording: &Recording,
    query: &Query,
    relevance: &Relevance,
) -> Vec<ThreadTime> {
    let mut sums = vec![[Nanos::ZERO; Cause::ALL.len()]; recording.threads.len()];
    let (from, to) = query.range(recording);
    let mut waits = FutexWaits::new(recording);
    for row in &recording.intervals {
        let end = (row.start + row.duration).min(to);
        let within = end.since(row.start.max(from));
        let cause = waits.cause(row.cause, row.stack);
        sums[row.thread.index()][usize::from(cause.code())] += within;
    }
    let kept = query.threads(recording);
    let counts = counted(recording, relevance);
    let mut threads: Vec<ThreadTime> = recording
        .threads
        .iter()
        .zip(kept)
        .zip(sums)
        .enumerate()
        .filter(|(_, ((thread, kept), _))| thread.recorded && *kept)
        .map(|(index, ((thread, _), sums))| {
            let id = ThreadId::from_index(index);
            let parts: Vec<_> = Cause::ALL
                .iter()
                .copied()
                .zip(sums)
                .filter(|(_, time)| *time > Nanos::ZERO)
                .collect();
            ThreadTime {
                id,
                process: recording.process_name(thread.process),
                name: recording.thread_name(id),
                wall: parts.iter().map(|(_, time)| *time).sum(),
                parts,
                counted: counts.get(id.index()).copied().unwrap_or_default(),
                idle: relevance.is_idle(id),
            }
        })
        .filter(|thread| thread.wall > Nanos::ZERO)
        .collect();
    threads.sort_by_key(|thread| {
        let cpu = thread.sum(Cause::is_cpu);
        let never_ran = cpu == Nanos::ZERO;
        (
            thread.idle,
            Reverse(thread.counted),
            never_ran,
            Reverse(thread.wall),
            Reverse(cpu),
            thread.id,
        )
    });
    threads
}

/// How much of each thread's time the run waited for: what the thread did, and what its waits
/// delayed.
fn counted(recording: &Recording, relevance: &Relevance) -> Vec<Nanos> {
    let mut counts = vec![Nanos::ZERO; recording.threads.len()];
    for (at, row) in recording.intervals.iter().enumerate() {
        counts[row.thread.index()] += relevance.own(at).max(relevance.waited(at));
    }
    counts
}
