//! Named recordings that can be asked.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use culprit_model::Recording;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;

use crate::answer::{Answer, Parts};
use crate::engine::{add_view, plan, problem, session, within};
use crate::error::Error;
use crate::load::{Finish, Loader};
use crate::question::{Asked, behind, parse};
use crate::runtime::{Stop, Threads};
use crate::sources::{Source, sources};

/// What a question may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the tables that it names and of what is computed from them. Not in it is what
    /// opening one recording takes for a moment: twice its rows.
    pub memory_bytes: u64,
    /// Threads that compute.
    pub threads: usize,
}

/// Recordings that can be asked.
#[derive(Debug, Clone)]
pub struct Store {
    sources: Arc<[Source]>,
    /// Files of folders that cannot be opened, and why.
    left_out: Arc<[(PathBuf, String)]>,
    finish: Finish,
    limits: Limits,
}

impl Store {
    /// The recordings of files and folders. Tells a file that is none at once; one of a folder is left
    /// out. Tables are read when a question names them. `finish` builds the intervals of a recording whose recorder never
    /// finished it.
    ///
    /// # Errors
    /// When a file is no recording, or there are more than 65,535.
    pub fn open(
        paths: &[PathBuf],
        finish: fn(&mut Recording),
        limits: Limits,
    ) -> Result<Self, Error> {
        let sources = sources(paths)?;
        if sources.len() > usize::from(u16::MAX) {
            let why = format!("{} recordings at once; the limit is 65535", sources.len());
            return Err(Error::Plan { why });
        }
        let (mut whole, mut left_out) = (Vec::new(), Vec::new());
        let mut first = None;
        for source in sources {
            match culprit_recording::peek(&source.path) {
                Ok(_) => whole.push(source),
                Err(error) if paths.contains(&source.path) => return Err(error.into()),
                Err(error) => {
                    left_out.push((source.path, reason(&error)));
                    first.get_or_insert(error);
                }
            }
        }
        match first {
            Some(error) if whole.is_empty() => Err(error.into()),
            _ => Ok(Self { sources: whole.into(), left_out: left_out.into(), finish, limits }),
        }
    }

    /// Files of folders that cannot be opened, and why.
    #[must_use]
    pub fn left_out(&self) -> &[(PathBuf, String)] {
        &self.left_out
    }

    /// The recordings.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Asks one question. Returns when its rows begin to come; waits no longer when `stop` is
    /// pulled.
    ///
    /// Cost: the tables that it names are read and held; `stack_paths` is not held.
    ///
    /// # Errors
    /// When it is no question, names what is not there, or cannot be answered within the limits.
    pub fn ask(&self, question: &str, stop: &Stop) -> Result<Answer, Error> {
        let threads = Threads::start(self.limits.threads)?;
        let work = Work { store: self.clone(), text: question.to_owned(), stop: stop.clone() };
        let begun =
            threads.wait(stop, work.begin()).map_err(|error| within(&self.limits, error))?;
        Ok(match begun {
            Begun::Known(answer) => answer,
            Begun::Coming(parts) => Answer::streaming(parts, threads, stop.clone(), self.limits),
        })
    }
}

/// What an error says, with what the system said below it.
fn reason(error: &culprit_recording::Error) -> String {
    let text = error.to_string();
    match std::error::Error::source(error).map(ToString::to_string) {
        Some(source) if !text.contains(&source) => format!("{text}: {source}"),
        _ => text,
    }
}

/// How an answer begins.
enum Begun {
    /// It is about the tables themselves.
    Known(Answer),
    /// Its rows are to be computed.
    Coming(Parts),
}

/// A question on its way to its rows.
struct Work {
    store: Store,
    text: String,
    stop: Stop,
}

impl Work {
    /// Runs on a thread of its own from the first word on: texts and plans are deep trees.
    async fn begin(self) -> Result<Begun, Error> {
        match parse(&self.text)? {
            Asked::Tables { like } => Ok(Begun::Known(Answer::of_tables(like.as_deref()))),
            Asked::Columns { of } => Answer::of_columns(&of).map(Begun::Known),
            Asked::Rows { statement, names } => {
                self.start(*statement, &names).await.map(Begun::Coming)
            }
        }
    }

    async fn start(self, statement: Statement, names: &BTreeSet<String>) -> Result<Parts, Error> {
        let (views, tables) = behind(names)?;
        if let (Some(table), true) = (names.first(), self.store.sources.is_empty()) {
            return Err(Error::NoneNamed { table: table.clone() });
        }
        let session = session(&self.store.limits)?;
        let memory = MemoryConsumer::new("recordings").register(&session.runtime_env().memory_pool);
        let loader = Loader {
            sources: &self.store.sources,
            finish: self.store.finish,
            memory: &memory,
            stop: &self.stop,
        };
        let loaded = loader.load(&tables)?;
        for (name, table) in loaded.tables {
            session.register_table(name, table).map_err(problem)?;
        }
        for name in views {
            add_view(&session, name).await?;
        }
        let plan = plan(&session, &self.text, statement).await?;
        let rows = run(&session, plan).await?;
        Ok(Parts { rows, opened: loaded.opened, memory })
    }
}

/// The rows of a plan as they come.
///
/// # Errors
/// When it cannot be run.
pub(crate) async fn run(
    session: &SessionContext,
    plan: datafusion::logical_expr::LogicalPlan,
) -> Result<datafusion::execution::SendableRecordBatchStream, Error> {
    let answer = session.execute_logical_plan(plan).await.map_err(problem)?;
    answer.execute_stream().await.map_err(problem)
}
