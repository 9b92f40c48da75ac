//! A stand-in for a SQL Server: it speaks as much of TDS (MS-TDS, version 7.4) as reading tables needs.
//!
//! ```text
//! mod      the server: logins, the statements that it knows, what goes wrong on request
//! wire     packets, tokens, encryption
//! tables   columns with types, values as bytes
//! ```
//!
//! It knows statements by a part of their text: what an import sends, and nothing else.

mod tables;
mod wire;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

pub use tables::{TdsColumn, TdsTable, TdsType};
pub use wire::TdsKeys;

use wire::{Login, Message, Wire, done, environment, error, login_ack, metadata, row};

/// The schema of all tables.
const SCHEMA: &str = "xdb_collection";

/// What goes wrong while a table is read.
#[derive(Debug, Clone)]
pub enum TdsFault {
    /// The connection ends in the middle of a packet.
    Drop,
    /// The server reports this error.
    Error(u32, String),
    /// Bytes that are no token.
    Garbage,
}

/// What a server has and does.
#[derive(Debug, Clone, Default)]
pub struct TdsSetup {
    /// Tables by name, by database.
    pub databases: BTreeMap<String, Vec<TdsTable>>,
    /// Users with their passwords.
    pub users: BTreeMap<String, String>,
    /// True when a transaction can read one snapshot.
    pub snapshots: bool,
    /// Table, rows that are sent first, what happens then.
    pub fault: Option<(String, usize, TdsFault)>,
    /// Key and certificate; without them nothing is encrypted.
    pub keys: Option<TdsKeys>,
}

/// A running server; it ends with the value.
#[derive(Debug)]
pub struct TdsServer {
    /// Its port on 127.0.0.1.
    pub port: u16,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    setup: TdsSetup,
    asked: Mutex<Vec<String>>,
    ended: AtomicBool,
}

impl TdsServer {
    /// Starts a server on a free port.
    ///
    /// # Errors
    /// When no port is free.
    pub fn start(setup: TdsSetup) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let ended = AtomicBool::new(false);
        let shared = Arc::new(Shared { setup, asked: Mutex::default(), ended });
        let here = Arc::clone(&shared);
        let accepting = Some(std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if here.ended.load(Ordering::Relaxed) {
                    return;
                }
                let here = Arc::clone(&here);
                // A client that goes away ends its connection, not the server.
                std::thread::spawn(move || serve(stream, &here).ok());
            }
        }));
        Ok(Self { port, shared, accepting })
    }

    /// The statements so far, of all connections.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for TdsServer {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // The one that waits for a connection gets one.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        let _ = self.accepting.take().map(JoinHandle::join);
    }
}

/// Serves a connection until its client goes.
fn serve(stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let setup = &shared.setup;
    let mut wire = Wire::accept(stream, setup.keys.as_ref())?;
    let Login { user, password, database } = wire.login()?;
    let mut answer = Message::default();
    if setup.users.get(&user) != Some(&password) {
        error(&mut answer, 18_456, &format!("Login failed for user '{user}'."));
        done(&mut answer, true);
        return wire.send(&answer);
    }
    let Some(tables) = setup.databases.get(&database) else {
        let text = format!("Cannot open database \"{database}\" requested by the login.");
        error(&mut answer, 4060, &text);
        done(&mut answer, true);
        return wire.send(&answer);
    };
    login_ack(&mut answer);
    done(&mut answer, false);
    wire.send(&answer)?;
    let mut transaction = 0_u64;
    while let Some((descriptor, sql)) = wire.batch()? {
        shared.asked.lock().unwrap_or_else(PoisonError::into_inner).push(sql.clone());
        let mut answer = Message::default();
        if descriptor != transaction {
            error(&mut answer, 3989, "New request is not allowed to start: wrong transaction.");
            done(&mut answer, true);
        } else if sql.contains("DB_NAME()") {
            let names = TdsTable::of_texts("", &[""], &[&[Some(&database)]]);
            whole(&mut answer, &names);
        } else if sql.contains("sys.databases") {
            let mut state =
                TdsTable::of_texts("", &[""], &[&[Some(&u8::from(setup.snapshots).to_string())]]);
            state.columns[0].ty = TdsType::Int;
            whole(&mut answer, &state);
        } else if sql.contains("sys.columns") {
            whole(&mut answer, &definitions(tables, &sql));
        } else if sql.starts_with("SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN") {
            transaction = 0x0123_4567_89ab_cdef;
            environment(&mut answer, transaction);
            done(&mut answer, false);
        } else {
            read(&mut wire, setup, tables, &sql)?;
            continue;
        }
        wire.send(&answer)?;
    }
    Ok(())
}

/// Columns and rows of a table, and the end.
fn whole(answer: &mut Message, table: &TdsTable) {
    metadata(answer, &table.columns.iter().collect::<Vec<_>>());
    let all: Vec<usize> = (0..table.columns.len()).collect();
    table.rows.iter().for_each(|cells| row(answer, table, &all, cells));
    done(answer, false);
}

/// The names of tables and columns.
fn definitions(tables: &[TdsTable], sql: &str) -> TdsTable {
    let mut all = TdsTable::of_texts("", &["name", "name"], &[]);
    if sql.contains(&format!("N'{SCHEMA}'")) {
        for table in tables {
            for column in &table.columns {
                all.rows.push(vec![Some(table.name.clone()), Some(column.name.clone())]);
            }
        }
    }
    all
}

/// Answers `SELECT [A], [B] FROM [xdb_collection].[Table]`, with a condition on `LastModified` or without.
fn read(wire: &mut Wire, setup: &TdsSetup, tables: &[TdsTable], sql: &str) -> std::io::Result<()> {
    let mut answer = Message::default();
    let Some((table, columns, since)) = parsed(tables, sql) else {
        error(&mut answer, 208, &format!("Invalid object name in '{sql}'."));
        done(&mut answer, true);
        return wire.send(&answer);
    };
    metadata(&mut answer, &columns.iter().map(|at| &table.columns[*at]).collect::<Vec<_>>());
    let changed = table.columns.iter().position(|column| column.name == "LastModified");
    let fault = setup.fault.as_ref().filter(|(name, ..)| *name == table.name);
    let mut sent = 0;
    for cells in &table.rows {
        let time = changed.and_then(|at| cells[at].as_deref()).unwrap_or("~").replace(' ', "T");
        if since.as_deref().is_some_and(|since| time.as_str() < since) {
            continue;
        }
        if let Some((_, _, fault)) = fault.filter(|(_, rows, _)| *rows == sent) {
            return go_wrong(wire, answer, fault);
        }
        row(&mut answer, table, &columns, cells);
        sent += 1;
        if answer.len() > 1 << 20 {
            wire.send_part(&mut answer)?;
        }
    }
    done(&mut answer, false);
    wire.send(&answer)
}

fn go_wrong(wire: &mut Wire, mut answer: Message, fault: &TdsFault) -> std::io::Result<()> {
    match fault {
        TdsFault::Drop => {
            let packets = wire.packets(&answer, false);
            wire.write_all(&packets[..packets.len() - packets.len() / 3])?;
            wire.close()
        }
        TdsFault::Error(number, text) => {
            error(&mut answer, *number, text);
            done(&mut answer, true);
            wire.send(&answer)
        }
        TdsFault::Garbage => {
            answer.bytes(&[0x00, 0x17, 0xff, 0xff]);
            wire.send(&answer)
        }
    }
}

/// Table, columns and the time of the condition.
fn parsed<'t>(
    tables: &'t [TdsTable],
    sql: &str,
) -> Option<(&'t TdsTable, Vec<usize>, Option<String>)> {
    let (list, rest) = sql.strip_prefix("SELECT ")?.split_once(" FROM ")?;
    let (name, condition) = rest.split_once(" WHERE ").map_or((rest, None), |(n, c)| (n, Some(c)));
    let name = name.strip_prefix(&format!("[{SCHEMA}].["))?.strip_suffix(']')?;
    let table = tables.iter().find(|table| table.name == name)?;
    let column = |text: &str| {
        let name = text.trim().strip_prefix('[')?.strip_suffix(']')?;
        table.columns.iter().position(|column| column.name == name)
    };
    let columns = list.split(',').map(column).collect::<Option<Vec<_>>>()?;
    let since = match condition {
        Some(text) => {
            Some(text.strip_prefix("[LastModified] >= '")?.strip_suffix('\'')?.to_owned())
        }
        None => None,
    };
    Some((table, columns, since))
}
