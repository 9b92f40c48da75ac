//! Configurations as text for people: one screen, readable without colour.

mod config;
mod config_roles;
mod config_running;
mod prove;
mod report_config;

pub(crate) use config::{config_explain, config_profiles, config_show, config_vars};
pub(crate) use config_roles::config_roles;
pub(crate) use config_running::{config_diff, config_drift, drift_column_remark, drift_letter};
pub(crate) use prove::config_prove;
pub(crate) use report_config::configuration_text;
