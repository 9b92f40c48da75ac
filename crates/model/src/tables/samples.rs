//! Clock samples: what was on the CPU.

use crate::column::table;
use crate::ids::{StackId, ThreadId};
use crate::label::labels;
use crate::time::Time;

labels! {
    /// What made the kernel take the sample.
    SampleKind ("sample kind") {
        /// The CPU clock, while in user code.
        User = "user",
        /// The CPU clock, while in the kernel.
        Kernel = "kernel",
    }
}

table! {
    /// A thread seen on a CPU by the clock. Ordered by time.
    Sample in "samples" {
        /// When.
        time: Time,
        /// Which thread.
        thread: ThreadId,
        /// In user code or in the kernel.
        kind: SampleKind,
        /// On which CPU; 2^32 - 1 where an imported file does not say.
        cpu: u32,
        /// What it executed; none if the stack was lost.
        stack: Option<StackId>,
    }
}
