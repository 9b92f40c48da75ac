//! The tables of a fleet's store: what recordings come to, for SQL on one machine or on a cluster.
//!
//! A stack is known by a hash of what its frames say, so the same stack of two machines has one number and
//! adds up with `GROUP BY stack`. Metric and cause are texts of closed lists.

use std::hash::Hasher as _;

use culprit_model::{Cause, Metric, Nanos, Recording, Selection, Source, Text, table};
use siphasher::sip::SipHasher13;

table! {
    /// What one stack of one recording weighs in one metric.
    FleetSample in "fleet_samples" {
        /// Name of the recording's file.
        recording: Text,
        /// The machine that recorded, by its name; `(unknown)` where the recording does not say.
        host: Text,
        /// The image of the container that it ran in.
        image: Text,
        /// The label `version`, else the build id of the recorded program.
        version: Text,
        /// The day on which the recording began, in UTC: `2026-11-29`.
        day: Text,
        /// What the value counts.
        metric: Metric,
        /// The stack: a hash of the names, files and build ids of its frames, and of its cause.
        stack: u64,
        /// Why the time passed; none when the metric is not a time.
        cause: Option<Cause>,
        /// How much, in the metric's unit.
        value: u64,
        /// Rows of the recording behind it.
        count: u64,
    }
}

table! {
    /// A frame of a stack. Ordered by stack, then by depth.
    FleetFrame in "fleet_frames" {
        /// The stack.
        stack: u64,
        /// Frames above it: 0 for the process.
        depth: u32,
        /// `module!function`, a process, a thread, or a cause.
        name: Text,
        /// Source file, if known.
        file: Option<Text>,
        /// Build id of the module, if it has one.
        build_id: Option<Text>,
        /// True for the function whose own time the stack's time is, as `top` counts it.
        own: bool,
    }
}

table! {
    /// A recording in the tables.
    FleetRecording in "fleet_recordings" {
        /// Name of its file.
        recording: Text,
        /// The machine that recorded, by its name; `(unknown)` where the recording does not say.
        host: Text,
        /// The image of the container that it ran in.
        image: Text,
        /// The label `version`, else the build id of the recorded program.
        version: Text,
        /// The day on which the recording began, in UTC.
        day: Text,
        /// What shares of its findings are of; none without thread time, which findings need.
        judged: Option<Nanos>,
    }
}

table! {
    /// A finding of a recording. `culprit findings` has two lists: the usual one and that of `--all`.
    FleetFindingRow in "fleet_findings" {
        /// Name of the recording's file.
        recording: Text,
        /// The machine that recorded, by its name; `(unknown)` where the recording does not say.
        host: Text,
        /// The image of the container that it ran in.
        image: Text,
        /// The label `version`, else the build id of the recorded program.
        version: Text,
        /// The day on which the recording began, in UTC.
        day: Text,
        /// True in the list of `--all`, false in the usual one. A finding in both has two rows.
        every: bool,
        /// Identifier of the rule.
        rule: Text,
        /// Module of the function that it names; empty where it names none.
        module: Text,
        /// The function that it names.
        function: Text,
        /// Source file of the function, if known.
        file: Option<Text>,
        /// What it costs in this recording.
        cost: Nanos,
        /// All of it, as `culprit findings --json` prints it.
        document: Text,
    }
}

/// The hash of each step's stack, in the order of the steps.
#[must_use]
pub fn stack_hashes(recording: &Recording, selection: &Selection) -> Vec<u64> {
    let mut hashes: Vec<u64> = Vec::with_capacity(selection.steps.len());
    for step in &selection.steps {
        let mut hasher = SipHasher13::new();
        let above = step.parent.and_then(|id| hashes.get(id.index()).copied());
        hasher.write_u64(above.unwrap_or_default());
        write(&mut hasher, Some(&step.name));
        let (file, build_id) = origin(recording, step.source);
        write(&mut hasher, file);
        write(&mut hasher, build_id);
        hashes.push(hasher.finish());
    }
    hashes
}

/// Source file and build id of what stands in a stack.
#[must_use]
pub fn origin(recording: &Recording, source: Source) -> (Option<&Text>, Option<&Text>) {
    let Source::Frame(id) = source else { return (None, None) };
    let frame = recording.frame(id);
    let module = frame.module.map(|module| recording.module(module));
    (frame.file.as_ref(), module.and_then(|module| module.build_id.as_ref()))
}

/// A text with its length, so that two texts are not one.
fn write(hasher: &mut SipHasher13, text: Option<&Text>) {
    match text {
        Some(text) => {
            hasher.write_u64(text.len() as u64 + 1);
            hasher.write(text.as_bytes());
        }
        None => hasher.write_u64(0),
    }
}
