//! What can be wrong with what a user asked of the engine.

use thiserror::Error;

/// A filter that cannot be compiled.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FilterError {
    /// A pattern that is no pattern.
    #[error("cannot read the pattern `{pattern}`: {reason}")]
    Pattern {
        /// The entry as typed.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// More include patterns than one filter takes.
    #[error("cannot use the include patterns: {found} entries, the limit is {most}")]
    TooMany {
        /// Entries typed.
        found: usize,
        /// Entries possible.
        most: usize,
    },
    /// A percentage outside of 0 to 100.
    #[error("cannot use the fold percentage: {found} is not between 0 and 100")]
    Percent {
        /// The number typed.
        found: f64,
    },
}
