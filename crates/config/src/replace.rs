//! What a stronger value takes away besides weaker values of its own key: a list replaces a list as a
//! whole, and a value all keys below it. A list may be one value with commas.
//!
//! ```text
//! weaker      hosts[0] = a   hosts[1] = b   ports[0] = 1   db.name = x
//! stronger    hosts[0] = c                  ports = 2,3    db = none
//! effective   hosts[0] = c                  ports = 2,3    db = none
//! ```

use std::collections::BTreeMap;

use crate::profile::{Profile, Replaces};
use crate::provenance::{Assignment, Outcome};

/// Where an assignment is written, and in which form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    /// The source, and the document in it.
    pub(crate) document: (usize, u32),
    /// Whether it is a group without members; the text `{}` is none.
    pub(crate) is_group: bool,
}

/// Marks assignments that lose to a value of another key. `keys` and `written` are those of the
/// assignments, which are in the order of strength.
pub(crate) fn apply(
    profile: &Profile,
    keys: &[String],
    written: &[Written],
    assignments: &mut [Assignment],
) {
    let is_tree = match profile.keys.replaces {
        Replaces::Nothing => return,
        Replaces::Lists => false,
        Replaces::Trees => true,
    };
    let separator = profile.keys.separator.as_str();
    let mut living = Living::default();
    for at in 0..assignments.len() {
        if assignments[at].outcome != Outcome::Won {
            continue;
        }
        let key = keys[at].as_str();
        let lists: Vec<&str> = key.match_indices('[').map(|(end, _)| &key[..end]).collect();
        let mut lost: Vec<(usize, String)> = Vec::new();
        let document = written[at].document;
        let whole = lists.iter().find_map(|list| {
            let value = living.keys.get(*list)?.last().copied()?;
            (!is_tree && written[value].document == document).then_some((*list, value))
        });
        if let Some((list, value)) = whole {
            let element = &mut assignments[at];
            (element.outcome, element.superseded_by) = (Outcome::Shadowed, Some(value));
            element.reason = format!("the same source sets the list `{list}` as one value");
            continue;
        }
        for list in lists {
            let is_new = living.lists.insert(list.to_owned(), document) != Some(document);
            if is_new {
                let why = format!("a stronger source sets the list `{list}` as a whole");
                lost.extend(living.take_below(list, &["["], &why));
                if !is_tree {
                    let values = living.keys.remove(list).into_iter().flatten();
                    lost.extend(values.map(|value| (value, why.clone())));
                }
            }
        }
        if !is_tree {
            lost.extend(living.take_elements(key));
        }
        let is_group = written[at].is_group;
        if is_tree && is_group && living.has_below(key, separator) {
            let empty = &mut assignments[at];
            (empty.outcome, empty.reason) = (
                Outcome::NoOp,
                "an empty group leaves what weaker sources set below it".to_owned(),
            );
            continue;
        }
        if is_tree {
            lost.extend(living.take_around(key, separator, is_group));
        }
        for (loser, why) in lost {
            let loser = &mut assignments[loser];
            (loser.outcome, loser.reason) = (Outcome::Shadowed, why);
            loser.superseded_by = Some(at);
        }
        living.keys.entry(key.to_owned()).or_default().push(at);
    }
}

/// Values that nothing has replaced yet.
#[derive(Default)]
struct Living {
    keys: BTreeMap<String, Vec<usize>>,
    /// The document that set a list last.
    lists: BTreeMap<String, (usize, u32)>,
}

impl Living {
    /// Takes all values whose keys are a key followed by one of these texts.
    fn take_below(&mut self, key: &str, next: &[&str], why: &str) -> Vec<(usize, String)> {
        let mut taken = Vec::new();
        for start in next.iter().map(|next| format!("{key}{next}")) {
            let below =
                self.keys.range(start.clone()..).take_while(|(own, _)| own.starts_with(&start));
            let below: Vec<String> = below.map(|(own, _)| own.clone()).collect();
            taken.extend(below.iter().flat_map(|own| self.keys.remove(own)).flatten());
        }
        taken.into_iter().map(|at| (at, why.to_owned())).collect()
    }

    /// Takes the elements of a list that a stronger source sets as one value.
    fn take_elements(&mut self, list: &str) -> Vec<(usize, String)> {
        let start = format!("{list}[");
        let is_element = |key: &str| {
            let number = key.strip_prefix(&start).and_then(|rest| rest.strip_suffix(']'));
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let elements = self.keys.range(start.clone()..).map(|(key, _)| key);
        let elements = elements.take_while(|key| key.starts_with(&start));
        let elements: Vec<String> = elements.filter(|key| is_element(key)).cloned().collect();
        let taken = elements.iter().flat_map(|key| self.keys.remove(key)).flatten();
        taken
            .map(|at| (at, format!("a stronger source sets the list `{list}` as one value")))
            .collect()
    }

    fn has_below(&self, key: &str, separator: &str) -> bool {
        let start = format!("{key}{separator}");
        self.keys.range(start.clone()..).next().is_some_and(|(own, _)| own.starts_with(&start))
    }

    /// Takes the values below a key, those of the keys that it is below of, and what stands at its
    /// place in another form. An empty group takes nothing below it.
    fn take_around(&mut self, key: &str, separator: &str, is_group: bool) -> Vec<(usize, String)> {
        let mut taken = Vec::new();
        let next: &[&str] = if is_group { &["["] } else { &[separator, "["] };
        taken.extend(self.take_below(key, next, &format!("a stronger source sets `{key}`")));
        for (end, found) in key.char_indices() {
            let is_list = found == '[';
            if end == 0 || !is_list && !key[end..].starts_with(separator) {
                continue;
            }
            let parent = &key[..end];
            let why = format!("a stronger source sets `{key}` below it");
            let values = self.keys.remove(parent).into_iter().flatten();
            taken.extend(values.map(|at| (at, why.clone())));
            let other = if is_list { separator } else { "[" };
            let why = format!("a stronger source sets `{parent}` in another form");
            // An element's own rest, as in `a[0].b`, is not another form of the list.
            if is_list || !parent.ends_with(']') {
                taken.extend(self.take_below(parent, &[other], &why));
            }
        }
        taken
    }
}
