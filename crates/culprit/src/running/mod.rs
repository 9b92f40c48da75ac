//! Configuration of what runs: processes, containers, images and snapshots of them, as values of
//! `culprit-config`.
//!
//! ```text
//! --pid, --container, --image ──> variables (place) ──┐
//!                                 files (place)  ─────┴──> configurations, findings
//! --snapshot FILE ─────────────────────────────────────────^
//! ```

mod drift;
mod files_of_why;
mod inspection;
pub(crate) mod kept;
mod manifests;
mod own;
mod read_of_why;
mod sides;
mod things;
mod variables_of_why;

pub(crate) use drift::drifts;
pub(crate) use files_of_why::{PlaceFiles, file_notes};
pub(crate) use inspection::{Inspection, by_profiles, random_key, redactor_with};
pub(crate) use manifests::{inspect_manifests, manifests};
pub(crate) use own::own_settings;
pub(crate) use read_of_why::Differing;
pub(crate) use sides::{Side, read_snapshot};
pub(crate) use things::{inspect_container, inspect_image, inspect_process, service_image};
pub(crate) use variables_of_why::{PlaceVariables, notes};
