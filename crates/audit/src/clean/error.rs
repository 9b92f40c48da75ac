//! What can go wrong with a clean-up.

use std::path::{Path, PathBuf};

use culprit_model::Label as _;
use thiserror::Error;

use super::guard::GuardResult;
use crate::opened::AuditError;

/// A plan could not be made, checked, carried out or undone.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CleanError {
    /// The store or a file failed.
    #[error(transparent)]
    Store(#[from] crate::error::Error),
    /// A question to the store failed.
    #[error(transparent)]
    Question(#[from] AuditError),
    /// The plan cannot be used.
    #[error("cannot use the plan `{}`: {why}", path.display())]
    Plan {
        /// The plan's folder.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// What was asked makes no sense as the plan and its target are now.
    #[error("cannot use the plan `{}`: {why}", path.display())]
    State {
        /// The plan's folder.
        path: PathBuf,
        /// Why.
        why: String,
        /// The way out.
        hint: String,
    },
    /// Another process works with the plan.
    #[error("another clean-up is using the plan `{}`", path.display())]
    InUse {
        /// The plan's folder.
        path: PathBuf,
    },
    /// Guards stop the clean-up; nothing was changed.
    #[error("nothing was changed: {}", describe(.0))]
    Guards(Vec<GuardResult>),
    /// An archive is missing or damaged.
    #[error("the archive `{file}` of batch {batch} cannot be used: {why}")]
    Archive {
        /// Path below the plan's folder.
        file: String,
        /// The batch.
        batch: u64,
        /// Why.
        why: String,
    },
    /// The database cannot be reached, or refused.
    #[error("cannot {doing} {server}: {why}")]
    Target {
        /// What was being attempted.
        doing: String,
        /// The database, without a password.
        server: String,
        /// Why.
        why: String,
    },
    /// A stop condition was met; what is done stays done.
    #[error("stopped after {done} of {batches} batches: {why}")]
    Stopped {
        /// Batches that are done.
        done: u64,
        /// Batches of the plan.
        batches: u64,
        /// The condition.
        why: String,
        /// True when the user asked for it.
        asked: bool,
    },
    /// What was done is not what was expected.
    #[error("{what}: expected {expected}, seen {seen}")]
    Unexpected {
        /// What was compared.
        what: &'static str,
        /// By the plan.
        expected: String,
        /// In the target.
        seen: String,
    },
    /// The arguments make no sense.
    #[error("{0}")]
    Options(String),
}

fn describe(failed: &[GuardResult]) -> String {
    let one = |result: &GuardResult| format!("guard `{}`: {}", result.guard.word(), result.why);
    failed.iter().map(one).collect::<Vec<_>>().join("; ")
}

impl CleanError {
    /// A plan that cannot be used as it is now, and the way out.
    pub(crate) fn state(path: &Path, why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::State { path: path.to_owned(), why: why.into(), hint: hint.into() }
    }

    /// True when the machine, the database or a guard refused, as opposed to wrong input.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Store(error) => error.is_refusal(),
            Self::Guards(_)
            | Self::InUse { .. }
            | Self::Target { .. }
            | Self::Stopped { .. }
            | Self::Unexpected { .. }
            | Self::Archive { .. } => true,
            _ => false,
        }
    }

    /// Ways out.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Store(error) => error.hints(),
            Self::Guards(failed) => failed.iter().map(GuardResult::hint).collect(),
            Self::Stopped { .. } => vec!["the same command goes on where it was".to_owned()],
            Self::Plan { .. } => vec!["`culprit audit clean plan` makes a new plan".to_owned()],
            Self::State { hint, .. } => vec![hint.clone()],
            Self::InUse { .. } => vec!["wait until it has ended".to_owned()],
            Self::Archive { .. } => vec![
                "restore the file from a backup of the plan's folder, or undo other batches with \
                 `--only-batch N`"
                    .to_owned(),
            ],
            _ => Vec::new(),
        }
    }
}
