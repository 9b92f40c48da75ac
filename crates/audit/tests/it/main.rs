//! Samples, imports, what is in a store after them, and questions about it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail the test; clippy.toml allows it in test functions only"
)]

mod audit_doc;
#[path = "../../../model/tests/it/blessed.rs"]
mod blessed;
mod cleanliness;
mod imported;
mod imports;
mod mixtures;
mod oracle;
mod questions;
mod robots;
mod rows;
mod samples;
mod support;
mod visits;
