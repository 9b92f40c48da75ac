//! Rows to meaning: thread time, causes, wakers, call trees, statistics and comparisons.
//!
//! Everything here is a pure function of a [`Recording`](culprit_model::Recording) and the user's
//! [`Filter`](culprit_model::Filter): no file, no clock, no environment, no thread, no printing.
//! The same input gives the same bytes.

mod error;

pub mod accounting;
pub mod calls;
pub mod causes;
pub mod compare;
pub mod stats;
pub mod threads;
pub mod wakers;

pub use error::FilterError;
