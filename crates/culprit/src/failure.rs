//! How a command ends when it cannot do what was asked: what failed, why, the way out, and the
//! exit code that the contract gives it.
//!
//! Libraries below have one error type each; `context` and `hint` here turn any of them into the
//! one form that users see. Hints are data until the last moment.

use std::error::Error as StdError;
use std::fmt;
use std::process::ExitCode;

pub(crate) use culprit_model::chain;

use crate::output::clean_lines;
use crate::places;

/// What the user can do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Wrong arguments, a file that is none: exit code 2.
    BadInput,
    /// The machine refused: a privilege, an engine or space is missing: exit code 3.
    Refused,
    /// The user ended it before there was anything to show: exit code 130.
    Interrupted,
}

/// What shells show for a program that Ctrl-C ended: 128 + SIGINT.
const INTERRUPTED: u8 = 130;

/// A command could not do what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    what: String,
    hints: Vec<String>,
}

/// How a command ended when it did what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done: exit code 0.
    Done,
    /// Found something that the user asked to fail on: exit code 1.
    Found,
    /// Answered, with gaps that the output names: exit code 3.
    Gaps,
    /// Ctrl-C cut it short; what was there by then has been shown: exit code 130.
    Interrupted,
    /// Ended with the exit code of the command that it ran.
    Command(u8),
}

impl Outcome {
    /// The exit code of the process.
    pub(crate) fn code(self) -> ExitCode {
        match self {
            Self::Done => ExitCode::SUCCESS,
            Self::Found => ExitCode::from(1),
            Self::Gaps => ExitCode::from(3),
            Self::Interrupted => ExitCode::from(INTERRUPTED),
            Self::Command(code) => ExitCode::from(code),
        }
    }
}

impl Failure {
    /// Something about the input is wrong.
    pub(crate) fn bad_input(what: impl Into<String>) -> Self {
        Self { kind: Kind::BadInput, what: what.into(), hints: Vec::new() }
    }

    /// The machine refused.
    pub(crate) fn refused(what: impl Into<String>) -> Self {
        Self { kind: Kind::Refused, what: what.into(), hints: Vec::new() }
    }

    /// Ctrl-C came before there was anything to show.
    pub(crate) fn interrupted(what: impl Into<String>) -> Self {
        Self { kind: Kind::Interrupted, what: what.into(), hints: Vec::new() }
    }

    /// The same failure with the exit code of a refusal.
    pub(crate) fn into_refused(self) -> Self {
        Self { kind: Kind::Refused, ..self }
    }

    /// Says first where it happened.
    pub(crate) fn of(mut self, whose: &str) -> Self {
        self.what = format!("{whose}: {}", self.what);
        self
    }

    /// Adds a way out.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds ways out.
    pub(crate) fn hints(mut self, hints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hints.extend(hints.into_iter().map(Into::into));
        self
    }

    /// The exit code of the process.
    pub(crate) fn code(&self) -> u8 {
        match self.kind {
            Kind::BadInput => 2,
            Kind::Refused => 3,
            Kind::Interrupted => INTERRUPTED,
        }
    }

    /// The ways out, one a line; none when there are none.
    pub(crate) fn way_out(&self) -> Option<String> {
        (!self.hints.is_empty()).then(|| self.hints.join("\n"))
    }

    /// One of the two exit codes' reasons.
    #[cfg(test)]
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// The message and its hints as they are printed on stderr. Both may quote names from outside.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("error: {}\n", clean_lines(&self.what));
        if !self.hints.is_empty() {
            text.push('\n');
        }
        for hint in &self.hints {
            text.push_str("hint: ");
            text.push_str(&clean_lines(hint));
            text.push('\n');
        }
        text
    }
}

/// What was asked for cannot be shown: wrong input.
impl From<culprit_report::Error> for Failure {
    fn from(error: culprit_report::Error) -> Self {
        Self::bad_input(error.to_string()).hints(error.hint())
    }
}

impl From<culprit_experiment::Error> for Failure {
    fn from(error: culprit_experiment::Error) -> Self {
        use culprit_experiment::Error;
        match error {
            Error::Place(error) => places::failure(&error),
            Error::Input { what, hints } => Self { kind: Kind::BadInput, what, hints },
            Error::Interrupted(what) => Self::interrupted(what),
            Error::Of { whose, error } => Self::from(*error).of(&whose),
            Error::Refused { what, hints } => Self { kind: Kind::Refused, what, hints },
            other => Self::refused(chain(&other)),
        }
    }
}

/// What the recorder says of a failed run.
impl From<Failure> for culprit_experiment::Error {
    fn from(failure: Failure) -> Self {
        let Failure { kind, what, hints } = failure;
        match kind {
            Kind::BadInput => Self::Input { what, hints },
            Kind::Refused => Self::Refused { what, hints },
            Kind::Interrupted => Self::Interrupted(what),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// Turns results into failures with the words of what was attempted.
pub(crate) trait Context<T> {
    /// The input is to blame.
    ///
    /// # Errors
    /// When `self` is one.
    fn or_bad_input(self, what: impl FnOnce() -> String) -> Result<T, Failure>;

    /// The machine is to blame.
    ///
    /// # Errors
    /// When `self` is one.
    fn or_refused(self, what: impl FnOnce() -> String) -> Result<T, Failure>;
}

impl<T, E: StdError> Context<T> for Result<T, E> {
    fn or_bad_input(self, what: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|error| Failure::bad_input(format!("{}: {}", what(), chain(&error))))
    }

    fn or_refused(self, what: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|error| Failure::refused(format!("{}: {}", what(), chain(&error))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_follow_after_a_blank_line() {
        let failure = Failure::refused("open the ring: not permitted").hint("run as root");
        assert_eq!(failure.text(), "error: open the ring: not permitted\n\nhint: run as root\n");
        assert_eq!(failure.kind(), Kind::Refused);
    }

    #[test]
    fn a_failure_says_what_was_attempted_and_why_it_failed() {
        let result: Result<(), _> = Err(std::io::Error::other("disk on fire"));
        let failure = result.or_bad_input(|| "open the recording".to_owned()).unwrap_err();
        assert_eq!(failure.to_string(), "open the recording: disk on fire");
    }
}
