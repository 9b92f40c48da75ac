//! A file of each format version opens.
//!
//! `fixtures/format-N.culprit` is [`sample::recording`] with three intervals a thread as the first
//! release of format N wrote it. The newest is made by
//! `CULPRIT_BLESS=1 cargo test -p culprit-recording` when it is not there; older ones never change.

use std::path::Path;

use culprit_recording::{SCHEMA, open, write};

use crate::sample;

#[test]
#[expect(clippy::disallowed_methods, reason = "the switch that makes a missing fixture")]
fn a_file_of_every_format_opens() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let newest = folder.join(format!("format-{SCHEMA}.culprit"));
    if !newest.exists() && std::env::var("CULPRIT_BLESS").is_ok_and(|value| value == "1") {
        std::fs::create_dir_all(&folder).unwrap();
        write(&newest, &sample::recording(3)).unwrap();
    }
    let mut written = sample::recording(3);
    // Files have room for these since later releases of the first format.
    written.meta.configuration = None;
    written.meta.later_frequency = 0;
    for schema in 1..=SCHEMA {
        let path = folder.join(format!("format-{schema}.culprit"));
        assert_eq!(open(&path).unwrap().recording, written, "{}", path.display());
    }
}
