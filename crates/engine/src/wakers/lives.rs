//! Each thread's intervals, found by thread and time.

use std::ops::Range;

use culprit_model::{Interval, Recording, ThreadId, Time};

/// Where each thread's rows stand in the `intervals` table.
#[derive(Debug, Clone)]
pub struct Lives {
    /// First row of each thread; one more entry than threads.
    begins: Vec<usize>,
}

impl Lives {
    /// Finds the threads' rows. Linear in threads, logarithmic in rows.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        let rows = &recording.intervals;
        let begin = |at| rows.partition_point(|row| row.thread < ThreadId::from_index(at));
        Self { begins: (0..=recording.threads.len()).map(begin).collect() }
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
