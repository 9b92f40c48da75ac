//! The recorder on the running kernel: real programs, real events, real limits.
//!
//! A test that needs a right which this machine does not give prints `skipped: NAME: what is
//! missing` and passes. Nothing here asserts how fast something is; what a quiet machine shows on the
//! whole is in tests that are ignored, for `make accuracy`.
#![expect(clippy::print_stderr, reason = "skips and measured residuals are shown")]

mod allocations;
mod attach;
mod command;
mod container;
mod errors;
mod java;
mod killed;
mod moved;
mod rights;
mod sampler;
mod stacks;
mod support;
mod transfers;
