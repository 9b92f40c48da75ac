//! No declared combination of rules makes a condition true.

use culprit_model::Severity;

use crate::configuration::{ConfigFinding, Configuration};

pub(super) const ID: &str = "config-never-true";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let conditions = configuration.never_true.iter().map(|at| &configuration.conditions[*at]);
    let finding = |condition: &crate::Condition| {
        let rule = &condition.inputs.0;
        let (source, at) = condition.at?;
        Some(ConfigFinding {
            id: ID,
            severity: Severity::Medium,
            key: rule.clone(),
            concerns: Vec::new(),
            title: format!("The condition `{}` on `{rule}` is never true.", condition.text),
            evidence: vec![format!("{}:{}", configuration.sources[source].name, at.line)],
            why: format!("No value that `{rule}` can have makes it true, so it never applies."),
            fix: vec![
                "Correct the word that the rule cannot have.".to_owned(),
                format!(
                    "If it is a value of your own: `culprit config roles --declare {rule}=...` \
                     checks with it."
                ),
            ],
        })
    };
    conditions.filter_map(finding).collect()
}
