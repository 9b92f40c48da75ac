//! `!reset` and `!override` of compose files: what a file takes away from weaker ones.
//!
//! ```text
//! compose.yaml            environment: {A: 1, B: 2}      A and B are `removed`
//! compose.override.yaml   environment: !override {B: 3}  B = 3
//! ```
//!
//! A place with a tag takes away what stands at the same place in earlier files of its scope, in what its file
//! includes, and in what its services extend. A single variable is taken away from a mapping alone: in a list, and
//! where two files were merged, compose-go has no names (`loader.ResetProcessor`).

use super::scope::Layered;
use super::{Held, is_name, of_service};
use crate::provenance::SourceState;
use crate::readers::{Clear, Cleared, Entry, Segment};

/// An entry that a stronger file takes away.
#[derive(Debug, Clone)]
pub(super) struct Removed {
    pub(super) entry: Entry,
    /// By what, in words.
    pub(super) why: String,
    /// The file that takes it away.
    pub(super) by: String,
    /// Whether the mapping that it was in is still there.
    keeps_group: bool,
}

/// A variable that a tag takes away from nothing.
#[derive(Debug, Clone)]
pub(super) struct Idle {
    pub(super) service: String,
    pub(super) name: String,
    pub(super) cleared: Cleared,
    pub(super) why: String,
}

/// The tags of a file, and what they have taken away.
#[derive(Debug, Default)]
pub(super) struct Tags {
    file: String,
    all: Vec<Tag>,
}

#[derive(Debug)]
struct Tag {
    cleared: Cleared,
    has_effect: bool,
    /// Files in which the variable stands in a list.
    lists: Vec<String>,
}

/// How a file writes the `environment` of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Mapping,
    Other,
}

impl Tags {
    pub(super) fn new((source, contents): &Held) -> Self {
        if source.state != SourceState::Read {
            return Self::default();
        }
        let tag = |cleared: &Cleared| Tag {
            cleared: cleared.clone(),
            has_effect: false,
            lists: Vec::new(),
        };
        Self { file: source.name.clone(), all: contents.cleared.iter().map(tag).collect() }
    }

    /// Takes away from weaker files. With a service, only what the file says of it, from what stands under the second
    /// name: there it extends another service.
    pub(super) fn clear(&mut self, weaker: &mut [Layered], service: Option<(&str, &str)>) {
        for tag in &mut self.all {
            let mut path = tag.cleared.path.clone();
            if let Some((service, renamed)) = service {
                match path.as_mut_slice() {
                    [_, Segment::Name(name), _, ..] if name.as_str() == service => {
                        renamed.clone_into(name);
                    }
                    _ => continue,
                }
            }
            tag.clear(weaker, &path, &self.file);
        }
    }

    /// Takes away from what the file includes: services that both have are merged.
    pub(super) fn clear_included(&mut self, file: &Held, included: &mut [Layered]) {
        let mut services: Vec<&str> =
            entries(file).filter_map(of_service).map(|(service, _)| service).collect();
        services.sort_unstable();
        services.dedup();
        for service in services {
            self.clear(included, Some((service, service)));
        }
    }

    /// The variables that were to be taken away from something, and were not.
    pub(super) fn idle(self) -> Vec<Idle> {
        let idle = self.all.into_iter().filter(|tag| !tag.has_effect);
        let idle = idle.filter(|tag| tag.cleared.how == Clear::Reset);
        let of_variable = |tag: Tag| {
            let (service, name) = variable(&tag.cleared.path)?;
            let (service, name) = (service.to_owned(), name.to_owned());
            let why = match tag.lists.as_slice() {
                [] => "no weaker file sets it".to_owned(),
                files => format!(
                    "Compose removes a name from a mapping, and it stands in a list or in several \
                     files: {}",
                    files.join(", ")
                ),
            };
            Some(Idle { service, name, cleared: tag.cleared, why })
        };
        idle.filter_map(of_variable).collect()
    }
}

impl Tag {
    fn words(&self, file: &str) -> String {
        let (line, how) = (self.cleared.at.line, self.cleared.how);
        let last = match self.cleared.path.last() {
            Some(Segment::Name(name)) => crate::secret::name(name),
            _ => String::new(),
        };
        match how {
            Clear::Reset => format!("{file}:{line} removes `{last}` by `{how}`"),
            Clear::Override => format!("{file}:{line} replaces all of `{last}` by `{how}`"),
        }
    }

    fn clear(&mut self, weaker: &mut [Layered], path: &[Segment], file: &str) {
        if let Some((service, name)) = variable(path)
            && !is_one_mapping(weaker, service)
        {
            let in_list = weaker.iter().filter(|layer| has_variable(&layer.held, service, name));
            self.lists.extend(in_list.map(|layer| layer.held.0.name.clone()));
            return;
        }
        let why = self.words(file);
        let by = (why.as_str(), variable(path).is_some());
        for layer in weaker {
            self.has_effect |= remove(layer, &|entry| is_below(entry, path), file, by);
        }
    }
}

/// Moves entries to those that are taken away, with why, and whether their group stays; whether there were any.
fn remove(
    layer: &mut Layered,
    is_meant: &dyn Fn(&Entry) -> bool,
    file: &str,
    (why, keeps_group): (&str, bool),
) -> bool {
    // With its group gone, a variable that was taken away before keeps none.
    let earlier = layer.removed.iter_mut().filter(|one| is_meant(&one.entry));
    earlier.for_each(|one| one.keeps_group &= keeps_group);
    let contents = &mut layer.held.1;
    let empty = contents.empties.extract_if(.., |entry| is_meant(entry)).count();
    let taken: Vec<Entry> = contents.entries.extract_if(.., |entry| is_meant(entry)).collect();
    let has_effect = empty > 0 || !taken.is_empty();
    let (why, by) = (why.to_owned(), file.to_owned());
    let removed = |entry| Removed { entry, why: why.clone(), by: by.clone(), keeps_group };
    layer.removed.extend(taken.into_iter().map(removed));
    has_effect
}

/// The service and the name of a variable, of a path that leads to one in a mapping.
fn variable(path: &[Segment]) -> Option<(&str, &str)> {
    match path {
        [first, Segment::Name(service), group, Segment::Name(name)]
            if is_name(Some(first), "services") && is_name(Some(group), "environment") =>
        {
            Some((service, name))
        }
        _ => None,
    }
}

fn is_below(entry: &Entry, path: &[Segment]) -> bool {
    // compose-go removes nothing from a list.
    path.iter().all(|one| matches!(one, Segment::Name(_))) && entry.path.starts_with(path)
}

fn entries((_, contents): &Held) -> impl Iterator<Item = &Entry> {
    contents.entries.iter().chain(&contents.empties)
}

fn has_variable(file: &Held, service: &str, name: &str) -> bool {
    entries(file).filter_map(|entry| Some((of_service(entry)?, entry))).any(
        |((own, path), entry)| {
            let is_named = match path.get(1) {
                Some(Segment::Name(own)) => own == name,
                Some(Segment::Index(_)) => {
                    let text = entry.value.expose();
                    text.split('=').next() == Some(name)
                }
                None => false,
            };
            own == service && is_name(path.first(), "environment") && is_named
        },
    )
}

/// Whether the files together have the `environment` of a service as one mapping: of two, compose-go makes a list.
fn is_one_mapping(layers: &[Layered], service: &str) -> bool {
    let forms: Vec<Form> = layers.iter().filter_map(|layer| form(layer, service)).collect();
    forms == [Form::Mapping]
}

fn form(layer: &Layered, service: &str) -> Option<Form> {
    let kept = layer.removed.iter().filter(|one| one.keeps_group).map(|one| &one.entry);
    let mut forms = entries(&layer.held).chain(kept).filter_map(|entry| {
        let (own, path) = of_service(entry)?;
        let is_meant = own == service && is_name(path.first(), "environment");
        is_meant.then(|| match path.get(1) {
            Some(Segment::Name(_)) => Form::Mapping,
            None if entry.value.expose() == "{}" => Form::Mapping,
            _ => Form::Other,
        })
    });
    forms.next()
}
