//! The packs of `corpus/`: `.tar.zst` files, so that what recordings share is stored once and any `tar`
//! reads them.
//!
//! Used twice: by the replay, and by `make corpus` (`tests/it/corpus.rs`), which includes this file by
//! its path.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

/// Files of a pack, by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Recordings of one group share much over long distances: the whole group is one window.
const WINDOW_LOG: u32 = 27;
/// How names of packs end.
pub(crate) const SUFFIX: &str = ".tar.zst";
/// The level from which on zstd gets slow; a pack is written once and read often.
const LEVEL: i32 = 19;

/// The folder of kept recordings.
pub(crate) fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// Reads a pack; none of a pack that is not there.
pub(crate) fn read(path: &Path) -> Files {
    let Ok(packed) = File::open(path) else { return Files::new() };
    let mut decoder = zstd::Decoder::new(packed).expect("a zstd decoder");
    decoder.window_log_max(WINDOW_LOG).expect("a window");
    let files = unpacked(tar::Archive::new(decoder));
    files.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn unpacked(mut archive: tar::Archive<impl Read>) -> io::Result<Files> {
    let mut files = Files::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        files.insert(name, content);
    }
    Ok(files)
}

/// Writes the files of a pack into a folder.
pub(crate) fn unpack(files: &Files, folder: &Path) {
    for (name, content) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, content).expect("a file");
    }
}

/// Writes a pack. The same files give the same bytes.
pub(crate) fn write(path: &Path, files: &Files) {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in files {
        // An ordinary file without an owner and a time.
        let mut header = tar::Header::new_ustar();
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, name, content.as_slice()).expect("a name for tar");
    }
    let tar = archive.into_inner().expect("in memory");
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL).expect("a zstd encoder");
    encoder.long_distance_matching(true).expect("long distances");
    encoder.window_log(WINDOW_LOG).expect("a window");
    encoder.set_pledged_src_size(Some(tar.len() as u64)).expect("a size");
    encoder.write_all(&tar).expect("packed");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, encoder.finish().expect("packed")).expect("a pack");
}

#[test]
fn what_is_packed_is_unpacked() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x").join(format!("y{SUFFIX}"));
    assert!(read(&path).is_empty());
    let file = |name: &str, length: usize| (name.to_owned(), vec![7; length]);
    let files = Files::from([file("a", 0), file("b/c.culprit", 512), file("b/d", 5 * 512 + 1)]);
    write(&path, &files);
    let first = std::fs::read(&path).expect("a pack");
    assert_eq!(read(&path), files);
    write(&path, &files);
    assert_eq!(std::fs::read(&path).expect("a pack"), first);
    unpack(&files, folder.path());
    assert_eq!(std::fs::read(folder.path().join("b/d")).expect("a file").len(), 5 * 512 + 1);
}
