//! Pages and sections of a recording and of configurations. `culprit_report::html` has what pages are built of, and
//! the page of a comparison of places.

mod config;
mod recording;

pub(crate) use config::{config_diff_page, config_drift_page, config_page, kept_section};
pub(crate) use recording::RecordingPage;
