//! Commands in places, in rounds: what `why`, `bench cmd`, `verify` and the casebook share.
//!
//! ```text
//! Experiment ── run ──> Trials ──> Results      arms by times: ratios, noise, verdicts
//!  arms, places   │       timed         └─ Comparison   arms by what was recorded of them
//!  Timing         │       recorded ───> WhyResults      places against the first
//!  RecordedRounds └ Round: a Trial of every arm, in turns
//! ```
//!
//! An [`Arm`] is a command line in a place. [`Experiment::run`] sets up, warms up, times [`Round`]s until they tell
//! enough, records some more, and cleans up. Timed rounds are never recorded: recording costs time. Ctrl-C keeps
//! the rounds before it ([`Control`]).
//!
//! It never prints and reads no settings. What it needs of the program is in the [`Workbench`]: above all a
//! [`Recorder`].

pub mod casebook;
mod comparison;
mod control;
mod counted;
mod error;
mod experiment;
mod folder;
mod measured;
mod parameters;
mod places;
mod recorded;
mod results;
mod run;
#[cfg(test)]
#[path = "../../report/src/testing.rs"]
#[expect(dead_code, reason = "most of the recordings are drawn for the tests of `report`")]
mod testing;
mod timed;
mod trial;
pub mod why;
mod words;
mod workbench;

pub use comparison::Comparison;
pub use control::{Control, Interrupt, LAST_GRACE};
pub use error::{Error, Result};
pub use experiment::{Arm, AroundLines, CommandLine, Experiment, RecordedRounds, Timing};
pub use folder::{OBSERVED, PAGE, stem};
pub use measured::measured_findings;
pub use parameters::{Parameters, combinations};
pub use places::{Places, place_label};
pub use recorded::{Fingerprint, Recorded};
pub use results::{ArmRuns, MetricRatio, Results, RunMetric, nanos};
pub use run::Trials;
pub use timed::{Sink, Streams, Timed};
pub use trial::{Round, Rounds, Trial};
pub use workbench::{RecordedCommand, Recorder, ShowsProgress, Workbench};
