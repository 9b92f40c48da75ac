//! Samples, imports and what is in a store after them.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test; clippy.toml allows it in test functions only"
)]

mod imports;
mod samples;
mod support;
