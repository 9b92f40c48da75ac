//! How the program ends when it cannot answer: what failed, why, the way out, the exit code.

use culprit_query::Error;

/// What the user asked to fail on is so.
const FOUND: u8 = 1;
/// The input is wrong.
const BAD_INPUT: u8 = 2;
/// The machine refused.
const REFUSED: u8 = 3;
/// What shells show for a program that Ctrl-C ended: 128 + SIGINT.
const INTERRUPTED: u8 = 130;

/// The question could not be answered.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    what: String,
    hints: Vec<String>,
    told: bool,
}

impl Failure {
    /// Something about the input is wrong.
    pub(crate) fn bad_input(what: impl Into<String>) -> Self {
        Self { code: BAD_INPUT, what: what.into(), hints: Vec::new(), told: false }
    }

    /// What the user asked to fail on is so.
    pub(crate) fn found(what: impl Into<String>) -> Self {
        Self { code: FOUND, ..Self::bad_input(what) }
    }

    /// The machine refused.
    pub(crate) fn refused(what: impl Into<String>) -> Self {
        Self { code: REFUSED, ..Self::bad_input(what) }
    }

    /// Ctrl-C ended the work.
    pub(crate) fn interrupted(what: impl Into<String>) -> Self {
        Self { code: INTERRUPTED, ..Self::bad_input(what) }
    }

    /// Adds a way out.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The same failure, with what was being done before it.
    pub(crate) fn within(self, what: &str) -> Self {
        Self { what: format!("{what}: {}", self.what), ..self }
    }

    /// The same failure; the document on stdout has told it.
    pub(crate) fn told(self) -> Self {
        Self { told: true, ..self }
    }

    /// True when the document on stdout has told it.
    pub(crate) fn is_told(&self) -> bool {
        self.told
    }

    /// The exit code of the process.
    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// What failed, and why.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// The ways out.
    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Stopped => INTERRUPTED,
            error if error.is_refusal() => REFUSED,
            _ => BAD_INPUT,
        };
        let mut what = error.to_string();
        // What the system said stands below the error of a recording.
        let source = std::error::Error::source(&error).map(ToString::to_string);
        if let Some(source) = source.filter(|source| !what.contains(source)) {
            what = format!("{what}: {source}");
        }
        Self { code, what, hints: error.hints(), told: false }
    }
}
