//! Which activity a thread worked on at a time.

use culprit_model::{ActivityId, ActivityWork, Recording, ThreadId, Time};

/// Answers which activity a thread worked on at a time. The intervals of a recording are cut where
/// that changes, so that the answer for a row's start holds for the row.
#[derive(Debug, Clone, Copy)]
pub struct Owners<'r>(&'r [ActivityWork]);

impl<'r> Owners<'r> {
    /// Those of a recording.
    #[must_use]
    pub fn of(recording: &'r Recording) -> Self {
        Self(&recording.activity_work)
    }

    /// The innermost activity that a thread worked on; none when it worked on none. The cost is
    /// logarithmic.
    #[must_use]
    #[inline]
    pub fn at(self, thread: ThreadId, time: Time) -> Option<ActivityId> {
        if self.0.is_empty() {
            return None;
        }
        let next = self.0.partition_point(|row| (row.thread, row.start) <= (thread, time));
        let row = self.0.get(next.checked_sub(1)?)?;
        let holds = row.thread == thread && time < row.start + row.duration;
        holds.then_some(row.activity)
    }
}
