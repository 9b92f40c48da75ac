//! Thread time: each thread's life without gaps.

use crate::cause::Cause;
use crate::column::table;
use crate::ids::{StackId, ThreadId};
use crate::label::labels;
use crate::tables::wakeups::WakeSource;
use crate::time::{Nanos, Time};

labels! {
    /// How an interval's stack is known.
    Basis ("basis") {
        /// On-CPU, and a clock sample fell into it.
        Sample = "sample",
        /// On-CPU, and no clock sample fell into it: the stack of the sample of the same thread that is nearest
        /// in its CPU time.
        Nearest = "nearest",
        /// Off-CPU, or on-CPU in a thread that was never sampled: the stack at the switch out.
        Switch = "switch",
        /// The cause came from polling /proc, without a stack.
        Polled = "polled",
        /// Nothing is known but the time.
        None = "none",
    }
}

table! {
    /// A part of one thread's life with one cause and one stack. Ordered by thread, then by
    /// start; each thread's rows follow each other without gap or overlap from its start to its
    /// end.
    ///
    /// ```text
    /// time     0        3    5   6          9
    /// thread   | run    |run | ready | wait     |
    /// rows      cpu.user cpu. runna-   blocked.
    ///                    kernel ble    lock
    /// ```
    Interval in "intervals" {
        /// Whose time.
        thread: ThreadId,
        /// From when.
        start: Time,
        /// How long.
        duration: Nanos,
        /// Why it passed.
        cause: Cause,
        /// Where the thread was; none if that was lost. A runnable interval after a wait has
        /// the stack of the wait.
        stack: Option<StackId>,
        /// How the stack is known.
        basis: Basis,
        /// The CPU that it ran on; for off-CPU time the one that it left.
        cpu: Option<u32>,
        /// Who ended the wait: for blocked rows, where wakers were recorded and it was a thread.
        waker: Option<ThreadId>,
        /// Where the waker was.
        waker_stack: Option<StackId>,
        /// What kind of event ended the wait; none for rows that are not waits, and where unknown.
        woken_by: Option<WakeSource>,
        /// True when switch records were lost during this interval.
        uncertain: bool,
    }
}
