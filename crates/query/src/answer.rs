//! What comes back: columns, then rows as they are computed.

use std::path::PathBuf;

use culprit_model::{Loss, Recording, Table};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::Schema;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryReservation;
use futures_util::StreamExt as _;
use tokio::sync::mpsc::{self, Receiver};

use crate::engine::{problem, within};
use crate::error::Error;
use crate::question::unknown;
use crate::runtime::{Stop, Threads};
use crate::schema::{UNIT, stored_columns, tables};
use crate::sources::Source;
use crate::spark::Cluster;
use crate::store::Limits;
use crate::value::{Value, type_name, values};
use crate::views::views;

/// Batches that may wait to be taken.
const WAITING: usize = 2;

/// A recording that was opened for a question.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// What is missing of it.
    pub losses: Vec<Loss>,
}

impl Opened {
    pub(crate) fn new(source: &Source, recording: &Recording) -> Self {
        let Source { name, path } = source.clone();
        Self { name, path, losses: recording.losses.clone() }
    }
}

/// A column of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerColumn {
    /// Its name.
    pub name: String,
    /// Its type in SQL.
    pub ty: String,
    /// Its unit; empty where there is none or the question has computed it.
    pub unit: String,
}

/// An answer's rows before anybody takes them.
pub(crate) struct Parts {
    /// The rows.
    pub(crate) rows: SendableRecordBatchStream,
    /// What was opened for them.
    pub(crate) opened: Vec<Opened>,
    /// The tables' memory, given back when the answer ends.
    pub(crate) memory: MemoryReservation,
}

/// An answer: its columns are known, its rows come as they are computed.
#[derive(Debug)]
pub struct Answer {
    columns: Vec<AnswerColumn>,
    opened: Vec<Opened>,
    source: Rows,
    /// The engine that computes the rows: its sessions end with its last holder, and a session that has
    /// ended cannot send the rest of an answer whose connection was cut.
    #[expect(dead_code, reason = "held, not asked")]
    engine: Option<Cluster>,
}

/// Where rows come from.
#[derive(Debug)]
enum Rows {
    /// They are there.
    Ready(Vec<Vec<Value>>),
    /// They are computed.
    Coming {
        batches: Receiver<Result<Vec<Vec<Value>>, Error>>,
        threads: Threads,
        stop: Stop,
        limits: Limits,
    },
}

impl Answer {
    /// The columns in order.
    #[must_use]
    pub fn columns(&self) -> &[AnswerColumn] {
        &self.columns
    }

    /// The recordings that were opened, with what is missing of them.
    #[must_use]
    pub fn opened(&self) -> &[Opened] {
        &self.opened
    }

    /// The next rows, one value a column; none when there are no more.
    ///
    /// # Errors
    /// When they cannot be computed within the limits, or the question was stopped.
    pub fn next_rows(&mut self) -> Result<Option<Vec<Vec<Value>>>, Error> {
        let (batches, threads, stop, limits) = match &mut self.source {
            Rows::Ready(rows) if rows.is_empty() => return Ok(None),
            Rows::Ready(rows) => return Ok(Some(std::mem::take(rows))),
            Rows::Coming { batches, threads, stop, limits } => (batches, threads, stop, limits),
        };
        match threads.receive(stop, batches)? {
            Some(rows) => rows.map(Some).map_err(|error| within(limits, error)),
            None => Ok(None),
        }
    }

    pub(crate) fn streaming(parts: Parts, threads: Threads, stop: Stop, limits: Limits) -> Self {
        let Parts { mut rows, opened, memory } = parts;
        let columns = columns(&rows.schema());
        let (sender, batches) = mpsc::channel(WAITING);
        threads.spawn(async move {
            // Given back only when no row is to come.
            let _memory = memory;
            while let Some(batch) = rows.next().await {
                let batch = batch.map_err(problem).and_then(|batch| table(&batch));
                let last = batch.is_err();
                if sender.send(batch).await.is_err() || last {
                    break;
                }
            }
        });
        let source = Rows::Coming { batches, threads, stop, limits };
        Self { columns, opened, source, engine: None }
    }

    /// The same answer, which keeps the engine that computes it.
    pub(crate) fn computed_by(self, engine: Cluster) -> Self {
        Self { engine: Some(engine), ..self }
    }

    /// Every table and view whose name is like a pattern.
    pub(crate) fn of_tables(like: Option<&str>) -> Self {
        let text = |text: &str| Value::Text(text.to_owned());
        let views = views();
        let all = (tables().into_iter().map(|table| (table.name, "table", sentence(table.doc))))
            .chain(views.iter().map(|view| (view.name, "view", sentence(&view.doc))));
        let rows = all
            .filter(|(name, ..)| like.is_none_or(|like| is_like(name, like)))
            .map(|(name, kind, doc)| vec![text(name), text(kind), text(&doc)])
            .collect();
        Self::ready(&["name", "kind", "meaning"], rows)
    }

    /// Every column of a table or view.
    ///
    /// # Errors
    /// When there is none of that name.
    pub(crate) fn of_columns(of: &str) -> Result<Self, Error> {
        let row = |cells: [&str; 4]| cells.iter().map(|c| Value::Text((*c).to_owned())).collect();
        let name = of.to_lowercase();
        if let Some(table) = tables().into_iter().find(|table| table.name == name) {
            let rows = table.columns.iter().map(|c| row([c.name, c.ty, &c.unit, &c.doc])).collect();
            return Ok(Self::ready(&["column", "type", "unit", "meaning"], rows));
        }
        let views = views();
        let Some(view) = views.iter().find(|view| view.name == name) else {
            return Err(unknown(of));
        };
        let rows = view.columns.iter().map(|c| row([c.name, c.ty, c.unit, &c.doc])).collect();
        Ok(Self::ready(&["column", "type", "unit", "meaning"], rows))
    }

    /// Those of some tables whose name is like a pattern.
    pub(crate) fn of_declared(tables: &[Table], like: Option<&str>) -> Self {
        let text = |text: &str| Value::Text(text.to_owned());
        let rows = tables
            .iter()
            .filter(|table| like.is_none_or(|like| is_like(table.name, like)))
            .map(|table| vec![text(table.name), text("table"), text(&sentence(table.doc))])
            .collect();
        Self::ready(&["name", "kind", "meaning"], rows)
    }

    /// Every column of a table that belongs to no recording.
    pub(crate) fn of_stored_columns(table: &Table) -> Self {
        let row = |cells: [&str; 4]| cells.iter().map(|c| Value::Text((*c).to_owned())).collect();
        let columns = stored_columns(table);
        let rows = columns.iter().map(|c| row([c.name, c.ty, &c.unit, &c.doc])).collect();
        Self::ready(&["column", "type", "unit", "meaning"], rows)
    }

    fn ready(names: &[&str], rows: Vec<Vec<Value>>) -> Self {
        let column = |name: &&str| AnswerColumn {
            name: (*name).to_owned(),
            ty: "text".to_owned(),
            unit: String::new(),
        };
        let columns = names.iter().map(column).collect();
        Self { columns, opened: Vec::new(), source: Rows::Ready(rows), engine: None }
    }
}

fn columns(schema: &Schema) -> Vec<AnswerColumn> {
    let column = |field: &datafusion::arrow::datatypes::Field| AnswerColumn {
        name: field.name().clone(),
        ty: type_name(field.data_type()),
        unit: field.metadata().get(UNIT).cloned().unwrap_or_default(),
    };
    schema.fields().iter().map(|field| column(field)).collect()
}

/// A batch row by row.
fn table(batch: &RecordBatch) -> Result<Vec<Vec<Value>>, Error> {
    let failed =
        |error: datafusion::arrow::error::ArrowError| Error::Run { why: error.to_string() };
    let mut rows: Vec<Vec<Value>> =
        (0..batch.num_rows()).map(|_| Vec::with_capacity(batch.num_columns())).collect();
    for column in batch.columns() {
        let column = values(column.as_ref()).map_err(failed)?;
        rows.iter_mut().zip(column).for_each(|(row, value)| row.push(value));
    }
    Ok(rows)
}

/// What a text says first.
fn sentence(doc: &str) -> String {
    let doc = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    match doc.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => doc,
    }
}

/// SQL's `LIKE` with `%` alone; a word without one is a part of the name.
fn is_like(name: &str, pattern: &str) -> bool {
    let pattern = pattern.to_lowercase();
    let Some((start, rest)) = pattern.split_once('%') else { return name.contains(&pattern) };
    let Some(mut left) = name.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('%').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match left.split_once(part) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_by_patterns() {
        for (pattern, hit) in [
            ("thread%", true),
            ("%states", true),
            ("%read%ate%", true),
            ("states", true),
            ("x%", false),
        ] {
            assert_eq!(is_like("thread_states", pattern), hit, "{pattern}");
        }
    }
}
