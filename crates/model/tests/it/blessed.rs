//! Files that tests write and hold against what is stored: generated documents, rows of questions,
//! fixtures. `make bless` stores what the code says now.
//!
//! This is no module of this folder: the tests of each crate that has such files include it by its
//! path, because a crate for it would be one more arrow.

use std::path::Path;

/// Holds a file against what a test wrote; with `CULPRIT_BLESS=1` it is stored first.
///
/// # Panics
/// When the two differ, with the first line from which on they do.
pub(crate) fn blessed(path: &Path, written: &[u8]) {
    if std::env::var_os("CULPRIT_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, written).expect("a file that may be written");
    }
    let stored = std::fs::read(path).unwrap_or_default();
    let line = |text: &[u8], at: usize| {
        let line = text.split(|byte| *byte == b'\n').nth(at).unwrap_or_default();
        String::from_utf8_lossy(line).into_owned()
    };
    let same = written.iter().zip(&stored).take_while(|(new, old)| new == old);
    let at = same.filter(|(new, _)| **new == b'\n').count();
    assert!(
        stored == written,
        "{}: written anew it differs from line {} on; `make bless` stores it\nstored: {}\nwritten: {}",
        path.display(),
        at + 1,
        line(&stored, at),
        line(written, at),
    );
}
