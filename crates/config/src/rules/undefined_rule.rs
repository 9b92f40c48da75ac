//! A condition is about a rule that nothing defines, and is ignored.

use std::collections::BTreeMap;

use culprit_model::Severity;

use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{ConditionResult, SourceKind};

pub(super) const ID: &str = "config-undefined-rule";

/// Places that are listed; the others are counted.
const MOST_PLACES: usize = 5;

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let mut by_rule: BTreeMap<&str, Vec<(String, &str)>> = BTreeMap::new();
    for condition in &configuration.conditions {
        if let (ConditionResult::Ignored, Some((source, at))) = (condition.result, condition.at) {
            let place = format!("{}:{}", configuration.sources[source].name, at.line);
            by_rule.entry(&condition.inputs.0).or_default().push((place, &condition.text));
        }
    }
    by_rule.into_iter().map(|(rule, places)| finding(configuration, rule, &places)).collect()
}

fn finding(configuration: &Configuration, rule: &str, places: &[(String, &str)]) -> ConfigFinding {
    let (count, text) = (places.len(), places.first().map_or("", |(_, text)| text));
    let conditions = match count {
        1 => format!("The condition `{text}` is"),
        count => format!("{count} conditions are"),
    };
    let file = configuration.sources.iter().find(|source| source.kind == SourceKind::File);
    let file = file.map_or("the main file", |source| source.name.as_str());
    let mut evidence: Vec<String> =
        places.iter().take(MOST_PLACES).map(|(place, _)| place.clone()).collect();
    if count > MOST_PLACES {
        evidence.push(format!("{} more", count - MOST_PLACES));
    }
    ConfigFinding {
        id: ID,
        severity: Severity::High,
        key: format!("{rule}:define"),
        concerns: Vec::new(),
        title: format!("{conditions} about the rule `{rule}`, which nothing defines."),
        evidence,
        why: "The condition is ignored: what it guards applies in every environment.".to_owned(),
        fix: vec![
            format!(
                "Add this line to `<appSettings>` in `{file}`: `<add key=\"{rule}:define\" \
                 value=\"{text}\" />`."
            ),
            "Or correct the rule's name, if another one is meant.".to_owned(),
        ],
    }
}
