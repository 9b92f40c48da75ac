//! Reports as text for people: one screen, readable without colour.

mod bench;
mod casebook;
mod config;
mod config_roles;
mod config_running;
mod prove;
mod report_config;
mod why;

pub(crate) use bench::{bench_text, verify_text};
#[cfg(test)]
pub(crate) use casebook::casebook_text;
pub(crate) use casebook::{case_text, list_text, told_text};
pub(crate) use config::{config_explain, config_profiles, config_show, config_vars};
pub(crate) use config_roles::config_roles;
pub(crate) use config_running::{config_diff, config_drift, drift_column_remark, drift_letter};
pub(crate) use prove::config_prove;
pub(crate) use report_config::configuration_text;
pub(crate) use why::{fact_value, told_share, why_text};
