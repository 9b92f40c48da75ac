//! What can be wrong with what a user asked of the engine.

use thiserror::Error;

/// A filter that cannot be compiled.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FilterError {
    /// A pattern that is no pattern.
    #[error("read the pattern `{pattern}`: {reason}")]
    Pattern {
        /// The entry as typed.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// More include patterns than one filter takes.
    #[error("read the include patterns: {found} entries, at most {most} are possible")]
    TooMany {
        /// Entries typed.
        found: usize,
        /// Entries possible.
        most: usize,
    },
    /// A percentage outside of 0 to 100.
    #[error("read the fold percentage: {found} is not between 0 and 100")]
    Percent {
        /// The number typed.
        found: f64,
    },
}
