//! Places as their users see them: one contract that each must keep, and what each adds.
//!
//! A test that needs a right or an engine which is not there prints `skipped: NAME: what is
//! missing` and returns.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skipped"
)]

mod again;
mod contract;
mod crash;
mod engine;
mod host;
mod sandbox;
