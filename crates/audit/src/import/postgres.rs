//! Tables of an xDB in PostgreSQL as sources: all tables of a database are copied in one snapshot,
//! several databases at once.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::copies::{CopyOptions, TABLES, TableCopy, database_folder, import_copies};
use super::parallel::parallel_with;
use super::{ImportOptions, ImportProgress, Imported};
use crate::clean::{CleanError, Dsn, open_databases};

/// Imports the tables of databases: one that has all shards, or one a shard in their order. The
/// sources of `options` are not used.
///
/// # Errors
/// When a database cannot be read, or as [`import`](super::import()).
pub fn import_postgres(
    options: &ImportOptions,
    (dsns, copying): (&[Dsn], &CopyOptions),
    stop: &AtomicBool,
    progress: &mut dyn FnMut(ImportProgress),
) -> Result<Imported, CleanError> {
    copying.check(options, dsns.len())?;
    import_copies(options, "xdb-postgres", (stop, progress), |spool| {
        copy(spool, (dsns, copying), options, stop)
    })
}

fn copy(
    spool: &Path,
    (dsns, copying): (&[Dsn], &CopyOptions),
    options: &ImportOptions,
    stop: &AtomicBool,
) -> Result<(), CleanError> {
    let since = copying.since(options, dsns.len())?;
    let shards = options.shards_of(options.format)?;
    let sessions = open_databases(dsns, &copying.schema, shards)?;
    let work = sessions.into_iter().zip(since).enumerate().collect();
    parallel_with(work, CopyOptions::AT_ONCE, |(at, (mut session, since))| {
        let folder = database_folder(spool, at)?;
        session.run("read", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        for table in TABLES {
            let Some((name, sql)) = session.csv(table, since) else { continue };
            let mut out = TableCopy::create(&folder, &name, (copying, stop))?;
            session
                .copy_to("read", &sql, &mut out)
                .map_err(|error| TableCopy::error(stop, error))?;
            out.finish()?;
        }
        session.run("read", "COMMIT")
    })?;
    Ok(())
}
