//! What the profile, its sources and the code ask for.

use std::collections::{BTreeMap, BTreeSet};

use super::effective::lost_to;
use super::keys::{identity, list_of, relaxed_variables};
use super::known::keys_of_files;
use crate::asks;
use crate::profile::{Case, Profile};
use crate::provenance::{Assignment, Effective, Outcome};
use crate::secret;
use crate::sources::Loaded;

/// The keys without the groups that code asks for and of which a source sets a key.
pub(super) fn without_set_groups(
    effective: Vec<Effective>,
    assignments: &[Assignment],
) -> Vec<Effective> {
    if effective.iter().all(|one| !one.key.ends_with(asks::ANY)) {
        return effective;
    }
    let is_request = |at: &usize| assignments[*at].outcome == Outcome::Requested;
    let set: Vec<String> = effective
        .iter()
        .filter(|one| !one.chain.iter().all(is_request))
        .map(|one| one.key.to_lowercase())
        .collect();
    let is_set = |one: &Effective| {
        let group = one.key.strip_suffix(asks::ANY).map(str::to_lowercase);
        group.is_some_and(|group| set.iter().any(|key| key.starts_with(&group)))
    };
    effective.into_iter().filter(|one| !is_set(one)).collect()
}

/// Effective values in which a default that code also takes for an empty text wins over one:
/// `process.env.LEVEL || "info"`.
pub(super) fn with_defaults(
    assignments: &mut [Assignment],
    resolve: impl FnOnce(&mut [Assignment]) -> Vec<Effective>,
) -> Vec<Effective> {
    let mut for_empty = BTreeSet::new();
    for (at, one) in assignments.iter_mut().enumerate() {
        // What marks such a default is no reason.
        if one.reason == asks::FOR_EMPTY {
            one.reason.clear();
            for_empty.insert(at);
        }
    }
    let mut effective = resolve(assignments);
    for one in &mut effective {
        let default = one.chain.iter().copied().find(|at| for_empty.contains(at));
        let (Some(winner), Some(default)) = (one.winner, default) else { continue };
        if assignments[winner].value.length > 0 || winner == default {
            continue;
        }
        lost_to(&mut assignments[winner], default, EMPTY.to_owned(), false);
        let own = &mut assignments[default];
        (own.outcome, own.superseded_by) = (Outcome::Won, None);
        own.reason.clear();
        one.winner = Some(default);
    }
    effective
}

/// Why an empty text loses to a default of the code.
const EMPTY: &str = "it is empty, and the code takes its default then";

/// The keys that the framework itself reads, spelled as the sources spell them.
pub(super) fn framework_keys(profile: &Profile, effective: &[Effective]) -> Vec<String> {
    let spelled: BTreeMap<String, &str> =
        effective.iter().map(|one| (identity(profile, &one.key), one.key.as_str())).collect();
    let own = profile.keys.known.iter().map(|key| {
        spelled.get(&identity(profile, key)).map_or_else(|| key.clone(), |key| (*key).to_owned())
    });
    own.collect()
}

/// The variables that a profile and its sources ask for: those of defines, those that set a key of a file,
/// and those that a source names.
pub(super) fn asked(profile: &Profile, loaded: &[Loaded]) -> BTreeMap<String, String> {
    let defines = profile.defines.iter().flat_map(|define| &define.variables);
    let documents =
        profile.layers.iter().filter_map(|layer| Some(&layer.document.as_ref()?.variable));
    let mut asked: BTreeMap<String, String> =
        defines.chain(documents).map(|name| (name.clone(), String::new())).collect();
    asked.extend(profile.keys.variables.iter().map(|name| (name.clone(), String::new())));
    for (name, key) in loaded.iter().flat_map(|loaded| &loaded.asked) {
        asked.insert(name.clone(), secret::name(key));
    }
    let mut layers = profile.layers.iter().rev();
    let Some(environment) = layers.find_map(|layer| layer.environment.as_ref()) else {
        return asked;
    };
    for key in keys_of_files(profile, loaded) {
        let name = match (&environment.separator, profile.keys.case) {
            (_, Case::Relaxed) => relaxed_variables(&key)[0].to_uppercase(),
            (Some(separator), _) => key.replace(&profile.keys.separator, separator),
            (None, _) => key.clone(),
        };
        asked.entry(secret::name(&name)).or_insert_with(|| secret::name(&key));
        if let Some(list) = list_of(&key).filter(|_| profile.keys.case == Case::Relaxed) {
            let name = relaxed_variables(list)[0].to_uppercase();
            asked.entry(secret::name(&name)).or_insert_with(|| secret::name(list));
        }
    }
    asked
}
