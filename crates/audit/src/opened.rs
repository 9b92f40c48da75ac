//! A store that is open for questions.

use std::path::{Path, PathBuf};

use culprit_model::{Label as _, Row};
use culprit_query::{
    Checked, Dataset, Engine, Limits, Parameter, Rows, Stop, TableFile, TableFiles, Value,
    with_parameters,
};
use thiserror::Error;

use crate::error::Error;
use crate::import::SourceFormat;
use crate::questions::text;
use crate::schema::{Partition, StoreTable, TABLES};
use crate::store::{MANIFEST, Store, is_begun};

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
    /// It is a store that is not whole.
    #[error("the store `{}` is damaged: {why}", path.display())]
    Damaged {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The machine does not let it be read.
    #[error(transparent)]
    Refused(Error),
    /// The engine cannot be used.
    #[error(transparent)]
    Engine(culprit_query::Error),
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
    /// True when rows that `culprit audit clean` labelled are left out.
    leaves_out: bool,
    /// Shards of the source, missing ones included; none if nothing says how many.
    shards: Option<u32>,
}

/// Rows that reports leave out: their table, its key, the table's rows that are of them.
const LEFT_OUT: &[(&str, &str)] = &[
    ("interactions", "(l.entity = 'interaction' AND l.id = t.interaction_id)"),
    ("interaction_ids", "(l.entity = 'interaction' AND l.id = t.interaction_id)"),
    ("traffic", "(l.entity = 'interaction' AND l.id = t.interaction_id)"),
    ("page_views", "(l.entity = 'interaction' AND l.id = t.interaction_id)"),
    ("events", "(l.entity = 'interaction' AND l.id = t.interaction_id)"),
    ("contacts", "(l.entity = 'contact' AND l.id = t.contact_id)"),
    ("facets", "(l.entity = t.owner_kind AND l.id = t.owner_id)"),
    ("long_values", "(l.entity = t.owner_kind AND l.id = t.owner_id)"),
];

/// Rows that labels leave out of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// Interactions.
    pub interactions: u64,
    /// Contacts.
    pub contacts: u64,
}

impl AuditStore {
    /// Opens the store in a folder. `stop` ends its questions.
    ///
    /// # Errors
    /// When the folder is no store.
    pub fn open(folder: &Path, limits: Limits, stop: Stop) -> Result<Self, AuditError> {
        let store = Self::new(tables_of(folder)?, limits, stop);
        // Tables without a list can be asked, too.
        let shards = Store::open(folder).ok().map(|store| store.shards());
        Ok(Self { shards, ..store })
    }

    /// A store of these tables; those that are missing have no rows.
    #[must_use]
    pub fn new(mut tables: Vec<TableFiles>, limits: Limits, stop: Stop) -> Self {
        for store_table in TABLES {
            if !tables.iter().any(|table| table.table.name == store_table.table.name) {
                tables.push(TableFiles { table: store_table.table, files: Vec::new() });
            }
        }
        Self { dataset: Dataset::new(tables, limits), stop, leaves_out: true, shards: None }
    }

    /// The same store, of a source with so many shards.
    #[must_use]
    pub fn with_shards(self, shards: u32) -> Self {
        Self { shards: Some(shards), ..self }
    }

    /// Shards of the source, missing ones included; none if nothing says how many.
    pub(crate) fn shards(&self) -> Option<u32> {
        self.shards
    }

    /// The same store, whose questions an engine answers. `folder` is that of the store. Each answer is
    /// compared with that of this machine for some of the files, chosen at random.
    ///
    /// # Errors
    /// When the engine cannot be reached or used.
    pub fn on(self, engine: Engine, folder: &Path) -> Result<Self, AuditError> {
        let dataset = self.dataset.on(engine, folder, &self.stop).map_err(AuditError::Engine)?;
        Ok(Self { dataset, ..self })
    }

    /// What was compared with an engine's answers so far; none without an engine.
    #[must_use]
    pub fn checked(&self) -> Option<Checked> {
        self.dataset.checked()
    }

    /// The same store, with the rows that labels leave out.
    #[must_use]
    pub fn with_labelled(self) -> Self {
        Self { leaves_out: false, ..self }
    }

    /// How many rows labels leave out of the questions' answers.
    ///
    /// # Errors
    /// When the labels cannot be read.
    pub fn left_out(&self) -> Result<LeftOut, AuditError> {
        let mut found = LeftOut::default();
        if !self.leaves_out || !self.has("labels") {
            return Ok(found);
        }
        for row in self.ask("left_out", &[])?.rows {
            let cells = Cells(&row);
            match cells.text(0) {
                Some("interaction") => found.interactions = cells.count(1),
                Some("contact") => found.contacts = cells.count(1),
                _ => {}
            }
        }
        Ok(found)
    }

    /// The same store with the rows of a table in memory.
    ///
    /// # Errors
    /// When the rows cannot be made columns.
    pub fn with_rows<R: Row>(self, rows: &[R]) -> Result<Self, AuditError> {
        let failed = |source| AuditError::Question { question: R::TABLE.name.to_owned(), source };
        Ok(Self { dataset: self.dataset.with_rows(rows).map_err(failed)?, ..self })
    }

    /// True when rows that `culprit audit clean` labelled are left out.
    pub(crate) fn leaves_out(&self) -> bool {
        self.leaves_out
    }

    /// True when a source of the store can say that a visit has reached a goal: no log does.
    ///
    /// # Errors
    /// When the sources cannot be read.
    pub(crate) fn knows_goals(&self) -> Result<bool, AuditError> {
        let rows = self.ask("source_formats", &[])?.rows;
        let is_log = |row: &Vec<Value>| {
            let format = Cells(row).text(0).and_then(SourceFormat::from_word);
            format.is_some_and(SourceFormat::is_log)
        };
        Ok(rows.is_empty() || !rows.iter().all(is_log))
    }

    /// True when a table has rows.
    pub(crate) fn has(&self, table: &str) -> bool {
        self.dataset.has_rows(table)
    }

    /// True when a table of sums over all rows can answer: there is one, and no label leaves rows out.
    pub(crate) fn has_sums(&self, table: &str) -> bool {
        self.has(table) && !(self.leaves_out && self.has("labels"))
    }

    /// Asks one of the [`questions`](crate::questions()).
    ///
    /// # Errors
    /// When it cannot be answered within the limits, or was stopped.
    pub fn ask(&self, question: &str, values: &[(&str, Parameter)]) -> Result<Rows, AuditError> {
        let failed = |source| AuditError::Question { question: question.to_owned(), source };
        let leaves_out = self.leaves_out && self.has("labels");
        let text = if leaves_out { without_labelled(&text(question)) } else { text(question) };
        let sql = with_parameters(&text, values).map_err(failed)?;
        self.dataset.rows(&sql, &self.stop).map_err(failed)
    }
}

/// A question whose tables lack the labelled rows: each has one of its own name before it.
fn without_labelled(sql: &str) -> String {
    let names = |table: &str| {
        sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == table)
    };
    let named = LEFT_OUT.iter().filter(|(table, _)| names(table));
    let tables: Vec<String> = named
        .map(|(table, is_of)| {
            format!(
                "{table} AS (SELECT t.* FROM {table} t WHERE NOT EXISTS (SELECT 1 FROM labels l \
                 WHERE l.label = 'excluded' AND {is_of}))"
            )
        })
        .collect();
    if tables.is_empty() {
        return sql.to_owned();
    }
    let list = tables.join(", ");
    match sql.strip_prefix("WITH ") {
        Some(rest) => format!("WITH {list}, {rest}"),
        None => format!("WITH {list} {sql}"),
    }
}

/// How often a store is listed again that changed meanwhile.
const TRIES: u32 = 5;

/// The files in the list of a store, by table; none without a list. Files that are in no list are left by
/// an import that was killed or had no room: their rows would count twice.
fn listed_tables(folder: &Path) -> Result<Option<Vec<TableFiles>>, AuditError> {
    let damaged = |why: String| AuditError::Damaged { path: folder.to_owned(), why };
    let open = || match Store::open(folder) {
        Ok(store) => Ok(Some(store)),
        Err(Error::NoStore { .. }) => Ok(None),
        Err(error) if error.is_refusal() => Err(AuditError::Refused(error)),
        Err(error) => Err(damaged(error.to_string())),
    };
    let mut tries = 0;
    loop {
        let Some(store) = open()? else { return Ok(None) };
        let Some(why) = store.missing_file() else {
            let table = |table: &StoreTable| TableFiles {
                table: table.table,
                files: store.files(table.table.name).map(|file| store.table_file(file)).collect(),
            };
            return Ok(Some(TABLES.iter().map(table).collect()));
        };
        tries += 1;
        let now = open()?.map(|now| now.generation());
        if tries == TRIES || now == Some(store.generation()) {
            return Err(damaged(why));
        }
    }
}

/// The files of a store by table. Without a list of them, those that are in its folder.
///
/// # Errors
/// When the folder has no table of a store, cannot be listed, or lacks a file of the store's list.
pub fn tables_of(folder: &Path) -> Result<Vec<TableFiles>, AuditError> {
    let wrong = |why: String| AuditError::NoStore { path: folder.to_owned(), why };
    if !folder.is_dir() {
        let why = if folder.exists() { "it is no folder" } else { "it does not exist" };
        return Err(wrong(why.to_owned()));
    }
    if let Some(tables) = listed_tables(folder)? {
        return Ok(tables);
    }
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
        let files = files.into_iter().map(TableFile::from).collect();
        tables.push(TableFiles { table: table.table, files });
    }
    let is_empty = tables.iter().all(|table| table.files.is_empty());
    if is_empty && is_begun(folder) {
        return Err(wrong("its first import has not ended; the same command goes on".to_owned()));
    }
    if is_empty {
        return Err(wrong("it has no tables; `culprit audit import` makes a store".to_owned()));
    }
    if is_begun(folder) {
        let why = format!("`{MANIFEST}`, the list of its files, is missing");
        return Err(AuditError::Damaged { path: folder.to_owned(), why });
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

    /// A number that fills 64 bits, which some engines call negative.
    pub(crate) fn hash(self, at: usize) -> Option<u64> {
        match self.0.get(at)? {
            Value::Int(value) => Some(value.cast_unsigned()),
            Value::Unsigned(value) => Some(*value),
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
