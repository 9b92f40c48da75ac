//! Appends parts to a spool, and releases the oldest events at the size bound.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use culprit_model::{ColumnData, Meta, Row, Table, Values};
use rustix::fs::{FallocateFlags, fallocate};

use crate::disk::{META, meta_to_json, stopped_to_json};
use crate::error::Error;
use crate::spool::names::{Folder, META_LATEST, PartName};
use crate::spool::released::{Released, Run};
use crate::table::{Form, encode};
use crate::zip::{Note, local_header};

/// How a spool keeps to a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpoolOptions {
    /// Bytes that the parts appended as events may take up together; none for no bound. The part
    /// appended last is kept even when it alone is larger.
    pub max_event_bytes: Option<u64>,
}

/// A recording file under way. Whatever a call has returned for is in the file: nothing is
/// buffered here, so a kill of the recorder loses only what it has not appended yet. (Not forced
/// to the disk's surface: a power cut may lose more.)
#[derive(Debug)]
pub struct SpoolWriter {
    path: PathBuf,
    file: File,
    end: u64,
    max_event_bytes: Option<u64>,
    /// Bytes of `events`.
    event_bytes: u64,
    /// Live event parts, oldest first.
    events: VecDeque<Part>,
    /// The live part of each `latest/` name.
    latest: BTreeMap<&'static str, Part>,
    /// Numbers given so far.
    numbers: BTreeMap<(Folder, &'static str), u64>,
    released: Released,
    newest_meta: NewestMeta,
}

/// The `meta.json` that is in force. Spaces behind it leave room for the reason why recording stops.
#[derive(Debug, Default)]
struct NewestMeta {
    meta: Meta,
    name: String,
    start: u64,
    length: usize,
}

/// Bytes of the longest reason, with its quotes and its key.
const REASON_ROOM: usize = 400;

/// An entry in the file.
#[derive(Debug, Clone)]
struct Part {
    name: PartName,
    start: u64,
    end: u64,
    note: Note,
}

impl SpoolWriter {
    /// Makes the file, or empties it, and writes `meta.json`. The file is locked (`flock`) for as
    /// long as the recorder lives, which tells a reader that it does.
    ///
    /// # Errors
    /// [`Error::Busy`] when another recorder writes it, which is then left alone; [`Error::Io`] and [`Error::DiskFull`] when it cannot be written; [`Error::Unbounded`] when
    /// a bound is wanted and the file system cannot release parts of a file.
    pub fn create(
        path: impl AsRef<Path>,
        meta: &Meta,
        options: SpoolOptions,
    ) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|source| Error::io("create", &path, source))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(Error::Busy { path }),
            // Some network file systems have no locks; recording matters more.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        file.set_len(0).map_err(|source| Error::io("empty", &path, source))?;
        let mut spool = Self {
            path,
            file,
            end: 0,
            max_event_bytes: options.max_event_bytes,
            event_bytes: 0,
            events: VecDeque::new(),
            latest: BTreeMap::new(),
            numbers: BTreeMap::new(),
            released: Released::default(),
            newest_meta: NewestMeta::default(),
        };
        let json = spool.json(meta)?;
        spool.put(META, &json, META_NOTE)?;
        spool.newest_meta =
            NewestMeta { meta: meta.clone(), name: META.to_owned(), start: 0, length: json.len() };
        if options.max_event_bytes.is_some() {
            // Past the end, so that nothing is lost by trying.
            spool
                .punch(spool.end, 1)
                .map_err(|source| Error::Unbounded { path: spool.path.clone(), source })?;
        }
        Ok(spool)
    }

    /// Appends rows that other rows point to. They are never released. A row's handle is its
    /// position among all rows of its table that were appended so.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DiskFull`] or [`Error::Encode`]. The rows are then not in the file;
    /// all earlier ones are, and appending can go on.
    pub fn append<R: Row>(&mut self, rows: &[R]) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        self.append_to::<R>(Folder::Parts, rows).map(drop)
    }

    /// Appends rows that no other row points to. At the bound, the oldest parts make room: the
    /// loss `oldest-dropped` tells the reader how many rows and which time went.
    ///
    /// # Errors
    /// As [`SpoolWriter::append`].
    pub fn append_events<R: Row>(&mut self, rows: &[R]) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let part = self.append_to::<R>(Folder::Events, rows)?;
        self.event_bytes += part.end - part.start;
        self.events.push_back(part);
        self.keep_bound()
    }

    /// Writes a whole small table anew. A reader takes the newest such part, and rows appended
    /// after it, and no earlier ones; the part before it is released.
    ///
    /// # Errors
    /// As [`SpoolWriter::append`]; the part before it is then still in force.
    pub fn replace<R: Row>(&mut self, rows: &[R]) -> Result<(), Error> {
        let part = self.append_to::<R>(Folder::Latest, rows)?;
        self.supersede(R::TABLE.name, part)
    }

    /// Writes `meta.json` anew.
    ///
    /// # Errors
    /// As [`SpoolWriter::replace`].
    pub fn replace_meta(&mut self, meta: &Meta) -> Result<(), Error> {
        let json = self.json(meta)?;
        let part = self.put_part(Folder::Latest, META_LATEST, &json, META_NOTE)?;
        let (name, start) = (part.name.to_string(), part.start);
        self.newest_meta = NewestMeta { meta: meta.clone(), name, start, length: json.len() };
        self.supersede(META_LATEST, part)
    }

    /// Notes in the file why recording stops. It overwrites bytes that are there already: a full disk
    /// takes no more.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Meta`] when that fails, too; the file is then as a killed recorder
    /// leaves it.
    pub fn note_stop(&mut self, why: &str) -> Result<(), Error> {
        let NewestMeta { meta, name, start, length } = &self.newest_meta;
        // Each character takes at most six bytes of JSON.
        let short: String = why.chars().take(REASON_ROOM / 8).collect();
        for reason in [why, &short] {
            let mut json = stopped_to_json(meta, reason).map_err(|error| self.no_meta(&error))?;
            if json.len() > *length {
                continue;
            }
            json.resize(*length, b' ');
            let mut entry =
                local_header(name, *length as u64, crc32fast::hash(&json), Some(META_NOTE));
            entry.extend_from_slice(&json);
            let written = self.file.write_all_at(&entry, *start);
            return written.map_err(|source| Error::io("write", &self.path, source));
        }
        Ok(())
    }

    /// Bytes of the file, released ones included: its length as `ls` shows it.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.end
    }

    /// False: `meta.json` is always there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.end == 0
    }

    /// Bytes of the event parts that have not been released.
    #[must_use]
    pub fn event_bytes(&self) -> u64 {
        self.event_bytes
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn json(&self, meta: &Meta) -> Result<Vec<u8>, Error> {
        let mut json = meta_to_json(meta).map_err(|error| self.no_meta(&error))?;
        json.resize(json.len() + REASON_ROOM, b' ');
        Ok(json)
    }

    fn no_meta(&self, error: &serde_json::Error) -> Error {
        Error::Meta { path: self.path.clone(), why: error.to_string() }
    }

    fn append_to<R: Row>(&mut self, folder: Folder, rows: &[R]) -> Result<Part, Error> {
        let columns = R::columns(rows);
        let note =
            Note { released: false, rows: rows.len() as u64, span: span(&R::TABLE, &columns) };
        let bytes = encode(&R::TABLE, &columns, Form::Part)?;
        self.put_part(folder, R::TABLE.name, &bytes, note)
    }

    fn put_part(
        &mut self,
        folder: Folder,
        table: &'static str,
        bytes: &[u8],
        note: Note,
    ) -> Result<Part, Error> {
        let number = self.numbers.get(&(folder, table)).map_or(1, |n| n + 1);
        let name = PartName { folder, table: table.to_owned(), number };
        let start = self.end;
        self.put(&name.to_string(), bytes, note)?;
        self.numbers.insert((folder, table), number);
        Ok(Part { name, start, end: self.end, note })
    }

    /// Writes one entry at the end, in one go. When that fails, what was written of it is cut off
    /// again, so that the next entry follows the last whole one.
    fn put(&mut self, name: &str, bytes: &[u8], note: Note) -> Result<(), Error> {
        let mut entry = local_header(name, bytes.len() as u64, crc32fast::hash(bytes), Some(note));
        entry.extend_from_slice(bytes);
        if let Err(source) = self.file.write_all_at(&entry, self.end) {
            // If even this fails, the reader passes over the cut entry.
            self.file.set_len(self.end).ok();
            return Err(Error::io("write", &self.path, source));
        }
        self.end += entry.len() as u64;
        Ok(())
    }

    fn supersede(&mut self, table: &'static str, part: Part) -> Result<(), Error> {
        let Some(old) = self.latest.insert(table, part) else { return Ok(()) };
        // Superseded rows are not lost rows.
        let note = Note { rows: 0, span: Note::TIMELESS, ..old.note };
        self.release(&Part { note, ..old })
    }

    fn keep_bound(&mut self) -> Result<(), Error> {
        let Some(bound) = self.max_event_bytes else { return Ok(()) };
        while self.event_bytes > bound && self.events.len() > 1 {
            let Some(oldest) = self.events.pop_front() else { break };
            self.event_bytes -= oldest.end - oldest.start;
            self.release(&oldest)?;
        }
        Ok(())
    }

    /// Marks a part as released, together with released neighbours, and gives its bytes back. The
    /// mark comes first: a kill in between leaves an entry that is marked and still takes room.
    fn release(&mut self, part: &Part) -> Result<(), Error> {
        let run = self.released.add(Run {
            start: part.start,
            end: part.end,
            name: part.name.to_string(),
            note: Note { released: true, ..part.note },
        });
        // The header's length depends on the name alone, so the new one fits over the old one.
        let header_len = local_header(&run.name, 0, 0, Some(run.note)).len() as u64;
        let data = run.start + header_len;
        let header = local_header(&run.name, run.end - data, 0, Some(run.note));
        self.file
            .write_all_at(&header, run.start)
            .map_err(|source| Error::io("write", &self.path, source))?;
        match self.punch(data, run.end - data) {
            // A superseded part of a few kilobytes then just keeps its room.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
            other => other.map_err(|source| Error::io("release parts of", &self.path, source)),
        }
    }

    fn punch(&self, from: u64, length: u64) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&self.file, flags, from, length).map_err(Into::into)
    }
}

/// The note of a `meta.json`.
const META_NOTE: Note = Note { released: false, rows: 1, span: Note::TIMELESS };

/// The smallest and largest value of the table's first column of times.
fn span(table: &Table, columns: &[ColumnData]) -> (u64, u64) {
    let times = table.columns.iter().zip(columns).find_map(|(declared, column)| {
        match (&column.values, declared.nullable) {
            (Values::U64(values), false)
                if declared.unit == <culprit_model::Time as culprit_model::Cell>::UNIT =>
            {
                Some(values)
            }
            _ => None,
        }
    });
    times
        .into_iter()
        .flatten()
        .fold(Note::TIMELESS, |(first, last), time| (first.min(*time), last.max(*time)))
}
