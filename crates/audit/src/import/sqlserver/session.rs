//! A connection to a SQL Server, with what must be known of the database before its tables are read.

use std::io::Write;

use futures_util::TryStreamExt as _;
use tiberius::error::Error;
use tiberius::{Client, QueryItem, SqlBrowser as _};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt as _};

use super::SqlServerDsn;
use super::text::{put_header, put_row};
use crate::clean::CleanError;
use crate::import::xdb::Column;
use crate::time::{put_clock, put_date};

/// Tables of a schema and their columns.
const DEFINITIONS: &str = "SELECT t.name, c.name FROM sys.tables t JOIN sys.schemas s ON \
     s.schema_id = t.schema_id JOIN sys.columns c ON c.object_id = t.object_id WHERE s.name = ";
/// Whether the database keeps old versions of rows for readers: 1 is yes.
const SNAPSHOTS: &str = "SELECT CAST(snapshot_isolation_state AS int) FROM sys.databases WHERE \
     database_id = DB_ID()";
/// Bytes of text that are collected before a write.
const BUFFER: usize = 256 << 10;

/// A table as it is named there.
#[derive(Debug, Clone)]
pub(super) struct TableDefinition {
    pub(super) name: String,
    /// The columns that an import reads, in their order.
    columns: Vec<String>,
}

/// A name as SQL Server has it.
fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

impl TableDefinition {
    /// The statement that reads all rows, or those that changed at a time or later.
    pub(super) fn sql(&self, schema: &str, since_ms: Option<i64>) -> String {
        let list: Vec<String> = self.columns.iter().map(|name| bracketed(name)).collect();
        let (list, schema, table) = (list.join(", "), bracketed(schema), bracketed(&self.name));
        let changed = self.columns.iter().find(|name| name.eq_ignore_ascii_case("LastModified"));
        let condition = match (since_ms, changed) {
            (Some(ms), Some(column)) => {
                let mut time = Vec::new();
                put_date(&mut time, ms);
                time.push(b'T');
                put_clock(&mut time, ms);
                let time = String::from_utf8_lossy(&time).into_owned();
                format!(" WHERE {} >= '{time}'", bracketed(column))
            }
            _ => String::new(),
        };
        format!("SELECT {list} FROM {schema}.{table}{condition}")
    }
}

/// An open database.
pub(super) struct Session {
    runtime: Runtime,
    client: Client<Compat<TcpStream>>,
    server: String,
    tables: Vec<TableDefinition>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("server", &self.server).finish_non_exhaustive()
    }
}

/// The error of a step at a server.
fn failed(doing: &str, server: &str, error: &Error) -> CleanError {
    let why = match error {
        // The library's own text is general; what the server or the system said stands in it.
        Error::Server(token) => format!("{} (error {})", token.message(), token.code()),
        Error::Io { message, .. } if message.contains("bytes remaining on stream") => {
            "the connection ended in the middle of an answer".to_owned()
        }
        Error::Io { message, .. } => message.clone(),
        // It names functions of the library as ways out.
        Error::Tls(text) if text.contains("certificate was rejected") => {
            let cause = text.split_once("handshake: ").map_or(text.as_str(), |(_, cause)| cause);
            let cause = cause.split(" To connect anyway").next().unwrap_or(cause);
            format!(
                "its certificate is not trusted: {cause} Name the authority's certificate with \
                 `TrustServerCertificateCA=FILE` in the connection string, or accept any with \
                 `TrustServerCertificate=true`"
            )
        }
        Error::Protocol(text) if text.contains("requested encryption level") => {
            "it offers no encryption; the connection string allows that with \
             `Encrypt=DANGER_PLAINTEXT`"
                .to_owned()
        }
        other => other.to_string(),
    };
    CleanError::Target { doing: doing.to_owned(), server: server.to_owned(), why }
}

impl Session {
    /// Connects and reads the tables' definitions.
    pub(super) fn open(dsn: &SqlServerDsn, schema: &str) -> Result<Self, CleanError> {
        let mut server = dsn.server();
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
            CleanError::Target {
                doing: "connect to".to_owned(),
                server: server.clone(),
                why: error.to_string(),
            }
        })?;
        let connected = runtime.block_on(connect(dsn));
        let mut client = connected.map_err(|error| failed("connect to", &server, &error))?;
        let name = runtime.block_on(texts(&mut client, "SELECT DB_NAME()"));
        let name = name.map_err(|error| failed("read", &server, &error))?;
        if let Some([Some(name)]) = name.first().map(Vec::as_slice) {
            server = format!("{server}/{name}");
        }
        let quoted = schema.replace('\'', "''");
        let sql = format!("{DEFINITIONS}N'{quoted}' ORDER BY t.name, c.column_id");
        let rows = runtime.block_on(texts(&mut client, &sql));
        let rows = rows.map_err(|error| failed("read", &server, &error))?;
        let tables = tables(&rows);
        let is_missing = |wanted: &&str| !tables.iter().any(|table| is_named(table, wanted));
        if let Some(missing) = ["Contacts", "Interactions"].into_iter().find(is_missing) {
            return Err(CleanError::Options(format!(
                "schema `{schema}` of {server} has no xDB: there is no table `{missing}`"
            )));
        }
        Ok(Self { runtime, client, server, tables })
    }

    /// Host, port and database.
    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// The table of this name in any case.
    pub(super) fn table(&self, name: &str) -> Option<TableDefinition> {
        self.tables.iter().find(|table| is_named(table, name)).cloned()
    }

    /// Reads everything that follows from one snapshot. False when the database has none.
    pub(super) fn begin(&mut self) -> Result<bool, CleanError> {
        let Self { runtime, client, server, .. } = self;
        let allowed = runtime.block_on(async {
            let rows = client.simple_query(SNAPSHOTS).await?.into_first_result().await?;
            Ok::<_, Error>(rows.first().and_then(|row| row.get::<i32, _>(0)) == Some(1))
        });
        let allowed = allowed.map_err(|error| failed("read", server, &error))?;
        if allowed {
            let sql = "SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRANSACTION";
            let begun =
                runtime.block_on(async { client.simple_query(sql).await?.into_results().await });
            begun.map_err(|error| failed("begin at", server, &error))?;
        }
        Ok(allowed)
    }

    /// Writes the rows of a question as CSV with a header.
    pub(super) fn copy_to(&mut self, sql: &str, out: &mut impl Write) -> Result<(), CleanError> {
        let Self { runtime, client, server, .. } = self;
        let mut buffer = Vec::with_capacity(BUFFER);
        let copied = runtime.block_on(async {
            let mut rows = client.simple_query(sql).await?;
            while let Some(item) = rows.try_next().await? {
                match item {
                    QueryItem::Metadata(names) => put_header(&mut buffer, names.columns()),
                    QueryItem::Row(row) => put_row(&mut buffer, &row)?,
                }
                if buffer.len() >= BUFFER {
                    out.write_all(&buffer)?;
                    buffer.clear();
                }
            }
            Ok::<_, Error>(out.write_all(&buffer)?)
        });
        copied.map_err(|error| failed("read", server, &error))
    }
}

async fn connect(dsn: &SqlServerDsn) -> Result<Client<Compat<TcpStream>>, Error> {
    let mut config = dsn.config.clone();
    let stream = TcpStream::connect_named(&config).await?;
    match Box::pin(Client::connect(config.clone(), stream.compat_write())).await {
        // A cloud's gateway names the machine that has the database.
        Err(Error::Routing { host, port }) => {
            config.host(&host);
            config.port(port);
            let stream = TcpStream::connect((host.as_str(), port)).await?;
            Box::pin(Client::connect(config, stream.compat_write())).await
        }
        other => other,
    }
}

/// The rows of a question whose columns are texts.
async fn texts(
    client: &mut Client<Compat<TcpStream>>,
    sql: &str,
) -> Result<Vec<Vec<Option<String>>>, Error> {
    let rows = client.simple_query(sql).await?.into_first_result().await?;
    let mut all = Vec::with_capacity(rows.len());
    for row in &rows {
        let cell = |at| Ok(row.try_get::<&str, _>(at)?.map(str::to_owned));
        all.push((0..row.len()).map(cell).collect::<Result<_, Error>>()?);
    }
    Ok(all)
}

fn is_named(table: &TableDefinition, name: &str) -> bool {
    table.name.eq_ignore_ascii_case(name)
}

/// The tables of rows with a table's and a column's name. Columns that no import reads are left out.
fn tables(rows: &[Vec<Option<String>>]) -> Vec<TableDefinition> {
    let mut tables: Vec<TableDefinition> = Vec::new();
    for row in rows {
        let [Some(table), Some(column)] = row.as_slice() else { continue };
        if tables.last().is_none_or(|last| last.name != *table) {
            tables.push(TableDefinition { name: table.clone(), columns: Vec::new() });
        }
        if Column::named(column.as_bytes()).is_some()
            && let Some(last) = tables.last_mut()
        {
            last.columns.push(column.clone());
        }
    }
    tables.retain(|table| !table.columns.is_empty());
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_brackets() {
        let columns = vec!["ContactId".to_owned(), "LastModified".to_owned()];
        let table = TableDefinition { name: "a]b".to_owned(), columns };
        let sql = table.sql("xdb_collection", Some(1_785_500_000_000));
        assert_eq!(
            sql,
            "SELECT [ContactId], [LastModified] FROM [xdb_collection].[a]]b] WHERE \
             [LastModified] >= '2026-07-31T12:13:20'"
        );
    }

    #[test]
    fn columns_that_no_import_reads_are_not_asked_for() {
        let row = |table: &str, column: &str| vec![Some(table.to_owned()), Some(column.to_owned())];
        let found = tables(&[
            row("Contacts", "ContactId"),
            row("Contacts", "Photo"),
            row("Orders", "Total"),
        ]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].columns, ["ContactId"]);
    }
}
