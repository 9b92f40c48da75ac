//! States of threads as polled from /proc, for recorders without kernel stacks.

use crate::column::table;
use crate::ids::ThreadId;
use crate::text::Text;
use crate::time::Time;

table! {
    /// One reading of a thread's `/proc` entries. Ordered by time. Only where kernel stacks were
    /// not allowed.
    Observation in "observations" {
        /// When.
        time: Time,
        /// Which thread.
        thread: ThreadId,
        /// State letter of `/proc/PID/task/TID/stat` as a character code.
        state: u32,
        /// System call number (`/proc/PID/task/TID/syscall`); none when not in one or unreadable.
        syscall: Option<u32>,
        /// Kernel function that it waits in (`wchan`); none when not waiting or unreadable.
        wchan: Option<Text>,
        /// Kind of file behind the call's first argument, where it is a descriptor: the text of
        /// the `/proc/PID/fd/N` link (`pipe:[1]`, `socket:[2]`, a path).
        file: Option<Text>,
    }
}
