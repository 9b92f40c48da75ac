//! What can go wrong with a question.

use std::path::PathBuf;

use thiserror::Error;

/// A question could not be answered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A recording could not be opened.
    #[error(transparent)]
    Recording(#[from] culprit_recording::Error),
    /// A file of a table is not as it was written.
    #[error("cannot read `{}`: it is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A folder could not be listed.
    #[error("cannot list the folder `{}`: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A folder holds no recording.
    #[error("the folder `{}` contains no recording", path.display())]
    NoRecording {
        /// The folder.
        path: PathBuf,
    },
    /// The question is about recordings, and none was named.
    #[error("cannot read the table `{table}`: no recording is given")]
    NoneNamed {
        /// A table that it names.
        table: String,
    },
    /// There is nothing to answer.
    #[error("the question is empty")]
    Empty,
    /// More than one question at once.
    #[error("cannot answer {count} questions at once; give one question")]
    Several {
        /// How many.
        count: usize,
    },
    /// Longer than any question that a person or a program would ask.
    #[error("the question has {bytes} bytes; the limit is {limit}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The longest that is read.
        limit: usize,
    },
    /// The question is no SQL.
    #[error("cannot read the question: {why}{}", at.as_ref().map(Place::text).unwrap_or_default())]
    Syntax {
        /// What was expected, and what was found.
        why: String,
        /// Where, if the parser tells.
        at: Option<Place>,
    },
    /// The question would change something.
    #[error("cannot run `{what}`: questions can only read data")]
    Changes {
        /// Its first words.
        what: String,
    },
    /// No table or view has this name.
    #[error("unknown table `{name}`")]
    UnknownTable {
        /// The name.
        name: String,
        /// Names like it, the nearest first.
        near: Vec<String>,
    },
    /// No table that the question names has this column.
    #[error("unknown column `{name}`{}", of(table))]
    UnknownColumn {
        /// The name.
        name: String,
        /// The table, where the question says in which.
        table: Option<String>,
        /// Columns like it, the nearest first; all of them when none is near.
        near: Vec<String>,
    },
    /// The question reads as SQL and makes no sense for these tables.
    #[error("cannot answer the question: {why}")]
    Plan {
        /// Why.
        why: String,
    },
    /// Something in the data stopped it, such as a division by zero.
    #[error("cannot compute the answer: {why}")]
    Run {
        /// Why.
        why: String,
    },
    /// The answer needs more memory than it may take.
    #[error("the answer needs more memory than {limit_mib} MiB: {who}")]
    Memory {
        /// The limit.
        limit_mib: u64,
        /// What wanted more.
        who: String,
    },
    /// [`Stop`](crate::Stop) was pulled.
    #[error("the question was stopped")]
    Stopped,
    /// The address of an engine cannot be read.
    #[error("cannot read the address of the engine: {why}")]
    Address {
        /// What is wrong with it.
        why: String,
    },
    /// Nobody answers at the address of an engine, or the connection broke.
    #[error("cannot reach the engine at {address}: {why}")]
    Unreachable {
        /// Where.
        address: String,
        /// Why.
        why: String,
    },
    /// The engine does not let this user ask.
    #[error("the engine at {address} refused: {why}")]
    EngineRefused {
        /// Where.
        address: String,
        /// What it said.
        why: String,
    },
    /// What answers is no server of Spark Connect, or one that is too old.
    #[error("cannot use {address} as an engine: {why}")]
    NoSparkConnect {
        /// Where.
        address: String,
        /// Why.
        why: String,
    },
    /// The engine could not answer.
    #[error("the engine at {address} failed: {why}")]
    EngineFailed {
        /// Where.
        address: String,
        /// What it said.
        why: String,
        /// True when the question is wrong, not the engine.
        is_input: bool,
    },
    /// Something is not installed where the engine runs.
    #[error("the engine at {address} lacks something that it needs: {why}")]
    EngineLacks {
        /// Where.
        address: String,
        /// What it said.
        why: String,
    },
    /// The engine cannot read the files of a table.
    #[error("the engine at {address} cannot read the table `{table}`: {why}")]
    EngineTable {
        /// Where.
        address: String,
        /// The table.
        table: &'static str,
        /// What it said.
        why: String,
    },
    /// A file cannot be named so that an engine finds it.
    #[error("cannot give the engine the path `{}`: {why}", path.display())]
    EnginePath {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The engine and this machine computed different rows.
    #[error(
        "the engine at {address} gave another answer than this machine for the slice `{slice}`: \
         {there} there, {here} here"
    )]
    Differs {
        /// Where.
        address: String,
        /// Which files.
        slice: String,
        /// What differs first, as it was computed here.
        here: String,
        /// The same as the engine has it.
        there: String,
    },
    /// The machine refused threads.
    #[error("cannot start threads for the answer: {0}")]
    Threads(std::io::Error),
}

fn of(table: &Option<String>) -> String {
    table.as_ref().map(|table| format!(" in `{table}`")).unwrap_or_default()
}

/// A place in a question's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The character in it, from 1.
    pub column: usize,
    /// What stands in that line.
    pub text: String,
}

impl Place {
    /// ` at line 2, column 5`, and below it the line with a mark.
    fn text(&self) -> String {
        let Self { line, column, text } = self;
        let before: String = text
            .chars()
            .take(column.saturating_sub(1))
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        format!(" at line {line}, column {column}\n  {text}\n  {before}^")
    }
}

impl Error {
    /// Ways out, one a line.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        const LIST: &str = "`SHOW TABLES` lists the tables; docs/sql.md describes them";
        match self {
            Self::UnknownTable { name, .. } if name == "from" => {
                vec![Some("put the column `from` in double quotes: \"from\"".to_owned())]
            }
            Self::UnknownTable { near, .. } => vec![meant(near), Some(LIST.to_owned())],
            Self::UnknownColumn { near, table, .. } => {
                let table = table.as_deref().unwrap_or("name");
                vec![meant(near), Some(format!("`DESCRIBE {table}` lists the columns"))]
            }
            Self::Memory { .. } => {
                let less = "ask for fewer columns, add a `WHERE`, or give fewer recordings";
                vec![
                    Some("give a larger limit with `--memory MIB`".to_owned()),
                    Some(less.to_owned()),
                ]
            }
            Self::Changes { .. } => {
                vec![Some("start the question with SELECT, WITH, EXPLAIN, SHOW or DESCRIBE".into())]
            }
            Self::NoneNamed { .. } => {
                vec![Some(
                    "give a recording before the question: culprit sql run.culprit \"...\"".into(),
                )]
            }
            Self::Address { .. } => {
                vec![Some("give `--engine sc://HOST:PORT`, or `sc://HOST:PORT/;token=...`".into())]
            }
            Self::Unreachable { .. } => vec![Some(
                "start the engine's Spark Connect server, or correct `--engine`; docs/spark.md shows both"
                    .into(),
            )],
            Self::EngineRefused { .. } => vec![Some(
                "give a valid token in the address: sc://HOST:PORT/;use_ssl=true;token=...".into(),
            )],
            Self::NoSparkConnect { .. } => vec![
                Some("give the port of Spark Connect, by default 15002".into()),
                Some("a server with TLS needs `/;use_ssl=true` at the end of the address".into()),
            ],
            Self::EngineLacks { .. } => vec![
                Some("install it where the engine runs, then start the engine again".into()),
                Some("Sail needs both packages of `pip install pysail pyspark-client`".into()),
            ],
            Self::EngineTable { .. } => vec![Some(
                "give `--engine-path` the folder as the engine sees it, such as s3a://bucket/store"
                    .into(),
            )],
            Self::Damaged { .. } => vec![Some(
                "put it back from a backup, or make its folder again from what it was made of".into(),
            )],
            Self::EnginePath { .. } => {
                vec![Some("rename the folder, or copy it to another place".into())]
            }
            Self::Differs { .. } => vec![
                Some("do not use the engine's answers before the reason is known".into()),
                Some(
                    "a question that may give several answers differs, too: `LIMIT` without a full \
                     `ORDER BY`, `random()`, or `/` between whole numbers (write `/ 1e0`)"
                        .into(),
                ),
            ],
            Self::Empty => {
                vec![Some("give a question such as \"SELECT * FROM thread_states\"".to_owned())]
            }
            _ => Vec::new(),
        }
        .into_iter()
        .flatten()
        .collect()
    }

    /// True when the machine refused, not the input.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::EngineFailed { is_input, .. } => !is_input,
            Self::Memory { .. }
            | Self::Threads(_)
            | Self::Unreachable { .. }
            | Self::EngineRefused { .. }
            | Self::NoSparkConnect { .. }
            | Self::EngineLacks { .. }
            | Self::EngineTable { .. }
            | Self::Differs { .. } => true,
            _ => false,
        }
    }
}

fn meant(near: &[String]) -> Option<String> {
    let names: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| format!("did you mean {}?", names.join(" or ")))
}
