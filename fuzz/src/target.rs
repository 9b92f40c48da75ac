//! One reader under attack.

use std::fs;
use std::io::{self, Read as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use culprit_exchange::{Format, read_bytes};
use culprit_model::Label as _;

use crate::mutate::{Random, damaged};

/// A format's reader with the files that it is fed with, damaged.
pub(crate) struct Target {
    format: Format,
    seeds: Vec<Vec<u8>>,
    random: Random,
    tried: u64,
}

impl Target {
    pub(crate) fn new(format: Format, seed: u64) -> io::Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let fixtures = root.join("../crates/exchange/tests/fixtures").join(format.word());
        let mut seeds = files(&fixtures)?;
        seeds.extend(files(&crashes(format))?);
        // Damage to a packed file is found by its checksum; the reader behind that is meant.
        let unpacked: Vec<_> = seeds.iter().filter_map(|file| unpacked(file)).collect();
        seeds.extend(unpacked);
        if seeds.is_empty() {
            seeds.push(Vec::new());
        }
        Ok(Self { format, seeds, random: Random::new(seed), tried: 0 })
    }

    /// Reads one more damaged file; gives it back if the reader panicked.
    pub(crate) fn step(&mut self) -> Option<Vec<u8>> {
        self.tried += 1;
        let (file, other) =
            (self.random.below(self.seeds.len()), self.random.below(self.seeds.len()));
        let bytes = damaged(&self.seeds[file], &self.seeds[other], &mut self.random);
        (!survives(self.format, &bytes)).then_some(bytes)
    }

    /// How many files were read.
    pub(crate) fn tried(&self) -> u64 {
        self.tried
    }

    /// Keeps a file that made the reader panic.
    pub(crate) fn keep(&self, crash: &[u8]) -> io::Result<PathBuf> {
        let folder = crashes(self.format);
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("crash-{}", self.tried));
        fs::write(&path, crash)?;
        Ok(path)
    }
}

/// Whether reading these bytes ends without a panic, in rows that are in order.
pub(crate) fn survives(format: Format, bytes: &[u8]) -> bool {
    let read = catch_unwind(AssertUnwindSafe(|| read_bytes("fuzz", bytes.to_vec(), Some(format))));
    let Ok(read) = read else { return false };
    let Ok(imported) = read else { return true };
    let recording = imported.recording;
    recording.costs.is_sorted_by_key(|cost| (cost.thread, cost.time))
        && recording.costs.iter().all(|cost| {
            cost.stack.is_none_or(|stack| stack.index() < recording.stacks.len())
                && cost.thread.is_none_or(|thread| thread.index() < recording.threads.len())
        })
        && recording.activity_edges.is_sorted_by_key(|edge| edge.time)
        && recording.activity_edges.iter().all(|edge| edge.thread.index() < recording.threads.len())
        && recording.stacks.iter().enumerate().all(|(at, stack)| {
            stack.parent.is_none_or(|parent| parent.index() < at)
                && stack.frame.index() < recording.frames.len()
        })
}

fn crashes(format: Format) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crashes").join(format.word())
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
        for format in Format::ALL.iter().filter(|format| format.can_read()) {
            let mut target = Target::new(*format, 42).expect("fixtures");
            for _ in 0..SHORT {
                let crash = target.step();
                assert!(
                    crash.is_none(),
                    "{format}: {:?}",
                    String::from_utf8_lossy(&crash.unwrap())
                );
            }
        }
    }

    #[test]
    fn what_once_made_a_reader_panic_does_not_any_more() {
        for format in Format::ALL {
            for crash in files(&crashes(*format)).expect("crashes") {
                assert!(survives(*format, &crash), "{format}");
            }
        }
    }
}
