//! `culprit-data` as its users meet it: arguments, output, errors, exit codes.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests fail the test; clippy.toml allows it in test functions only"
)]

mod audit_import;
mod audit_json;
mod audit_page;
mod beside;
mod clean;
mod failures;
mod folders;
mod output;
mod site;
mod spark;
mod sqlserver;
mod support;
