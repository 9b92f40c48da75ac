//! Tables of an xDB in SQL Server as sources: each database is copied out on a connection of its own,
//! several at once.
//!
//! ```text
//! address   what the user typed: a URL or a connection string
//! session   a connection: definitions of tables, one snapshot, rows as they come
//! text      values as the texts that an export has
//! ```

mod address;
mod session;
mod text;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use self::session::{Session, TableDefinition};
use super::copies::{CopyOptions, TABLES, TableCopy, database_folder, import_copies};
use super::parallel::parallel_with;
use super::{ImportOptions, ImportProgress, Imported};
use crate::clean::CleanError;

pub use address::SqlServerDsn;

/// Imports the tables of databases: one that has all shards, or one a shard in their order. The
/// sources of `options` are not used.
///
/// # Errors
/// When a database cannot be read, or as [`import`](super::import()).
pub fn import_sqlserver(
    options: &ImportOptions,
    (dsns, copying): (&[SqlServerDsn], &CopyOptions),
    stop: &AtomicBool,
    progress: &mut dyn FnMut(ImportProgress),
) -> Result<Imported, CleanError> {
    copying.check(options, dsns.len())?;
    let mut torn = Vec::new();
    let mut imported = import_copies(options, "xdb-sqlserver", (stop, progress), |spool| {
        torn = copy(spool, (dsns, copying), options, stop)?;
        Ok(())
    })?;
    let warnings = torn.iter().map(|server| {
        format!(
            "{server} allows no snapshot: rows that changed while the tables were copied may be \
             missing on one side. `ALTER DATABASE ... SET ALLOW_SNAPSHOT_ISOLATION ON` prevents it"
        )
    });
    imported.warnings.extend(warnings);
    Ok(imported)
}

/// Copies all databases out. The names of those that allow no snapshot.
fn copy(
    spool: &Path,
    (dsns, copying): (&[SqlServerDsn], &CopyOptions),
    options: &ImportOptions,
    stop: &AtomicBool,
) -> Result<Vec<String>, CleanError> {
    let since = copying.since(options, dsns.len())?;
    let work = dsns.iter().zip(since).enumerate().collect();
    let torn = parallel_with(work, CopyOptions::AT_ONCE, |(at, (dsn, since))| {
        let folder = database_folder(spool, at)?;
        let mut session = Session::open(dsn, &copying.schema)?;
        let whole = session.begin()?;
        for table in TABLES {
            let Some(table) = session.table(table) else { continue };
            let sql = table.sql(&copying.schema, since);
            copy_table(&mut session, (&folder, &table, &sql), (copying, stop))
                .map_err(|error| TableCopy::error(stop, error))?;
        }
        Ok::<_, CleanError>((!whole).then(|| session.server().to_owned()))
    })?;
    Ok(torn.into_iter().flatten().collect())
}

fn copy_table(
    session: &mut Session,
    (folder, table, sql): (&Path, &TableDefinition, &str),
    doing: (&CopyOptions, &AtomicBool),
) -> Result<(), CleanError> {
    let mut out = TableCopy::create(folder, &table.name, doing)?;
    session.copy_to(sql, &mut out)?;
    Ok(out.finish()?)
}
