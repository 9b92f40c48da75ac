//! What can go wrong with a store or an import.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A store could not be read or written, or a source could not be imported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {doing} `{}`: {source}", path.display())]
    Io {
        /// What was being attempted.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no store.
    #[error("`{}` is no store: it has no `store.json`", path.display())]
    NoStore {
        /// The folder.
        path: PathBuf,
    },
    /// A store cannot be made there.
    #[error("cannot make a store at `{}`: {why}", path.display())]
    Occupied {
        /// The path.
        path: PathBuf,
        /// What is there.
        why: &'static str,
    },
    /// The list of the store's files cannot be read, or a later version wrote it.
    #[error("cannot read `{}`: {why}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A file of the store's list is not there as it was written.
    #[error("the store `{}` is damaged: {why}", path.display())]
    Incomplete {
        /// The folder.
        path: PathBuf,
        /// What is wrong with the file.
        why: String,
    },
    /// The bytes of a file are not those that were written.
    #[error("cannot read `{}`: it is damaged: its bytes are not those that were written", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// A table of the store is damaged.
    #[error("cannot read `{}`: {source}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// Why.
        source: culprit_recording::Error,
    },
    /// A table cannot be written.
    #[error("cannot write a table: {0}")]
    Encode(culprit_recording::Error),
    /// Another import is writing the store.
    #[error("cannot write `{}`: another import or clean-up is writing it", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The options do not fit the store or each other.
    #[error("{0}")]
    Options(String),
    /// All that the store has came from databases, which are not read again by themselves.
    #[error(
        "`{}` was made from a database, and `refresh` reads no database", path.display()
    )]
    FromDatabase {
        /// The store.
        path: PathBuf,
        /// Format of the import.
        format: &'static str,
    },
    /// A store divides shard keys always among the same number of shards.
    #[error("the store was made for {known} shards, and `--shards {asked}` was given")]
    Shards {
        /// Shards of the store.
        known: u32,
        /// Shards that were asked for.
        asked: u32,
    },
    /// A source is not what `--from` says.
    #[error("cannot import `{}`: {why}", path.display())]
    Source {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// More rows were rejected than allowed; nothing was written.
    #[error(
        "{rejected} of {rows} rows of `{name}` cannot be read, and at most {allowed} may be: {reason}"
    )]
    TooManyRejects {
        /// The source.
        name: String,
        /// Rejected rows.
        rejected: u64,
        /// All rows.
        rows: u64,
        /// How many may be rejected.
        allowed: u64,
        /// The first rejected row, and why.
        reason: String,
        /// True when no row at all may be rejected.
        strict: bool,
        /// True when fields of the format may have other names than the known ones.
        named_fields: bool,
    },
    /// Interrupted; the old store is whole.
    #[error("interrupted: the store is as it was before")]
    Stopped {
        /// True when the same import can go on where it was.
        resumable: bool,
    },
}

impl Error {
    /// The error of a failed system call on `path`.
    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), source }
    }

    /// True when the machine refused, as opposed to wrong input.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() != io::ErrorKind::NotFound,
            Self::Busy { .. } | Self::Encode(_) => true,
            Self::TooManyRejects { strict, .. } => !strict,
            _ => false,
        }
    }

    /// Ways out.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::NoStore { .. } => {
                vec!["`culprit audit import --from FORMAT SRC.. -o STORE` makes one".to_owned()]
            }
            Self::FromDatabase { path, format } => vec![format!(
                "import what changed in the database: `culprit audit import --from {format} DSN.. -o {} \
                 --changed-only`",
                path.display()
            )],
            Self::Occupied { .. } => {
                vec!["name a new or empty folder, or the folder of a store".to_owned()]
            }
            Self::Incomplete { .. } => vec![
                "put the file back from a backup, or import its sources into a new folder"
                    .to_owned(),
            ],
            Self::TooManyRejects { strict, named_fields, .. } => {
                let mut hints = match strict {
                    true => vec!["leave out `--strict` to keep the other rows".to_owned()],
                    false => vec![
                        "check that `--from` of the import names the format of this source"
                            .to_owned(),
                        "`--tolerance SHARE` allows more".to_owned(),
                    ],
                };
                let fields = "if a field has a name of your own, give it with `--field MEANING=NAME`, \
                              such as `--field address=client`";
                hints.extend(named_fields.then(|| fields.to_owned()));
                hints
            }
            Self::Shards { .. } => vec![
                "leave out `--shards` to import more of the same source".to_owned(),
                "if the number was wrong, import all sources into a new store".to_owned(),
            ],
            Self::Stopped { resumable: true } => {
                vec!["the same command goes on where it was".to_owned()]
            }
            Self::Stopped { resumable: false } => {
                vec!["the same command begins again".to_owned()]
            }
            _ => Vec::new(),
        }
    }
}
