//! Trees from trees: folding what is small, turning upside down, one name's callers and callees,
//! and merging. Each takes the samples of a tree along new paths; no value is lost.

use super::builder::Builder;
use super::by_name::by_name;
use super::names::NameId;
use super::tree::{CallTree, NodeId, Own};

impl CallTree {
    /// Folds nodes under `pct` percent of the total into their callers: those that are below it
    /// here and whose name is below it over the whole tree, so that the small call sites of a
    /// function that is costly in sum stay. Totals by name are taken once, before.
    pub(super) fn fold_small(&self, pct: f64) -> Self {
        let rows = by_name(self);
        let mut by_id = vec![0_u64; self.names.len()];
        for row in rows {
            by_id[row.id.index()] = row.inc;
        }
        let small = |value: u64| (value as f64) < pct * (self.total() as f64) / 100.0;
        let mut kept: Vec<Option<NodeId>> = Vec::with_capacity(self.nodes.len());
        for (at, node) in self.nodes.iter().enumerate() {
            let above =
                node.parent.and_then(|parent| kept[parent.index()].filter(|p| *p == parent));
            let survives = node.parent.is_none()
                || (above.is_some() && !(small(node.total) && small(by_id[node.name.index()])));
            let heir = node.parent.and_then(|parent| kept[parent.index()]);
            kept.push(if survives { Some(NodeId::at(at)) } else { heir });
        }
        self.rebuilt(|builder| {
            for (node, own) in &self.owns {
                let Some(heir) = kept[node.index()] else { continue };
                let mut own = own.clone();
                if heir != *node {
                    (own.fold, own.fold_count) = (own.value, own.count);
                }
                builder.insert(&self.names_of(heir), &own);
            }
        })
    }

    /// The tree from the leaves up: the root's children are the names at which samples end, below
    /// each its callers. Twice gives the first tree again.
    #[must_use]
    pub fn inverted(&self) -> Self {
        self.reshaped(|path| {
            path.reverse();
            true
        })
    }

    /// Who calls a name: it stands below the root, its callers below it. Where a stack holds it
    /// more than once, the occurrence nearest the leaf counts.
    #[must_use]
    pub fn callers(&self, focus: NameId) -> Self {
        self.reshaped(|path| match path.iter().rposition(|name| *name == focus) {
            Some(at) => {
                path.truncate(at + 1);
                path.reverse();
                true
            }
            None => false,
        })
    }

    /// What a name calls: it stands below the root, its callees below it. Where a stack holds it
    /// more than once, the occurrence nearest the leaf counts.
    #[must_use]
    pub fn callees(&self, focus: NameId) -> Self {
        self.reshaped(|path| match path.iter().rposition(|name| *name == focus) {
            Some(at) => {
                path.drain(..at);
                true
            }
            None => false,
        })
    }

    /// Both trees' samples in one, over the time range that holds both. In which order trees are
    /// merged does not matter.
    #[must_use]
    pub fn merged(&self, other: &Self) -> Self {
        let mut builder = Builder::new(super::names::Names::default());
        for tree in [self, other] {
            for (path, own) in tree.samples() {
                let path: Vec<NameId> =
                    path.iter().map(|id| builder.names.intern(tree.names.text(*id))).collect();
                builder.insert(&path, own);
            }
        }
        let (a, b) = (self.range, other.range);
        builder.finish(self.metric, (a.0.min(b.0), a.1.max(b.1)), Vec::new())
    }

    fn names_of(&self, node: NodeId) -> Vec<NameId> {
        self.path(node).into_iter().map(|at| self.nodes[at.index()].name).collect()
    }

    /// The tree of all samples whose path `turn` changed and kept.
    fn reshaped(&self, turn: impl Fn(&mut Vec<NameId>) -> bool) -> Self {
        self.rebuilt(|builder| {
            for (mut path, own) in self.samples() {
                if turn(&mut path) {
                    builder.insert(&path, own);
                }
            }
        })
    }

    fn rebuilt(&self, fill: impl FnOnce(&mut Builder)) -> Self {
        let mut builder = Builder::new(self.names.clone());
        fill(&mut builder);
        builder.finish(self.metric, self.range, self.unmet.clone())
    }
}

/// One name next to the one in focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbour {
    /// Its name.
    pub name: NameId,
    /// The value that passes between the two.
    pub value: u64,
    /// Rows that pass between the two.
    pub count: u64,
}

/// One name, who calls it and what it calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Butterfly {
    /// The name's inclusive value: the sum over its callers.
    pub total: u64,
    /// What ended at the name itself; with the callees it sums to the total.
    pub own: u64,
    /// Its callers, by falling value.
    pub callers: Vec<Neighbour>,
    /// Its callees, by falling value.
    pub callees: Vec<Neighbour>,
}

impl CallTree {
    /// The neighbours of a name. A sample whose stack holds the name several times gives each
    /// occurrence an equal part of itself, so callers, callees and own value balance.
    #[must_use]
    pub fn butterfly(&self, focus: NameId) -> Butterfly {
        let mut found = Butterfly::default();
        let root = self.nodes.first().map(|node| node.name);
        for (path, own) in self.samples() {
            let places: Vec<usize> =
                path.iter().enumerate().filter(|(_, n)| **n == focus).map(|(at, _)| at).collect();
            let parts = places.len() as u64;
            for (nth, at) in (0_u64..).zip(places) {
                let part = |whole: u64| whole * (nth + 1) / parts - whole * nth / parts;
                let share =
                    Own { value: part(own.value), count: part(own.count), ..Own::default() };
                found.total += share.value;
                let caller = at.checked_sub(1).and_then(|above| path.get(above).copied()).or(root);
                if let Some(caller) = caller {
                    note(&mut found.callers, caller, &share);
                }
                match path.get(at + 1) {
                    Some(callee) => note(&mut found.callees, *callee, &share),
                    None => found.own += share.value,
                }
            }
        }
        for side in [&mut found.callers, &mut found.callees] {
            side.sort_by(|a, b| {
                (b.value.cmp(&a.value))
                    .then_with(|| self.names.text(a.name).cmp(self.names.text(b.name)))
            });
        }
        found
    }
}

fn note(side: &mut Vec<Neighbour>, name: NameId, share: &Own) {
    match side.iter_mut().find(|known| known.name == name) {
        Some(known) => {
            known.value += share.value;
            known.count += share.count;
        }
        None => side.push(Neighbour { name, value: share.value, count: share.count }),
    }
}
