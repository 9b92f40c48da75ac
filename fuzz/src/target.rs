//! One reader under attack.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::mutate::{Random, damaged};
use crate::subject::Subject;

/// A reader with the files that it is fed with, damaged.
pub(crate) struct Target {
    subject: Subject,
    seeds: Vec<Vec<u8>>,
    random: Random,
    tried: u64,
}

impl Target {
    pub(crate) fn new(subject: Subject, seed: u64) -> io::Result<Self> {
        let mut seeds = files(&subject.seeds())?;
        seeds.extend(files(&crashes(&subject))?);
        // Damage to a packed file is found by its checksum; the reader behind that is meant.
        let unpacked: Vec<_> = seeds.iter().filter_map(|file| unpacked(file)).collect();
        seeds.extend(unpacked);
        if seeds.is_empty() {
            seeds.push(Vec::new());
        }
        Ok(Self { subject, seeds, random: Random::new(seed), tried: 0 })
    }

    /// Reads one more damaged file; gives it back if the reader panicked.
    pub(crate) fn step(&mut self) -> Option<Vec<u8>> {
        self.tried += 1;
        let (file, other) =
            (self.random.below(self.seeds.len()), self.random.below(self.seeds.len()));
        let bytes = damaged(&self.seeds[file], &self.seeds[other], &mut self.random);
        (!self.subject.survives(&bytes)).then_some(bytes)
    }

    /// How many files were read.
    pub(crate) fn tried(&self) -> u64 {
        self.tried
    }

    /// Keeps a file that made the reader panic.
    pub(crate) fn keep(&self, crash: &[u8]) -> io::Result<PathBuf> {
        let folder = crashes(&self.subject);
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("crash-{}", self.tried));
        fs::write(&path, crash)?;
        Ok(path)
    }
}

fn crashes(subject: &Subject) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crashes").join(subject.word())
}

/// The files of a folder by name; none where there is no folder.
fn files(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    paths.iter().map(fs::read).collect()
}

fn unpacked(file: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.starts_with(&[0x1f, 0x8b])
        .then(|| flate2::read::GzDecoder::new(file).read_to_end(&mut bytes))?
        .ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files tried of each format in each test run.
    const SHORT: u32 = 300;

    #[test]
    fn a_short_run_finds_nothing() {
        for subject in Subject::all() {
            let word = subject.word();
            let mut target = Target::new(subject, 42).expect("fixtures");
            for _ in 0..SHORT {
                let crash = target.step();
                assert!(crash.is_none(), "{word}: {:?}", String::from_utf8_lossy(&crash.unwrap()));
            }
        }
    }

    #[test]
    fn every_reader_begins_with_a_whole_file() {
        for subject in Subject::all() {
            let seeds = files(&subject.seeds()).expect("seeds");
            assert!(!seeds.is_empty(), "no file in {}", subject.seeds().display());
        }
    }

    #[test]
    fn what_once_made_a_reader_panic_does_not_any_more() {
        for subject in Subject::all() {
            for crash in files(&crashes(&subject)).expect("crashes") {
                assert!(subject.survives(&crash), "{}", subject.word());
            }
        }
    }
}
