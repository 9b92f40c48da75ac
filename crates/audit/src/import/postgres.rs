//! Tables of an xDB in PostgreSQL as sources: each is copied out as CSV, compressed, and read as the
//! files of an export are. So a store from a database and one from its export are the same.
//!
//! All tables of a database are copied in one snapshot. The copies stand beside the store and are
//! removed after the import; an import that was interrupted finds them again.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::{ImportOptions, ImportProgress, Imported, import};
use crate::clean::{CleanError, Dsn, open_databases};
use crate::error::Error;

/// The tables that a store needs, in lower case.
const TABLES: [&str; 5] =
    ["contactfacets", "contactidentifiers", "contacts", "interactionfacets", "interactions"];
/// Level of zstd: copies are read once.
const LEVEL: i32 = 1;

/// Imports the tables of databases: one that has all shards, or one a shard in their order. The
/// sources of `options` are not used.
///
/// # Errors
/// When a database cannot be read, or as [`import`].
pub fn import_postgres(
    options: &ImportOptions,
    (dsns, schema): (&[Dsn], &str),
    stop: &AtomicBool,
    progress: &mut dyn FnMut(ImportProgress),
) -> Result<Imported, CleanError> {
    let spool = spool_of(&options.store);
    if !spool.exists() {
        let new = spool.with_extension("xdb-postgres-new");
        remove(&new)?;
        if let Err(error) = copy(&new, (dsns, schema), options.shards, stop) {
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

/// The folder of the copies.
fn spool_of(store: &Path) -> PathBuf {
    let name = store.file_name().unwrap_or_default().to_string_lossy();
    store.with_file_name(format!("{name}.xdb-postgres"))
}

fn remove(folder: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", folder, error))
        }
        _ => Ok(()),
    }
}

fn copy(
    spool: &Path,
    (dsns, schema): (&[Dsn], &str),
    shards: u32,
    stop: &AtomicBool,
) -> Result<(), CleanError> {
    let mut sessions = open_databases(dsns, schema, shards)?;
    for (at, session) in sessions.iter_mut().enumerate() {
        let folder = spool.join(format!("database-{at}"));
        std::fs::create_dir_all(&folder).map_err(|e| Error::io("create", &folder, e))?;
        session.run("read", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        for table in TABLES {
            let Some((name, sql)) = session.csv(table) else { continue };
            let path = folder.join(format!("{name}.csv"));
            let failed = |error| Error::io("write", &path, error);
            let file = std::fs::File::create(&path).map_err(failed)?;
            let encoder = zstd::stream::write::Encoder::new(file, LEVEL).map_err(failed)?;
            let mut out = Stoppable { inner: encoder, stop };
            session.copy_to("read", &sql, &mut out).map_err(|error| {
                if stop.load(Ordering::Relaxed) {
                    Error::Stopped { resumable: false }.into()
                } else {
                    error
                }
            })?;
            out.inner.finish().map_err(failed)?;
        }
        session.run("read", "COMMIT")?;
    }
    Ok(())
}

/// A writer that fails once the user stops the program.
struct Stoppable<'a, W> {
    inner: W,
    stop: &'a AtomicBool,
}

impl<W: Write> Write for Stoppable<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
