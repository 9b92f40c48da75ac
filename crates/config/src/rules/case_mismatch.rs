//! Two names differ only in upper and lower case, where case matters.

use std::collections::BTreeMap;

use culprit_model::Severity;

use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::Effective;
use crate::sources::Choice;

pub(super) const ID: &str = "config-case-mismatch";

/// A file that would be chosen if case did not matter in its name.
fn of_choice(
    configuration: &Configuration,
    (source, choice): &(usize, Choice),
) -> Option<ConfigFinding> {
    let defined = configuration.defines.iter().find(|one| one.name == choice.define)?;
    let given = defined.values.iter().find(|value| value.eq_ignore_ascii_case(&choice.value))?;
    let file = &configuration.sources[*source].name;
    let variable = &choice.variable;
    Some(ConfigFinding {
        id: ID,
        severity: Severity::Medium,
        key: variable.clone(),
        concerns: Vec::new(),
        title: format!(
            "`{}` is `{given}`, and `{file}` is not read: only the case differs.",
            choice.define
        ),
        evidence: vec![file.clone()],
        why: format!("Where file names have case, `{given}` does not choose the file."),
        fix: vec![
            format!("Start with `{variable}={}`.", choice.value),
            format!("Or rename the file, so that it has `{given}` in its name."),
        ],
    })
}

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    // Elements of XML that differ in case are told apart by what they are matched by.
    if configuration.separator == "/" {
        return Vec::new();
    }
    let mut by_letters: BTreeMap<String, Vec<&Effective>> = BTreeMap::new();
    for effective in &configuration.effective {
        by_letters.entry(effective.key.to_lowercase()).or_default().push(effective);
    }
    let mut findings: Vec<ConfigFinding> =
        configuration.choices.iter().filter_map(|one| of_choice(configuration, one)).collect();
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
                concerns: vec![first.key.to_string()],
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
