//! Keys of a group whose name is almost that of a group that the code asks for, and that no source has.

use culprit_model::Severity;

use super::near_miss_name::ID;
use crate::asks::ANY;
use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Assignment, Effective, Outcome};
use crate::spelling::slips;

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let finding = |request: &Effective| finding(configuration, request);
    configuration.effective.iter().filter_map(finding).collect()
}

fn finding(configuration: &Configuration, request: &Effective) -> Option<ConfigFinding> {
    let separator = configuration.separator.as_str();
    let group = request.key.strip_suffix(ANY)?.strip_suffix(separator)?;
    let mut asked = request.chain.iter().map(|at| &configuration.assignments[*at]);
    let asked = asked.rfind(|one| one.outcome == Outcome::Requested)?;
    // Groups with a value have no request left.
    let near = |one: &&Effective| {
        let own = group_of(&one.key, separator, group.matches(separator).count());
        one.winner.is_some() && own.is_some_and(|own| slips(own, group).is_some())
    };
    let keys: Vec<&Effective> = configuration.effective.iter().filter(near).collect();
    let first = keys.first()?;
    let name = group_of(&first.key, separator, group.matches(separator).count())?;
    let set: &Assignment = &configuration.assignments[first.winner?];
    let (set_at, asked_at) = (configuration.place(set), configuration.place(asked));
    let others = keys.iter().map(|one| one.key.to_string());
    Some(ConfigFinding {
        id: ID,
        severity: Severity::Medium,
        key: first.key.to_string(),
        concerns: others.chain([request.key.to_string()]).collect(),
        title: format!(
            "`{name}` is set, and nothing asks for it; `{asked_at}` asks for the group `{group}`, which is \
             almost the same."
        ),
        evidence: vec![set_at, asked_at],
        why: format!("No source sets a key of the group `{group}`."),
        fix: vec![format!("Rename `{name}` to `{group}`.")],
    })
}

/// The group of a key that is as deep as another one: of `Smtp:Host` at depth 0, `Smtp`.
fn group_of<'a>(key: &'a str, separator: &str, depth: usize) -> Option<&'a str> {
    key.match_indices(separator).nth(depth).map(|(at, _)| &key[..at])
}
