//! Tables that stand in Parquet files of this program, outside of recordings: asked with bounded
//! memory. What does not fit into it goes to the disk, and comes back.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use culprit_model::{Row, Table};
use datafusion::arrow::array::RecordBatch;
use datafusion::catalog::{MemTable, TableProvider};

use crate::answer::{Answer, Parts};
use crate::columns::stored_array;
use crate::engine::{Joins, plan, problem, spilling_session, within};
use crate::error::Error;
use crate::files::{FilesTable, stored_schema};
use crate::question::{Asked, parse};
use crate::runtime::{Stop, Threads};
use crate::store::{Limits, run};
use crate::value::Value;

/// A table whose rows stand in files.
#[derive(Debug, Clone)]
pub struct TableFiles {
    /// Its declaration.
    pub table: Table,
    /// Its files; none for a table without rows.
    pub files: Vec<PathBuf>,
}

/// Tables that can be asked.
#[derive(Debug, Clone)]
pub struct Dataset {
    tables: Vec<(&'static str, Arc<dyn TableProvider>)>,
    /// Tables with a file or a row.
    filled: BTreeSet<&'static str>,
    limits: Limits,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows, one value a column.
    pub rows: Vec<Vec<Value>>,
}

impl Dataset {
    /// Names tables; files are read when a question needs them.
    ///
    /// `limits.memory_bytes` covers the columns of the files that are being read, and what is
    /// computed. Sorting and grouping beyond it use files in the folder for temporary files.
    #[must_use]
    pub fn new(tables: Vec<TableFiles>, limits: Limits) -> Self {
        let provider = |table: TableFiles| {
            let name = table.table.name;
            (name, Arc::new(FilesTable::new(table, limits.threads)) as Arc<dyn TableProvider>)
        };
        let filled = tables.iter().filter(|table| !table.files.is_empty()).map(|t| t.table.name);
        Self {
            filled: filled.collect(),
            tables: tables.into_iter().map(provider).collect(),
            limits,
        }
    }

    /// True when a table has a file, or rows in memory.
    #[must_use]
    pub fn has_rows(&self, table: &str) -> bool {
        self.filled.contains(table)
    }

    /// Adds a table whose rows are in memory; it replaces one of the same name.
    ///
    /// # Errors
    /// When the rows cannot be made columns.
    pub fn with_rows<R: Row>(mut self, rows: &[R]) -> Result<Self, Error> {
        let table = R::TABLE;
        let schema = stored_schema(table.columns);
        let columns = table.columns.iter().zip(R::columns(rows));
        let arrays = columns.map(|(column, data)| stored_array(column, data));
        let arrays = arrays.collect::<Result<_, _>>().map_err(problem)?;
        let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(|e| problem(e.into()))?;
        let provider = MemTable::try_new(schema, vec![vec![batch]]).map_err(problem)?;
        self.tables.retain(|(name, _)| *name != table.name);
        self.tables.push((table.name, Arc::new(provider)));
        if !rows.is_empty() {
            self.filled.insert(table.name);
        }
        Ok(self)
    }

    /// Asks one question; its rows come as they are computed.
    ///
    /// # Errors
    /// When it is no question, names what is not there, or cannot be answered within the limits.
    pub fn ask(&self, question: &str, stop: &Stop) -> Result<Answer, Error> {
        self.ask_with(question, Joins::InMemory, stop)
    }

    fn ask_with(&self, question: &str, joins: Joins, stop: &Stop) -> Result<Answer, Error> {
        let threads = Threads::start(self.limits.threads)?;
        let work = begin(self.clone(), question.to_owned(), joins);
        let parts = threads.wait(stop, work).map_err(|error| within(&self.limits, error))?;
        Ok(Answer::streaming(parts, threads, stop.clone(), self.limits))
    }

    /// Asks one question whose answer fits into memory. What cannot be joined in memory is sorted on
    /// the disk and joined there.
    ///
    /// # Errors
    /// As [`Dataset::ask`].
    pub fn rows(&self, question: &str, stop: &Stop) -> Result<Rows, Error> {
        match self.rows_with(question, Joins::InMemory, stop) {
            Err(Error::Memory { .. }) => self.rows_with(question, Joins::Sorted, stop),
            done => done,
        }
    }

    fn rows_with(&self, question: &str, joins: Joins, stop: &Stop) -> Result<Rows, Error> {
        let mut answer = self.ask_with(question, joins, stop)?;
        let columns = answer.columns().iter().map(|column| column.name.clone()).collect();
        let mut rows = Vec::new();
        while let Some(more) = answer.next_rows()? {
            rows.extend(more);
        }
        Ok(Rows { columns, rows })
    }
}

/// Runs on a thread of its own: texts and plans are deep trees.
async fn begin(dataset: Dataset, text: String, joins: Joins) -> Result<Parts, Error> {
    let Asked::Rows { statement, .. } = parse(&text)? else {
        let why = "a dataset answers SELECT only".to_owned();
        return Err(Error::Plan { why });
    };
    let session = spilling_session(&dataset.limits, joins)?;
    for (name, table) in dataset.tables {
        session.register_table(name, table).map_err(problem)?;
    }
    let plan = plan(&session, &text, *statement).await?;
    let rows = run(&session, plan).await?;
    let memory = datafusion::execution::memory_pool::MemoryConsumer::new("answer")
        .register(&session.runtime_env().memory_pool);
    Ok(Parts { rows, opened: Vec::new(), memory })
}
