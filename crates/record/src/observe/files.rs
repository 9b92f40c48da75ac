//! Files that observed processes opened or looked for.

use std::collections::BTreeMap;

use super::facts::FileUse;
use super::program::{CLOSE, OPENS, file};

/// Uses of files of one process, while they happen.
#[derive(Debug, Default)]
pub(super) struct Files {
    uses: BTreeMap<String, FileUse>,
    /// Which path a descriptor was opened with.
    open: BTreeMap<i32, String>,
}

/// A record of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileRecord {
    call: i32,
    result: i64,
    descriptor: i32,
    bytes: u64,
    path: String,
}

/// A word of a record.
pub(super) fn word(record: &[u8], at: i16) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    Some(u64::from_le_bytes(*record.get(at..)?.first_chunk()?))
}

impl FileRecord {
    /// Reads a record of the ring.
    pub(super) fn parse(record: &[u8]) -> Option<Self> {
        let path = record.get(usize::try_from(file::PATH).ok()?..)?;
        let path = path.split(|byte| *byte == 0).next()?;
        let low = |word: u64| i32::try_from(word & 0x7fff_ffff).unwrap_or(-1);
        Some(Self {
            call: low(word(record, file::CALL)?),
            result: i64::from_le_bytes(word(record, file::RESULT)?.to_le_bytes()),
            descriptor: low(word(record, file::FOLDER)?),
            bytes: word(record, file::BYTES)?,
            path: String::from_utf8_lossy(path).into_owned(),
        })
    }
}

impl Files {
    /// Takes a record in.
    pub(super) fn add(&mut self, record: FileRecord) {
        if record.call == CLOSE {
            if let Some(path) = self.open.remove(&record.descriptor) {
                self.count(&path, record.bytes);
            }
            return;
        }
        if record.path.is_empty() {
            return;
        }
        let opens = OPENS.contains(&record.call);
        let used = self.uses.entry(record.path.clone()).or_default();
        match record.result {
            0.. if opens => used.opened += 1,
            0.. => {}
            missing
                if missing == -i64::from(libc::ENOENT) || missing == -i64::from(libc::ENOTDIR) =>
            {
                used.missing += 1;
            }
            _ => used.refused += 1,
        }
        if let Some(descriptor) = i32::try_from(record.result).ok().filter(|at| opens && *at >= 0) {
            self.open.insert(descriptor, record.path);
        }
    }

    /// Adds bytes that were read from a descriptor that is still open.
    pub(super) fn read(&mut self, descriptor: i32, bytes: u64) {
        if let Some(path) = self.open.get(&descriptor).cloned() {
            self.count(&path, bytes);
        }
    }

    fn count(&mut self, path: &str, bytes: u64) {
        if let Some(used) = self.uses.get_mut(path) {
            used.bytes_read += bytes;
        }
    }

    /// All uses, ordered by path.
    pub(super) fn finish(self) -> Vec<FileUse> {
        self.uses.into_iter().map(|(path, used)| FileUse { path, ..used }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(call: i32, result: i64, descriptor: i32, path: &str) -> FileRecord {
        FileRecord { call, result, descriptor, bytes: 0, path: path.to_owned() }
    }

    #[test]
    fn bytes_go_to_the_file_that_the_descriptor_was_opened_with() {
        let mut files = Files::default();
        files.add(record(257, -2, 0, "a.toml"));
        files.add(record(257, 5, 0, "b.toml"));
        files.add(FileRecord { bytes: 70, ..record(CLOSE, 0, 5, "") });
        files.add(record(2, 5, 0, "c.toml"));
        files.read(5, 30);
        files.add(record(262, -13, 0, "d.toml"));
        let found = files.finish();
        let rows: Vec<_> = found
            .iter()
            .map(|used| {
                (used.path.as_str(), used.opened, used.missing, used.refused, used.bytes_read)
            })
            .collect();
        let expected = [
            ("a.toml", 0, 1, 0, 0),
            ("b.toml", 1, 0, 0, 70),
            ("c.toml", 1, 0, 0, 30),
            ("d.toml", 0, 0, 1, 0),
        ];
        assert_eq!(rows, expected);
    }
}
