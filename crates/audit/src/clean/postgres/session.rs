//! A connection, with what must be known of the database before anything is done there.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::time::Duration;

use culprit_model::Label as _;
use postgres::{Client, NoTls, Row};

use super::super::error::CleanError;
use super::super::folder::digest;
use super::super::guard::{Guard, GuardResult};
use super::super::plan::PlanTarget;
use super::Dsn;
use super::sql::{Role, SourceTable, SourceTables, with_ids};

/// Texts of values must not depend on the server's settings: they are archived and compared.
const SETTINGS: &str = "SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'; SET IntervalStyle = \
     'postgres'; SET extra_float_digits = 3; SET bytea_output = 'hex'; SET client_encoding = 'UTF8'; \
     SET lc_monetary = 'C'; SET synchronize_seqscans = off; SET synchronous_commit = on; SET default_transaction_isolation = 'read committed'";
/// Any number that no other program uses for its advisory lock: "culprit" in ASCII.
const LEASE: i64 = 0x0063_756c_7072_6974;
/// A server notices within this time that a killed process is gone.
const LEASE_WAIT: Duration = Duration::from_secs(10);
const LEASE_CHECKS: u32 = 50;

/// An open database.
pub(crate) struct Session {
    client: Client,
    server: String,
    pub(crate) tables: SourceTables,
    schema: String,
    /// SHA-256 of the tables' definitions.
    pub(crate) definition: String,
    /// Cluster, database and schema.
    pub(crate) identity: String,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("server", &self.server).finish_non_exhaustive()
    }
}

/// The error of a step at a server.
fn failed(doing: &str, server: &str, error: &postgres::Error) -> CleanError {
    // The library's own text is general; what the server or system said stands below it.
    let why = error.as_db_error().map_or_else(
        || {
            let source = std::error::Error::source(error).map(ToString::to_string);
            source.map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
        },
        |db| db.message().to_owned(),
    );
    CleanError::Target { doing: doing.to_owned(), server: server.to_owned(), why }
}

impl Session {
    /// Connects and reads the tables' definitions.
    pub(crate) fn open(dsn: &Dsn, schema: &str) -> Result<Self, CleanError> {
        let server = dsn.server.clone();
        let mut client =
            dsn.config.connect(NoTls).map_err(|error| failed("connect to", &server, &error))?;
        client.batch_execute(SETTINGS).map_err(|error| failed("set up", &server, &error))?;
        let (tables, definition) = definitions(&mut client, &server, schema)?;
        let identity = identity(&mut client, &server, schema)?;
        Ok(Self { client, server, tables, schema: schema.to_owned(), definition, identity })
    }

    /// The target of a plan, of the first database and the identities of all.
    pub(crate) fn target(sessions: &[Self]) -> Result<PlanTarget, CleanError> {
        let Some(first) = sessions.first() else {
            return Err(CleanError::Options("no database is named".to_owned()));
        };
        if let Some(other) = sessions.iter().find(|other| other.definition != first.definition) {
            return Err(CleanError::Options(format!(
                "the tables of {} are not defined as those of {}",
                other.server, first.server
            )));
        }
        let tables = first.tables.values();
        Ok(PlanTarget {
            servers: sessions.iter().map(|session| session.server.clone()).collect(),
            identities: sessions.iter().map(|session| session.identity.clone()).collect(),
            schema: first.schema.clone(),
            tables: tables.map(|table| (table.name.clone(), table.columns.clone())).collect(),
            definition: first.definition.clone(),
        })
    }

    /// The name of a table, of its name in lower case, and the statement that copies it out as CSV: all
    /// rows, or those that changed at a time or later.
    pub(crate) fn csv(&self, table: &str, since_ms: Option<i64>) -> Option<(String, String)> {
        let table = self.tables.get(&Role::from_word(table)?)?;
        Some((table.name.clone(), table.csv(since_ms)))
    }

    /// Host, port and database.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Forbids changes to everything that follows.
    pub(crate) fn read_only(&mut self) -> Result<(), CleanError> {
        self.run("set up", "SET default_transaction_read_only = on")
    }

    /// Runs statements without a result.
    pub(crate) fn run(&mut self, doing: &str, sql: &str) -> Result<(), CleanError> {
        self.client.batch_execute(sql).map_err(|error| failed(doing, &self.server, &error))
    }

    /// Asks for rows.
    pub(crate) fn rows(&mut self, doing: &str, sql: &str) -> Result<Vec<Row>, CleanError> {
        self.client.query(sql, &[]).map_err(|error| failed(doing, &self.server, &error))
    }

    /// Rows for the keys of a batch.
    pub(crate) fn rows_of(
        &mut self,
        doing: &str,
        sql: &str,
        ids: &[String],
    ) -> Result<Vec<Row>, CleanError> {
        self.rows(doing, &with_ids(sql, ids.iter().map(String::as_str)))
    }

    /// The lines of a `COPY ... TO STDOUT`.
    pub(crate) fn copy_out(&mut self, doing: &str, sql: &str) -> Result<Vec<String>, CleanError> {
        let server = self.server.clone();
        let mut reader =
            self.client.copy_out(sql).map_err(|error| failed(doing, &server, &error))?;
        let mut text = String::new();
        reader.read_to_string(&mut text).map_err(|error| copy_failed(doing, &server, &error))?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// The bytes of a `COPY ... TO STDOUT`, as they come.
    pub(crate) fn copy_to(
        &mut self,
        doing: &str,
        sql: &str,
        out: &mut impl std::io::Write,
    ) -> Result<u64, CleanError> {
        let server = self.server.clone();
        let mut reader =
            self.client.copy_out(sql).map_err(|error| failed(doing, &server, &error))?;
        std::io::copy(&mut reader, out).map_err(|error| copy_failed(doing, &server, &error))
    }

    /// Sends lines to a `COPY ... FROM STDIN`.
    pub(crate) fn copy_in<'a>(
        &mut self,
        doing: &str,
        sql: &str,
        lines: impl Iterator<Item = &'a str>,
    ) -> Result<(), CleanError> {
        let server = self.server.clone();
        let mut writer =
            self.client.copy_in(sql).map_err(|error| failed(doing, &server, &error))?;
        for line in lines {
            writer
                .write_all(line.as_bytes())
                .and_then(|()| writer.write_all(b"\n"))
                .map_err(|error| copy_failed(doing, &server, &error))?;
        }
        writer.finish().map_err(|error| failed(doing, &server, &error))?;
        Ok(())
    }

    /// Begins a transaction that waits for locks this long at most.
    pub(crate) fn begin(&mut self, lock_wait_ms: u32) -> Result<(), CleanError> {
        self.run("begin at", &format!("BEGIN; SET LOCAL lock_timeout = {lock_wait_ms}"))
    }

    /// Ends a transaction without its changes; an error changes nothing about that.
    pub(crate) fn roll_back(&mut self) -> bool {
        self.client.batch_execute("ROLLBACK").is_ok()
    }

    /// The number of the transaction.
    pub(crate) fn transaction(&mut self) -> Result<String, CleanError> {
        let rows = self.rows("begin at", "SELECT pg_current_xact_id()::text")?;
        Ok(rows.first().map(|row| row.get(0)).unwrap_or_default())
    }

    /// How a transaction ended; none when the server no longer knows.
    pub(crate) fn committed(&mut self, transaction: &str) -> Result<Option<bool>, CleanError> {
        let digits: String = transaction.chars().filter(char::is_ascii_digit).collect();
        let sql = format!("SELECT pg_xact_status('{digits}'::xid8)");
        let rows = self.rows("ask", &sql)?;
        let status: Option<String> = rows.first().and_then(|row| row.get(0));
        match status.as_deref() {
            Some("committed") => Ok(Some(true)),
            Some("aborted") => Ok(Some(false)),
            Some(other) => Err(CleanError::Target {
                doing: "go on at".to_owned(),
                server: self.server.clone(),
                why: format!("transaction {transaction} of an earlier run is {other}"),
            }),
            None => Ok(None),
        }
    }

    /// Takes the lease: one clean-up at a time changes this database. It ends with the connection.
    pub(crate) fn lease(&mut self) -> Result<(), CleanError> {
        for _ in 0..LEASE_CHECKS {
            let rows = self.rows("lock", &format!("SELECT pg_try_advisory_lock({LEASE})"))?;
            if rows.first().is_some_and(|row| row.get(0)) {
                return Ok(());
            }
            std::thread::sleep(LEASE_WAIT / LEASE_CHECKS);
        }
        Err(CleanError::Target {
            doing: "lock".to_owned(),
            server: self.server.clone(),
            why: "another clean-up is changing it".to_owned(),
        })
    }

    /// Refuses a role that may not do this to all tables; names all where it may not.
    fn expect_right(&mut self, right: &'static str) -> Result<(), CleanError> {
        // `SELECT .. FOR UPDATE` is satisfied by the right on any column.
        let asks = match right {
            "UPDATE" => "has_any_column_privilege",
            _ => "has_table_privilege",
        };
        let tables: Vec<String> = self.tables.values().map(SourceTable::full).collect();
        let (mut missing, mut role) = (Vec::new(), String::new());
        for table in tables {
            let name = table.replace('\'', "''");
            let sql =
                format!("SELECT {asks}('{name}'::regclass, '{right}'), quote_ident(current_user)");
            let rows = self.rows("inspect", &sql)?;
            if let Some(row) = rows.first().filter(|row| !row.get::<_, bool>(0)) {
                role = row.get(1);
                missing.push(table);
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let (server, tables) = (self.server.clone(), missing.join(", "));
        Err(CleanError::Right { server, role, right, tables })
    }

    /// Refuses a role that may not delete rows, or not lock them before.
    pub(crate) fn expect_delete_rights(&mut self) -> Result<(), CleanError> {
        self.expect_right("DELETE")?;
        self.expect_right("UPDATE")
    }

    /// Refuses a role that may not put rows back.
    pub(crate) fn expect_insert_right(&mut self) -> Result<(), CleanError> {
        self.expect_right("INSERT")
    }

    /// The guard on what a delete would change besides.
    pub(crate) fn side_effects(&mut self) -> Result<GuardResult, CleanError> {
        let names: Vec<String> = self
            .tables
            .values()
            .map(|table| format!("'{}'::regclass", table.full().replace('\'', "''")))
            .collect();
        let list = names.join(", ");
        let sql = format!(
            "SELECT 'trigger ' || tgname || ' on ' || tgrelid::regclass::text FROM pg_trigger \
             WHERE NOT tgisinternal AND tgenabled <> 'D' AND tgrelid IN ({list}) \
             UNION ALL SELECT 'foreign key ' || conname || ' of ' || conrelid::regclass::text \
             FROM pg_constraint WHERE contype = 'f' AND confrelid IN ({list}) AND conrelid NOT IN ({list}) \
             UNION ALL SELECT 'row security of ' || oid::regclass::text FROM pg_class \
             WHERE relrowsecurity AND oid IN ({list}) \
             UNION ALL SELECT 'rule ' || rulename || ' on ' || ev_class::regclass::text FROM pg_rewrite \
             WHERE ev_class IN ({list}) ORDER BY 1"
        );
        let rows = self.rows("inspect", &sql)?;
        let found: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        let why = if found.is_empty() {
            "deletes change no other rows".to_owned()
        } else {
            format!("deletes may change or hide other rows: {}", found.join(", "))
        };
        Ok(GuardResult::new(Guard::SideEffects, found.is_empty(), why))
    }
}

fn copy_failed(doing: &str, server: &str, error: &std::io::Error) -> CleanError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<postgres::Error>());
    match inner {
        Some(inner) => failed(doing, server, inner),
        None => CleanError::Target {
            doing: doing.to_owned(),
            server: server.to_owned(),
            why: error.to_string(),
        },
    }
}

/// The tables by role, and a hash of what they are.
fn definitions(
    client: &mut Client,
    server: &str,
    schema: &str,
) -> Result<(SourceTables, String), CleanError> {
    let sql = "SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod), \
               a.attnotnull, a.attgenerated <> '', a.attidentity::text \
               FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
               JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
               WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') ORDER BY c.relname, a.attnum";
    let rows = client.query(sql, &[&schema]).map_err(|error| failed("read", server, &error))?;
    let mut text = String::new();
    let mut found: BTreeMap<Role, SourceTable> = BTreeMap::new();
    for row in &rows {
        let (table, column): (String, String) = (row.get(0), row.get(1));
        let Some(role) = Role::from_word(&table.to_ascii_lowercase()) else { continue };
        let (ty, filled, generated): (String, bool, bool) = (row.get(2), row.get(3), row.get(4));
        let identity: String = row.get(5);
        text.push_str(&format!("{table}.{column} {ty} {filled} {generated} {identity}\n"));
        let entry = found.entry(role).or_insert_with(|| SourceTable {
            role,
            schema: schema.to_owned(),
            name: table.clone(),
            columns: Vec::new(),
            types: Vec::new(),
        });
        if entry.name != table {
            let why = format!("`{}` and `{table}` differ in case only", entry.name);
            return Err(no_tables(server, schema, &why));
        }
        if !generated {
            entry.columns.push(column);
            entry.types.push(ty);
        }
    }
    for role in Role::ALL {
        let Some(table) = found.get(role) else {
            if role.is_optional() {
                continue;
            }
            return Err(no_tables(server, schema, &format!("there is no table `{}`", role.word())));
        };
        let has = |wanted: &str| table.columns.iter().any(|name| name.eq_ignore_ascii_case(wanted));
        if let Some(missing) = role.columns().iter().find(|column| !has(column)) {
            let why = format!("`{}` has no column `{missing}`", table.name);
            return Err(no_tables(server, schema, &why));
        }
    }
    Ok((found, digest(text.as_bytes())))
}

fn no_tables(server: &str, schema: &str, why: &str) -> CleanError {
    CleanError::Options(format!("schema `{schema}` of {server} has no xDB: {why}"))
}

/// What distinguishes this database from a copy elsewhere.
fn identity(client: &mut Client, server: &str, schema: &str) -> Result<String, CleanError> {
    // Where a role may not read the control file, the address of the server must do.
    let cluster = client
        .query("SELECT system_identifier::text FROM pg_control_system()", &[])
        .ok()
        .and_then(|rows| rows.first().map(|row| row.get::<_, String>(0)))
        .unwrap_or_else(|| server.to_owned());
    let rows = client
        .query("SELECT current_database()::text", &[])
        .map_err(|error| failed("read", server, &error))?;
    let database: String = rows.first().map(|row| row.get(0)).unwrap_or_default();
    Ok(format!("{cluster}/{database}/{schema}"))
}
