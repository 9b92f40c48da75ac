//! The keys that files know, and the key that a variable sets.

use std::collections::{BTreeMap, BTreeSet};

use super::keys::{bare, identity, key_of, list_of, relaxed_variables};
use crate::asks::ANY;
use crate::profile::{Case, FromEnvironment, Profile};
use crate::provenance::SourceKind;
use crate::sources::{Loaded, NO_LAYER};

/// The keys of files that the program may know: not those of variables that it does not read, and no groups.
pub(super) fn keys_of_files(profile: &Profile, loaded: &[Loaded]) -> impl Iterator<Item = String> {
    let files = loaded.iter().filter(|one| {
        let is_ignored = one.layer == NO_LAYER && one.source.kind == SourceKind::Dotenv;
        one.source.kind != SourceKind::ProcessEnvironment && !is_ignored
    });
    let keys =
        files.flat_map(|one| &one.contents.entries).map(move |entry| key_of(profile, &entry.path));
    keys.filter(|key| !key.ends_with(ANY))
}

/// The keys that files know, whether the files count or not.
pub(super) struct Known {
    /// Identity to the first spelling.
    keys: BTreeMap<String, String>,
    /// A variable's name in lower case to the key that it sets by relaxed binding.
    by_variable: BTreeMap<String, String>,
    /// The same of keys that the framework itself reads, and no file has.
    of_framework: BTreeMap<String, String>,
    /// First elements of keys, in the form of variables' names.
    first: BTreeSet<String>,
    /// Keys without what separates their parts: a variable with such letters is the project's, also
    /// where its separators are wrong.
    bare: BTreeSet<String>,
}

/// Keys that are shorter have the letters of other programs' variables too.
const SHORTEST_BARE: usize = 8;

impl Known {
    pub(super) fn new(profile: &Profile, loaded: &[Loaded], exact: &BTreeSet<String>) -> Self {
        let mut known = Self {
            keys: BTreeMap::new(),
            by_variable: BTreeMap::new(),
            of_framework: BTreeMap::new(),
            first: BTreeSet::new(),
            bare: BTreeSet::new(),
        };
        known.first.extend(profile.keys.first.iter().cloned());
        for key in &profile.keys.known {
            let names = relaxed_variables(key).map(|name| (name, key.clone()));
            known.of_framework.extend(names);
        }
        for key in keys_of_files(profile, loaded).filter(|key| !exact.contains(key)) {
            if profile.keys.case == Case::Relaxed {
                for name in relaxed_variables(&key) {
                    let first = name.split('_').next().unwrap_or_default();
                    known.first.insert(first.to_owned());
                    known.by_variable.entry(name).or_insert_with(|| key.clone());
                }
                // One variable may hold the whole list.
                for name in list_of(&key).map(relaxed_variables).into_iter().flatten() {
                    let list = || list_of(&key).unwrap_or_default().to_owned();
                    known.by_variable.entry(name).or_insert_with(list);
                }
            }
            known.bare.insert(bare(&key));
            known.keys.entry(identity(profile, &key)).or_insert(key);
        }
        known
    }

    /// The key that a variable sets in a layer, and whether it is the project's: none if it sets no key
    /// there.
    pub(super) fn key_of_variable(
        &self,
        profile: &Profile,
        layer: &FromEnvironment,
        name: &str,
    ) -> Option<(String, bool)> {
        let of_prefix = layer.prefixes.iter().find_map(|prefix| {
            // .NET compares prefixes without case.
            let start = name.get(..prefix.from.len())?;
            let rest = &name[prefix.from.len()..];
            let fits = start.eq_ignore_ascii_case(&prefix.from) && !rest.is_empty();
            fits.then(|| (format!("{}{rest}", prefix.to), !prefix.to.is_empty()))
        });
        let (name, is_ours) = match of_prefix {
            Some(found) => found,
            None if layer.only_prefixes => return None,
            None => (name.to_owned(), false),
        };
        let letters = bare(&name);
        let has_letters = letters.len() >= SHORTEST_BARE && self.bare.contains(&letters);
        if profile.keys.case == Case::Relaxed {
            let lower = name.to_lowercase();
            // `HOSTS_0_` is `HOSTS_0`.
            if let Some(key) = self.by_variable.get(lower.trim_end_matches('_')) {
                return Some((key.clone(), true));
            }
            let first = lower.split('_').next().unwrap_or_default();
            let is_ours = lower.contains('_') && self.first.contains(first) || has_letters;
            let of_framework = self.of_framework.get(&lower).cloned();
            return Some((of_framework.unwrap_or_else(|| of_elements(&lower)), is_ours));
        }
        // `__NAME` has no part before its separator. A container may have names with the separator of keys.
        let mut separators = layer.separator.iter().flat_map(|own| [own, &profile.keys.separator]);
        let separated =
            separators.any(|separator| name.find(separator.as_str()).is_some_and(|at| at > 0));
        let key = match &layer.separator {
            Some(separator) => name.replace(separator, &profile.keys.separator),
            None => name,
        };
        match self.keys.get(&identity(profile, &key)) {
            Some(known) => Some((known.clone(), true)),
            None => Some((key, is_ours || separated || has_letters)),
        }
    }
}

/// `a_b_0` as `a.b[0]`.
fn of_elements(name: &str) -> String {
    let mut key = String::new();
    for element in name.split('_').filter(|element| !element.is_empty()) {
        if element.chars().all(|c| c.is_ascii_digit()) {
            key.push_str(&format!("[{element}]"));
        } else {
            key.push_str(if key.is_empty() { "" } else { "." });
            key.push_str(element);
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_of_no_known_key_is_elements() {
        assert_eq!(of_elements("my_service_0_other"), "my.service[0].other");
    }
}
