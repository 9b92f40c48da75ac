//! Probes through their whole path: a worker in a place, rounds, the answer.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail as tests do"
)]

mod containers;
mod files;
mod rounds;
mod small;
mod support;
