//! A define has a value for which there is no file, and a file is for another spelling of it: `production`, and
//! `application-prod.yml`.
//!
//! Not reported: values for which a file or a document was read.

use culprit_model::Severity;

use super::near_miss_name::ID;
use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{ConditionResult, SourceState};
use crate::sources::Choice;
use crate::spelling::slips;

/// Shorter values are the start of too many others.
const SHORTEST: usize = 3;

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let of_choice = |(source, choice): &(usize, Choice)| finding(configuration, *source, choice);
    configuration.choices.iter().filter_map(of_choice).collect()
}

fn finding(configuration: &Configuration, source: usize, choice: &Choice) -> Option<ConfigFinding> {
    let defined = configuration.defines.iter().find(|one| one.name == choice.define)?;
    let given = defined.values.iter().find(|value| is_near(value, &choice.value))?;
    if has_file(configuration, given) {
        return None;
    }
    let (file, variable) = (&configuration.sources[source].name, &choice.variable);
    Some(ConfigFinding {
        id: ID,
        severity: Severity::Medium,
        key: variable.clone(),
        concerns: Vec::new(),
        title: format!(
            "`{}` is `{given}`, and no file is for it; `{file}` is for `{}`.",
            choice.define, choice.value
        ),
        evidence: vec![file.clone()],
        why: format!("`{}` comes from: {}.", choice.define, defined.from),
        fix: vec![
            format!("Start with `{variable}={}`.", choice.value),
            format!("Or rename `{file}`, so that it has `{given}` in its name."),
        ],
    })
}

/// Whether one value is the start of the other, or almost the other. What differs in case is another rule's.
fn is_near(given: &str, other: &str) -> bool {
    let (given, other) = (given.to_lowercase(), other.to_lowercase());
    let is_start = given.len().min(other.len()) >= SHORTEST
        && (given.starts_with(&other) || other.starts_with(&given));
    given != other && (is_start || slips(&given, &other).is_some())
}

/// Whether a file or a document is for a value.
fn has_file(configuration: &Configuration, value: &str) -> bool {
    let is_part = |name: &str| {
        let ends = |rest: &str| rest.is_empty() || rest.starts_with(['.', '-', '/']);
        let mut places = name.match_indices(value);
        places
            .any(|(at, _)| name[..at].ends_with(['.', '-', '/']) && ends(&name[at + value.len()..]))
    };
    let mut sources = configuration.sources.iter().filter(|one| one.state == SourceState::Read);
    let mut conditions = configuration.conditions.iter();
    sources.any(|source| is_part(&source.name))
        || conditions.any(|one| one.result == ConditionResult::True && one.text.contains(value))
}
