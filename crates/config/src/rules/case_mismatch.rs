//! Two names differ only in upper and lower case, where case matters.

use std::collections::BTreeMap;

use culprit_model::Severity;

use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::Effective;

pub(super) const ID: &str = "config-case-mismatch";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    // Elements of XML that differ in case are told apart by what they are matched by.
    if configuration.separator == "/" {
        return Vec::new();
    }
    let mut by_letters: BTreeMap<String, Vec<&Effective>> = BTreeMap::new();
    for effective in &configuration.effective {
        by_letters.entry(effective.key.to_lowercase()).or_default().push(effective);
    }
    let mut findings = Vec::new();
    for keys in by_letters.values() {
        // Where case does not matter, both spellings are one key.
        let [first, rest @ ..] = keys.as_slice() else { continue };
        for other in rest {
            let place = |effective: &Effective| {
                let at = effective.winner.or(effective.chain.last().copied());
                at.and_then(|at| configuration.assignments.get(at))
                    .map(|one| configuration.place(one))
            };
            findings.push(ConfigFinding {
                id: ID,
                severity: Severity::Medium,
                key: other.key.to_string(),
                title: format!(
                    "`{}` and `{}` are two keys: case matters here.",
                    first.key, other.key
                ),
                evidence: [first, other].into_iter().filter_map(|one| place(one)).collect(),
                why: "A program that reads one of them does not see the other.".to_owned(),
                fix: vec!["Give both the spelling that the program reads.".to_owned()],
            });
        }
    }
    findings
}
