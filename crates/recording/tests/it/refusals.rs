//! Files that are no recording, newer ones, and disks without room: the message says it.

use std::path::Path;
use std::process::Command;

use culprit_model::{LossKind, Switch};
use culprit_recording::{Error, Kind, SpoolOptions, SpoolWriter, open, parse, write};

use crate::sample;

fn message(bytes: &[u8]) -> String {
    parse("x", bytes.to_vec()).unwrap_err().to_string()
}

#[test]
fn other_files_are_named_for_what_they_are() {
    for (bytes, expected) in [
        (&b""[..], "`x` is not a recording: it is empty"),
        (
            b"PERFILE2\0\0",
            "`x` is not a recording: it is a file of `perf record`; import it with `culprit \
             import`",
        ),
        (b"\x7fELF\x02\x01", "`x` is not a recording: it is a program or library (ELF)"),
        (b"main;f 12\n", "`x` is not a recording: it is a text file"),
        (b"\x00\x01\x02\x03", "`x` is not a recording: it is in an unknown format"),
        (
            b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            "`x` is not a recording: it is a zip archive without `meta.json`",
        ),
    ] {
        assert_eq!(message(bytes), expected);
    }
    let folder = open(std::env::temp_dir()).unwrap_err();
    assert!(matches!(folder, Error::NotRecording { found: Kind::Folder, .. }), "{folder}");
    let device = open("/dev/null").unwrap_err();
    assert!(matches!(device, Error::NotRecording { found: Kind::Special, .. }), "{device}");
    let nothing = open("/nonexistent/a.culprit").unwrap_err().to_string();
    assert!(nothing.starts_with("cannot open `/nonexistent/a.culprit`: No such file"), "{nothing}");
}

#[test]
fn a_newer_format_says_which_version_wrote_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.culprit");
    write(&path, &sample::recording(0)).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    // A file of a later version, made by hand: the entry grows by one digit a number.
    let newer = rezip(&bytes, &[("meta.json", br#"{"schema":99,"tool":"7.5","future":[{}]}"#)]);
    assert_eq!(
        message(&newer),
        "cannot read `x`: version 7.5 wrote it in format 99, and this version reads formats up to 1"
    );
    let broken = rezip(&bytes, &[("meta.json", b"{")]);
    assert!(message(&broken).starts_with("cannot read `meta.json` in `x`: "));
}

/// A zip with these stored entries, as another program would make it (no directory needed).
fn rezip(_original: &[u8], entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, data) in entries {
        let size = u32::try_from(data.len()).unwrap().to_le_bytes();
        out.extend(b"PK\x03\x04\x0a\0\0\0\0\0\0\0\x21\0");
        out.extend(crc32fast::hash(data).to_le_bytes());
        out.extend(size);
        out.extend(size);
        out.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        out.extend([0, 0]);
        out.extend(name.as_bytes());
        out.extend(*data);
    }
    out
}

#[test]
fn nothing_is_left_behind_when_writing_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing").join("a.culprit");
    let error = write(&path, &sample::recording(0)).unwrap_err().to_string();
    assert!(error.starts_with("cannot create a temporary file beside"), "{error}");
    std::fs::create_dir_all(folder.path().join("b.culprit")).unwrap();
    let error = write(folder.path().join("b.culprit"), &sample::recording(0)).unwrap_err();
    assert!(matches!(error, Error::Io { doing: "replace", .. }), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A small tmpfs, unmounted when it goes.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    #[expect(clippy::disallowed_methods, reason = "a test of a full disk has to mount one")]
    fn mount(at: &'a Path) -> Result<Self, String> {
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"])
            .arg(at)
            .output()
            .map_err(|e| e.to_string())?;
        match done.status.success() {
            true => Ok(Self(at)),
            false => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
        }
    }
}

impl Drop for SmallDisk<'_> {
    #[expect(clippy::disallowed_methods, reason = "what was mounted is unmounted")]
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.0).status().ok();
    }
}

#[test]
fn a_full_disk_is_said_and_leaves_the_earlier_parts_whole() {
    let folder = tempfile::tempdir().unwrap();
    let _disk = match SmallDisk::mount(folder.path()) {
        Ok(disk) => disk,
        Err(why) => {
            println!("skipped: full disk: the right to mount a tmpfs ({why})");
            return;
        }
    };
    let path = folder.path().join("a.culprit");
    let mut spool = SpoolWriter::create(&path, &sample::meta(), SpoolOptions::default()).unwrap();
    spool.replace(&sample::recording(0).processes).unwrap();
    spool.replace(&sample::recording(0).threads).unwrap();
    let mut whole = 0;
    let error = loop {
        let rows: Vec<Switch> = (whole * 5000..whole * 5000 + 5000).map(sample::switch).collect();
        match spool.append_events(&rows) {
            Ok(()) => whole += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert!(whole > 2);
    // What fits still goes behind the last whole part.
    let small = spool.append_events(&[sample::switch(whole * 5000)]).is_ok();
    let error = write(&path, &sample::recording(100_000)).unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    spool.note_stop("the disk was full").unwrap();
    let opened = open(&path).unwrap();
    let losses = &opened.recording.losses;
    let full: Vec<_> = losses.iter().filter(|loss| loss.kind == LossKind::DiskFull).collect();
    assert_eq!((full.len(), &*full[0].detail), (1, "the disk was full"));
    assert!(!losses.iter().any(|loss| loss.kind == LossKind::RecorderKilled), "{losses:?}");
    assert_eq!(opened.recording.switches.len(), whole as usize * 5000 + usize::from(small));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file stays");
}
