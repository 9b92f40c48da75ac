//! Page faults.

use crate::column::table;
use crate::ids::{StackId, ThreadId};
use crate::label::labels;
use crate::text::Text;
use crate::time::Time;

labels! {
    /// Whether a fault had to read.
    FaultKind ("fault kind") {
        /// The page was read from a disk or swap.
        Major = "major",
        /// The page was in memory, or made.
        Minor = "minor",
    }
}

table! {
    /// A page fault of a recorded thread. Ordered by time. Minor faults may be sampled: each row
    /// stands for `count` of them.
    Fault in "faults" {
        /// When.
        time: Time,
        /// Whose.
        thread: ThreadId,
        /// Whether it had to read.
        kind: FaultKind,
        /// The address that was touched.
        address: u64,
        /// How many faults this row stands for.
        count: u64,
        /// File mapped there; none for anonymous memory.
        file: Option<Text>,
        /// Where the thread was.
        stack: Option<StackId>,
    }
}
