//! Placeholders of all values, when the order of sources is known.

use std::collections::BTreeMap;

use super::NO_VALUE;
use super::environment::Environment;
use super::placeholder;
use crate::condition;
use crate::profile::Profile;
use crate::provenance::{ConditionResult, Op, Outcome, SourceState};
use crate::readers::Oddity;
use crate::resolve::{identity, key_of};
use crate::secret;
use crate::sources::{Loaded, Part};
use crate::value::Raw;

/// Replaces the placeholders in the values of all sources.
pub(super) fn expand(
    profile: &Profile,
    environment: &Environment<'_>,
    parts: &[Part],
    loaded: &mut [Loaded],
    active: &[String],
) {
    let values = of_files(profile, parts, loaded, active);
    let lookup = |key: &str| {
        let strong = environment.get(profile, key).map(|(value, _)| value.to_owned());
        strong.or_else(|| values.get(&identity(profile, key)).cloned())
    };
    for one in loaded.iter_mut() {
        let counts = one.source.state == SourceState::Read;
        for (at, entry) in one.contents.entries.iter_mut().enumerate() {
            if !entry.value.expose().contains("${") {
                continue;
            }
            let Some(expanded) = placeholder::expand(entry.value.expose(), &lookup) else {
                let why = "its placeholders form a circle: Spring refuses the value".to_owned();
                one.verdicts.entry(at).or_insert((Outcome::Unknown, why));
                continue;
            };
            for name in expanded.left.iter().filter(|_| counts) {
                let name = secret::name(name);
                one.contents.oddities.push(Oddity { at: entry.at, name, what: NO_VALUE });
            }
            entry.value = Raw::new(expanded.text);
            if expanded.used.is_empty() {
                continue;
            }
            entry.op = Op::TokenExpand;
            let names: Vec<String> = expanded
                .used
                .iter()
                .map(|(key, _)| format!("`${{{}}}`", secret::name(key)))
                .collect();
            let why = format!("made from {}", names.join(", "));
            one.verdicts.entry(at).or_insert((Outcome::Won, why));
            let made = expanded.used.into_iter().map(|(key, text)| (key, Raw::new(text)));
            one.made.insert(at, made.collect());
        }
    }
}

/// The values of files that count, by identity.
fn of_files(
    profile: &Profile,
    parts: &[Part],
    loaded: &[Loaded],
    active: &[String],
) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for part in parts {
        let one = &loaded[part.loaded];
        let is_variable =
            profile.layers.get(one.layer).is_some_and(|layer| layer.environment.is_some());
        if one.source.state != SourceState::Read || is_variable {
            continue;
        }
        let layer = profile.layers.get(one.layer);
        let guarded = layer
            .map(|layer| condition::guarded_documents(profile, layer, &one.contents))
            .unwrap_or_default();
        let is_off = |document: u32| {
            guarded.iter().any(|(number, text)| {
                *number == document && condition::evaluate(text, active) != ConditionResult::True
            })
        };
        for at in part.entries.clone() {
            let Some(entry) = one.contents.entries.get(at) else { continue };
            let is_out = matches!(one.verdicts.get(&at), Some((Outcome::ConditionFalse, _)));
            if !is_out && !is_off(entry.document) {
                let key = identity(profile, &key_of(profile, &entry.path));
                values.insert(key, entry.value.expose().to_owned());
            }
        }
    }
    values
}
