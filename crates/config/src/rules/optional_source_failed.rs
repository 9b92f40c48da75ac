//! An optional source does not exist, and the program starts without it.

use culprit_model::Severity;

use super::reason;
use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{SourceKind, SourceState};

pub(super) const ID: &str = "config-optional-source-failed";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let missing = configuration
        .sources
        .iter()
        .filter(|source| source.state == SourceState::Missing && source.kind == SourceKind::File);
    missing
        .map(|source| ConfigFinding {
            id: ID,
            severity: Severity::Low,
            key: String::new(),
            concerns: Vec::new(),
            title: format!("`{}` does not exist, and is optional.", source.name),
            evidence: vec![source.name.clone()],
            why: reason(&source.why),
            fix: vec![
                "Create it, or correct its path.".to_owned(),
                "Remove what names it, if it is not needed.".to_owned(),
            ],
        })
        .collect()
}
