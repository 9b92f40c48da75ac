//! Keys of a tree: the path of an element below the root, as XPath, and `/@name` of an attribute.
//!
//! `settings/setting[@name='X']/@value`; of several that are alike, the later ones are `...[2]`.

use std::collections::BTreeMap;

use culprit_model::Text;
use rustc_hash::{FxHashMap, FxHashSet};

use super::tree::{Cell, Tree};
use crate::ledger::Ledger;
use crate::provenance::{Certainty, Effective, Op, Outcome};
use crate::secret;

/// The part of a key that an element is.
pub(super) fn part(name: &str, identity: Option<(&str, &str)>) -> String {
    match identity {
        None => name.to_owned(),
        Some((attribute, value)) => {
            let quote = if value.contains('\'') { '"' } else { '\'' };
            format!("{name}[@{attribute}={quote}{}{quote}]", secret::name(value))
        }
    }
}

/// A key below another one.
pub(super) fn join(above: &str, part: &str) -> String {
    match (above, part) {
        ("", one) | (one, "") => one.to_owned(),
        (above, part) => format!("{above}/{part}"),
    }
}

/// The paths of all elements, by their index.
pub(super) fn paths(tree: &Tree) -> Vec<Text> {
    let mut paths: Vec<Text> = Vec::with_capacity(tree.elements.len());
    paths.push(Text::default());
    // How many elements that count have each path, without the number of the later ones.
    let mut counts: FxHashMap<Text, u32> = FxHashMap::default();
    // Elements are made after their parents, and keep them.
    for (at, element) in tree.elements.iter().enumerate().skip(1) {
        let own = crate::position::number(at);
        let part = part(&element.name.local, tree.identity(own));
        let mut path = Text::from(join(&paths[element.parent as usize], &part));
        if element.removed_by.is_none() {
            let count = counts.entry(path.clone()).or_default();
            *count += 1;
            if *count > 1 {
                path = Text::from(format!("{path}[{count}]"));
            }
        }
        paths.push(path);
    }
    paths
}

/// The keys of a tree with what they are in the end. Also gives each assignment its key.
///
/// An element that was replaced by one of the same name has its key with that one: its assignments are
/// the weaker ones. An attribute that tells its element apart has no row of its own, because its value
/// stands in the keys of the others; except where it is the only one, or `needed`.
pub(super) fn effective(
    tree: &Tree,
    paths: &[Text],
    needed: &FxHashSet<u32>,
    ledger: &mut Ledger,
) -> Vec<Effective> {
    let mut effective = Vec::new();
    let mut removed: BTreeMap<Text, Effective> = BTreeMap::new();
    for (at, element) in tree.elements.iter().enumerate() {
        let own = crate::position::number(at);
        let identity = tree.identity(own).map(|(name, _)| name);
        for cell in &element.cells {
            let is_identity = cell.name.as_ref().is_some_and(|name| Some(&*name.local) == identity);
            if let Some(only) = tree.only_assignment(cell)
                && is_identity
                && element.cells.len() > 1
                && !needed.contains(&own)
            {
                ledger.assignments[only].key.clone_from(&paths[at]);
                continue;
            }
            let key = match &cell.name {
                Some(name) => Text::from(join(&paths[at], &format!("@{}", name.local))),
                None => paths[at].clone(),
            };
            // The root's own text has no name.
            if key.is_empty() {
                continue;
            }
            let row = row(key, tree, cell, ledger);
            if element.removed_by.is_none() {
                effective.push(row);
            } else if let Some(other) = removed.get_mut(&row.key) {
                other.chain.extend(row.chain);
            } else {
                removed.insert(row.key.clone(), row);
            }
        }
    }
    if !removed.is_empty() {
        for one in &mut effective {
            if let Some(weaker) = removed.remove(&one.key) {
                one.chain.splice(0..0, weaker.chain);
            }
        }
    }
    effective.extend(removed.into_values());
    effective
}

fn row(key: Text, tree: &Tree, cell: &Cell, ledger: &mut Ledger) -> Effective {
    let chain = tree.chain(cell);
    let mut certainty = Certainty::Exact;
    for at in &chain {
        let one = &mut ledger.assignments[*at];
        one.key.clone_from(&key);
        if one.outcome == Outcome::AddedInsteadOfChanged {
            certainty = Certainty::Assumed;
        }
    }
    let winner = cell.winner.map(|at| at as usize);
    Effective { key, winner, chain, certainty, gap: None }
}

/// Adds assignments that are no cell's own to the keys that they are meant for.
pub(super) fn add_others(
    effective: &mut Vec<Effective>,
    others: Vec<(Text, usize)>,
    ledger: &Ledger,
) {
    let mut by_key: BTreeMap<Text, Vec<usize>> = BTreeMap::new();
    for (key, at) in others {
        by_key.entry(key).or_default().push(at);
    }
    if by_key.is_empty() {
        return;
    }
    for one in effective.iter_mut() {
        if let Some(more) = by_key.remove(&one.key) {
            add(one, more, ledger);
        }
    }
    for (key, more) in by_key {
        let (chain, certainty) = (Vec::new(), Certainty::Exact);
        let mut one = Effective { key, winner: None, chain, certainty, gap: None };
        // What only deletes gives no value.
        let counts = |at: &&usize| {
            let one = &ledger.assignments[**at];
            matches!(one.outcome, Outcome::Won | Outcome::ConditionIgnored) && one.op != Op::Delete
        };
        one.winner = more.iter().rev().find(counts).copied();
        add(&mut one, more, ledger);
        effective.push(one);
    }
}

fn add(one: &mut Effective, more: Vec<usize>, ledger: &Ledger) {
    let added = |at: &usize| ledger.assignments[*at].outcome == Outcome::AddedInsteadOfChanged;
    if more.iter().any(added) {
        one.certainty = Certainty::Assumed;
    }
    one.chain.extend(more);
}
