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
mod conduct;
mod folder;
mod judge;
mod kept;
mod needs;
mod question;
mod shelf;

pub(crate) use case::{Case, Course, Pair};
pub(crate) use conduct::{Effort, Ran, run};
#[cfg(test)]
pub(crate) use conduct::{judge_kept, judge_kept_answers};
pub(crate) use judge::{Check, Told};
pub(crate) use needs::missing;
pub(crate) use question::Question;
pub(crate) use shelf::Shelf;
