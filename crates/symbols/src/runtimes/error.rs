//! What keeps the frames of an interpreter from being read.

use super::Unreadable;

/// Why the frames of a program could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterpreterError {
    /// The process's memory could not be read. While the thread runs this can happen at any time.
    #[error("cannot read {what} at {address:#x}: {reason}")]
    Memory {
        /// Which part of the interpreter.
        what: &'static str,
        /// Where it was expected.
        address: u64,
        /// The system's answer.
        reason: Unreadable,
    },
    /// The bytes make no sense. While the thread runs this can happen at any time.
    #[error("cannot use {what} at {address:#x}: {reason}")]
    Malformed {
        /// Which part of the interpreter.
        what: &'static str,
        /// Where it was expected.
        address: u64,
        /// What does not fit.
        reason: &'static str,
    },
    /// This release of the language has another layout than those that are known.
    #[error("{runtime} {}.{} is not supported: only {known} are", .version.0, .version.1)]
    UnsupportedVersion {
        /// The language.
        runtime: &'static str,
        /// Major and minor number of the release.
        version: (u8, u8),
        /// The releases that are known.
        known: &'static str,
    },
    /// The interpreter is built so that its frames are not read.
    #[error("{0}")]
    UnsupportedBuild(&'static str),
    /// The file does not say which release of the language this is.
    #[error("cannot find out which version of {0} this is")]
    UnknownVersion(&'static str),
    /// The runtime's own description of its structures lacks an entry.
    #[error("this release does not describe {0}")]
    Undescribed(&'static str),
    /// The interpreter has not started yet, or has ended. Try again later.
    #[error("the {0} interpreter is not running")]
    NotRunning(&'static str),
}

impl InterpreterError {
    pub(super) fn memory(what: &'static str, address: u64) -> impl Fn(Unreadable) -> Self {
        move |reason| Self::Memory { what, address, reason }
    }

    pub(super) fn malformed(what: &'static str, address: u64, reason: &'static str) -> Self {
        Self::Malformed { what, address, reason }
    }

    /// Whether another try, later, can succeed. Where a program has ended, its process may run another one.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Memory { reason, .. } => *reason != Unreadable::Denied,
            Self::Malformed { .. } | Self::NotRunning(_) => true,
            Self::UnsupportedVersion { .. }
            | Self::UnsupportedBuild(_)
            | Self::UnknownVersion(_)
            | Self::Undescribed(_) => false,
        }
    }

    /// Whether this program can never be read again: it has ended, or belongs to someone else.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Memory { reason, .. } if *reason != Unreadable::Unmapped)
    }
}
