//! One source sets a key twice.
//!
//! Not reported: documents of one file with different conditions.

use culprit_model::Severity;

use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Assignment, Op, Outcome, SourceKind, SourceState};

pub(super) const ID: &str = "config-duplicate-key";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let mut findings = Vec::new();
    for effective in &configuration.effective {
        let chain = effective.chain.iter().filter_map(|at| configuration.assignments.get(*at));
        let chain: Vec<_> = chain.collect();
        // The chain is in the order of sources and lines, so equals are neighbours.
        for pair in chain.windows(2) {
            let [first, second] = [pair[0], pair[1]];
            let source = &configuration.sources[first.source];
            let is_file =
                !matches!(source.kind, SourceKind::ProcessEnvironment | SourceKind::CodeDefault);
            if first.source != second.source || first.condition != second.condition || !is_file {
                continue;
            }
            // `+=` makes its value from the one before; a source that does not count can hold variants of
            // which one is chosen.
            let is_made = second.op == Op::Add || source.state != SourceState::Read;
            let sets_nothing = |one: &&Assignment| {
                one.outcome.is_never_applied() || one.outcome == Outcome::Requested
            };
            if is_made || [first, second].iter().any(sets_nothing) {
                continue;
            }
            let same = first.value.equals(&second.value);
            findings.push(ConfigFinding {
                id: ID,
                severity: if same { Severity::Info } else { Severity::Medium },
                key: effective.key.to_string(),
                concerns: Vec::new(),
                title: format!("`{}` is set twice in `{}`.", effective.key, source.name),
                evidence: vec![configuration.place(first), configuration.place(second)],
                why: "Most programs take the later line; some refuse the file.".to_owned(),
                fix: vec!["Remove one of the two lines.".to_owned()],
            });
        }
    }
    findings
}
