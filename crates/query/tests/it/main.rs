//! Questions and their answers, through the public API.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail the test; clippy.toml allows it in test functions only"
)]

mod answers;
#[path = "../../../model/tests/it/blessed.rs"]
mod blessed;
mod bounds;
mod cases;
mod errors;
mod sql_doc;
mod support;
mod views;
