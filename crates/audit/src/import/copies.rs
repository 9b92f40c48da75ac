//! Databases as sources: their tables are copied out as compressed CSV and read as the files of an
//! export are. So a store from a database and one from its export are the same.
//!
//! The copies stand beside the store and are removed after the import; an import that was
//! interrupted finds them again.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use culprit_model::counted;

use super::{ImportOptions, ImportProgress, Imported, import};
use crate::clean::CleanError;
use crate::error::Error;
use crate::store::{Store, expect_place};

/// The tables that a store needs, in lower case.
pub(super) const TABLES: [&str; 5] =
    ["contactfacets", "contactidentifiers", "contacts", "interactionfacets", "interactions"];
/// Level of zstd: copies are read once.
const LEVEL: i32 = 1;

/// How tables of databases are copied out.
#[derive(Debug, Clone)]
pub struct CopyOptions {
    /// Schema of the tables.
    pub schema: String,
    /// True to leave out rows that the store had seen by its last import, as their times of change say.
    pub changed_only: bool,
    /// Bytes of text that were copied so far.
    pub copied: Arc<AtomicU64>,
}

impl CopyOptions {
    /// Databases that are read at the same time at most. They share this machine's cores for packing.
    pub(super) const AT_ONCE: usize = 8;

    /// Whether it is known which rows each of so many databases has.
    pub(super) fn check(&self, options: &ImportOptions, databases: usize) -> Result<(), Error> {
        if !self.changed_only || databases == 1 {
            return Ok(());
        }
        let shards = options.shards_of(options.format)?;
        if u32::try_from(databases) == Ok(shards) {
            return Ok(());
        }
        Err(Error::Options(format!(
            "`--changed-only` needs one database with all shards, or one for each of {}; there are \
             {databases}",
            counted(shards.into(), "shard")
        )))
    }

    /// For each of so many databases the time from which changed rows are copied, in milliseconds since
    /// 1970. None when all rows are.
    pub(super) fn since(
        &self,
        options: &ImportOptions,
        databases: usize,
    ) -> Result<Vec<Option<i64>>, Error> {
        let store = match Store::open(&options.store) {
            Ok(store) if self.changed_only => store,
            Ok(_) | Err(Error::NoStore { .. }) => return Ok(vec![None; databases]),
            Err(error) => return Err(error),
        };
        let known = store.watermarks();
        let of = |shard: u32| Some(known.get(&shard)?.saturating_sub(options.late_ms));
        if databases > 1 {
            return Ok((0..store.shards()).map(of).collect());
        }
        // The shard that was read least far counts, and one without a row counts as not read.
        let all: Option<Vec<i64>> = (0..store.shards()).map(of).collect();
        Ok(vec![all.and_then(|all| all.into_iter().min())])
    }
}

/// Imports what `copy` writes to a folder, unless copies of an interrupted import are there. `ending`
/// is what the folder's name ends with.
pub(super) fn import_copies(
    options: &ImportOptions,
    ending: &str,
    (stop, progress): (&AtomicBool, &mut dyn FnMut(ImportProgress)),
    copy: impl FnOnce(&Path) -> Result<(), CleanError>,
) -> Result<Imported, CleanError> {
    expect_place(&options.store)?;
    let name = options.store.file_name().unwrap_or_default().to_string_lossy();
    let spool = options.store.with_file_name(format!("{name}.{ending}"));
    if !spool.exists() {
        let new = spool.with_extension(format!("{ending}-new"));
        remove(&new)?;
        std::fs::create_dir_all(&new).map_err(|error| Error::io("create", &new, error))?;
        if let Err(error) = copy(&new) {
            // What failed matters more than what is left.
            remove(&new).ok();
            return Err(error);
        }
        std::fs::rename(&new, &spool).map_err(|error| Error::io("rename", &new, error))?;
    }
    let options = ImportOptions { sources: vec![spool.clone()], ..options.clone() };
    let result = import(&options, stop, progress);
    // An interrupted import goes on with the same copies.
    if !matches!(result, Err(Error::Stopped { resumable: true })) {
        remove(&spool)?;
    }
    Ok(result?)
}

fn remove(folder: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", folder, error))
        }
        _ => Ok(()),
    }
}

/// The folder of a database's copies, which is made. Names are sorted as numbers, so that the files
/// are read in the order of the databases.
pub(super) fn database_folder(spool: &Path, at: usize) -> Result<PathBuf, Error> {
    let folder = spool.join(format!("database-{at:03}"));
    std::fs::create_dir_all(&folder).map_err(|error| Error::io("create", &folder, error))?;
    Ok(folder)
}

/// The copy of a table under way.
pub(super) struct TableCopy<'a> {
    path: PathBuf,
    out: zstd::stream::write::Encoder<'static, File>,
    copied: &'a AtomicU64,
    stop: &'a AtomicBool,
}

impl<'a> TableCopy<'a> {
    /// Begins the copy of a table.
    pub(super) fn create(
        folder: &Path,
        table: &str,
        (copying, stop): (&'a CopyOptions, &'a AtomicBool),
    ) -> Result<Self, Error> {
        let path = folder.join(format!("{table}.csv"));
        let failed = |error| Error::io("write", &path, error);
        let file = File::create(&path).map_err(failed)?;
        let out = zstd::stream::write::Encoder::new(file, LEVEL).map_err(failed)?;
        Ok(Self { path, out, copied: &copying.copied, stop })
    }

    /// Ends it.
    pub(super) fn finish(self) -> Result<(), Error> {
        let path = self.path;
        self.out.finish().map(drop).map_err(|error| Error::io("write", &path, error))
    }

    /// The error of a failed copy: what failed after the user stopped the program is no error of
    /// the database.
    pub(super) fn error(stop: &AtomicBool, error: CleanError) -> CleanError {
        match stop.load(Ordering::Relaxed) {
            true => Error::Stopped { resumable: false }.into(),
            false => error,
        }
    }
}

impl Write for TableCopy<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        let written = self.out.write(bytes)?;
        self.copied.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
