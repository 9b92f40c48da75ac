//! When threads asked other processes, and when these answered, as far as wakeups show it.
//!
//! ```text
//! client   |ask|~~ wait ~~|      |ask|~~~~~~~~ wait ~~~~~~~~|
//! server   ....|work|ans..       ....|work|.................     the second one gets no answer
//! ```

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{Cause, Interval, ProcessId, ThreadId, Time, WakeSource};

use super::Evidence;

/// What one thread and others said to each other.
#[derive(Debug, Default)]
struct Talk {
    /// When it ended the wait of another process, and of which.
    asked: Vec<(Time, ProcessId)>,
    /// When others ended its waits.
    answered: Vec<Time>,
    /// Who ever did.
    by: BTreeSet<ProcessId>,
}

/// What every thread and other processes said to each other.
#[derive(Debug, Default)]
pub(crate) struct Talks(BTreeMap<ThreadId, Talk>);

impl Talks {
    /// n log n in the waits for sockets.
    pub(crate) fn of(evidence: &Evidence<'_>) -> Self {
        let mut talks = Self::default();
        let rows = evidence.recording.intervals.iter();
        for row in rows.filter(|row| matches!(row.cause, Cause::Net | Cause::Poll | Cause::Ipc)) {
            let (end, own) = (row.start + row.duration, evidence.process(row.thread));
            let by = row.waker.filter(|by| evidence.process(*by) != own);
            if let Some(by) = by {
                talks.0.entry(by).or_default().asked.push((end, own));
            }
            if by.is_some() || row.woken_by == Some(WakeSource::Network) {
                let talk = talks.0.entry(row.thread).or_default();
                talk.answered.push(end);
                talk.by.extend(by.map(|by| evidence.process(by)));
            }
        }
        for talk in talks.0.values_mut() {
            talk.asked.sort_unstable();
            talk.answered.sort_unstable();
        }
        talks
    }

    /// Whom a thread asked last before a wait, if nothing has answered by then, and that one answers at
    /// other times.
    pub(crate) fn unanswered(&self, wait: &Interval) -> Option<ProcessId> {
        let talk = self.0.get(&wait.thread)?;
        let before = talk.asked.partition_point(|(time, _)| *time <= wait.start);
        let (asked, peer) = *talk.asked[..before].last()?;
        let from = talk.answered.partition_point(|time| *time < asked);
        let answered = talk.answered[from..].first().is_some_and(|time| *time <= wait.start);
        (!answered && talk.by.contains(&peer)).then_some(peer)
    }
}
