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
    /// The role may not do what a clean-up does.
    #[error("cannot change rows at {server}: the role `{role}` has no {right} right on {tables}")]
    Right {
        /// The database, without a password.
        server: String,
        /// The role.
        role: String,
        /// The right, as `GRANT` names it.
        right: &'static str,
        /// The tables without it, as SQL names them.
        tables: String,
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
    /// An undo stopped at a batch; what is put back stays.
    #[error("{error}. Put back: {}. Still deleted: {}", list(put_back), list(left))]
    Undo {
        /// Why.
        error: Box<Self>,
        /// Batches that are put back, by all runs, in the order of an undo.
        put_back: Vec<u64>,
        /// Batches that are still deleted, the one that failed first.
        left: Vec<u64>,
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

/// Batches that a message names one by one.
const NAMED: usize = 20;

/// Numbers of batches, the largest first.
fn list(batches: &[u64]) -> String {
    let (Some(first), Some(last)) = (batches.first(), batches.last()) else {
        return "no batch".to_owned();
    };
    if batches.len() == 1 {
        return format!("batch {first}");
    }
    if batches.windows(2).all(|pair| pair[0] == pair[1] + 1) {
        return format!("batches {first} to {last}");
    }
    let named: Vec<String> = batches.iter().take(NAMED).map(ToString::to_string).collect();
    match batches.len().saturating_sub(NAMED) {
        0 => format!("batches {}", named.join(", ")),
        more => format!("batches {} and {more} more", named.join(", ")),
    }
}

fn describe(failed: &[GuardResult]) -> String {
    let one = |result: &GuardResult| format!("guard `{}`: {}", result.guard.word(), result.why);
    failed.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// How an undo goes on that stopped at the first of the batches that are still deleted.
fn undo_hints(error: &CleanError, left: &[u64]) -> Vec<String> {
    let mut hints = match error {
        CleanError::Archive { .. } => vec![
            "restore the file from a backup of the plan's folder: the same command then goes on"
                .to_owned(),
        ],
        other => other.hints(),
    };
    let others = left.get(1..).filter(|others| !others.is_empty());
    if let (CleanError::Archive { .. }, Some(others)) = (error, others) {
        hints.push(format!("`--only-batch N` puts one of the others back: {}", list(others)));
    }
    hints
}

/// How the role gets a right, and why it needs one that nobody expects.
fn right_hints(role: &str, right: &str, tables: &str) -> Vec<String> {
    let mut hints = Vec::new();
    if right == "UPDATE" {
        hints.push(
            "`apply` locks each row before it deletes it; PostgreSQL requires the UPDATE right for \
             these locks"
                .to_owned(),
        );
    }
    hints.push(format!("run `GRANT {right} ON {tables} TO {role}` as the owner of the tables"));
    hints
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
            Self::Undo { error, .. } => error.is_refusal(),
            Self::Guards(_)
            | Self::InUse { .. }
            | Self::Target { .. }
            | Self::Right { .. }
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
            Self::Undo { error, left, .. } => undo_hints(error, left),
            Self::Right { role, right, tables, .. } => right_hints(role, right, tables),
            Self::InUse { .. } => vec!["wait until it has ended".to_owned()],
            Self::Archive { .. } => {
                vec!["restore the file from a backup of the plan's folder".to_owned()]
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damaged(put_back: &[u64], left: &[u64]) -> CleanError {
        let (file, why) = ("archive/batch-000003.parquet".to_owned(), "it is gone".to_owned());
        let error = Box::new(CleanError::Archive { file, batch: 3, why });
        CleanError::Undo { error, put_back: put_back.to_vec(), left: left.to_vec() }
    }

    #[test]
    fn an_undo_that_stopped_says_what_was_put_back_and_what_was_not() {
        let error = damaged(&[6, 5, 4], &[3, 2, 1]);
        let text = error.to_string();
        assert!(text.contains("Put back: batches 6 to 4. Still deleted: batches 3 to 1"), "{text}");
        assert!(error.is_refusal());
        assert!(error.hints()[1].contains("batches 2 to 1"), "{:?}", error.hints());
        // Nothing else is left to be put back.
        assert_eq!(damaged(&[6, 5, 4], &[3]).hints().len(), 1);
        let text = damaged(&[], &[3, 1]).to_string();
        assert!(text.contains("Put back: no batch. Still deleted: batches 3, 1"), "{text}");
    }
}
