//! Recordings to ask, and answers as text.

use std::path::{Path, PathBuf};

use culprit_model::Recording;
use culprit_query::{Answer, Error, Limits, Stop, Store, Value};

/// More than any test needs.
pub(crate) const LIMITS: Limits = Limits { memory_bytes: 1 << 30, threads: 2 };

/// The committed recording of the first format.
pub(crate) fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../recording/tests/fixtures/format-1.culprit")
}

fn finish(recording: &mut Recording) {
    culprit_engine::threads::build(recording);
}

/// A store of recordings.
pub(crate) fn store(paths: &[PathBuf]) -> Store {
    Store::open(paths, finish, LIMITS).unwrap()
}

/// A question with a limit of memory.
pub(crate) fn ask_within(
    paths: &[PathBuf],
    limits: Limits,
    sql: &str,
) -> Result<Vec<String>, Error> {
    let store = Store::open(paths, finish, limits)?;
    store.ask(sql, &Stop::default()).and_then(lines)
}

/// The answer's columns, then its rows, a line each.
pub(crate) fn ask(store: &Store, sql: &str) -> Result<Vec<String>, Error> {
    store.ask(sql, &Stop::default()).and_then(lines)
}

fn lines(mut answer: Answer) -> Result<Vec<String>, Error> {
    let names = answer.columns().iter().map(|c| format!("{} {}", c.name, c.ty));
    let mut lines = vec![names.collect::<Vec<_>>().join(" | ")];
    while let Some(rows) = answer.next_rows()? {
        lines.extend(rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(" | ")));
    }
    Ok(lines)
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Unsigned(number) => number.to_string(),
        Value::Float(number) => format!("{number:.3}"),
        Value::Text(text) => text.clone(),
        Value::List(values) => {
            format!("[{}]", values.iter().map(cell).collect::<Vec<_>>().join(", "))
        }
        Value::Record(_) => "record".to_owned(),
    }
}
