//! What fills the `${...}` of a compose file: the shell, then `.env`. A file that is included has its own
//! `.env` besides, which is weaker.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::clear::{Idle, Removed};
use super::{Held, name_of};
use crate::provenance::Op;
use crate::template::{Expanded, expand};

/// Values for `${...}`.
#[derive(Debug, Clone, Default)]
pub(super) struct Outside {
    values: BTreeMap<String, String>,
}

impl Outside {
    /// The values of files of variables, a later file over an earlier one, below those that are known.
    pub(super) fn over<'a>(&self, files: impl IntoIterator<Item = &'a Held>) -> Self {
        let mut found = Self::default();
        for entry in files.into_iter().flat_map(|(_, contents)| &contents.entries) {
            let lookup = |name: &str| self.get(name).or_else(|| found.get(name));
            let text = match entry.op {
                Op::Inherit => lookup(name_of(entry)),
                _ if entry.template => Some(expand(entry.value.expose(), &lookup).text),
                _ => Some(entry.value.expose().to_owned()),
            };
            if let Some(text) = text {
                found.values.insert(name_of(entry).to_owned(), text);
            }
        }
        found.values.extend(self.values.clone());
        found
    }

    /// The values of the shell.
    pub(super) fn of_shell(shell: Option<&Held>) -> Self {
        let entries = shell.into_iter().flat_map(|(_, contents)| &contents.entries);
        let values =
            entries.map(|entry| (name_of(entry).to_owned(), entry.value.expose().to_owned()));
        Self { values: values.collect() }
    }

    pub(super) fn get(&self, name: &str) -> Option<String> {
        self.values.get(name).cloned()
    }

    pub(super) fn expand(&self, template: &str) -> Expanded {
        expand(template, &|name| self.get(name))
    }
}

/// The files that are loaded together: those of the project, or those of one `include`.
#[derive(Debug)]
pub(super) struct Scope {
    /// The scope that includes them; none of the project's.
    pub(super) parent: Option<usize>,
    /// Their project directory, below the root.
    pub(super) folder: PathBuf,
    /// The files of variables of the `include`.
    pub(super) dotenv: Vec<Held>,
    /// Their values for `${...}`.
    pub(super) outside: Outside,
}

/// The names that a service had in files which are included, before a service of an outer scope took it by `extends`;
/// each with that outer scope, the innermost first.
pub(super) type Copied = Vec<(String, usize)>;

/// A compose file with its scope.
#[derive(Debug, Clone)]
pub(super) struct Layered {
    pub(super) held: Held,
    pub(super) scope: usize,
    /// If it is what a service takes from included files: their names of the service.
    pub(super) copied: Copied,
    /// What stronger files take away from it.
    pub(super) removed: Vec<Removed>,
    /// Variables that it takes away from nothing.
    pub(super) idle: Vec<Idle>,
}

impl Layered {
    pub(super) fn new(held: Held, scope: usize) -> Self {
        Self { held, scope, copied: Copied::default(), removed: Vec::new(), idle: Vec::new() }
    }
}
