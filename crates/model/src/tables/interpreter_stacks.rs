//! What interpreters run, read from their processes' memory.

use crate::column::table;
use crate::ids::{StackId, ThreadId};
use crate::time::{Nanos, Time};

table! {
    /// Functions that an interpreter ran on a thread, read from the memory of its process. Ordered by
    /// time. Empty once intervals are built: the functions are in the stacks then.
    ///
    /// A frame without a source file and without a module is the interpreter's own loop. It stands for
    /// each frame of that name in the native stack. The functions up to the next such frame are run by it.
    /// A frame with a module only (`[ruby]`) is a function that the interpreter has in itself.
    ///
    /// ```text
    /// native stack   main < run < loop < call < loop < sleep
    /// read           loop < app.py!main < app.py!work < loop < app.py!pause
    /// ```
    InterpreterStack in "interpreter_stacks" {
        /// When reading began.
        time: Time,
        /// How long it took.
        took: Nanos,
        /// Which thread.
        thread: ThreadId,
        /// The frames; none while the thread ran nothing interpreted.
        stack: Option<StackId>,
        /// True where the thread ran on while it was read: the frames are the outermost, which stayed. What
        /// they call is not known. None, in older recordings, is false.
        ran_on: Option<bool>,
    }
}
