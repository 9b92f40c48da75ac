//! Configuration as its users have it: whole projects, hostile files, and what the real programs make
//! of the same input.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod agreement;
mod compose;
mod drift;
mod findings;
mod hostile;
mod layers;
mod planted;
mod readers;
mod redaction;
mod snapshot;
mod support;
