//! Level `source` in PostgreSQL: tables of an xDB, in one database or one a shard.
//!
//! ```text
//! session    a connection, the tables' definitions, what identifies the database
//! sql        the statements, as the plan's folder has them
//! states     what the source has for each key: at plan time, in a dry run
//! apply      batches: delete, archive, commit
//! undo       batches in reverse order: insert, compare, commit
//! ```

mod apply;
mod session;
mod sql;
mod states;
mod undo;

use culprit_model::counted;
use postgres::config::Host;

use super::error::CleanError;
use super::folder::{CONTACTS, INTERACTIONS, NewFolder, PlanFolder, key_file};
use super::keys::PlanKey;
use super::plan::PlanTarget;
use crate::schema::OwnerKind;

pub use apply::{Applied, ApplyOptions, apply_postgres};
pub(crate) use session::Session;
pub(crate) use states::read_states;
pub use states::{Verified, verify_postgres};
pub use undo::{Undone, undo_postgres};

/// Where a database is, and how to get in.
#[derive(Clone)]
pub struct Dsn {
    config: postgres::Config,
    server: String,
}

/// Without the password.
impl std::fmt::Debug for Dsn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Dsn").field(&self.server).finish()
    }
}

impl Dsn {
    /// Reads `postgres://USER@HOST:PORT/DATABASE` or `host=HOST dbname=DATABASE`. The password of
    /// the text is used if `password` is none.
    ///
    /// # Errors
    /// When it is neither; the message does not repeat the text.
    pub fn parse(text: &str, password: Option<&str>) -> Result<Self, CleanError> {
        let mut config: postgres::Config = text.parse().map_err(|_| {
            CleanError::Options(
                "the address of the database cannot be read: write it as \
                 `postgres://USER@HOST:PORT/DATABASE`, or as `host=HOST dbname=DATABASE user=USER`"
                    .to_owned(),
            )
        })?;
        if let Some(password) = password {
            config.password(password);
        }
        config.application_name("culprit");
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            #[cfg(unix)]
            Some(Host::Unix(path)) => path.display().to_string(),
            None => "localhost".to_owned(),
        };
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let server = format!("{host}:{port}/{}", config.get_dbname().unwrap_or("postgres"));
        Ok(Self { config, server })
    }

    /// Host, port and database.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }
}

/// The database that a plan is made for.
#[derive(Debug, Clone)]
pub enum PlannedTarget {
    /// A live database: the plan reads what it has, and can be applied.
    Postgres {
        /// One for all shards, or one a shard in their order.
        dsns: Vec<Dsn>,
        /// Schema of the tables.
        schema: String,
    },
    /// SQL text only.
    SqlServer {
        /// Schema of the tables.
        schema: String,
    },
}

/// A part of a plan's keys that is deleted in one transaction.
#[derive(Debug)]
pub(crate) struct Batch {
    /// Its number, counted from 1.
    pub(crate) number: u64,
    pub(crate) kind: OwnerKind,
    pub(crate) shard: u32,
    pub(crate) keys: Vec<PlanKey>,
}

/// The batches of a plan in the order of deletion: interactions, then contacts.
pub(crate) fn batches_of(folder: &PlanFolder) -> Result<Vec<Batch>, CleanError> {
    let mut batches = Vec::new();
    let rows = usize::try_from(folder.plan.batch_rows).unwrap_or(1).max(1);
    for (name, kind) in [(INTERACTIONS, OwnerKind::Interaction), (CONTACTS, OwnerKind::Contact)] {
        for shard in 0..folder.plan.store.shards {
            for keys in folder.keys(&key_file(name, shard))?.chunks(rows) {
                let number = batches.len() as u64 + 1;
                batches.push(Batch { number, kind, shard, keys: keys.to_vec() });
            }
        }
    }
    Ok(batches)
}

/// Batches of a plan; 0 for one that is not carried out in batches.
pub(crate) fn batch_count(folder: &PlanFolder) -> Result<u64, CleanError> {
    if folder.plan.target.is_none() {
        return Ok(0);
    }
    Ok(batches_of(folder)?.len() as u64)
}

/// Writes the statements that `apply` and `undo` run, to be read before.
pub(crate) fn write_sql(folder: &mut NewFolder, target: &PlanTarget) -> Result<(), CleanError> {
    for (name, text) in sql::documents(&target.schema, &target.tables) {
        folder.write(name, text.as_bytes())?;
    }
    Ok(())
}

/// The connection for a shard, of one for all or one a shard.
pub(crate) fn of_shard(sessions: &mut [Session], shard: u32) -> &mut Session {
    let at = usize::try_from(shard).unwrap_or(0) % sessions.len().max(1);
    &mut sessions[at]
}

/// Opens the databases of a plan.
pub(crate) fn open_all(
    dsns: &[Dsn],
    schema: &str,
    shards: u32,
) -> Result<Vec<Session>, CleanError> {
    if dsns.len() != 1 && dsns.len() != usize::try_from(shards).unwrap_or(0) {
        return Err(CleanError::Options(format!(
            "{} databases are named, and the store has {}: name one database that has all shards, or \
             one a shard in their order",
            dsns.len(),
            counted(shards.into(), "shard")
        )));
    }
    dsns.iter().map(|dsn| Session::open(dsn, schema)).collect()
}

/// The tables with rows of a key, the row's own table last.
pub(crate) fn roles(kind: OwnerKind) -> &'static [sql::Role] {
    use sql::Role;
    match kind {
        OwnerKind::Interaction => &[Role::InteractionFacets, Role::Interactions],
        OwnerKind::Contact => &[
            Role::ContactFacets,
            Role::ContactIdentifiersIndex,
            Role::ContactIdentifiers,
            Role::Contacts,
        ],
    }
}
