//! Why an experiment could not be run, and the way out.

use std::error::Error as StdError;

use culprit_model::chain;

/// What this crate's functions return.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an experiment could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The place could not be had, or could not run the command.
    #[error("{}", chain(.0))]
    Place(#[from] culprit_place::Error),
    /// Something about the input is wrong.
    #[error("{what}")]
    Input {
        /// What failed, and why.
        what: String,
        /// Ways out.
        hints: Vec<String>,
    },
    /// The machine refused: a privilege, an engine or space is missing.
    #[error("{what}")]
    Refused {
        /// What failed, and why.
        what: String,
        /// Ways out.
        hints: Vec<String>,
    },
    /// Ctrl-C came before there was anything to show.
    #[error("{0}")]
    Interrupted(String),
    /// It happened in this place, or to this case.
    #[error("{whose}: {error}")]
    Of {
        /// What the place or case is called.
        whose: String,
        /// What happened.
        error: Box<Error>,
    },
}

impl Error {
    /// Something about the input is wrong.
    pub fn input(what: impl Into<String>) -> Self {
        Self::Input { what: what.into(), hints: Vec::new() }
    }

    /// The machine refused.
    pub fn refused(what: impl Into<String>) -> Self {
        Self::Refused { what: what.into(), hints: Vec::new() }
    }

    /// The same error, of a place or case.
    #[must_use]
    pub fn of(self, whose: &str) -> Self {
        Self::Of { whose: whose.to_owned(), error: Box::new(self) }
    }

    /// Adds a way out. A place's errors have ways out of their own.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::Input { hints, .. } | Self::Refused { hints, .. } = &mut self {
            hints.push(hint.into());
        }
        self
    }
}

/// What does not name a place.
impl From<culprit_place::SpecError> for Error {
    fn from(error: culprit_place::SpecError) -> Self {
        Self::Place(error.into())
    }
}

/// Turns results into errors with the words of what was attempted.
pub(crate) trait Context<T> {
    /// The input is to blame.
    fn or_input(self, what: impl FnOnce() -> String) -> Result<T>;

    /// The machine is to blame.
    fn or_refused(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: StdError> Context<T> for std::result::Result<T, E> {
    fn or_input(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::input(format!("{}: {}", what(), chain(&error))))
    }

    fn or_refused(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::refused(format!("{}: {}", what(), chain(&error))))
    }
}
