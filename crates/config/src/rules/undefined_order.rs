//! Two values of equal rank set one key, and nothing says which one wins.
//!
//! Not reported: equal values; one source that sets a key twice under one name, because its last line
//! wins; two spellings of which the program asks for one first.

use culprit_model::Severity;

use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Assignment, Certainty, Effective, Outcome, SourceKind};
use crate::resolve::relaxed_rank;

pub(super) const ID: &str = "config-undefined-order";

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    configuration.effective.iter().filter_map(|one| finding(configuration, one)).collect()
}

fn finding(configuration: &Configuration, effective: &Effective) -> Option<ConfigFinding> {
    let winner = configuration.assignments.get(effective.winner?)?;
    let mut others = effective.chain.iter().filter_map(|at| configuration.assignments.get(*at));
    let is_equal_rank = |other: &&Assignment| {
        other.outcome == Outcome::Shadowed
            && (are_variables(configuration, winner, other)
                || effective.certainty == Certainty::Assumed
                    && are_files(configuration, winner, other))
    };
    let other = others.rfind(is_equal_rank)?;
    let what = if winner.source == other.source {
        format!(
            "The variables `{}` and `{}` set one key to different values.",
            other.written, winner.written
        )
    } else {
        let [a, b] = [other, winner].map(|one| &configuration.sources[one.source].name);
        format!("`{a}` and `{b}` set `{}` to different values.", effective.key)
    };
    Some(ConfigFinding {
        id: ID,
        severity: Severity::Medium,
        key: effective.key.to_string(),
        concerns: Vec::new(),
        title: what,
        evidence: vec![configuration.place(other), configuration.place(winner)],
        why: "No rule says which one wins: it can differ from one start to the next.".to_owned(),
        fix: vec!["Keep one of the two.".to_owned()],
    })
}

/// Two names of one environment of which the program asks for neither first: their order is that in which they were set.
fn are_variables(configuration: &Configuration, a: &Assignment, b: &Assignment) -> bool {
    let kind = configuration.sources[a.source].kind;
    let is_two = a.source == b.source && a.written != b.written;
    let rank = |one: &Assignment| match configuration.is_relaxed {
        true => relaxed_rank(&one.key, &one.written),
        false => 0,
    };
    is_two && kind == SourceKind::ProcessEnvironment && rank(a) == rank(b)
}

/// Two files of one layer in the same folder, whose names differ in the end alone.
fn are_files(configuration: &Configuration, a: &Assignment, b: &Assignment) -> bool {
    let [a, b] = [a, b].map(|one| &configuration.sources[one.source]);
    let stem = |name: &str| name.rsplit_once('.').map(|(stem, _)| stem.to_owned());
    a.layer == b.layer && a.name != b.name && stem(&a.name) == stem(&b.name)
}
