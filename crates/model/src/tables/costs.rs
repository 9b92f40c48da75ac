//! What stacks cost besides time: as other profilers' files say it, and as probes count it.

use crate::cause::Cause;
use crate::column::table;
use crate::ids::{StackId, ThreadId};
use crate::metric::Metric;
use crate::time::{Nanos, Time};

table! {
    /// An amount at a stack: from another profiler's file, or allocations that were recorded. Such
    /// rows neither tile a thread's life nor say what happened between them. Events of one thread and
    /// stack that are close in time may be one row, which then covers them all. Ordered by thread,
    /// rows of none first, then by time.
    Cost in "costs" {
        /// Which thread; none if process and thread, if the file knows them, are frames of the
        /// stack like others.
        thread: Option<ThreadId>,
        /// When, or from when; 0 where the file does not say.
        time: Time,
        /// How long it went on; 0 for what happened at one instant or where the file does not say.
        duration: Nanos,
        /// At which stack; none if that was lost.
        stack: Option<StackId>,
        /// What the value counts.
        metric: Metric,
        /// Why the time passed; none when the metric is not a time or the file does not say.
        cause: Option<Cause>,
        /// How much, in the metric's unit.
        value: u64,
        /// How many samples of the file, or recorded events, it stands for.
        count: u64,
        /// The variance of the value, in the square of its unit, where the recorder sampled and the value is
        /// an estimate. Samples are independent, so variances of rows add up. None elsewhere.
        variance: Option<u64>,
    }
}
