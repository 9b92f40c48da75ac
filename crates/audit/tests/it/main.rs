//! Samples, imports and what is in a store after them.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test; clippy.toml allows it in test functions only"
)]

mod audit_doc;
#[path = "../../../model/tests/it/blessed.rs"]
mod blessed;
mod imports;
mod samples;
mod support;
