//! Why a file could not be read or written at all.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::format::Format;

/// Why a file could not be read or written at all. What is missing from a file that could is in the
/// recording's losses.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused a file.
    #[error("cannot {doing} `{}`", path.display())]
    Io {
        /// What was being done: `open`, `read`.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The bytes are of no format that is read.
    #[error("cannot read `{}`: {found}", path.display())]
    Unrecognised {
        /// Which file.
        path: PathBuf,
        /// What it looks like instead.
        found: &'static str,
    },
    /// The format is known, and nothing of the file could be read.
    #[error("cannot read `{}` as {format}: {why}", path.display())]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// As what it was read.
        format: Format,
        /// What is wrong, and where.
        why: String,
    },
    /// Unpacked, the file is larger than what is read.
    #[error("cannot read `{}`: it has more than {limit} bytes when unpacked", path.display())]
    TooLarge {
        /// Which file.
        path: PathBuf,
        /// The most that is read.
        limit: u64,
    },
    /// The format can be read but not written, or the other way round.
    #[error("{format} cannot be {verb}")]
    Unsupported {
        /// Which format.
        format: Format,
        /// `read` or `written`.
        verb: &'static str,
    },
    /// The output could not be written.
    #[error("cannot write {format}")]
    Write {
        /// As what.
        format: Format,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), source }
    }

    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unrecognised { .. } => Some(format!(
                "if it is a profile, give its format with `--format F`: {}",
                Format::list(Format::can_read)
            )),
            Self::Unsupported { verb: "read", .. } => {
                Some(format!("Culprit can read: {}", Format::list(Format::can_read)))
            }
            Self::Unsupported { .. } => {
                Some(format!("Culprit can write: {}", Format::list(Format::can_write)))
            }
            Self::TooLarge { .. } => Some("record a shorter time".to_owned()),
            _ => None,
        }
    }
}
