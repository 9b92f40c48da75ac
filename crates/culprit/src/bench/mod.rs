//! `culprit bench cmd` and `culprit verify`: command lines against each other, timed in paired rounds.
//!
//! ```text
//! plan ─> set up ─> warm up ─> timed rounds (A A' B, in turns) ─> recorded rounds ─> clean up
//!                                 │    └─ the machine, look by look       │
//!                                 └──────> answer: verdicts, noise, gate <┘
//! ```
//!
//! Timed rounds are never recorded: recording costs time. What differs inside is looked for in rounds of
//! their own, after the timed ones.

mod answer;
mod conduct;
mod endings;
mod export;
mod parameters;
mod plan;
mod words;

pub(crate) use answer::{
    Answer, ArmRuns, Comparison, Inside, Metric, Stopped, bands_of, nanos, place_label,
};
pub(crate) use conduct::{Session, conduct};
pub(crate) use export::{csv, hyperfine, markdown};
pub(crate) use plan::{Arm, Plan, Recording};
