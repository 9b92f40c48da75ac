//! What keeps the code of a JVM from being named.

use super::super::Unreadable;

/// Why the methods of a JVM could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JvmError {
    /// The process's memory could not be read. While the JVM runs this can happen at any time.
    #[error("cannot read {what} at {address:#x}: {reason}")]
    Memory {
        /// Which part of the JVM.
        what: &'static str,
        /// Where it was expected.
        address: u64,
        /// The system's answer.
        reason: Unreadable,
    },
    /// The bytes make no sense. While the JVM runs this can happen at any time.
    #[error("cannot use {what} at {address:#x}: {reason}")]
    Malformed {
        /// Which part of the JVM.
        what: &'static str,
        /// Where it was expected.
        address: u64,
        /// What does not fit.
        reason: &'static str,
    },
    /// The JVM's own description of its structures lacks an entry.
    #[error("this JVM does not describe {0}")]
    Missing(&'static str),
    /// The JVM has not made its interpreter and its code heaps yet. Try again later.
    #[error("the JVM has not started yet")]
    NotStarted,
}

impl JvmError {
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
            Self::Malformed { .. } | Self::NotStarted => true,
            Self::Missing(_) => false,
        }
    }

    /// Whether the process can never be read again: it has ended, or belongs to someone else.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Memory { reason, .. } if *reason != Unreadable::Unmapped)
    }
}
