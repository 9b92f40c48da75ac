//! Configuration as its users have it: whole projects, hostile files, and what the real programs make
//! of the same input.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod acceptance;
mod agreement;
mod agreement_layers;
mod compose;
mod cut;
mod dotnet;
mod drift;
mod explained;
mod findings;
mod framework;
mod gaps;
mod git;
mod hostile;
mod kubernetes;
mod layers;
mod misspelled;
mod mistakes;
mod planted;
mod python;
mod readers;
mod redaction;
mod refused;
mod requested;
mod scalars;
mod sitecore;
mod snapshot;
mod spring;
mod support;
mod systemd;
mod unread;
