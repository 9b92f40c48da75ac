//! Writes a finished file.

use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use culprit_model::{
    Cost, Counter, Fault, Frame, Interval, Loss, Mapping, Mark, Module, Observation, Process,
    Recording, Row, Sample, Stack, Switch, Thread, Wakeup,
};
use tempfile::NamedTempFile;

use crate::disk::{META, meta_to_json};
use crate::error::Error;
use crate::table::{Docs, encode};
use crate::zip::{DirectoryWriter, local_header};

/// What a new file may be, before the user's umask: read and write for all, as `open` does.
const MODE: u32 = 0o666;

/// Writes a recording as a finished file. It replaces what stands at `path`, such as the spool
/// that it was made from, only when it is whole: the bytes go to a temporary file beside it, which
/// is then renamed, and removed when anything fails.
///
/// The same recording gives the same bytes. Not forced to the disk's surface (no `fsync`): after a
/// power cut the file may be damaged, and [`crate::open`] then says so.
///
/// Cost: about 0.3 us a row of `intervals`.
///
/// # Errors
/// [`Error::DiskFull`] and [`Error::Io`] when the file cannot be written, [`Error::Encode`] for a
/// table with 2^32 rows or more. What stood at `path` is then untouched.
pub fn write(path: impl AsRef<Path>, recording: &Recording) -> Result<(), Error> {
    let path = path.as_ref();
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::Builder::new()
        .prefix(".culprit-")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(folder)
        .map_err(|source| Error::io("create a temporary file beside", path, source))?;
    let mut archive = Archive { path, file, end: 0, directory: DirectoryWriter::default() };
    let meta = meta_to_json(&recording.meta)
        .map_err(|e| Error::Meta { path: path.to_owned(), why: e.to_string() })?;
    archive.entry(META, &meta)?;
    archive.tables(recording)?;
    archive.finish()
}

/// The name of a table's entry in a finished file.
pub(crate) fn table_entry(table: &str) -> String {
    format!("{table}.parquet")
}

/// A zip archive under way.
struct Archive<'a> {
    path: &'a Path,
    file: NamedTempFile<File>,
    end: u64,
    directory: DirectoryWriter,
}

impl Archive<'_> {
    /// Every table, those that others point into first: a file cut short keeps what its whole
    /// tables point to.
    fn tables(&mut self, recording: &Recording) -> Result<(), Error> {
        let Recording {
            meta: _,
            processes,
            threads,
            modules,
            frames,
            stacks,
            switches,
            samples,
            intervals,
            wakeups,
            faults,
            mappings,
            marks,
            counters,
            observations,
            costs,
            losses,
        } = recording;
        self.table::<Process>(processes)?;
        self.table::<Thread>(threads)?;
        self.table::<Module>(modules)?;
        self.table::<Frame>(frames)?;
        self.table::<Stack>(stacks)?;
        self.table::<Loss>(losses)?;
        self.table::<Interval>(intervals)?;
        self.table::<Switch>(switches)?;
        self.table::<Sample>(samples)?;
        self.table::<Wakeup>(wakeups)?;
        self.table::<Fault>(faults)?;
        self.table::<Mapping>(mappings)?;
        self.table::<Mark>(marks)?;
        self.table::<Counter>(counters)?;
        self.table::<Observation>(observations)?;
        self.table::<Cost>(costs)
    }

    fn table<R: Row>(&mut self, rows: &[R]) -> Result<(), Error> {
        let bytes = encode(&R::TABLE, R::columns(rows), Docs::Full)?;
        self.entry(&table_entry(R::TABLE.name), &bytes)
    }

    fn entry(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let (size, crc) = (bytes.len() as u64, crc32fast::hash(bytes));
        let header = local_header(name, size, crc, None);
        self.directory.add(name, self.end, size, crc);
        self.put(&header)?;
        self.put(bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.end += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|source| Error::io("write", self.path, source))
    }

    fn finish(mut self) -> Result<(), Error> {
        let directory = std::mem::take(&mut self.directory).finish(self.end);
        self.put(&directory)?;
        let Self { path, file, .. } = self;
        let target: PathBuf = path.to_owned();
        file.persist(&target).map_err(|e| Error::io("replace", path, e.error))?;
        Ok(())
    }
}
