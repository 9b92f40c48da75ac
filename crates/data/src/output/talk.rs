//! stderr: warnings, summaries, failures.

use std::io::{self, Write as _};

use culprit_model::clean_lines;

use super::failure_document;
use crate::failure::Failure;

/// The door to stderr.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Talk {
    quiet: bool,
}

impl Talk {
    /// With or without what need not be said.
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// True when what need not be said is not.
    pub(crate) fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Says what must not be missed.
    pub(crate) fn warn(self, text: &str) {
        // That nobody reads it is nothing that could be told to anyone.
        let _ = io::stderr().lock().write_all(clean_lines(text).as_bytes());
    }

    /// Says something, unless quiet is wanted.
    pub(crate) fn say(self, text: &str) {
        if !self.quiet {
            self.warn(&format!("{text}\n"));
        }
    }

    /// Tells a failure: in words, and with `json` as the document on stdout, unless what was
    /// printed there has told it.
    pub(crate) fn failure(self, failure: &Failure, json: bool) {
        let mut text = format!("error: {}\n", failure.what());
        if !failure.hints().is_empty() {
            text.push('\n');
        }
        for hint in failure.hints() {
            text.push_str(&format!("hint: {hint}\n"));
        }
        self.warn(&text);
        if json && !failure.is_told() {
            self.document(failure);
        }
    }

    /// Tells a failure as the document on stdout.
    pub(crate) fn document(self, failure: &Failure) {
        // The question has failed already; that stdout cannot take it changes nothing.
        let _ = writeln!(io::stdout().lock(), "{}", failure_document(failure));
    }
}
