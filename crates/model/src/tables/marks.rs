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
        /// A thread polls a TCP socket that its process listens on, or that was accepted there, and its
        /// process connects to others, too; the text is that address and port. Once a thread.
        PollRequests = "poll-requests",
        /// A thread polls a socket that its process has connected, and its process listens, too; the text
        /// is the peer's address and port. Once a thread.
        PollAnswers = "poll-answers",
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
