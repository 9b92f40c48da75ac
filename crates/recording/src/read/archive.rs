//! Which entries a file has, whether it has a directory or not.

use std::collections::BTreeSet;
use std::io;

use bytes::Bytes;

use crate::disk::{META, parse_stopped, table_entry};
use crate::spool::{Folder, META_LATEST, PartName, scan};
use crate::zip::{Entry, Note, Source, read_directory};

/// A file's entries.
#[derive(Debug)]
pub(crate) struct Archive {
    source: Source,
    entries: Vec<Entry>,
    /// True when the directory at the end is there, so that the file was finished.
    pub(crate) finished: bool,
    /// True when the last entry is not whole.
    pub(crate) cut: bool,
    /// Bytes that belong to no entry.
    pub(crate) garbage: u64,
}

/// One Parquet file of a table.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    entry: &'a Entry,
    /// Its name in a spool; none for a table of a finished file.
    pub(crate) part: Option<PartName>,
}

impl Piece<'_> {
    /// The entry's name.
    pub(crate) fn name(&self) -> &str {
        &self.entry.name
    }
}

impl Archive {
    /// Finds the entries.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn find(source: Source) -> io::Result<Self> {
        if let Some(entries) = read_directory(&source)? {
            return Ok(Self { source, entries, finished: true, cut: false, garbage: 0 });
        }
        let found = scan(&source)?;
        Ok(Self {
            source,
            entries: found.entries,
            finished: false,
            cut: found.cut,
            garbage: found.garbage,
        })
    }

    /// True when entries are there that some tool packed so that they cannot be read in place.
    pub(crate) fn is_compressed(&self) -> bool {
        self.entries.iter().any(|entry| !entry.stored)
    }

    /// The entries of `meta.json`, the newest first.
    pub(crate) fn metas(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().rev().filter(|entry| match PartName::parse(&entry.name) {
            Some(part) => {
                part.folder == Folder::Latest && part.table == META_LATEST && !is_released(entry)
            }
            None => entry.name == META,
        })
    }

    /// True for a spool: its recorder still runs, or was killed. A finished file whose end is
    /// missing is none.
    pub(crate) fn unfinished(&self) -> bool {
        !self.finished && self.entries.iter().any(|entry| entry.note.is_some())
    }

    /// Why the recorder of an unfinished file could not go on, where it could say so.
    pub(crate) fn stopped(&self) -> Option<String> {
        let newest = self.metas().find_map(|entry| self.read(entry).ok())?;
        parse_stopped(&newest)
    }

    /// True while the recorder of an unfinished file still lives.
    pub(crate) fn is_live(&self) -> bool {
        self.source.is_locked()
    }

    /// The Parquet files of a table in file order, from the newest `latest/` on.
    pub(crate) fn pieces(&self, table: &str) -> Vec<Piece<'_>> {
        let whole = table_entry(table);
        let mut pieces = Vec::new();
        for entry in self.entries.iter().filter(|entry| !is_released(entry)) {
            let part = PartName::parse(&entry.name).filter(|part| part.table == table);
            match part {
                None if entry.name != whole || !pieces.is_empty() => {}
                None => pieces.push(Piece { entry, part: None }),
                // Only a whole one supersedes what came before it.
                Some(part) if part.folder == Folder::Latest && self.read(entry).is_ok() => {
                    pieces = vec![Piece { entry, part: Some(part) }];
                }
                Some(part) => pieces.push(Piece { entry, part: Some(part) }),
            }
        }
        pieces
    }

    /// The names of the tables that have parts, sorted.
    pub(crate) fn part_tables(&self) -> Vec<&str> {
        let names: BTreeSet<&str> = self
            .entries
            .iter()
            .filter(|entry| !is_released(entry))
            .filter_map(|entry| entry.name.split_once('/')?.1.split('.').next())
            .filter(|table| *table != META_LATEST)
            .collect();
        names.into_iter().collect()
    }

    /// The notes of all parts, and whether each has been released.
    pub(crate) fn notes(&self) -> impl Iterator<Item = Note> {
        self.entries.iter().filter_map(|entry| entry.note)
    }

    /// The bytes of an entry, or why they are not what was written.
    pub(crate) fn read(&self, entry: &Entry) -> Result<Bytes, String> {
        let bytes = self
            .source
            .read(entry.data.start, entry.data.end - entry.data.start)
            .map_err(|e| e.to_string())?;
        match crc32fast::hash(&bytes) {
            crc if crc == entry.crc => Ok(bytes),
            crc => Err(format!("its checksum is {crc:08x} instead of {:08x}", entry.crc)),
        }
    }

    /// The bytes of a piece.
    pub(crate) fn read_piece(&self, piece: &Piece<'_>) -> Result<Bytes, String> {
        self.read(piece.entry)
    }
}

fn is_released(entry: &Entry) -> bool {
    entry.note.is_some_and(|note| note.released)
}
