//! The program as its users run it: the real recorder on real programs.
//!
//! Programs under `fixtures/` say themselves what they do; recordings are checked against that. A
//! test that lacks a right or a tool prints `skipped: NAME: what is missing`.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    reason = "helpers of tests fail and speak as tests do"
)]

mod accuracy;
mod activities;
mod allocations;
mod bad_input;
mod bench;
mod browser;
mod casebook;
mod causes;
mod compare;
mod config;
mod config_cluster;
mod config_hostile;
mod config_planted;
mod config_running;
mod config_starters;
mod containers;
mod corpus;
mod damaged;
mod endings;
mod first_use;
mod fleet;
mod fleet_tables;
mod guilty;
mod help;
mod interrupted;
mod json;
mod kept_config;
mod killed;
mod limits;
mod pages;
mod perfview;
mod phases;
mod probes;
mod prove;
mod prove_accuracy;
mod prove_containers;
mod python;
mod readme;
mod requests;
mod runtime_names;
mod runtimes;
mod scripts;
mod services;
mod shown;
mod sql;
mod support;
mod view;
mod views;
mod why;
mod words;
mod writing;
