//! Files with the same content: one of them is read. A copy of a log, plain or compressed, has no
//! visit of its own, and its requests would count twice.

use std::collections::BTreeMap;
use std::hash::Hasher as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use twox_hash::XxHash64;

use super::plan::PlannedSource;
use super::source::{CHUNK, open, read_failed};
use crate::error::Error;
use crate::store::ReadFile;

/// A file that is not read, because another one has the same content.
#[derive(Debug)]
pub(crate) struct FileCopy {
    pub(crate) path: PathBuf,
    /// The file that is read.
    of: PathBuf,
    /// The file when the import began.
    pub(crate) file: ReadFile,
}

impl FileCopy {
    /// What the reader must know.
    pub(super) fn warning(&self) -> String {
        format!(
            "`{}` was left out: its content is that of `{}`",
            self.path.display(),
            self.of.display()
        )
    }
}

/// Takes copies out of the sources. Only files that begin alike are read whole.
///
/// # Errors
/// When a file cannot be read.
pub(super) fn take_copies(sources: &mut Vec<PlannedSource>) -> Result<Vec<FileCopy>, Error> {
    let mut alike: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let nothing = XxHash64::oneshot(0, b"");
    // Empty files are alike, and add nothing.
    for (at, source) in sources.iter().enumerate().filter(|(_, source)| source.head != nothing) {
        alike.entry(source.head).or_default().push(at);
    }
    let mut copies: BTreeMap<usize, usize> = BTreeMap::new();
    for group in alike.values().filter(|group| group.len() > 1) {
        let mut first: BTreeMap<u64, usize> = BTreeMap::new();
        for at in group {
            let of = *first.entry(digest(&sources[*at].path)?).or_insert(*at);
            if of != *at {
                copies.insert(*at, of);
            }
        }
    }
    let found = copies.iter().map(|(at, of)| FileCopy {
        path: sources[*at].path.clone(),
        of: sources[*of].path.clone(),
        file: sources[*at].file,
    });
    let found = found.collect();
    let mut at = 0;
    sources.retain(|_| {
        at += 1;
        !copies.contains_key(&(at - 1))
    });
    Ok(found)
}

/// Hash of a file's content, decompressed.
fn digest(path: &Path) -> Result<u64, Error> {
    let (mut reader, mut hash, mut buffer) = (open(path)?, XxHash64::with_seed(0), vec![0; CHUNK]);
    loop {
        let read = reader.read(&mut buffer).map_err(|error| read_failed(path, error))?;
        if read == 0 {
            return Ok(hash.finish());
        }
        hash.write(&buffer[..read]);
    }
}
