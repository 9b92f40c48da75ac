//! The call tree: every view is read from it or is one like it.
//!
//! Nodes stand in preorder, so that a subtree is a stretch of the array and no walk recurses:
//!
//! ```text
//! at    0     1     2     3     4        children of 1: at 2, then at 2 + size(2) = 4
//! name  ROOT  main  read  wait  parse
//! size  5     4     2     1     1
//! ```
//!
//! In the array the children of a node stand in the order of the recording's stacks; whoever shows
//! them asks for them by falling total, then by first time, then by name, and pays for those that
//! are shown. Same input, same order.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use culprit_model::{Cause, Label as _, Metric, Recording, Text, Time};

use super::index::{Index, RowKind};
use super::names::{NameId, Names};
use super::node::{End, Node, NodeId, Own};
use super::query::Query;
use super::rows::Sum;
use super::when::When;

/// The cause of the largest sum, the first of equal ones.
fn main_cause(sums: &[u64; Cause::ALL.len()]) -> Option<Cause> {
    let most = sums.iter().copied().max().filter(|most| *most > 0)?;
    let at = sums.iter().position(|value| *value == most)?;
    Cause::ALL.get(at).copied()
}

/// Where a tree's rows are from, so that they can be asked for more than their sums.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) index: Arc<Index>,
    /// Which of its tables.
    pub(super) kind: RowKind,
    pub(super) metric: Metric,
    pub(super) range: (Time, Time),
    /// Which leaves the threads and the metric leave.
    pub(super) keep: Vec<bool>,
    /// What the time range leaves of each leaf; none where that is all of it.
    pub(super) cut: Option<Arc<[Sum]>>,
}

/// What is kept of a leaf, counted through all parts.
#[inline]
pub(super) fn sum_of(parts: &[Part], leaf: u32) -> Sum {
    part_of(parts, leaf).map(|(part, leaf)| part.sum(leaf)).unwrap_or_default()
}

/// The part of a leaf, and its number there.
#[inline]
fn part_of(parts: &[Part], leaf: u32) -> Option<(&Part, usize)> {
    let mut leaf = leaf as usize;
    for part in parts {
        match leaf.checked_sub(part.keep.len()) {
            None => return Some((part, leaf)),
            Some(further) => leaf = further,
        }
    }
    None
}

/// An include pattern that kept nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// The pattern as typed.
    pub pattern: String,
    /// True when it matches only frames that folding or grouping took away.
    pub hidden: bool,
}

/// A call tree with its names.
#[derive(Debug, Clone)]
pub struct CallTree {
    pub(super) names: Arc<Names>,
    pub(super) nodes: Vec<Node>,
    /// Nodes whose frames were all guessed, in order.
    pub(super) guessed: Vec<NodeId>,
    /// What ended where, in preorder.
    pub(super) ends: Vec<End>,
    pub(super) parts: Arc<[Part]>,
    pub(super) unmet: Vec<Unmet>,
}

impl CallTree {
    /// The call tree of a recording under a filter: process, thread, frames from the outermost in,
    /// and for time metrics the cause. For more than one view of a recording make an [`Index`].
    #[must_use]
    pub fn of(recording: &Recording, query: &Query) -> Self {
        Index::rooted(recording, query.root()).tree(query)
    }

    /// The index that the tree is a view of; of a merged tree, the first.
    #[must_use]
    pub fn index(&self) -> Option<&Arc<Index>> {
        self.parts.first().map(|part| &part.index)
    }

    /// What the values count.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.parts.first().map(|part| part.metric).unwrap_or_default()
    }

    /// The time range that the tree covers.
    #[must_use]
    pub fn range(&self) -> (Time, Time) {
        let from = self.parts.iter().map(|part| part.range.0).min();
        let to = self.parts.iter().map(|part| part.range.1).max();
        (from.unwrap_or_default(), to.unwrap_or_default())
    }

    /// Include patterns that kept nothing: why a view may be empty.
    #[must_use]
    pub fn unmet(&self) -> &[Unmet] {
        &self.unmet
    }

    /// Every name.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Every node in preorder, in the order of [`CallTree::ids`]; the root is the first.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// One node.
    ///
    /// # Panics
    /// On a node of another tree.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The name of a node.
    ///
    /// # Panics
    /// As [`CallTree::node`].
    #[must_use]
    pub fn name(&self, id: NodeId) -> &Text {
        self.names.text(self.node(id).name)
    }

    /// True when the node's frames were guessed in all stacks: the function is not known to have been
    /// called there, see [`Guess`](culprit_model::Guess).
    #[must_use]
    pub fn is_guessed(&self, id: NodeId) -> bool {
        self.guessed.binary_search(&id).is_ok()
    }

    /// The whole value.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.nodes.first().map_or(0, |root| root.total)
    }

    /// How many threads the tree has something of.
    #[must_use]
    pub fn threads(&self) -> usize {
        let thread = |end: &End| {
            let (part, leaf) = part_of(&self.parts, end.leaf)?;
            part.rows().leaves.get(leaf)?.thread
        };
        let mut threads: Vec<_> = self.ends.iter().filter_map(thread).collect();
        threads.sort_unstable();
        threads.dedup();
        threads.len()
    }

    /// The number of a name that stands in the tree.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<NameId> {
        let known = self.names.find(name)?;
        self.nodes.iter().any(|node| node.name == known).then_some(known)
    }

    /// The nodes called by a node, the costliest first, then the earliest, then by name.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        let mut children: Vec<NodeId> = self.children_as_stored(id).collect();
        children.sort_unstable_by(|a, b| {
            let key = |id: NodeId| (Reverse(self.node(id).total), self.node(id).first);
            key(*a).cmp(&key(*b)).then_with(|| self.name(*a).cmp(self.name(*b)))
        });
        children.into_iter()
    }

    /// Every node, each before those that it calls.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId::at)
    }

    /// Every node before those that it calls, these in the order of [`CallTree::children`].
    pub fn ordered(&self) -> impl Iterator<Item = NodeId> + '_ {
        let mut open = vec![NodeId::ROOT];
        std::iter::from_fn(move || {
            let node = open.pop()?;
            let from = open.len();
            open.extend(self.children(node));
            open[from..].reverse();
            Some(node)
        })
    }

    /// The nodes called by a node, in no order that means anything.
    pub(super) fn children_as_stored(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let end = id.index() + self.node(id).size as usize;
        let mut next = id.index() + 1;
        std::iter::from_fn(move || {
            let node = self.nodes.get(next).filter(|_| next < end)?;
            let child = NodeId::at(next);
            next += node.size as usize;
            Some(child)
        })
    }

    /// The nodes from the root's child down to a node.
    #[must_use]
    pub fn path(&self, id: NodeId) -> Vec<NodeId> {
        let up = std::iter::successors(Some(id), |at| self.nodes[at.index()].parent);
        let mut path: Vec<NodeId> = up.filter(|at| *at != NodeId::ROOT).collect();
        path.reverse();
        path
    }

    /// What ended at the node itself; none when nothing did.
    #[must_use]
    pub fn own(&self, id: NodeId) -> Option<Own> {
        let below = self.ends_below(id).iter().take_while(|end| end.node == id);
        below.fold(None, |own, end| {
            let mut own = own.unwrap_or(Own::default());
            let sum = self.sum(end);
            own.value += sum.value;
            own.count += sum.count;
            if end.folded {
                own.fold += sum.value;
                own.fold_count += sum.count;
            }
            Some(own)
        })
    }

    /// What ended at the node and at all nodes below: where, for what cause (none for what is no
    /// time), and how much; in preorder.
    pub fn ended_below(
        &self,
        id: NodeId,
    ) -> impl Iterator<Item = (NodeId, Option<Cause>, u64)> + '_ {
        let ends = self.ends_below(id).iter();
        ends.map(|end| (end.node, self.cause(end), self.sum(end).value))
    }

    /// The cause of most of each node's value with all nodes below, one entry a node in preorder; none for
    /// what is no time. Linear in nodes.
    #[must_use]
    pub fn main_causes(&self) -> Vec<Option<Cause>> {
        let mut causes = vec![None; self.nodes.len()];
        // From the last node to the first, all that is below a node is one level deeper than it.
        let mut open: Vec<[u64; Cause::ALL.len()]> = Vec::new();
        let mut ends = self.ends.iter().rev().peekable();
        for (at, node) in self.nodes.iter().enumerate().rev() {
            let depth = node.depth as usize;
            if open.len() < depth + 2 {
                open.resize(depth + 2, Default::default());
            }
            let mut sums = std::mem::take(&mut open[depth + 1]);
            while let Some(end) = ends.next_if(|end| end.node.index() == at) {
                if let Some(cause) = self.cause(end) {
                    sums[usize::from(cause.code())] += self.sum(end).value;
                }
            }
            causes[at] = main_cause(&sums);
            open[depth].iter_mut().zip(sums).for_each(|(sum, more)| *sum += more);
        }
        causes
    }

    pub(super) fn ends_below(&self, id: NodeId) -> &[End] {
        let past = NodeId::at(id.index() + self.node(id).size as usize);
        let from = self.ends.partition_point(|end| end.node < id);
        let to = self.ends.partition_point(|end| end.node < past);
        &self.ends[from..to]
    }

    /// What ended with an end.
    #[inline]
    pub(super) fn sum(&self, end: &End) -> Sum {
        sum_of(&self.parts, end.leaf)
    }

    /// Why the time of rows passed.
    pub(super) fn cause(&self, end: &End) -> Option<Cause> {
        let (part, leaf) = part_of(&self.parts, end.leaf)?;
        part.rows().leaves.get(leaf)?.cause
    }

    /// The node's value by cause, with all nodes below, ordered by cause; empty for what is no time.
    #[must_use]
    pub fn causes(&self, id: NodeId) -> Vec<(Cause, u64)> {
        let mut sums = BTreeMap::new();
        for (_, cause, value) in self.ended_below(id) {
            if let Some(cause) = cause {
                *sums.entry(cause).or_default() += value;
            }
        }
        sums.into_iter().collect()
    }

    /// The node's value by time, with all nodes below.
    #[must_use]
    pub fn when(&self, id: NodeId) -> When {
        self.whens(&[id]).pop().unwrap_or_default()
    }

    /// The values of nodes by time, each with all nodes below. One pass over the rows for all.
    #[must_use]
    pub fn whens(&self, wanted: &[NodeId]) -> Vec<When> {
        self.whens_over(wanted, self.range())
    }

    /// As [`CallTree::whens`], with the parts of another time range, which holds the tree's own.
    pub(super) fn whens_over(&self, wanted: &[NodeId], range: (Time, Time)) -> Vec<When> {
        // A row is added to the innermost wanted node; those hand theirs on to the next one out.
        let mut slot = vec![None; self.nodes.len()];
        let mut inner: Vec<NodeId> = wanted.to_vec();
        inner.sort_unstable();
        inner.dedup();
        for (at, node) in (0_u32..).zip(&inner) {
            slot[node.index()] = Some(at);
        }
        let mut outer = vec![None; inner.len()];
        for at in 0..self.nodes.len() {
            let above = self.nodes[at].parent.and_then(|above| slot[above.index()]);
            match slot[at] {
                Some(own) => outer[own as usize] = above,
                None => slot[at] = above,
            }
        }
        let mut whens = vec![When::default(); inner.len()];
        let mut first = 0;
        for part in self.parts.iter() {
            let leaves = part.rows().leaves.len();
            let mut slots = vec![None; leaves];
            for end in &self.ends {
                if let Some(place) =
                    (end.leaf as usize).checked_sub(first).and_then(|l| slots.get_mut(l))
                {
                    *place = slot[end.node.index()];
                }
            }
            part.rows().spread(part.range, range, &slots, part.metric == Metric::Waits, &mut whens);
            first += leaves;
        }
        for at in (0..inner.len()).rev() {
            let when = whens[at];
            if let Some(above) = outer[at] {
                whens[above as usize].add(&when);
            }
        }
        let place = |node: &NodeId| inner.binary_search(node).map(|at| whens[at]);
        wanted.iter().map(|node| place(node).unwrap_or_default()).collect()
    }

    /// A name's inclusive value over the parts of a range that holds the tree's own.
    pub(super) fn when_over(&self, name: &str, range: (Time, Time)) -> When {
        let mut when = When::default();
        let nodes = self.names.find(name).map(|name| super::by_name::outermost_of(self, name));
        for part in self.whens_over(&nodes.unwrap_or_default(), range) {
            when.add(&part);
        }
        when
    }

    /// Calls `found` with table, number and weight of each row that the tree holds; of a merged
    /// tree, the rows of its first recording.
    pub fn each_row(&self, mut found: impl FnMut(RowKind, usize, u64)) {
        let Some(first) = self.parts.first() else { return };
        let mut leaves = 0;
        for part in self.parts.iter().filter(|part| Arc::ptr_eq(&part.index, &first.index)) {
            let mut keep = vec![false; part.rows().leaves.len()];
            for end in &self.ends {
                let own = (end.leaf as usize).checked_sub(leaves);
                if let Some(keep) = own.and_then(|leaf| keep.get_mut(leaf)) {
                    *keep = true;
                }
            }
            leaves += keep.len();
            let counted = part.metric == Metric::Waits;
            part.rows().each(part.range, &keep, |at, row| {
                found(part.kind, at, if counted { 1 } else { row.value });
            });
        }
    }

    /// What 100 % is in a histogram: the part of the time range for time metrics (one thread busy
    /// all along), else half of the root's largest part.
    #[must_use]
    pub fn full(&self) -> u64 {
        if !self.metric().is_time() {
            return (self.when(NodeId::ROOT).peak() / 2).max(1);
        }
        let (from, to) = self.range();
        super::when::part(from, to).0
    }

    /// Every sample of the tree: what ended where, with the names from the outermost in.
    #[cfg(test)]
    pub(super) fn samples(&self) -> impl Iterator<Item = (Vec<NameId>, &End)> + '_ {
        self.ends.iter().map(|end| (self.names_of(end.node), end))
    }

    /// The names from the root's child down to a node.
    #[cfg(test)]
    pub(super) fn names_of(&self, node: NodeId) -> Vec<NameId> {
        self.path(node).into_iter().map(|at| self.nodes[at.index()].name).collect()
    }
}
