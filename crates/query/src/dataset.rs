//! Tables that stand in Parquet files of this program, outside of recordings: asked with bounded
//! memory. What does not fit into it goes to the disk, and comes back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use culprit_model::{Row, Table};
use datafusion::arrow::array::RecordBatch;
use datafusion::catalog::{MemTable, TableProvider};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, UnboundedMemoryPool};
use datafusion::sql::parser::Statement;
use twox_hash::XxHash64;

use crate::answer::{Answer, Parts};
use crate::columns::{WideNumbers, stored_array};
use crate::engine::{Joins, plan, problem, spilling_session, within};
use crate::error::Error;
use crate::files::{FilesTable, stored_schema};
use crate::question::{Asked, comparable, parse, unknown_among};
use crate::runtime::{Stop, Threads};
use crate::spark::{Checked, Cluster, Engine, Extent};
use crate::store::{Limits, run};
use crate::value::Value;

/// A table whose rows stand in files.
#[derive(Debug, Clone)]
pub struct TableFiles {
    /// Its declaration.
    pub table: Table,
    /// Its files; none for a table without rows.
    pub files: Vec<TableFile>,
}

/// A file of a table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableFile {
    /// Where it is.
    pub path: PathBuf,
    /// XXH64 of its bytes with seed 0, as they were written: other ones are no answer. None where nothing
    /// says it.
    pub digest: Option<u64>,
}

impl TableFile {
    /// The digest of a file's bytes.
    #[must_use]
    pub fn digest_of(bytes: &[u8]) -> u64 {
        XxHash64::oneshot(0, bytes)
    }

    /// True unless these bytes of the file are not those that were written.
    #[must_use]
    pub fn may_be(&self, bytes: &[u8]) -> bool {
        self.digest.is_none_or(|written| Self::digest_of(bytes) == written)
    }
}

impl From<PathBuf> for TableFile {
    fn from(path: PathBuf) -> Self {
        Self { path, digest: None }
    }
}

/// Tables that can be asked.
#[derive(Debug, Clone)]
pub struct Dataset {
    tables: Vec<(&'static str, Arc<dyn TableProvider>)>,
    /// Those of them that stand in files.
    files: Arc<[TableFiles]>,
    /// Tables with a file or a row.
    filled: BTreeSet<&'static str>,
    limits: Limits,
    /// Who answers; none when this machine does.
    cluster: Option<Cluster>,
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
        let filled = tables.iter().filter(|table| !table.files.is_empty()).map(|t| t.table.name);
        Self {
            filled: filled.collect(),
            files: tables.clone().into(),
            tables: providers(tables, limits.threads, WideNumbers::Bits),
            limits,
            cluster: None,
        }
    }

    /// The same tables in files, whose hashes and halves of GUIDs have no sign. Engines elsewhere know
    /// only numbers with a sign: there the bits count.
    #[must_use]
    pub fn unsigned(self) -> Self {
        let tables = providers(self.files.to_vec(), self.limits.threads, WideNumbers::Unsigned);
        Self { tables, ..self }
    }

    /// The same tables, whose questions an engine answers. All files are below `folder`. Each answer is
    /// compared with that of this machine for some of the files, chosen at random.
    ///
    /// # Errors
    /// When the engine cannot be reached or used.
    pub fn on(self, engine: Engine, folder: &Path, stop: &Stop) -> Result<Self, Error> {
        let cluster = Cluster::connect(engine, folder, &self.files, stop)?;
        Ok(Self { cluster: Some(cluster), ..self })
    }

    /// What was compared with the engine's answers so far; none without an engine.
    #[must_use]
    pub fn checked(&self) -> Option<Checked> {
        self.cluster.as_ref().map(Cluster::checked)
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
        let schema = stored_schema(table.columns, WideNumbers::Bits);
        let columns = table.columns.iter().zip(R::columns(rows));
        let arrays = columns.map(|(column, data)| stored_array(column, data, WideNumbers::Bits));
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
    /// When it is no question, names what is not there, or cannot be answered within the limits. When an
    /// engine answers, also when its answer differs from the one of this machine.
    pub fn ask(&self, question: &str, stop: &Stop) -> Result<Answer, Error> {
        match &self.cluster {
            None => self.ask_with(question, Joins::InMemory, stop),
            Some(cluster) => self.ask_cluster(cluster, question, stop),
        }
    }

    fn ask_with(&self, question: &str, joins: Joins, stop: &Stop) -> Result<Answer, Error> {
        let threads = Threads::start(self.limits.threads)?;
        let (dataset, text) = (self.clone(), question.to_owned());
        let work = async move {
            match dataset.prepare(&text)? {
                Prepared::Known(answer) => Ok(Begun::Known(answer)),
                Prepared::Rows { statement, .. } => {
                    begin(dataset, &text, *statement, joins).await.map(Begun::Coming)
                }
            }
        };
        let begun = threads.wait(stop, work).map_err(|error| within(&self.limits, error))?;
        Ok(match begun {
            Begun::Known(answer) => answer,
            Begun::Coming(parts) => Answer::streaming(parts, threads, stop.clone(), self.limits),
        })
    }

    /// Asks the engine; before that, both engines about the slice.
    fn ask_cluster(&self, cluster: &Cluster, question: &str, stop: &Stop) -> Result<Answer, Error> {
        let (dataset, text) = (self.clone(), question.to_owned());
        let prepared = cluster.threads().wait(stop, async move { dataset.prepare(&text) })?;
        let (names, compared) = match prepared {
            Prepared::Known(answer) => return Ok(answer),
            Prepared::Rows { names, compared, .. } => (names, compared),
        };
        if let Some(compared) = compared {
            let slice = Self::new(cluster.slice().to_vec(), self.limits);
            let here = slice.rows(&compared, stop)?;
            let there = self.answer_of(cluster, (&compared, &names), Extent::Slice, stop)?;
            cluster.compare(here.rows, collected(there)?.rows)?;
        }
        self.answer_of(cluster, (question, &names), Extent::Whole, stop)
    }

    /// What the engine answers.
    fn answer_of(
        &self,
        cluster: &Cluster,
        (question, names): (&str, &BTreeSet<String>),
        extent: Extent,
        stop: &Stop,
    ) -> Result<Answer, Error> {
        let files = match extent {
            Extent::Whole => &self.files,
            Extent::Slice => cluster.slice(),
        };
        let named = files.iter().filter(|table| names.contains(table.table.name));
        let (tables, text, of) =
            (named.cloned().collect::<Vec<_>>(), question.to_owned(), cluster.clone());
        let asked = async move { of.ask(&text, &tables, extent).await.map(unlimited) };
        let parts = cluster.threads().wait(stop, asked)?;
        let answer = Answer::streaming(parts, cluster.threads().clone(), stop.clone(), self.limits);
        Ok(answer.computed_by(cluster.clone()))
    }

    /// Asks one question whose answer fits into memory. What cannot be joined in memory is sorted on
    /// the disk and joined there.
    ///
    /// # Errors
    /// As [`Dataset::ask`].
    pub fn rows(&self, question: &str, stop: &Stop) -> Result<Rows, Error> {
        if self.cluster.is_some() {
            return collected(self.ask(question, stop)?);
        }
        let rows_with = |joins| collected(self.ask_with(question, joins, stop)?);
        match rows_with(Joins::InMemory) {
            Err(Error::Memory { .. }) => rows_with(Joins::Sorted),
            done => done,
        }
    }

    /// What a question is about. Runs on a thread with a deep stack: texts are deep trees.
    fn prepare(&self, text: &str) -> Result<Prepared, Error> {
        let known = || self.tables.iter().map(|(name, _)| *name);
        let declared: Vec<Table> = self.files.iter().map(|table| table.table).collect();
        match parse(text)? {
            Asked::Tables { like } => {
                Ok(Prepared::Known(Answer::of_declared(&declared, like.as_deref())))
            }
            Asked::Columns { of } => {
                let name = of.to_lowercase();
                let table = declared.iter().find(|table| table.name == name);
                let table = table.ok_or_else(|| unknown_among(&of, known()))?;
                Ok(Prepared::Known(Answer::of_stored_columns(table)))
            }
            Asked::Rows { statement, names } => {
                if let Some(name) = names.iter().find(|name| !known().any(|known| known == *name)) {
                    return Err(unknown_among(name, known()));
                }
                let compared = comparable(&statement, text);
                Ok(Prepared::Rows { statement, names, compared })
            }
        }
    }
}

/// What reads tables from their files.
fn providers(
    tables: Vec<TableFiles>,
    threads: usize,
    wide: WideNumbers,
) -> Vec<(&'static str, Arc<dyn TableProvider>)> {
    let provider = |table: TableFiles| {
        let name = table.table.name;
        (name, Arc::new(FilesTable::new(table, threads, wide)) as Arc<dyn TableProvider>)
    };
    tables.into_iter().map(provider).collect()
}

/// A question that was read.
enum Prepared {
    /// It is about the tables themselves.
    Known(Answer),
    /// Rows of these tables.
    Rows {
        statement: Box<Statement>,
        names: BTreeSet<String>,
        /// The text that two engines are compared by.
        compared: Option<String>,
    },
}

/// How an answer begins.
enum Begun {
    /// It is there.
    Known(Answer),
    /// Its rows are to be computed.
    Coming(Parts),
}

/// A whole answer.
fn collected(mut answer: Answer) -> Result<Rows, Error> {
    let columns = answer.columns().iter().map(|column| column.name.clone()).collect();
    let mut rows = Vec::new();
    while let Some(more) = answer.next_rows()? {
        rows.extend(more);
    }
    Ok(Rows { columns, rows })
}

/// Rows that another machine computes take no memory of this one but that of the part that came last.
fn unlimited(rows: SendableRecordBatchStream) -> Parts {
    let pool: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
    let memory = MemoryConsumer::new("answer").register(&pool);
    Parts { rows, opened: Vec::new(), memory }
}

/// Runs on a thread of its own: plans are deep trees.
async fn begin(
    dataset: Dataset,
    text: &str,
    statement: Statement,
    joins: Joins,
) -> Result<Parts, Error> {
    let session = spilling_session(&dataset.limits, joins)?;
    for (name, table) in dataset.tables {
        session.register_table(name, table).map_err(problem)?;
    }
    let plan = plan(&session, text, statement).await?;
    let rows = run(&session, plan).await?;
    let memory = MemoryConsumer::new("answer").register(&session.runtime_env().memory_pool);
    Ok(Parts { rows, opened: Vec::new(), memory })
}
