//! What is written: the samples that a filter kept, and the names of their stacks.

use culprit_model::{Cause, FrameId, Metric, Nanos, ProcessId, Recording, Text, ThreadId, Time};
use rustc_hash::FxHashMap;

/// A node of a [`Tree`], and so a whole stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// The position in [`Tree::nodes`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a node stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A process at the root end.
    Process(ProcessId),
    /// A thread below it.
    Thread(ThreadId),
    /// A place in code.
    Frame(FrameId),
    /// The cause at the leaf end of thread time.
    Cause(Cause),
    /// What grouping made of one of these, or a stack that was lost.
    Other,
}

/// One name called by the names above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The caller; none at the root end. It stands before this node.
    pub parent: Option<NodeId>,
    /// As views show it: `module!function` for frames.
    pub name: Text,
    /// What it stands for.
    pub kind: NodeKind,
}

/// Stacks as a prefix tree.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    known: FxHashMap<(Option<NodeId>, Text, NodeKind), NodeId>,
}

impl Tree {
    /// The node of a name below a parent, new or known.
    pub fn child(&mut self, parent: Option<NodeId>, name: &Text, kind: NodeKind) -> NodeId {
        let nodes = &mut self.nodes;
        *self.known.entry((parent, name.clone(), kind)).or_insert_with(|| {
            nodes.push(Node { parent, name: name.clone(), kind });
            NodeId(u32::try_from(nodes.len() - 1).unwrap_or(u32::MAX))
        })
    }

    /// Every node, parents first.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes of a stack, leaf first.
    pub fn stack(&self, leaf: Option<NodeId>) -> impl Iterator<Item = &Node> {
        let node = |id: NodeId| self.nodes.get(id.index());
        std::iter::successors(leaf.and_then(node), move |at| at.parent.and_then(node))
    }
}

/// One sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// When, or from when.
    pub time: Time,
    /// How long; 0 for an instant.
    pub duration: Nanos,
    /// Whose; none where process and thread are nodes of the stack like others.
    pub thread: Option<ThreadId>,
    /// The whole stack, with process, thread and cause; none for an empty one.
    pub leaf: Option<NodeId>,
    /// How much, in the metric's unit.
    pub value: u64,
    /// How many samples it stands for.
    pub count: u64,
}

/// What a filter kept of a recording, in one metric.
#[derive(Debug)]
pub struct Profile<'a> {
    /// Where it is from: its frames, modules, threads, and what it says about itself.
    pub recording: &'a Recording,
    /// What values count.
    pub metric: Metric,
    /// The stacks.
    pub tree: Tree,
    /// The samples, ordered by time.
    pub rows: Vec<Row>,
}

impl Profile<'_> {
    /// The rows added up by stack, in order of first use.
    #[must_use]
    pub fn sums(&self) -> Vec<(Option<NodeId>, u64)> {
        let mut sums: Vec<(Option<NodeId>, u64)> = Vec::new();
        let mut known = FxHashMap::default();
        for row in &self.rows {
            let at = *known.entry(row.leaf).or_insert_with(|| {
                sums.push((row.leaf, 0));
                sums.len() - 1
            });
            sums[at].1 = sums[at].1.saturating_add(row.value);
        }
        sums
    }
}
