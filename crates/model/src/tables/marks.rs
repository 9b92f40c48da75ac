//! Points in time worth a line in a timeline.

use crate::column::table;
use crate::ids::{ProcessId, ThreadId};
use crate::label::labels;
use crate::text::Text;
use crate::time::Time;

labels! {
    /// What happened.
    MarkKind ("mark") {
        /// A process executed a program; the text is its path.
        Exec = "exec",
        /// A process forked; the text is the child's pid.
        Fork = "fork",
        /// A process ended; the text is its exit code where known.
        Exit = "exit",
        /// A process listens on a TCP socket; the text is its address and port.
        Listen = "listen",
        /// A process connects to a TCP socket for the first time; the text is that address and port.
        Connect = "connect",
    }
}

table! {
    /// Something happened at one instant. Ordered by time.
    Mark in "marks" {
        /// When.
        time: Time,
        /// What.
        kind: MarkKind,
        /// In which process.
        process: ProcessId,
        /// By which thread, where known.
        thread: Option<ThreadId>,
        /// Its detail, see the kinds.
        text: Text,
    }
}
