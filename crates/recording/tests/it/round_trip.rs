//! Write, then open: the same recording.

use culprit_model::Recording;
use culprit_recording::{open, write};

use crate::sample;

#[test]
fn what_was_written_is_what_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.culprit");
    for recording in [Recording::default(), sample::recording(0), sample::recording(5000)] {
        write(&path, &recording).unwrap();
        let opened = open(&path).unwrap();
        assert_eq!(opened.recording, recording);
        assert!(opened.unfinished.is_none());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file stays");
}

#[test]
fn the_same_recording_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    let recording = sample::recording(100);
    write(&a, &recording).unwrap();
    write(&b, &recording).unwrap();
    assert_eq!(std::fs::read(a).unwrap(), std::fs::read(b).unwrap());
}
