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
}

/// When a row ends.
pub(super) fn end(row: &Interval) -> Time {
    row.start + row.duration
}
