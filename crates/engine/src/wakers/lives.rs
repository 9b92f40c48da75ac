//! Each thread's intervals, found by thread and time, and what a process's threads are to each other.

use std::ops::Range;

use culprit_model::{Interval, ProcessId, Recording, ThreadId, Time};

use super::chain::Ended;
use super::children::Children;
use super::ends::Ends;
use super::tasks::Tasks;

/// Where each thread's rows stand in the `intervals` table.
#[derive(Debug, Clone)]
pub struct Lives {
    /// First row of each thread; one more entry than threads.
    begins: Vec<usize>,
    /// Which threads ended their processes.
    pub(super) ends: Ends,
    /// Who works on tasks that move between threads.
    pub(super) tasks: Tasks,
    /// Which process started which.
    children: Children,
}

impl Lives {
    /// Finds the threads' rows and who ended which process: linear in rows; n log n in the rows of
    /// processes whose tasks move between threads.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        let rows = &recording.intervals;
        let begin = |at| rows.partition_point(|row| row.thread < ThreadId::from_index(at));
        let begins: Vec<usize> = (0..=recording.threads.len()).map(begin).collect();
        let ends = Ends::of(recording, &begins);
        Self { begins, ends, tasks: Tasks::of(recording), children: Children::of(recording) }
    }

    /// The thread that ended a process: its others were killed then, and the last of them may have
    /// torn its memory down long after.
    #[must_use]
    pub fn ender(&self, process: ProcessId) -> Option<ThreadId> {
        self.ends.thread(process)
    }

    /// The thread of a child that a wait was for which something else than a descendant's act ended.
    pub(super) fn waited_child(
        &self,
        recording: &Recording,
        wait: (&Interval, Time),
        ended: Ended,
    ) -> Option<ThreadId> {
        self.children.waited_for(recording, self, wait, ended)
    }

    /// The threads of a process, in the order of the table.
    pub(super) fn threads(&self, process: ProcessId) -> &[ThreadId] {
        self.children.threads(process)
    }

    /// True where a thread has no task of a runtime that moves tasks between threads: what its
    /// process does meanwhile, others do.
    #[must_use]
    pub fn is_parked(&self, row: &Interval) -> bool {
        self.tasks.is_parked(row)
    }

    /// The rows of a thread; empty for one that was not recorded.
    #[must_use]
    pub fn rows(&self, thread: ThreadId) -> Range<usize> {
        match (self.begins.get(thread.index()), self.begins.get(thread.index() + 1)) {
            (Some(from), Some(to)) => *from..*to,
            _ => 0..0,
        }
    }

    /// The row of a thread that holds the instant just before a time; none when it did not live.
    #[must_use]
    pub fn before(&self, recording: &Recording, thread: ThreadId, time: Time) -> Option<usize> {
        let range = self.rows(thread);
        let rows = &recording.intervals[range.clone()];
        let at = rows.partition_point(|row| row.start < time).checked_sub(1)?;
        (end(&rows[at]) >= time).then_some(range.start + at)
    }

    /// As [`Lives::before`], from the place in the table that the last look at this thread left in
    /// `near`: quick for looks that go back in time step by step, right for any.
    pub(super) fn before_near(
        &self,
        recording: &Recording,
        thread: ThreadId,
        time: Time,
        near: &mut Option<usize>,
    ) -> Option<usize> {
        let range = self.rows(thread);
        let rows = &recording.intervals;
        // Rows from `upper` on start at or after the time; the gap to `lower` doubles.
        let fits = |at: &usize| *at == range.end || rows[*at].start >= time;
        let mut upper = near.filter(fits).unwrap_or(range.end);
        let (mut lower, mut step) = (upper, 1);
        while lower > range.start {
            lower = lower.saturating_sub(step).max(range.start);
            if rows[lower].start < time {
                break;
            }
            (upper, step) = (lower, step * 2);
        }
        let after = lower + rows[lower..upper].partition_point(|row| row.start < time);
        *near = Some(after);
        let at = after.checked_sub(1).filter(|at| *at >= range.start)?;
        (end(&rows[at]) >= time).then_some(at)
    }
}

/// When a row ends.
pub(super) fn end(row: &Interval) -> Time {
    row.start + row.duration
}
