//! `culprit why`: the same command in several places, and what makes one slower.
//!
//! ```text
//! plan ─> rounds (AB BA AB ...) ─> one summary a run ─> each place against the first ─> answer
//!                                  earlier recordings ────────────────────┘ or against these
//! ```
//!
//! The recordings stay on disk; in memory there is one summary a run. An answer is a value that the
//! terminal, the JSON and the page all show.

mod answer;
mod earlier;
mod plan;
mod rounds;

pub(crate) use answer::{Against, Answer, PlaceRuns};
pub(crate) use earlier::Earlier;
pub(crate) use plan::Plan;
pub(crate) use rounds::run_all;
