//! A name sets a key that no other source knows, and is almost the name of a known key.
//!
//! Not reported: names that differ only in digits (`server1`, `server2`), short names, and keys that
//! the same source has beside each other, because they are two on purpose.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::Severity;

use crate::configuration::{ConfigFinding, Configuration};
use crate::provenance::{Assignment, Outcome, Variable};
use crate::resolve::bare;

pub(super) const ID: &str = "config-near-miss-name";

/// Edits between two names that are taken for a slip: one letter wrong, missing, too many, or two
/// swapped, and one more. Half of it misses `Conection__Strng`; at three, plain words meet.
const MOST_EDITS: usize = 2;
/// Names that are shorter are near to too many others.
const SHORTEST: usize = 8;

pub(super) fn find(configuration: &Configuration) -> Vec<ConfigFinding> {
    let near = near_misses(configuration);
    let mut findings: Vec<ConfigFinding> =
        near.iter().map(|(one, known)| finding(configuration, one, known)).collect();
    let is_open = |one: &&Variable| near.iter().all(|(other, _)| other.written != *one.name);
    let variables = configuration.variables.iter().filter(is_open);
    findings.extend(variables.filter_map(|one| misspelled(configuration, one)));
    findings
}

/// A variable whose name is almost one that the profile or a source asks for.
fn misspelled(configuration: &Configuration, one: &Variable) -> Option<ConfigFinding> {
    let asked = one.nearest.as_ref().filter(|near| configuration.asked.contains_key(*near))?;
    let name = &one.name;
    Some(ConfigFinding {
        id: ID,
        severity: Severity::Medium,
        key: name.clone(),
        title: format!("`{name}` is set, and nothing asks for it; `{asked}` is almost the same."),
        evidence: vec![configuration.sources[one.source].name.clone()],
        why: "A name that differs in one character is the name of another variable.".to_owned(),
        fix: vec![format!("Rename `{name}` to `{asked}`, if this is meant.")],
    })
}

/// A key with the sources that set it.
struct Name<'a> {
    /// The weakest assignment that counts.
    first: &'a Assignment,
    sources: BTreeSet<usize>,
    /// The key without what separates its parts: `A__B` and `A_B` have the same letters.
    bare: String,
    /// Which characters it has, to tell apart at once what is not near.
    letters: u64,
}

/// Assignments of keys that no other source knows, each with one of the key that may be meant.
pub(super) fn near_misses(configuration: &Configuration) -> Vec<(&Assignment, &Assignment)> {
    // Only names of the same first letter are compared: a slip there is rare.
    let mut by_letter: BTreeMap<Option<char>, Vec<Name<'_>>> = BTreeMap::new();
    for effective in &configuration.effective {
        // A path in a tree of XML: a patch may add what it likes, and is judged by what it matches.
        if configuration.separator == "/" && effective.key.contains('/') {
            continue;
        }
        let chain = effective.chain.iter().map(|at| &configuration.assignments[*at]);
        let chain: Vec<&Assignment> = chain.filter(|one| one.outcome != Outcome::Unread).collect();
        let Some(first) = chain.first().filter(|_| effective.key.len() >= SHORTEST) else {
            continue;
        };
        let bare = bare(&effective.key);
        let letters = bare.bytes().fold(0, |letters, byte| letters | 1 << (byte % 64));
        by_letter.entry(bare.chars().next()).or_default().push(Name {
            first,
            sources: chain.iter().map(|one| one.source).collect(),
            bare,
            letters,
        });
    }
    let mut found = Vec::new();
    for names in by_letter.values_mut() {
        names.sort_by_key(|name| name.bare.len());
        for (at, one) in names.iter().enumerate() {
            // A name that the weakest source sets is what others are compared with.
            if one.sources.len() != 1 || one.first.source == 0 || one.first.outcome != Outcome::Won
            {
                continue;
            }
            let is_close =
                |other: &&Name<'_>| other.bare.len().abs_diff(one.bare.len()) <= MOST_EDITS;
            let shorter = names[..at].iter().rev().take_while(is_close);
            let longer = names[at + 1..].iter().take_while(is_close);
            let near = shorter.chain(longer).filter(|other| is_near(one, other));
            if let Some(near) = near.min_by_key(|other| distance(one, other)) {
                found.push((one.first, near.first));
            }
        }
    }
    found
}

/// Whether a name may be a slip of another, which a weaker source sets.
fn is_near(one: &Name<'_>, other: &Name<'_>) -> bool {
    // An edit changes which characters there are by at most two.
    let differing = (one.letters ^ other.letters).count_ones() as usize;
    differing <= 2 * MOST_EDITS
        && owner(one) == owner(other)
        && other.first.source < one.first.source
        && !other.sources.contains(&one.first.source)
        && (one.bare == other.bare
            || without_digits(&one.bare) != without_digits(&other.bare)
                && distance(one, other) <= MOST_EDITS)
}

/// Whose key it is, where keys have paths: another container's keys are no slips.
fn owner<'a>(name: &Name<'a>) -> Option<&'a str> {
    name.first.key.rsplit_once('/').map(|(owner, _)| owner)
}

fn distance(one: &Name<'_>, other: &Name<'_>) -> usize {
    strsim::damerau_levenshtein(&one.bare, &other.bare)
}

fn without_digits(key: &str) -> String {
    key.chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn finding(configuration: &Configuration, one: &Assignment, near: &Assignment) -> ConfigFinding {
    let (name, key) = (&one.written, &near.key);
    let fix = if one.at.is_none() {
        vec![format!("Rename `{name}`, so that it sets `{key}`.")]
    } else {
        vec![format!("Write `{key}`."), format!("Or remove `{name}`, if nothing reads it.")]
    };
    ConfigFinding {
        id: ID,
        severity: Severity::Medium,
        key: one.key.to_string(),
        title: format!(
            "`{name}` sets a key that no other source knows; `{key}` is almost the same."
        ),
        evidence: vec![configuration.place(one), configuration.place(near)],
        why: "A name that differs in one character is the name of another key.".to_owned(),
        fix,
    }
}
