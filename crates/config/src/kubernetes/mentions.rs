//! Where the names of objects are mentioned: one that anything names may be read, whoever reads it.
//!
//! An Ingress names the Secret of its certificate, an operator's object a ConfigMap, and a chart's template either.
//! No list of kinds is complete, so each text that could be a name counts as a mention.

use std::collections::{BTreeMap, BTreeSet};

use super::view::View;
use crate::readers::Segment;

/// Longer values are documents of their own, of which no part is a reference.
const MOST_BYTES: usize = 1 << 10;
/// Groups of which no value names an object.
const NO_REFERENCES: [&str; 3] = ["labels", "matchLabels", "selector"];
/// Lists whose elements have names of their own.
const OF_OWN_NAMES: [&str; 5] =
    ["containers", "initContainers", "ports", "volumes", "volumeMounts"];

/// Who mentions a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
    /// An object, by its source.
    Object(usize),
    /// A file that is no manifest with values or containers.
    File,
}

/// Words with who mentions them.
#[derive(Debug, Default)]
pub(super) struct Mentions(BTreeMap<String, BTreeSet<By>>);

impl Mentions {
    /// Adds the values of a document.
    pub(super) fn document(&mut self, document: &View<'_>, by: By) {
        for (path, entry) in document.all() {
            let text = entry.value.expose();
            if text.len() <= MOST_BYTES && !is_own_name(path) {
                self.text(text, by);
            }
        }
    }

    /// Adds the words of a text.
    pub(super) fn text(&mut self, text: &str, by: By) {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        for word in text.split(|c| !is_of_name(c)).filter(|word| !word.is_empty()) {
            self.0.entry(word.to_owned()).or_default().insert(by);
        }
    }

    /// Whether anything but an object itself mentions its name.
    pub(super) fn have(&self, name: &str, own: usize) -> bool {
        let by = self.0.get(name).into_iter().flatten();
        by.into_iter().any(|by| *by != By::Object(own))
    }
}

/// Whether a path is that of the name of an object or of a part of it, or of a label.
fn is_own_name(path: &[Segment]) -> bool {
    let is = |segment: &Segment, words: &[&str]| matches!(segment, Segment::Name(name) if words.contains(&name.as_str()));
    let of_own = match path {
        [.., list, Segment::Index(_), name] => is(list, &OF_OWN_NAMES) && is(name, &["name"]),
        _ => false,
    };
    let of_object = match path {
        [.., metadata, name] => is(metadata, &["metadata"]) && is(name, &["name"]),
        _ => false,
    };
    of_own || of_object || path.iter().any(|segment| is(segment, &NO_REFERENCES))
}
