//! What a recording file promises, tested through the public API.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test; clippy.toml allows it in test functions only"
)]

#[path = "../../../model/tests/it/blessed.rs"]
mod blessed;
mod damage;
mod for_views;
mod format_doc;
mod properties;
mod python;
mod refusals;
mod round_trip;
mod sample;
mod spool;
mod versions;
