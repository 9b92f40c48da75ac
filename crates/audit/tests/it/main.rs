//! Samples, imports, what is in a store after them, and questions about it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail the test; clippy.toml allows it in test functions only"
)]

mod audit_doc;
#[path = "../../../model/tests/it/blessed.rs"]
mod blessed;
mod changes;
mod cleanliness;
mod formats;
mod geoip;
mod hostile;
mod imported;
mod imports;
mod log_files;
mod mixtures;
mod mmdb;
mod oracle;
mod public_agents;
mod questions;
mod refresh;
mod robots;
mod rollups;
mod rows;
mod samples;
mod spark;
mod support;
mod versions;
mod visits;
