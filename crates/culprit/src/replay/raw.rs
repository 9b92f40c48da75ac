//! From the rows as they were recorded (`culprit record --raw`) to a recording, as the recorder itself
//! does it at its end: so that a change of the engine shows in the replay, too.
//!
//! Used twice: by the replay in this crate, and by `tests/it/snapshots.rs`, which includes this file by its path.

use culprit_model::{Recording, Time};

/// The recording that the rows of a packed file come down to.
pub(crate) fn build(name: &str, bytes: Vec<u8>) -> Recording {
    let opened = culprit_recording::parse(name, bytes);
    let mut recording = opened.unwrap_or_else(|error| panic!("{name}: {error}")).recording;
    // An imported file or one that was kept whole has its intervals.
    if recording.intervals.is_empty() {
        let (from, to) = span(&recording);
        culprit_engine::threads::build(&mut recording);
        culprit_engine::cut(&mut recording, from, to);
    }
    recording
}

/// What the recording is about: from its command's start to the end of the last of its processes.
fn span(recording: &Recording) -> (Time, Time) {
    let (from, end) = recording.meta.command_span.expect("a recording of a command");
    let mut last = Some(Time::START);
    for process in recording.processes.iter().filter(|process| process.recorded) {
        last = last.zip(process.end).map(|(last, end)| last.max(end));
    }
    (from, last.filter(|last| *last > Time::START).unwrap_or(end))
}
