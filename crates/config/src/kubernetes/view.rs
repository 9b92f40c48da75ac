//! A part of a document: what stands below a key, as a manifest needs it.

use crate::readers::{Entry, Segment};

/// The values below a key, each with the rest of its path.
#[derive(Debug, Clone, Default)]
pub(super) struct View<'a> {
    items: Vec<(&'a [Segment], &'a Entry)>,
}

impl<'a> View<'a> {
    /// The documents of a file.
    pub(super) fn documents(entries: &'a [Entry]) -> Vec<Self> {
        let mut documents: Vec<(u32, Self)> = Vec::new();
        for entry in entries {
            let item = (entry.path.as_slice(), entry);
            match documents.last_mut() {
                Some((number, view)) if *number == entry.document => view.items.push(item),
                _ => documents.push((entry.document, Self { items: vec![item] })),
            }
        }
        documents.into_iter().map(|(_, view)| view).collect()
    }

    /// All values, each with its path.
    pub(super) fn all(&self) -> &[(&'a [Segment], &'a Entry)] {
        &self.items
    }

    /// What stands below a key.
    pub(super) fn at(&self, name: &str) -> Self {
        let below = |(path, entry): &(&'a [Segment], &'a Entry)| match path {
            [Segment::Name(first), rest @ ..] if first == name => Some((rest, *entry)),
            _ => None,
        };
        Self { items: self.items.iter().filter_map(below).collect() }
    }

    /// What stands below keys below each other.
    pub(super) fn below(&self, names: &[&str]) -> Self {
        names.iter().fold(self.clone(), |view, name| view.at(name))
    }

    /// The elements of a list.
    pub(super) fn elements(&self) -> Vec<Self> {
        let mut elements: Vec<(usize, Self)> = Vec::new();
        for (path, entry) in &self.items {
            let [Segment::Index(at), rest @ ..] = path else { continue };
            match elements.last_mut() {
                Some((number, view)) if number == at => view.items.push((rest, entry)),
                _ => elements.push((*at, Self { items: vec![(rest, entry)] })),
            }
        }
        elements.into_iter().map(|(_, view)| view).collect()
    }

    /// The keys of a group with their values, where each is one value; and whether one is not.
    pub(super) fn pairs(&self) -> (Vec<(&'a str, &'a Entry)>, bool) {
        let one = |(path, entry): &(&'a [Segment], &'a Entry)| match path {
            [Segment::Name(name)] => Some((name.as_str(), *entry)),
            _ => None,
        };
        let pairs: Vec<_> = self.items.iter().filter_map(one).collect();
        let is_whole = pairs.len() == self.items.len();
        (pairs, is_whole)
    }

    /// The value itself.
    pub(super) fn entry(&self) -> Option<&'a Entry> {
        self.items.iter().find(|(path, _)| path.is_empty()).map(|(_, entry)| *entry)
    }

    /// The text of the value of a key; empty if there is none.
    pub(super) fn text(&self, name: &str) -> String {
        self.at(name).entry().map(|entry| entry.value.expose().to_owned()).unwrap_or_default()
    }

    /// Whether the value of a key is `true`.
    pub(super) fn is_true(&self, name: &str) -> bool {
        self.text(name) == "true"
    }

    /// Whether nothing is there.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The first value of all.
    pub(super) fn first(&self) -> Option<&'a Entry> {
        self.items.first().map(|(_, entry)| *entry)
    }
}
