//! What keeps the frames of an interpreter from being read.

use super::super::Unreadable;

/// Why the frames of a Python program could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CPythonError {
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
    /// This release of Python has another layout than those that are known.
    #[error("Python {}.{} is not supported: only 3.8 to 3.14 are", .0, .1)]
    UnsupportedVersion(u8, u8),
    /// Neither the process nor the caller says which release of Python this is.
    #[error("cannot find out which version of Python this is")]
    UnknownVersion,
    /// The interpreter has not started yet, or has ended. Try again later.
    #[error("the Python interpreter is not running")]
    NotRunning,
}

impl CPythonError {
    pub(super) fn memory(what: &'static str, address: u64) -> impl Fn(Unreadable) -> Self {
        move |reason| Self::Memory { what, address, reason }
    }

    pub(super) fn malformed(what: &'static str, address: u64, reason: &'static str) -> Self {
        Self::Malformed { what, address, reason }
    }

    /// Whether another try, later, can succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Memory { reason, .. } => *reason == Unreadable::Unmapped,
            Self::Malformed { .. } | Self::NotRunning => true,
            Self::UnsupportedVersion(..) | Self::UnknownVersion => false,
        }
    }
}
