//! The replay: recordings that were kept in `corpus/` go through causes, rules, `why`, the casebook's
//! judgement and reports again, and what comes out is held against what is stored there.
//!
//! ```text
//! corpus/*.tar.zst ──unpack──> rows as recorded ──build──> digest ──> text ──> corpus/said/*.txt
//!                                                            └──> truth of fixtures/*/expected.toml
//! ```
//!
//! Same input, same text: a difference is a change of behaviour. `make bless` stores what is said now;
//! `make corpus` records anew.

mod casebook;
mod damage;
mod hit_rates;
mod pack;
mod phases;
mod programs;
mod raw;
mod snapshot;
mod texts;
mod truth;
mod why;

use std::path::PathBuf;

/// Where the text of a recording is stored.
fn stored(name: &str) -> PathBuf {
    pack::corpus().join("said").join(format!("{name}.txt"))
}
