//! What two configurations differ in: key by key, within the profiles that both have.

use std::collections::BTreeMap;

use culprit_model::labels;

use crate::configuration::Configuration;
use crate::snapshot::Snapshot;
use crate::value::{Class, ValueRef};

labels! {
    /// What became of a key from one side to the other.
    KeyChange ("change of a key") {
        /// It has another value.
        Changed = "changed",
        /// Only the second side has it.
        Added = "added",
        /// Only the first side has it.
        Removed = "removed",
        /// Both have it, and its secret cannot be compared.
        Unknown = "unknown",
    }
}

/// A value, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedValue {
    /// The value.
    pub value: ValueRef,
    /// `SOURCE:LINE`.
    pub place: String,
}

/// A key that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDifference {
    /// The profile.
    pub profile: String,
    /// The key.
    pub key: String,
    /// What became of it.
    pub change: KeyChange,
    /// On the first side; none if it has no value there.
    pub before: Option<PlacedValue>,
    /// On the second side.
    pub after: Option<PlacedValue>,
}

/// What two snapshots differ in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotDifference {
    /// The keys that differ, by profile and key.
    pub keys: Vec<KeyDifference>,
    /// How many keys are the same.
    pub same: usize,
    /// Profiles that only one side has: the name, and whether it is the second side.
    pub alone: Vec<(String, bool)>,
}

/// Compares two snapshots.
#[must_use]
pub fn difference(before: &Snapshot, after: &Snapshot) -> SnapshotDifference {
    let comparable = before.key.is_some() && before.key == after.key;
    let mut found = SnapshotDifference::default();
    let has = |side: &Snapshot, profile: &str| {
        side.configurations.iter().any(|one| one.profile == profile)
    };
    for one in &before.configurations {
        match after.configurations.iter().find(|other| other.profile == one.profile) {
            Some(other) => compare((one, other), comparable, &mut found),
            None => found.alone.push((one.profile.clone(), false)),
        }
    }
    let only_after = after.configurations.iter().filter(|one| !has(before, &one.profile));
    found.alone.extend(only_after.map(|one| (one.profile.clone(), true)));
    found
}

fn values(one: &Configuration) -> BTreeMap<&str, PlacedValue> {
    let placed = one.effective.iter().filter_map(|effective| {
        let winner = one.assignments.get(effective.winner?)?;
        let value = PlacedValue { value: winner.value.clone(), place: one.place(winner) };
        Some((effective.key.as_str(), value))
    });
    placed.collect()
}

fn compare(
    (one, other): (&Configuration, &Configuration),
    comparable: bool,
    found: &mut SnapshotDifference,
) {
    let (mut before, mut after) = (values(one), values(other));
    let mut keys: Vec<&str> = before.keys().chain(after.keys()).copied().collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let (before, after) = (before.remove(key), after.remove(key));
        let change = match (&before, &after) {
            (Some(before), Some(after)) => {
                match is_equal(&before.value, &after.value, comparable) {
                    Some(true) => {
                        found.same += 1;
                        continue;
                    }
                    Some(false) => KeyChange::Changed,
                    None => KeyChange::Unknown,
                }
            }
            (None, _) => KeyChange::Added,
            (_, None) => KeyChange::Removed,
        };
        let (profile, key) = (one.profile.clone(), key.to_owned());
        found.keys.push(KeyDifference { profile, key, change, before, after });
    }
}

/// Whether two values are equal; none if only their texts would say so, and they are hidden.
fn is_equal(one: &ValueRef, other: &ValueRef, comparable: bool) -> Option<bool> {
    if comparable {
        return Some(one.equals(other));
    }
    if one.length != other.length
        || one.text.is_some() && other.text.is_some() && one.text != other.text
    {
        return Some(false);
    }
    let plain = one.class == Class::Plain && other.class == Class::Plain;
    plain.then(|| one.text == other.text)
}
