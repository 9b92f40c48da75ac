//! A store that is open for questions.

use std::path::{Path, PathBuf};

use culprit_model::Row;
use culprit_query::{Dataset, Limits, Parameter, Rows, Stop, TableFiles, Value, with_parameters};
use thiserror::Error;

use crate::questions::text;
use crate::schema::{Partition, TABLES};

/// A question about a store could not be answered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AuditError {
    /// It is no store.
    #[error("`{}` is not an analytics store: {why}", path.display())]
    NoStore {
        /// The folder.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The question failed.
    #[error("the question `{question}` failed: {source}")]
    Question {
        /// Its name.
        question: String,
        /// Why.
        source: culprit_query::Error,
    },
    /// What was asked makes no sense for this store.
    #[error("{what}")]
    Asked {
        /// What, and why.
        what: String,
        /// The way out.
        hint: String,
    },
}

/// A store that can be asked.
#[derive(Debug, Clone)]
pub struct AuditStore {
    dataset: Dataset,
    stop: Stop,
}

impl AuditStore {
    /// Opens the store in a folder. `stop` ends its questions.
    ///
    /// # Errors
    /// When the folder is no store.
    pub fn open(folder: &Path, limits: Limits, stop: Stop) -> Result<Self, AuditError> {
        Ok(Self::new(tables_of(folder)?, limits, stop))
    }

    /// A store of these tables; those that are missing have no rows.
    #[must_use]
    pub fn new(mut tables: Vec<TableFiles>, limits: Limits, stop: Stop) -> Self {
        for store_table in TABLES {
            if !tables.iter().any(|table| table.table.name == store_table.table.name) {
                tables.push(TableFiles { table: store_table.table, files: Vec::new() });
            }
        }
        Self { dataset: Dataset::new(tables, limits), stop }
    }

    /// The same store with the rows of a table in memory.
    ///
    /// # Errors
    /// When the rows cannot be made columns.
    pub fn with_rows<R: Row>(self, rows: &[R]) -> Result<Self, AuditError> {
        let failed = |source| AuditError::Question { question: R::TABLE.name.to_owned(), source };
        Ok(Self { dataset: self.dataset.with_rows(rows).map_err(failed)?, stop: self.stop })
    }

    /// True when a table has rows.
    pub(crate) fn has(&self, table: &str) -> bool {
        self.dataset.has_rows(table)
    }

    /// Asks one of the [`questions`](crate::questions()).
    ///
    /// # Errors
    /// When it cannot be answered within the limits, or was stopped.
    pub fn ask(&self, question: &str, values: &[(&str, Parameter)]) -> Result<Rows, AuditError> {
        let failed = |source| AuditError::Question { question: question.to_owned(), source };
        let sql = with_parameters(&text(question), values).map_err(failed)?;
        self.dataset.rows(&sql, &self.stop).map_err(failed)
    }
}

/// The files of a store by table.
///
/// # Errors
/// When the folder has no table of a store, or cannot be listed.
pub fn tables_of(folder: &Path) -> Result<Vec<TableFiles>, AuditError> {
    let wrong = |why: String| AuditError::NoStore { path: folder.to_owned(), why };
    let mut tables = Vec::new();
    for table in TABLES {
        let depth = match table.partition {
            Partition::DayAndShard => 2,
            Partition::Shard => 1,
            Partition::Whole => 0,
        };
        let mut files = Vec::new();
        list(&folder.join(table.table.name), depth, &mut files)
            .map_err(|error| wrong(error.to_string()))?;
        files.sort();
        tables.push(TableFiles { table: table.table, files });
    }
    if tables.iter().all(|table| table.files.is_empty()) {
        return Err(wrong("it has no tables; `culprit audit import` makes a store".to_owned()));
    }
    Ok(tables)
}

fn list(folder: &Path, depth: u32, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        if depth > 0 && path.is_dir() {
            list(&path, depth - 1, files)?;
        } else if depth == 0 && path.extension().is_some_and(|end| end == "parquet") {
            files.push(path);
        }
    }
    Ok(())
}

/// The cells of a row by position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cells<'a>(pub(crate) &'a [Value]);

impl<'a> Cells<'a> {
    /// A whole number; none where there is no value.
    pub(crate) fn int(self, at: usize) -> Option<i64> {
        match self.0.get(at)? {
            Value::Int(value) => Some(*value),
            Value::Unsigned(value) => i64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// A count; 0 where there is no value.
    pub(crate) fn count(self, at: usize) -> u64 {
        self.int(at).and_then(|value| u64::try_from(value).ok()).unwrap_or(0)
    }

    /// A fraction; 0 where there is no value.
    pub(crate) fn float(self, at: usize) -> f64 {
        match self.0.get(at) {
            Some(Value::Float(value)) => *value,
            _ => crate::robots::formulas::float(self.count(at)),
        }
    }

    /// A text; none where there is no value.
    pub(crate) fn text(self, at: usize) -> Option<&'a str> {
        match self.0.get(at)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}
