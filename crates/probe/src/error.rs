//! Why a probe could not measure.

use crate::inside::Fault;

/// What this crate's functions return.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a probe could not measure.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The place could not be had, or went away.
    #[error(transparent)]
    Place(#[from] culprit_place::Error),

    /// The work failed inside the place.
    #[error(transparent)]
    Inside(#[from] Fault),

    /// The worker ended in the middle, or said what nobody understands.
    #[error("Culprit's measuring program in {place} {what}")]
    Worker {
        /// The place's name.
        place: String,
        /// What it did.
        what: String,
    },

    /// A file of ours on the host could not be used.
    #[error("cannot {doing} `{path}`: {source}")]
    File {
        /// A verb such as `create`.
        doing: &'static str,
        /// The file.
        path: String,
        /// The kernel's answer.
        source: std::io::Error,
    },

    /// What was asked for makes no sense, or not in this place.
    #[error("{what}")]
    Asked {
        /// The sentence.
        what: String,
        /// The way out.
        hint: Option<String>,
    },

    /// There are too many files to remove in time.
    #[error(
        "files of the measurement are left in `{}`: removing them took too long, so the rest stays",
        folder.display()
    )]
    NotRemoved {
        /// What is left.
        folder: std::path::PathBuf,
    },

    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// Whether the machine is to blame and not the input.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Place(error) => error.is_refusal(),
            Self::Asked { .. } => false,
            Self::Inside(_)
            | Self::Worker { .. }
            | Self::File { .. }
            | Self::NotRemoved { .. }
            | Self::Interrupted => true,
        }
    }

    /// Ways out.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Place(error) => error.hints(),
            Self::Inside(fault) => fault.hint.iter().cloned().collect(),
            Self::Asked { hint, .. } => hint.iter().cloned().collect(),
            Self::Worker { .. } => vec![
                "check whether the place was stopped or ran out of memory; the results of other \
                 places are valid"
                    .to_owned(),
            ],
            Self::NotRemoved { folder } => {
                let quoted = folder.display().to_string().replace('\'', r"'\''");
                vec![format!("remove it: `rm -rf -- '{quoted}'`")]
            }
            Self::File { .. } | Self::Interrupted => Vec::new(),
        }
    }
}
