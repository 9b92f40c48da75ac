//! `recordings`: one row a recording, from its `meta.json`.

use culprit_model::{Meta, Nanos, ProcessId, Rung, Text, Time, table};

use crate::sources::Source;

table! {
    /// A recording. In the order in which they were named.
    RecordingRow in "recordings" {
        /// Its file.
        path: Text,
        /// The recorded command, its arguments joined by spaces; empty when running processes were
        /// attached to.
        command: Text,
        /// Where it ran, as the user writes places.
        place: Text,
        /// When it started: ns since 1970.
        started: u64,
        /// Its length.
        wall: Nanos,
        /// When the command itself began; none without a command.
        command_start: Option<Time>,
        /// When it ended.
        command_end: Option<Time>,
        /// The command's own process.
        root_process: Option<ProcessId>,
        /// Exit code of the command, 128 + N when signal N ended it; none when it has not ended.
        exit_code: Option<i64>,
        /// What the recorder was allowed to see.
        rung: Rung,
        /// Why it stands on no higher rung, one sentence each, joined by spaces.
        degraded: Text,
        /// Kernel release.
        kernel: Text,
        /// CPUs online.
        cpus: u32,
        /// Clock samples a second of CPU time, at first.
        frequency: u32,
        /// CPU time that the recorder itself used.
        recorder_cpu: Nanos,
        /// Version of the program that wrote it.
        tool: Text,
        /// False while the recorder runs, and for ever when it was killed.
        complete: bool,
    }
}

/// What a recording says about itself.
pub(crate) fn row(source: &Source, meta: &Meta) -> RecordingRow {
    RecordingRow {
        path: source.path.display().to_string().into(),
        command: meta.command.join(" ").into(),
        place: meta.place.as_str().into(),
        started: meta.start.realtime,
        wall: meta.wall,
        command_start: meta.command_span.map(|(from, _)| from),
        command_end: meta.command_span.map(|(_, to)| to),
        root_process: meta.root_process,
        exit_code: meta.exit_code.map(i64::from),
        rung: meta.rung,
        degraded: meta.degraded.join(" ").into(),
        kernel: meta.kernel.as_str().into(),
        cpus: meta.cpus,
        frequency: meta.frequency,
        recorder_cpu: meta.recorder_cpu,
        tool: meta.tool.as_str().into(),
        complete: meta.complete,
    }
}
