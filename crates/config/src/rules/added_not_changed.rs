//! A patch was to change an element, and added a second one.

use std::collections::BTreeSet;

use culprit_model::Severity;

use super::reason;
use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Assignment, Outcome};

pub(super) const ID: &str = "config-added-not-changed";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for effective in &configuration.effective {
        let winner = effective.winner.map(|at| &configuration.assignments[at]);
        // The key that was meant has a winner of its own, and another value.
        let Some(winner) = winner.filter(|one| one.outcome != Outcome::AddedInsteadOfChanged)
        else {
            continue;
        };
        let chain = effective.chain.iter().map(|at| &configuration.assignments[*at]);
        let added = chain.filter(|one| {
            one.outcome == Outcome::AddedInsteadOfChanged && !one.value.equals(&winner.value)
        });
        for one in added {
            // One element has several attributes.
            if seen.insert((one.source, one.at)) {
                findings.push(finding(configuration, &effective.key, one, winner));
            }
        }
    }
    findings
}

fn finding(
    configuration: &Configuration,
    key: &str,
    one: &Assignment,
    winner: &Assignment,
) -> ConfigFinding {
    let attribute = key.rsplit_once("/@").map_or("value", |(_, name)| name);
    // What tells elements apart is written by its own name.
    let (what, fix) = if one.written == attribute {
        let known = winner.value.text.as_deref().unwrap_or_default();
        let given = one.value.text.as_deref().unwrap_or_default();
        (
            given,
            vec![
                format!("Write `{known}`."),
                "Or write it without `set`, if it is new.".to_owned(),
            ],
        )
    } else {
        let fix = vec![
            format!("Write `set:{attribute}=\"...\"` instead of `{attribute}=\"...\"`."),
            format!(
                "Or write `<patch:attribute name=\"{attribute}\">...</patch:attribute>` in the \
                 element."
            ),
        ];
        (one.written.as_str(), fix)
    };
    ConfigFinding {
        id: ID,
        severity: Severity::High,
        key: key.to_owned(),
        concerns: Vec::new(),
        title: format!(
            "The patch of `{what}` adds a second element instead of changing the first."
        ),
        evidence: vec![configuration.place(one), configuration.place(winner)],
        why: reason(&one.reason),
        fix,
    }
}
