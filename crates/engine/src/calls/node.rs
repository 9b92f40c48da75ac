//! Nodes of call trees, and what ends at them.

use std::num::NonZeroU32;

use culprit_model::Time;

use super::names::NameId;
use super::rows::Sum;

/// The name of the node above all processes.
pub const ROOT: &str = "ROOT";

/// A node of one [`CallTree`](super::CallTree).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(NonZeroU32);

impl NodeId {
    /// The node above all others.
    pub const ROOT: Self = Self(NonZeroU32::MIN);

    /// The node's place in preorder.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        // One less than a number that is never zero.
        self.0.get() as usize - 1
    }

    #[inline]
    pub(super) fn at(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.unwrap_or(NonZeroU32::MAX))
    }
}

/// One node: a name called by the nodes above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: NameId,
    /// The node that called it; none for the root.
    pub parent: Option<NodeId>,
    /// Nodes between it and the root.
    pub depth: u32,
    /// Nodes of the subtree, this one included.
    pub(super) size: u32,
    /// Value of this node and all below, in the metric's unit.
    pub total: u64,
    /// Rows of this node and all below.
    pub count: u64,
    /// When the first of these rows begins.
    pub first: Time,
    /// When the last of these rows ends.
    pub last: Time,
}

impl Node {
    /// A node through which nothing has passed yet.
    pub(super) fn new(name: NameId, parent: Option<NodeId>) -> Self {
        let Sum { value: total, count, first, last } = Sum::default();
        Self { name, parent, depth: 0, size: 1, total, count, first, last }
    }

    /// Nodes of its subtree, this one included.
    #[must_use]
    pub const fn subtree(&self) -> u32 {
        self.size
    }

    /// What passes through it.
    #[inline]
    pub(super) fn sum(&self) -> Sum {
        Sum { value: self.total, count: self.count, first: self.first, last: self.last }
    }

    /// Lets more pass through it.
    #[inline]
    pub(super) fn add(&mut self, more: Sum) {
        let mut sum = self.sum();
        sum.add(more);
        (self.total, self.count, self.first, self.last) =
            (sum.value, sum.count, sum.first, sum.last);
    }
}

/// What ended at a node itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Own {
    /// Value, in the metric's unit.
    pub value: u64,
    /// Rows.
    pub count: u64,
    /// The part of the value that folding moved here.
    pub fold: u64,
    /// The rows that folding moved here.
    pub fold_count: u64,
}

/// Rows of one thread, stack and cause, and the node at which they end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) node: NodeId,
    /// Leaf of the parts, counted through all of them.
    pub(super) leaf: u32,
    /// True when folding moved them to this node.
    pub(super) folded: bool,
}
