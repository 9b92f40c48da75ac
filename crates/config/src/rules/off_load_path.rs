//! A file has the form of configuration, and no load path leads to it. So has a ConfigMap or Secret that no pod uses.
//!
//! Not reported: objects that another file names, and those that the cluster or a controller makes.

use culprit_model::Severity;

use super::reason;
use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Source, SourceKind, SourceState};

pub(super) const ID: &str = "config-off-load-path";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let off =
        configuration.sources.iter().filter(|source| source.state == SourceState::OffLoadPath);
    off.map(finding).collect()
}

fn finding(source: &Source) -> ConfigFinding {
    let is_object = matches!(source.kind, SourceKind::K8sConfigMap | SourceKind::K8sSecret);
    let (title, meant, remove) = if is_object {
        (
            format!("`{}` is used by no pod of these manifests.", source.layer),
            "Name it in `envFrom` or `env` of a container, or mount it, if it is meant.",
            "Remove it, if no program reads it through the API.",
        )
    } else {
        (
            format!("`{}` is not loaded.", source.name),
            "Move it into the folder of a layer, if it is meant.",
            "Remove it, if it is not.",
        )
    };
    ConfigFinding {
        id: ID,
        severity: Severity::Low,
        key: String::new(),
        concerns: Vec::new(),
        title,
        evidence: vec![source.name.clone()],
        why: reason(&source.why),
        fix: vec![meant.to_owned(), remove.to_owned()],
    }
}
