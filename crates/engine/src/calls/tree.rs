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
//! Children come by falling total, then by first time, then by name: same input, same order.

use culprit_model::{Cause, Metric, Text, Time};

use super::names::{NameId, Names};
use super::when::When;

/// The name of the node above all processes.
pub const ROOT: &str = "ROOT";

/// A node of one [`CallTree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// The node above all others.
    pub const ROOT: Self = Self(0);

    /// The node's place in preorder.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    pub(super) fn at(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

/// One node: a name called by the nodes above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: NameId,
    /// The node that called it; none for the root.
    pub parent: Option<NodeId>,
    /// Nodes between it and the root.
    pub depth: u32,
    /// Value of this node and all below, in the metric's unit.
    pub total: u64,
    /// Rows of this node and all below.
    pub count: u64,
    /// When the first of these rows begins.
    pub first: Time,
    /// When the last of these rows ends.
    pub last: Time,
    /// Nodes of the subtree, this one included.
    pub(super) size: u32,
    /// The nodes' own values before this one in preorder.
    pub(super) owns: u32,
}

/// What ended at a node itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Own {
    /// Value, in the metric's unit.
    pub value: u64,
    /// Rows.
    pub count: u64,
    /// The part of the value that folding moved here.
    pub fold: u64,
    /// The rows that folding moved here.
    pub fold_count: u64,
    /// Start of the first row.
    pub first: Time,
    /// End of the last row.
    pub last: Time,
    /// The value by time.
    pub when: When,
    /// The value by cause, ordered by cause; none for metrics that are no time.
    pub causes: Vec<(Option<Cause>, u64)>,
}

impl Own {
    /// Adds another node's own value.
    pub(super) fn add(&mut self, other: &Self) {
        if self.count == 0 {
            (self.first, self.last) = (other.first, other.last);
        }
        self.value += other.value;
        self.count += other.count;
        self.fold += other.fold;
        self.fold_count += other.fold_count;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.when.add(&other.when);
        for (cause, value) in &other.causes {
            match self.causes.binary_search_by_key(cause, |(known, _)| *known) {
                Ok(at) => self.causes[at].1 += value,
                Err(at) => self.causes.insert(at, (*cause, *value)),
            }
        }
    }
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
    pub(super) names: Names,
    pub(super) nodes: Vec<Node>,
    /// Own values of the nodes that have one, in preorder, with the node.
    pub(super) owns: Vec<(NodeId, Own)>,
    pub(super) metric: Metric,
    pub(super) range: (Time, Time),
    pub(super) unmet: Vec<Unmet>,
}

impl CallTree {
    /// What the values count.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The time range that the tree covers.
    #[must_use]
    pub fn range(&self) -> (Time, Time) {
        self.range
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

    /// Every node in preorder; the root is the first.
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

    /// The whole value.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.nodes.first().map_or(0, |root| root.total)
    }

    /// The nodes called by a node, the costliest first.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
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
    pub fn own(&self, id: NodeId) -> Option<&Own> {
        let at = self.owns.binary_search_by_key(&id, |(node, _)| *node).ok()?;
        self.owns.get(at).map(|(_, own)| own)
    }

    /// The node's own values and those of all nodes below.
    #[must_use]
    pub fn owns_below(&self, id: NodeId) -> &[(NodeId, Own)] {
        let node = self.node(id);
        let from = node.owns as usize;
        let past = NodeId::at(id.index() + node.size as usize);
        let rest = self.owns.get(from..).unwrap_or_default();
        &rest[..rest.partition_point(|(at, _)| *at < past)]
    }

    /// The node's value by time, with all nodes below.
    #[must_use]
    pub fn when(&self, id: NodeId) -> When {
        let mut when = When::default();
        for (_, own) in self.owns_below(id) {
            when.add(&own.when);
        }
        when
    }

    /// The node's value by cause, with all nodes below, ordered by cause.
    #[must_use]
    pub fn causes(&self, id: NodeId) -> Vec<(Option<Cause>, u64)> {
        let mut sum = Own::default();
        for (_, own) in self.owns_below(id) {
            sum.add(&Own { causes: own.causes.clone(), ..Own::default() });
        }
        sum.causes
    }

    /// What 100 % is in a histogram: the part of the time range for time metrics (one thread busy
    /// all along), else half of the root's largest part.
    #[must_use]
    pub fn full(&self) -> u64 {
        if !self.metric.is_time() {
            return (self.when(NodeId::ROOT).peak() / 2).max(1);
        }
        super::when::part(self.range.0, self.range.1).0
    }

    /// Every sample of the tree: what ended where, with the names from the outermost in.
    pub(super) fn samples(&self) -> impl Iterator<Item = (Vec<NameId>, &Own)> + '_ {
        self.owns.iter().map(|(node, own)| {
            let names = self.path(*node).into_iter().map(|at| self.nodes[at.index()].name);
            (names.collect(), own)
        })
    }
}
