//! What can go wrong with a recording file.
//!
//! Damage inside a file is no error: it becomes rows of the `losses` table and the rest is read.
//! An error means that nothing could be read, or that nothing could be written.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A recording could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {doing} `{}`: {source}", path.display())]
    Io {
        /// What was being attempted: `open`, `read`, `write`, `create`, `rename`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The disk (or the user's quota of it) is full. Earlier parts of the file are whole.
    #[error("cannot write `{}`: the disk is full ({source})", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another recorder has the file.
    #[error("cannot record to `{}`: another recorder is writing it", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("`{}` is not a recording: it is {found}", path.display())]
    NotRecording {
        /// The file.
        path: PathBuf,
        /// What it looks like.
        found: Kind,
    },
    /// A later version of this program wrote the file in a format unknown here.
    #[error(
        "cannot read `{}`: version {tool} wrote it in format {schema}, and this version reads \
         formats up to {known}",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The file's format.
        schema: u32,
        /// The version of the program that wrote it.
        tool: String,
        /// The newest format that this version knows.
        known: u32,
    },
    /// `meta.json`, without which nothing in the file has a meaning, is damaged.
    #[error("cannot read `meta.json` in `{}`: {why}", path.display())]
    Meta {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A table could not be turned into Parquet, or is too long for it.
    #[error("cannot encode the table `{table}`: {why}")]
    Encode {
        /// The table.
        table: &'static str,
        /// Why.
        why: String,
    },
    /// A Parquet file of one table cannot be read.
    #[error("cannot decode the table `{table}`: {why}")]
    Decode {
        /// The table.
        table: &'static str,
        /// Why.
        why: String,
    },
    /// The bound on the file's size cannot be kept on this file system.
    #[error("cannot limit the size of `{}`: its file system cannot release parts of a file \
             ({source})", path.display())]
    Unbounded {
        /// The file.
        path: PathBuf,
        /// What the system said to `FALLOC_FL_PUNCH_HOLE`.
        source: io::Error,
    },
}

/// What a file that is no recording looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A device, pipe or socket.
    Special,
    /// Nothing in it.
    Empty,
    /// A folder.
    Folder,
    /// A zip archive without our `meta.json`.
    OtherZip,
    /// A recording that some tool packed again with compression.
    CompressedZip,
    /// `perf record`'s file.
    PerfData,
    /// A program or library.
    Elf,
    /// A bare Parquet file.
    Parquet,
    /// Something compressed with gzip.
    Gzip,
    /// Text.
    Text,
    /// None of these.
    Unknown,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Special => "not a regular file",
            Self::Empty => "empty",
            Self::Folder => "a folder",
            Self::OtherZip => "a zip archive without `meta.json`",
            Self::CompressedZip => "a recording that was compressed again; pack it with `zip -0`",
            Self::PerfData => "a file of `perf record`; import it with `culprit import`",
            Self::Elf => "a program or library (ELF)",
            Self::Parquet => "a single Parquet table",
            Self::Gzip => "a gzip file",
            Self::Text => "a text file",
            Self::Unknown => "in an unknown format",
        })
    }
}

impl Error {
    /// The error of a failed system call on `path`; a full disk gets its own variant.
    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { path, source }
            }
            _ => Self::Io { doing, path, source },
        }
    }
}
