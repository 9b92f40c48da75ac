//! Raw context switches: the accounting from which intervals are built.

use crate::column::table;
use crate::ids::{StackId, ThreadId};
use crate::label::labels;
use crate::time::Time;

labels! {
    /// Which way a thread crossed the edge of a CPU.
    SwitchKind ("switch kind") {
        /// Onto a CPU.
        In = "in",
        /// Off a CPU, because it waits.
        Out = "out",
        /// Off a CPU although it could have gone on.
        Preempted = "preempted",
    }
}

/// The CPU of imported switches that do not say where they were.
pub const UNKNOWN_CPU: u32 = u32::MAX;

table! {
    /// A recorded thread got onto or off a CPU. Ordered by time. Only in unfinished files: a
    /// finished recording holds the intervals built from them.
    Switch in "switches" {
        /// When.
        time: Time,
        /// Which thread.
        thread: ThreadId,
        /// Which way.
        kind: SwitchKind,
        /// On which CPU; 2^32 - 1 where an imported file does not say.
        cpu: u32,
        /// Where it was, kernel frames at the leaf; none for switches in, and where it was lost.
        stack: Option<StackId>,
        /// The kernel's state letter at the switch out as a character code (R, S, D, T, t, X, Z),
        /// where tracepoints report it.
        state: Option<u32>,
    }
}
