//! Why something cannot be shown as it was asked for, and the way out.

use std::error::Error as StdError;

use culprit_engine::FilterError;
use thiserror::Error;

/// How a pattern is written, for one that is wrong.
const PATTERN_HINT: &str = "a pattern is a part of a name, as in `--inc 'libc*read;^blocked.'`; docs/filters.md has the language";

/// Why a recording cannot be shown as it was asked for.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A pattern of a filter, or the filter itself, is wrong.
    #[error("cannot read the filter: {0}")]
    Filter(FilterError),
    /// The pattern that should name a function is wrong.
    #[error("cannot read the function `{wanted}`: {why}")]
    FunctionPattern {
        /// The pattern, as it was typed.
        wanted: String,
        /// What is wrong with it.
        why: FilterError,
    },
    /// No frame of what is shown has this name, or matches it.
    #[error("cannot find the function `{0}`: no frame matches")]
    NoFunction(String),
    /// Findings were asked for by activity; their time is that of threads.
    #[error("cannot list findings with `--activity`: it filters views only")]
    FindingsOfActivity,
    /// The options that choose threads for findings leave none.
    #[error("cannot list findings: {0} matches no thread")]
    NoThread(String),
}

impl Error {
    /// The way out; none where the message has it.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Filter(_) => Some(PATTERN_HINT),
            Self::FunctionPattern { .. } => None,
            Self::NoFunction(_) => Some("`culprit top REC` lists the functions of the recording"),
            Self::FindingsOfActivity => Some(
                "use `--from` and `--to` for the time of one activity; `culprit activities REC` \
                 prints them for the slowest activities",
            ),
            Self::NoThread(_) => Some("`culprit report REC --limit 0` lists the threads"),
        }
    }
}

/// `what failed: why: the reason below that`, for any error.
#[must_use]
pub fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        // Many errors already print their source; saying it twice helps nobody.
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        source = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_says_each_reason_once() {
        #[derive(Debug, Error)]
        #[error("read `x`")]
        struct Outer(#[source] std::io::Error);
        let error = Outer(std::io::Error::other("disk on fire"));
        assert_eq!(chain(&error), "read `x`: disk on fire");
        assert_eq!(
            chain(&Error::NoFunction("f".to_owned())),
            Error::NoFunction("f".to_owned()).to_string()
        );
    }
}
