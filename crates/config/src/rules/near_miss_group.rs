//! Keys of a group whose name is almost that of a group that the code asks for, or that the framework reads, and that
//! no source has.

use std::collections::BTreeMap;

use culprit_model::Severity;

use super::near_miss_name::{ID, is_code, unused};
use crate::asks::ANY;
use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Assignment, Effective, Outcome};
use crate::spelling::slips;

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let finding = |request: &Effective| finding(configuration, request);
    let asked = configuration.effective.iter().filter_map(finding);
    asked.chain(of_framework(configuration)).collect()
}

/// Lists and trees whose name is almost that of a setting of the framework, which nothing sets: `ALLOWED_HOST[0]`.
fn of_framework(configuration: &Configuration) -> Vec<ConfigFinding> {
    let separator = configuration.separator.as_str();
    let framework = configuration.framework();
    let name_of = |key: &str| {
        key.split('[').next().and_then(|key| key.split(separator).next()).map(str::to_owned)
    };
    let mut set: BTreeMap<String, Vec<&Effective>> = BTreeMap::new();
    for one in &configuration.effective {
        if let Some(name) = name_of(&one.key) {
            set.entry(name).or_default().push(one);
        }
    }
    let open: Vec<&String> = configuration
        .framework_keys
        .iter()
        .filter(|known| name_of(known).as_ref() == Some(known) && !set.contains_key(known.as_str()))
        .collect();
    let is_asked_for = |keys: &[&Effective]| {
        let mut requests =
            keys.iter().flat_map(|one| &one.chain).map(|at| &configuration.assignments[*at]);
        requests.any(|one| one.outcome == Outcome::Requested || is_code(configuration, one))
    };
    let finding = |(name, keys): (&String, &Vec<&Effective>)| {
        let is_known = configuration.framework_keys.iter().any(|known| known == name);
        let is_tree = keys.iter().all(|one| *one.key != **name);
        if is_known || !is_tree || is_asked_for(keys) {
            return None;
        }
        let nearest = open.iter().filter_map(|known| Some((slips(name, known)?, *known))).min();
        let (_, meant) = nearest?;
        let first = keys.iter().find_map(|one| Some((one, one.winner?)))?;
        let set = &configuration.assignments[first.1];
        Some(ConfigFinding {
            id: ID,
            severity: Severity::Medium,
            key: first.0.key.to_string(),
            concerns: keys.iter().map(|one| one.key.to_string()).chain([meant.clone()]).collect(),
            title: format!(
                "{}; `{meant}` is a key of {framework}, and almost the same.",
                unused(configuration, name)
            ),
            evidence: vec![configuration.place(set)],
            why: format!("No source sets `{meant}`."),
            fix: vec![format!("Rename `{name}` to `{meant}`.")],
        })
    };
    set.iter().filter_map(finding).collect()
}

fn finding(configuration: &Configuration, request: &Effective) -> Option<ConfigFinding> {
    let separator = configuration.separator.as_str();
    let group = request.key.strip_suffix(ANY)?.strip_suffix(separator)?;
    let mut asked = request.chain.iter().map(|at| &configuration.assignments[*at]);
    let asked = asked.rfind(|one| one.outcome == Outcome::Requested)?;
    // Groups with a value have no request left, and may be asked for by another one.
    let is_asked_for = |own: &str| {
        let start = format!("{own}{separator}").to_lowercase();
        let mut requests = configuration.assignments.iter();
        let is_group = requests.any(|one| {
            one.outcome == Outcome::Requested && one.key.to_lowercase() == format!("{start}{ANY}")
        });
        let is_code = |at: &usize| is_code(configuration, &configuration.assignments[*at]);
        let mut keys = configuration.effective.iter();
        is_group
            || keys.any(|one| {
                let has_value = one.chain.iter().any(|at| !is_code(at));
                let is_asked = one.chain.iter().any(is_code);
                has_value && is_asked && one.key.to_lowercase().starts_with(&start)
            })
    };
    let near = |one: &&Effective| {
        let own = group_of(&one.key, separator, group.matches(separator).count());
        let is_near = own.is_some_and(|own| slips(own, group).is_some() && !is_asked_for(own));
        one.winner.is_some() && is_near
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
            "{}; `{asked_at}` asks for the group `{group}`, which is almost the same.",
            unused(configuration, name)
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
