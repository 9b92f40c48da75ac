//! What a place costs: small standard workloads, run in several places in paired rounds.
//!
//! ```text
//!   our process                                        in each place
//!   Probe: arms, workload ─> conduct ─ Stand ─ ask ─>  worker (the same static binary)
//!                              │                ▲         │ inside: one file a workload
//!                              ▼                └─ reply ─┘ measures itself
//!                 samples by arm and round ─> Answer: ratios, intervals, verdicts
//! ```
//!
//! [`inside`] is what runs in the place: it takes one request a line on its standard input, does
//! one round of work, and answers in one line. Nothing else is needed there: no shell, no package.
//! Everything else runs in our process. [`probes`] has one file a probe, with both of its halves.
//!
//! An [`Arm`] is one thing that is compared: a place, the folder in it, and what part it plays
//! (baseline, baseline once more, control, candidate). [`conduct`] runs all arms once a round, in
//! changing order, until their intervals are narrow enough; [`Answer`] judges what was measured.

mod answer;
mod arm;
mod conduct;
mod environment;
mod error;
mod histogram;
pub mod inside;
mod machine;
mod metric;
mod probe;
pub mod probes;
mod sample;
mod stand;
mod worker;

pub use answer::{Answer, ArmSamples, FloorRow, ProbeComparison};
pub use arm::{Arm, Location, Role, candidate_arms};
pub use conduct::{Hooks, Plan, Session, Stopped, conduct};
pub use environment::{Environment, of_machine as environment_of_machine};
pub use error::{Error, Result};
pub use histogram::Histogram;
pub use machine::{Gate, Watch};
pub use metric::{Better, Metric, Part};
pub use probe::{Asked, Probe, bare, standard_arms};
pub use sample::Sample;
pub use stand::{ProbeRound, Stand, Workers};
pub use worker::Worker;
