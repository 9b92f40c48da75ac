//! Whether the places of `why` have the same variables. What differs there may be why one is slower.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use crate::settings;

/// The variables with which a command begins in a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlaceVariables {
    /// What the place is called.
    pub(crate) place: String,
    variables: BTreeMap<String, OsString>,
}

/// Names that a note lists of each kind; the rest are counted.
const MOST_NAMED: usize = 6;
/// What differs between any two places, and is the engine's or the shell's own.
const OF_THE_PLACE: &[&str] =
    &["_", "HOME", "HOSTNAME", "OLDPWD", "PATH", "PWD", "SHLVL", "TERM", "USER", "LOGNAME"];

impl PlaceVariables {
    /// Those of a place; a place that names none has ours.
    pub(crate) fn new(place: &str, environment: Vec<(OsString, OsString)>) -> Self {
        let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value));
        let variables: BTreeMap<_, _> = if environment.is_empty() {
            let ours = settings::environment().into_iter();
            ours.map(|(name, value)| (name, OsString::from(value))).collect()
        } else {
            environment.into_iter().filter_map(text).collect()
        };
        let is_of_place = |name: &String| OF_THE_PLACE.contains(&name.as_str());
        let variables = variables.into_iter().filter(|(name, _)| !is_of_place(name)).collect();
        Self { place: place.to_owned(), variables }
    }

    /// Whether the place has a variable.
    pub(super) fn has(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }
}

/// The names of variables that are not the same in all places.
pub(super) fn differing_variables(places: &[PlaceVariables]) -> BTreeSet<&str> {
    differing(places, |place| &place.variables, |value| value)
}

/// The names that not all places have with the same value.
pub(super) fn differing<'p, P, V: 'p, C: PartialEq + ?Sized + 'p>(
    places: &'p [P],
    named: impl Fn(&'p P) -> &'p BTreeMap<String, V>,
    compared: impl Fn(&'p V) -> &'p C,
) -> BTreeSet<&'p str> {
    let names = places.iter().flat_map(|place| named(place).keys());
    let differs = |name: &&'p String| {
        let mut values = places.iter().map(|place| named(place).get(*name).map(&compared));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    names.filter(differs).map(String::as_str).collect()
}

/// What the other places have otherwise than the first, a sentence or two a place. Names only: values may
/// be secret.
pub(crate) fn notes(places: &[PlaceVariables]) -> Vec<String> {
    let Some((first, others)) = places.split_first() else { return Vec::new() };
    others.iter().filter_map(|other| note(first, other)).collect()
}

fn note(first: &PlaceVariables, other: &PlaceVariables) -> Option<String> {
    let (here, there) = (&other.place, &first.place);
    let both = first.variables.iter().filter_map(|(name, one)| {
        let two = other.variables.get(name)?;
        (one != two).then_some(name.as_str())
    });
    let changed: Vec<&str> = both.collect();
    let mut parts = Vec::new();
    if !changed.is_empty() {
        parts.push(format!("other values: {}", listed(&changed)));
    }
    parts.extend(on_one_side((there, &first.variables), (here, &other.variables)));
    (!parts.is_empty()).then(|| {
        format!(
            "The variables of {here} and {there} differ ({}). Evidence: present_only; Culprit has not \
             checked whether the command reads them.",
            parts.join("; ")
        )
    })
}

/// What is in one of two places only, each with its name: what the second has more, then what it lacks.
pub(super) fn on_one_side<V>(
    (there, first): (&str, &BTreeMap<String, V>),
    (here, other): (&str, &BTreeMap<String, V>),
) -> impl Iterator<Item = String> {
    let only = |place: &str, own: &BTreeMap<String, V>, others: &BTreeMap<String, V>| {
        let names = own.keys().filter(|name| !others.contains_key(*name));
        let names: Vec<&str> = names.map(String::as_str).collect();
        (!names.is_empty()).then(|| format!("only in {place}: {}", listed(&names)))
    };
    [only(here, other, first), only(there, first, other)].into_iter().flatten()
}

/// The first names, and how many more there are.
pub(super) fn listed(names: &[&str]) -> String {
    let shown: Vec<String> =
        names.iter().take(MOST_NAMED).map(|name| format!("`{name}`")).collect();
    match names.len().checked_sub(MOST_NAMED) {
        Some(more) if more > 0 => format!("{} and {more} more", shown.join(", ")),
        _ => shown.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str, variables: &[(&str, &str)]) -> PlaceVariables {
        let variable = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        PlaceVariables::new(name, variables.iter().map(variable).collect())
    }

    #[test]
    fn places_with_other_variables_are_named_with_the_names_alone() {
        let host = place("host", &[("LANG", "hunter2"), ("A", "1"), ("HOME", "/root")]);
        let same = place("sandbox", &[("LANG", "hunter2"), ("A", "1"), ("HOME", "/")]);
        let other = place("docker:x", &[("LANG", "C"), ("B", "1")]);
        assert!(notes(&[host.clone(), same]).is_empty());
        let [note] = notes(&[host, other]).try_into().unwrap();
        let note: String = note;
        assert!(
            note.starts_with("The variables of docker:x and host differ (other values: `LANG`;")
        );
        assert!(note.contains("only in docker:x: `B`; only in host: `A`"), "{note}");
        assert!(note.contains("present_only") && !note.contains("hunter2"));
    }
}
