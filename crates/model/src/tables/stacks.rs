//! Stacks as a prefix tree.

use crate::column::table;
use crate::ids::{FrameId, StackId};

table! {
    /// A node of the prefix tree of stacks, and so a whole stack: this frame, called by the stack
    /// `parent`. Parents come before children. Process and thread are not part of it.
    ///
    /// ```text
    /// row  parent  frame         the stack, root first
    ///   0  -       main          main
    ///   1  0       read_config   main < read_config
    ///   2  0       serve         main < serve
    /// ```
    Stack in "stacks" {
        /// The caller's stack; none for the root-most frame.
        parent: Option<StackId>,
        /// The frame at this end.
        frame: FrameId,
    }
}
