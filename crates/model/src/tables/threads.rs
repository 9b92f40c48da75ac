//! Threads, with the kernel's own accounting as the oracle.

use crate::column::table;
use crate::ids::{ProcessId, Tid};
use crate::text::Text;
use crate::time::{Nanos, Time};

table! {
    /// A thread that lived during the recording, ordered by first sight. The `sched_` columns are
    /// differences of two snapshots of `/proc/PID/task/TID/schedstat`
    /// (Documentation/scheduler/sched-stats.rst): the kernel's own sums, against which ours are
    /// checked.
    Thread in "threads" {
        /// The process that it belongs to.
        process: ProcessId,
        /// Kernel number in the recorder's pid namespace.
        tid: Tid,
        /// Its last name (`comm`, 15 bytes at most).
        name: Text,
        /// Clone, or the recording's start when it lived before.
        start: Time,
        /// Exit; none when it outlived the recording.
        end: Option<Time>,
        /// True when its time is recorded; false for a thread known only as a waker.
        recorded: bool,
        /// When the first snapshot was taken; none without two snapshots. A thread that was
        /// created during the recording has the snapshot of zeros at its start.
        sched_from: Option<Time>,
        /// When the last snapshot was taken.
        sched_to: Option<Time>,
        /// Time on a CPU between the snapshots.
        sched_cpu: Option<Nanos>,
        /// Time ready but not running between the snapshots.
        sched_wait: Option<Nanos>,
    }
}

impl Thread {
    /// A recorded thread of which nothing else is known yet.
    #[must_use]
    pub fn new(process: ProcessId, tid: Tid, name: impl Into<Text>, start: Time) -> Self {
        Self {
            process,
            tid,
            name: name.into(),
            start,
            end: None,
            recorded: true,
            sched_from: None,
            sched_to: None,
            sched_cpu: None,
            sched_wait: None,
        }
    }
}
