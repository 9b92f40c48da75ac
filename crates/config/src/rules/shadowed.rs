//! A variable of the environment beats the value of a project's file.
//!
//! Not reported: a file that overrides a weaker file, because that is what layers are for; a variable
//! with the same value; a default of code; a variable that a configuration builder takes, because the file asks for it.

use culprit_model::Severity;

use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Outcome, SourceKind};
use crate::variable::IN_VARIABLE;

pub(super) const ID: &str = "config-shadowed";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let mut findings = Vec::new();
    for effective in &configuration.effective {
        let winner = effective.winner.and_then(|at| configuration.assignments.get(at));
        let Some(winner) = winner.filter(|winner| {
            let source = &configuration.sources[winner.source];
            source.kind == SourceKind::ProcessEnvironment && !source.layer.starts_with("builder ")
        }) else {
            continue;
        };
        let losers = effective.chain.iter().filter_map(|at| configuration.assignments.get(*at));
        let mut of_file = losers.filter(|one| {
            let kind = configuration.sources[one.source].kind;
            let is_file = !matches!(kind, SourceKind::ProcessEnvironment | SourceKind::CodeDefault);
            one.outcome == Outcome::Shadowed && is_file
        });
        let Some(strongest) = of_file.next_back() else { continue };
        let file = &configuration.sources[strongest.source].name;
        // One variable may hold a whole document, or say how many others hold keys.
        let holder = configuration.sources[winner.source].name.strip_prefix(IN_VARIABLE);
        let name = holder.unwrap_or(&winner.written);
        findings.push(ConfigFinding {
            id: ID,
            severity: Severity::Low,
            key: effective.key.to_string(),
            concerns: Vec::new(),
            title: format!(
                "The variable `{name}` of the environment beats `{file}`, which has another value."
            ),
            evidence: vec![configuration.place(strongest)],
            why: "The environment is the stronger source. A variable may be left over from other work.".to_owned(),
            fix: vec![
                format!(
                    "If the file is right: `unset {name}` in the shell that starts the program."
                ),
                "If the variable is right, nothing is to be done.".to_owned(),
            ],
        });
    }
    findings
}
