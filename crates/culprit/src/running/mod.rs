//! Configuration of what runs: processes, containers, images and snapshots of them, as values of
//! `culprit-config`.
//!
//! ```text
//! --pid, --container, --image ──> variables (place) ──┐
//!                                 files (place)  ─────┴──> configurations, findings
//! --snapshot FILE ─────────────────────────────────────────^
//! ```

mod drift;
mod inspection;
mod own;
mod sides;
mod things;
mod variables_of_why;

pub(crate) use drift::drifts;
pub(crate) use inspection::{Inspection, by_profiles, redactor_with};
pub(crate) use own::own_settings;
pub(crate) use sides::{Side, read_snapshot};
pub(crate) use things::{inspect_container, inspect_image, inspect_process};
pub(crate) use variables_of_why::{PlaceVariables, notes};
