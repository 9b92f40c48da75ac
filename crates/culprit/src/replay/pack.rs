//! The packs of `corpus/`: `.tar.zst` files, so that what recordings share is stored once and any `tar`
//! reads them.
//!
//! Used twice: by the replay, and by `make corpus` (`tests/it/corpus.rs`), which includes this file by
//! its path.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Files of a pack, by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// The unit of a tar file (POSIX `pax`, ustar interchange format).
const BLOCK: usize = 512;
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
    let Ok(packed) = std::fs::File::open(path) else { return Files::new() };
    let mut decoder = zstd::Decoder::new(packed).expect("a zstd decoder");
    decoder.window_log_max(WINDOW_LOG).expect("a window");
    let mut tar = Vec::new();
    let unpacked = decoder.read_to_end(&mut tar);
    unpacked.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut files = Files::new();
    let mut rest = tar.as_slice();
    while let Some((head, content)) = rest.split_at_checked(BLOCK) {
        let text = |from: usize, length: usize| {
            let field = head[from..from + length].split(|byte| *byte == 0).next();
            String::from_utf8(field.unwrap_or_default().to_vec()).expect("a name in UTF-8")
        };
        let name = text(0, 100);
        if name.is_empty() {
            break;
        }
        let size = usize::from_str_radix(text(124, 12).trim(), 8).expect("a size");
        files.insert(name, content[..size].to_vec());
        rest = &content[size.next_multiple_of(BLOCK)..];
    }
    files
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
    let mut tar = Vec::new();
    for (name, content) in files {
        tar.extend(header(name, content.len()));
        tar.extend(content);
        tar.resize(tar.len().next_multiple_of(BLOCK), 0);
    }
    tar.resize(tar.len() + 2 * BLOCK, 0);
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL).expect("a zstd encoder");
    encoder.long_distance_matching(true).expect("long distances");
    encoder.window_log(WINDOW_LOG).expect("a window");
    encoder.set_pledged_src_size(Some(tar.len() as u64)).expect("a size");
    encoder.write_all(&tar).expect("packed");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, encoder.finish().expect("packed")).expect("a pack");
}

/// Of an ordinary file without an owner and a time.
fn header(name: &str, size: usize) -> [u8; BLOCK] {
    assert!(name.len() < 100, "{name} is too long a name");
    let mut header = [0; BLOCK];
    let mut put =
        |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644");
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{size:011o}"));
    put(136, "00000000000");
    put(148, "        ");
    put(156, "0");
    put(257, "ustar");
    put(263, "00");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    let sum = format!("{sum:06o}\0 ");
    header[148..156].copy_from_slice(sum.as_bytes());
    header
}

#[test]
fn what_is_packed_is_unpacked() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x").join(format!("y{SUFFIX}"));
    assert!(read(&path).is_empty());
    let file = |name: &str, length: usize| (name.to_owned(), vec![7; length]);
    let files = Files::from([file("a", 0), file("b/c.culprit", BLOCK), file("b/d", 5 * BLOCK + 1)]);
    write(&path, &files);
    assert_eq!(read(&path), files);
    unpack(&files, folder.path());
    assert_eq!(std::fs::read(folder.path().join("b/d")).expect("a file").len(), 5 * BLOCK + 1);
}
