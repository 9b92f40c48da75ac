//! Writes a finished file.

use std::fs::{DirEntry, File, Metadata, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use culprit_model::{
    Activity, ActivityEdge, ActivityWork, Cost, Counter, Fault, Frame, InterpreterStack, Interval,
    Loss, Mapping, Mark, Module, Observation, Process, Recording, Row, Sample, Stack, Switch,
    Thread, Wakeup,
};
use tempfile::NamedTempFile;

use crate::disk::{META, meta_to_json, table_entry};
use crate::error::Error;
use crate::table::{Form, encode};
use crate::zip::{DirectoryWriter, local_header};

/// What a new file may be, before the user's umask: read and write for all, as `open` does.
const MODE: u32 = 0o666;

/// What the names of temporary files begin and end with.
const TEMPORARY: (&str, &str) = (".culprit-", ".tmp");

/// A temporary file is locked within microseconds of its making; one that is not after this long
/// has no writer.
const LOCKED_AFTER: Duration = Duration::from_secs(10);

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
    write_in(path.as_ref(), recording, Form::Finished)
}

/// As [`write()`], without compression and documentation: for files that are compressed together, which
/// finds what they share.
///
/// # Errors
/// As [`write()`].
pub fn write_unpacked(path: impl AsRef<Path>, recording: &Recording) -> Result<(), Error> {
    write_in(path.as_ref(), recording, Form::Unpacked)
}

/// The bytes of a finished file with this recording.
///
/// # Errors
/// [`Error::Encode`] for a table with 2^32 rows or more.
pub fn to_bytes(recording: &Recording) -> Result<Vec<u8>, Error> {
    Archive::new(Path::new("memory"), Form::Finished, Vec::new()).whole(recording)
}

fn write_in(path: &Path, recording: &Recording, form: Form) -> Result<(), Error> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::Builder::new()
        .prefix(TEMPORARY.0)
        .suffix(TEMPORARY.1)
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(folder)
        .map_err(|source| Error::io("create a temporary file beside", path, source))?;
    // Held until the file is whole or removed, and by the kernel no longer than we live: what is
    // not locked was left by a writer that was killed.
    file.as_file().try_lock().ok();
    remove_abandoned(folder, &file);
    let file = Archive::new(path, form, file).whole(recording)?;
    file.persist(path).map_err(|e| Error::io("replace", path, e.error))?;
    Ok(())
}

/// Removes the temporary files that killed writers have left in a folder. What cannot be looked at
/// or removed stays for the next one.
fn remove_abandoned(folder: &Path, own: &NamedTempFile<File>) {
    let now = own.as_file().metadata().and_then(|meta| meta.modified());
    let (Ok(now), Ok(entries)) = (now, std::fs::read_dir(folder)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_temporary = name.starts_with(TEMPORARY.0) && name.ends_with(TEMPORARY.1);
        if is_temporary && entry.path() != own.path() && is_abandoned(&entry, now) {
            std::fs::remove_file(entry.path()).ok();
        }
    }
}

fn is_abandoned(entry: &DirEntry, now: SystemTime) -> bool {
    let is_old = |meta: Metadata| {
        let age = meta.modified().ok().and_then(|made| now.duration_since(made).ok());
        meta.is_file() && age.is_some_and(|age| age > LOCKED_AFTER)
    };
    entry.metadata().is_ok_and(is_old)
        && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
}

/// A zip archive under way.
struct Archive<'a, W> {
    path: &'a Path,
    form: Form,
    out: W,
    end: u64,
    directory: DirectoryWriter,
}

impl<'a, W: Write> Archive<'a, W> {
    fn new(path: &'a Path, form: Form, out: W) -> Self {
        Self { path, form, out, end: 0, directory: DirectoryWriter::default() }
    }

    /// Writes all of a recording; gives back what it was written to.
    fn whole(mut self, recording: &Recording) -> Result<W, Error> {
        let meta = meta_to_json(&recording.meta)
            .map_err(|e| Error::Meta { path: self.path.to_owned(), why: e.to_string() })?;
        self.entry(META, &meta)?;
        self.tables(recording)?;
        let directory = std::mem::take(&mut self.directory).finish(self.end);
        self.put(&directory)?;
        Ok(self.out)
    }

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
            interpreter_stacks,
            costs,
            activities,
            activity_work,
            activity_edges,
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
        self.table::<InterpreterStack>(interpreter_stacks)?;
        self.table::<Cost>(costs)?;
        self.table::<Activity>(activities)?;
        self.table::<ActivityWork>(activity_work)?;
        self.table::<ActivityEdge>(activity_edges)
    }

    fn table<R: Row>(&mut self, rows: &[R]) -> Result<(), Error> {
        let bytes = encode(&R::TABLE, &R::columns(rows), self.form)?;
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
        self.out.write_all(bytes).map_err(|source| Error::io("write", self.path, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_writer_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let made = |name: &str, seconds_ago: u64| {
            let path = folder.path().join(name);
            let file = File::create(&path).unwrap();
            let then = file.metadata().unwrap().modified().unwrap();
            file.set_modified(then - Duration::from_secs(seconds_ago)).unwrap();
            (path, file)
        };
        let (left, file) = made(".culprit-abc.tmp", 3600);
        drop(file);
        let (young, _open) = made(".culprit-new.tmp", 0);
        let (busy, lock) = made(".culprit-busy.tmp", 3600);
        lock.try_lock().unwrap();
        let (other, _open) = made("other.tmp", 3600);
        let path = folder.path().join("x.culprit");
        write(&path, &Recording::default()).unwrap();
        assert!(!left.exists());
        assert!([young, busy, other, path].iter().all(|path| path.exists()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    }

    #[test]
    fn an_unpacked_file_is_read_as_a_packed_one() {
        let folder = tempfile::tempdir().unwrap();
        let (packed, unpacked) = (folder.path().join("a"), folder.path().join("b"));
        let recording = culprit_model::notation::parse(
            "stack u cpu.user app!main\napp(1)/app(1) uuuu|\nroot app(1)",
        );
        let recording = recording.unwrap();
        write(&packed, &recording).unwrap();
        write_unpacked(&unpacked, &recording).unwrap();
        let open = |path| crate::open(path).unwrap().recording;
        assert_eq!(open(&unpacked), open(&packed));
        let size = |path| std::fs::metadata(path).unwrap().len();
        assert!(size(&unpacked) < size(&packed), "it has no documentation");
        assert_eq!(to_bytes(&recording).unwrap(), std::fs::read(&packed).unwrap());
    }
}
