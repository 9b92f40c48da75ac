//! A file has the form of configuration, and no load path leads to it.

use culprit_model::Severity;

use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::SourceState;

pub(super) const ID: &str = "config-off-load-path";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let off =
        configuration.sources.iter().filter(|source| source.state == SourceState::OffLoadPath);
    off.map(|source| ConfigFinding {
        id: ID,
        severity: Severity::Low,
        key: String::new(),
        title: format!("`{}` is not loaded.", source.name),
        evidence: vec![source.name.clone()],
        why: format!("Reason: {}.", source.why),
        fix: vec![
            "Move it into the folder of a layer, if it is meant.".to_owned(),
            "Remove it, if it is not.".to_owned(),
        ],
    })
    .collect()
}
