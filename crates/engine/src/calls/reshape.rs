//! Trees from trees: folding what is small, turning upside down, one name's callers and callees,
//! and merging. Each takes the samples of a tree along new paths; no value is lost.

use super::builder::{Builder, Draft, measure};
use super::by_name::by_name;
use super::names::{NameId, Names};
use super::tree::{CallTree, End, NodeId};

impl CallTree {
    /// Folds nodes under `pct` percent of the total into their callers, with all below: those that
    /// are below it here and whose name is below it over the whole tree, so that the small call
    /// sites of a function that is costly in sum stay. Totals by name are taken once, before.
    pub(super) fn fold_small(mut self, pct: f64) -> Self {
        let mut named = vec![0_u64; self.names.len()];
        for row in by_name(&self) {
            named[row.id.index()] = row.inc;
        }
        let limit = pct * (self.total() as f64) / 100.0;
        let small = |value: u64| (value as f64) < limit;
        // What stays keeps its total, and so its place among its siblings: preorder holds.
        let mut heirs: Vec<NodeId> = Vec::with_capacity(self.nodes.len());
        let mut kept: Vec<bool> = Vec::with_capacity(self.nodes.len());
        let mut nodes = Vec::new();
        for node in &self.nodes {
            let above = node.parent.is_none_or(|above| kept[above.index()]);
            let tiny = small(node.total) && small(named[node.name.index()]);
            let stays = node.parent.is_none() || (above && !tiny);
            kept.push(stays);
            let heir = node.parent.map(|above| heirs[above.index()]);
            if stays {
                heirs.push(NodeId::at(nodes.len()));
                nodes.push(super::Node { parent: heir, size: 1, ends: 0, ..*node });
            } else {
                heirs.push(heir.unwrap_or(NodeId::ROOT));
            }
        }
        for end in &mut self.ends {
            end.folded |= !kept[end.node.index()];
            end.node = heirs[end.node.index()];
        }
        self.ends.sort_by_key(|end| end.node);
        let mut next = 0;
        for (at, node) in nodes.iter_mut().enumerate() {
            node.ends = u32::try_from(next).unwrap_or(u32::MAX);
            next += self.ends[next..].iter().take_while(|end| end.node.index() == at).count();
        }
        measure(&mut nodes);
        Self { nodes, ..self }
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
        let mut builder = Builder::new(Names::default());
        let mut drafts = Vec::with_capacity(self.ends.len() + other.ends.len());
        let mut first_leaf = 0;
        for tree in [self, other] {
            let places = tree.planted(&mut builder);
            drafts.extend(tree.ends.iter().map(|end| Draft {
                leaf: end.leaf + first_leaf,
                ..draft(end, places[end.node.index()])
            }));
            let leaves: usize = tree.parts.iter().map(|part| part.rows().leaves.len()).sum();
            first_leaf += u32::try_from(leaves).unwrap_or(u32::MAX);
        }
        let parts = self.parts.iter().chain(other.parts.iter()).cloned().collect();
        builder.finish(drafts, parts, Vec::new())
    }

    /// Gives every node a place in another tree; one entry a node.
    pub(super) fn planted(&self, builder: &mut Builder) -> Vec<u32> {
        let mut places: Vec<u32> = Vec::with_capacity(self.nodes.len());
        let mut names: Vec<Option<NameId>> = vec![None; self.names.len()];
        for node in &self.nodes {
            let place = node.parent.map_or(0, |above| {
                let name = names[node.name.index()]
                    .get_or_insert_with(|| builder.names.intern(self.names.text(node.name)));
                builder.child(places[above.index()], *name)
            });
            places.push(place);
        }
        places
    }

    /// The tree of all samples whose path `turn` changed and kept.
    fn reshaped(&self, turn: impl Fn(&mut Vec<NameId>) -> bool) -> Self {
        let mut builder = Builder::new((*self.names).clone());
        let mut drafts = Vec::new();
        for (mut path, end) in self.samples() {
            if turn(&mut path) {
                drafts.push(draft(end, builder.path(path)));
            }
        }
        builder.finish(drafts, self.parts.to_vec(), self.unmet.clone())
    }
}

fn draft(end: &End, at: u32) -> Draft {
    Draft { at, leaf: end.leaf, folded: end.folded, sum: end.sum }
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
        for (path, end) in self.samples() {
            let places: Vec<usize> =
                path.iter().enumerate().filter(|(_, n)| **n == focus).map(|(at, _)| at).collect();
            let parts = places.len() as u64;
            for (nth, at) in (0_u64..).zip(places) {
                let part = |whole: u64| whole * (nth + 1) / parts - whole * nth / parts;
                let share = (part(end.sum.value), part(end.sum.count));
                found.total += share.0;
                let caller = at.checked_sub(1).and_then(|above| path.get(above).copied()).or(root);
                if let Some(caller) = caller {
                    note(&mut found.callers, caller, share);
                }
                match path.get(at + 1) {
                    Some(callee) => note(&mut found.callees, *callee, share),
                    None => found.own += share.0,
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

fn note(side: &mut Vec<Neighbour>, name: NameId, (value, count): (u64, u64)) {
    match side.iter_mut().find(|known| known.name == name) {
        Some(known) => {
            known.value += value;
            known.count += count;
        }
        None => side.push(Neighbour { name, value, count }),
    }
}
