//! Processes that lived during the recording.

use crate::column::table;
use crate::ids::{Pid, ProcessId};
use crate::text::Text;
use crate::time::Time;

table! {
    /// A process that lived during the recording. Ordered by first sight; a parent comes before
    /// its children when both were seen.
    Process in "processes" {
        /// Kernel number in the recorder's pid namespace; reused numbers make new rows.
        pid: Pid,
        /// Process that forked it; none when that was not recorded.
        parent: Option<ProcessId>,
        /// Base name of the program that it executed last; the forking program's until then.
        name: Text,
        /// Path of that program as the process sees it; empty when unknown.
        exe: Text,
        /// Its arguments joined by spaces; empty when they could not be read.
        command_line: Text,
        /// Fork, or the recording's start when it lived before.
        start: Time,
        /// Exit; none when it outlived the recording.
        end: Option<Time>,
        /// Exit code, 128 + N for signal N; none when unknown.
        exit_code: Option<i64>,
        /// True when its threads' time is recorded; false for a process known only as a waker.
        recorded: bool,
    }
}

impl Process {
    /// A recorded process of which nothing else is known yet.
    #[must_use]
    pub fn new(pid: Pid, name: impl Into<Text>, start: Time) -> Self {
        Self {
            pid,
            parent: None,
            name: name.into(),
            exe: Text::default(),
            command_line: Text::default(),
            start,
            end: None,
            exit_code: None,
            recorded: true,
        }
    }
}
