//! Tables of an xDB in PostgreSQL as sources: all tables of a database are copied in one snapshot.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::copies::{TABLES, TableCopy, database_folder, import_copies};
use super::{ImportOptions, ImportProgress, Imported};
use crate::clean::{CleanError, Dsn, open_databases};

/// Imports the tables of databases: one that has all shards, or one a shard in their order. The
/// sources of `options` are not used.
///
/// # Errors
/// When a database cannot be read, or as [`import`](super::import()).
pub fn import_postgres(
    options: &ImportOptions,
    (dsns, schema): (&[Dsn], &str),
    stop: &AtomicBool,
    progress: &mut dyn FnMut(ImportProgress),
) -> Result<Imported, CleanError> {
    import_copies(options, "xdb-postgres", (stop, progress), |spool| {
        copy(spool, (dsns, schema), options.shards, stop)
    })
}

fn copy(
    spool: &Path,
    (dsns, schema): (&[Dsn], &str),
    shards: u32,
    stop: &AtomicBool,
) -> Result<(), CleanError> {
    let mut sessions = open_databases(dsns, schema, shards)?;
    for (at, session) in sessions.iter_mut().enumerate() {
        let folder = database_folder(spool, at)?;
        session.run("read", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        for table in TABLES {
            let Some((name, sql)) = session.csv(table) else { continue };
            let mut out = TableCopy::create(&folder, &name, stop)?;
            session
                .copy_to("read", &sql, &mut out)
                .map_err(|error| TableCopy::error(stop, error))?;
            out.finish()?;
        }
        session.run("read", "COMMIT")?;
    }
    Ok(())
}
