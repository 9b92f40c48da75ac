//! `culprit casebook`: published slow-downs as runnable pairs, each with the finding that tells it.
//!
//! ```text
//! shelf ──case.toml──> case ──needs are here──> folder of its own ──build──> timed and recorded
//!   └─ carried by the program, or --dir           removed at the end          rounds (bench)
//!                                                                                │
//!                       told: what was found, and whether that is what was expected
//! ```
//!
//! The two variants of a case are an ordinary measurement of `bench`: timed in rounds, then recorded in
//! rounds of their own. A case of questions asks the program itself instead, and looks at the documents
//! that it prints. Nothing here decides what is a finding.

mod case;
mod folder;
mod judge;
mod kept;
mod needs;
mod question;
mod run;
mod shelf;

use crate::error::Error;

pub use case::{Case, Course, Fixed, Guilty, Pair};
pub use judge::{CaseCheck, CaseResult};
pub use needs::missing;
pub use question::{Expectation, Question};
pub use run::{Effort, judge_kept, judge_kept_answers, run};
pub use shelf::Shelf;

/// What became of a case that was to be run.
#[derive(Debug)]
pub enum CaseOutcome {
    /// It was measured.
    Measured(Box<CaseResult>),
    /// This machine lacks these things.
    Skipped(Vec<String>),
    /// It could not be built or measured.
    Failed(Error),
}
