//! Pages and sections that are not of recordings alone: configurations, places beside each other.
//! `culprit_report::html` has the page of a recording and what all pages are built of.

mod compare;
mod config;

pub(crate) use compare::section as compare_section;
pub(crate) use config::{config_diff_page, config_drift_page, config_page, kept_section};
