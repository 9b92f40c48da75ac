//! What Spring knows before it reads a file: arguments, `SPRING_APPLICATION_JSON`, system properties and
//! variables, the strongest first.

use crate::profile::Profile;
use crate::readers::{Contents, Entry};
use crate::resolve::{identity, key_of, relaxed_variables};
use crate::value::Raw;

/// A key with its value.
#[derive(Debug)]
struct Known<'a> {
    identity: String,
    written: String,
    value: &'a str,
}

/// Keys of a source with their values, by identity.
#[derive(Debug, Default)]
pub(super) struct Environment<'a> {
    /// Sources of keys, the strongest first, each with what it is called.
    sources: Vec<(String, Vec<Known<'a>>)>,
    /// Variables by their names in lower case.
    variables: Vec<(String, &'a str, &'a str)>,
}

impl<'a> Environment<'a> {
    /// Adds a source of keys that is weaker than those before it.
    pub(super) fn add(&mut self, profile: &Profile, name: &str, contents: &'a Contents) {
        let key = |entry: &'a Entry| {
            let written = key_of(profile, &entry.path);
            Known { identity: identity(profile, &written), written, value: entry.value.expose() }
        };
        self.sources.push((name.to_owned(), contents.entries.iter().map(key).collect()));
    }

    /// Adds the variables, which are weaker than all keys.
    pub(super) fn variables(&mut self, variables: &'a [(String, Raw)]) {
        let lower = variables
            .iter()
            .map(|(name, value)| (name.to_lowercase(), name.as_str(), value.expose()));
        self.variables = lower.collect();
    }

    /// The value of a key, and what sets it.
    pub(super) fn get(&self, profile: &Profile, key: &str) -> Option<(&'a str, String)> {
        let wanted = identity(profile, key);
        for (name, keys) in &self.sources {
            if let Some(known) = keys.iter().rev().find(|known| known.identity == wanted) {
                return Some((known.value, name.clone()));
            }
        }
        let names = relaxed_variables(key);
        let mut variables = self.variables.iter();
        let (_, name, value) = variables.find(|(lower, ..)| names.contains(lower))?;
        Some((value, format!("variable {name}")))
    }

    /// The elements of a list: one value with commas, or numbered keys.
    pub(super) fn list(&self, profile: &Profile, key: &str) -> Option<(Vec<String>, String)> {
        if let Some((value, from)) = self.get(profile, key) {
            return Some((split(value), from));
        }
        let mut elements = Vec::new();
        let mut first = String::new();
        while let Some((value, from)) = self.get(profile, &format!("{key}[{}]", elements.len())) {
            if elements.is_empty() {
                first = from;
            }
            elements.push(value.trim().to_owned());
        }
        (!elements.is_empty()).then_some((elements, first))
    }

    /// The keys below a key, as their sources write them, with the values; variables in lower case.
    pub(super) fn below(&self, start: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for (_, keys) in &self.sources {
            let below = keys.iter().filter_map(|known| {
                Some((known.written.strip_prefix(start)?.to_owned(), known.value.to_owned()))
            });
            found.extend(below);
        }
        let lower = start.replace('.', "_");
        let below = self.variables.iter().filter_map(|(name, _, value)| {
            Some((name.strip_prefix(&lower)?.to_owned(), (*value).to_owned()))
        });
        found.extend(below);
        found
    }
}

/// The parts of a text between commas.
pub(super) fn split(text: &str) -> Vec<String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}
