//! Builds call trees: nodes in any order that has callers before callees, one tree in preorder at
//! the end. Everything is a column of numbers.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::names::{NameId, Names};
use super::node::{End, Node, NodeId, ROOT};
use super::tree::{CallTree, Part, Unmet, sum_of};
use super::trie::places;

/// A call tree under construction. Node 0 is the root.
#[derive(Debug, Default)]
pub(super) struct Builder {
    pub(super) names: Names,
    name: Vec<NameId>,
    parent: Vec<u32>,
    /// The youngest listed child of each node, and the next older one of each child.
    youngest: Vec<u32>,
    older: Vec<u32>,
    /// Children of nodes whose list is full.
    further: FxHashMap<u64, u32>,
    /// How each node's frames are known, as far as nodes were told; empty where nothing is guessed.
    origins: Vec<Origin>,
    tells_guesses: bool,
}

/// How the frames of a node are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Not told.
    Unknown,
    /// All of them were guessed.
    Guessed,
    /// Some were found on stacks.
    Seen,
}

/// Children that are looked for one after the other: nearly all nodes have fewer, and those made
/// one after the other lie side by side, where a map would fetch from memory for each.
const LISTED: usize = 8;

/// No node.
const NONE: u32 = u32::MAX;

impl Builder {
    /// An empty tree that will use these names.
    pub(super) fn new(mut names: Names) -> Self {
        let root = names.intern(&ROOT.into());
        Self { names, ..Self::under(root) }
    }

    /// An empty tree whose root has a name of a table that comes later.
    pub(super) fn under(root: NameId) -> Self {
        Self {
            names: Names::default(),
            name: vec![root],
            parent: vec![NONE],
            youngest: vec![NONE],
            older: vec![NONE],
            further: FxHashMap::default(),
            origins: Vec::new(),
            tells_guesses: false,
        }
    }

    /// Says whether any node's frames may be guessed.
    pub(super) fn tells_guesses(&mut self, any: bool) {
        self.tells_guesses = any;
    }

    /// A node stands for a frame, or for a node, that was guessed or was not.
    #[inline]
    pub(super) fn found(&mut self, node: u32, guessed: bool) {
        if !self.tells_guesses {
            return;
        }
        if self.origins.len() <= node as usize {
            self.origins.resize(self.name.len(), Origin::Unknown);
        }
        let origin = &mut self.origins[node as usize];
        if !guessed || *origin == Origin::Unknown {
            *origin = if guessed { Origin::Guessed } else { Origin::Seen };
        }
    }

    /// Nodes whose frames were all guessed.
    fn guessed(&self) -> impl Iterator<Item = usize> + '_ {
        let origins = self.origins.iter().enumerate();
        origins.filter(|(_, origin)| **origin == Origin::Guessed).map(|(node, _)| node)
    }

    /// Makes room for so many nodes.
    pub(super) fn reserve(&mut self, nodes: usize) {
        self.name.reserve(nodes);
        for column in [&mut self.parent, &mut self.youngest, &mut self.older] {
            column.reserve(nodes);
        }
    }

    /// The node of a name below a node, new or known.
    #[inline]
    pub(super) fn child(&mut self, parent: u32, name: NameId) -> u32 {
        let mut at = self.youngest[parent as usize];
        for _ in 0..LISTED {
            if at == NONE {
                return self.list(parent, name);
            }
            if self.name[at as usize] == name {
                return at;
            }
            at = self.older[at as usize];
        }
        let key = u64::from(parent) << 32 | u64::from(name.0);
        if let Some(known) = self.further.get(&key) {
            return *known;
        }
        let node = self.push(parent, name);
        self.further.insert(key, node);
        node
    }

    /// A new node that its parent's list holds.
    fn list(&mut self, parent: u32, name: NameId) -> u32 {
        let node = self.push(parent, name);
        self.older[node as usize] = std::mem::replace(&mut self.youngest[parent as usize], node);
        node
    }

    fn push(&mut self, parent: u32, name: NameId) -> u32 {
        self.name.push(name);
        self.parent.push(parent);
        self.youngest.push(NONE);
        self.older.push(NONE);
        u32::try_from(self.name.len() - 1).unwrap_or(NONE)
    }

    /// The name of a node.
    #[inline]
    pub(super) fn name(&self, node: u32) -> NameId {
        self.name[node as usize]
    }

    /// The name of a node of a tree that is made of this.
    pub(super) fn name_at(&self, node: NodeId) -> NameId {
        self.name[node.index()]
    }

    /// The caller of a node; [`NONE`] for the root.
    pub(super) fn parent(&self, node: u32) -> u32 {
        self.parent[node as usize]
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.name.len()
    }

    /// The tree of what ended where, with the names that nodes are numbered by; `ends` name nodes of
    /// the builder.
    pub(super) fn finish(
        &self,
        names: Arc<Names>,
        mut ends: Vec<End>,
        parts: Vec<Part>,
        unmet: Vec<Unmet>,
    ) -> CallTree {
        self.placed(&mut ends).finish(names, ends, parts, unmet)
    }

    /// The nodes in preorder; ends move to them.
    pub(super) fn placed(&self, ends: &mut [End]) -> Placed {
        let mut placed = Placed::with_room(self.len());
        if self.is_preorder() {
            for (name, parent) in self.name.iter().zip(&self.parent) {
                placed.push(*name, (*parent != NONE).then(|| NodeId::at(*parent as usize)));
            }
            placed.guessed = self.guessed().map(NodeId::at).collect();
            return placed;
        }
        let place = places(&self.parent);
        let mut order = vec![0_u32; place.len()];
        for (old, new) in (0_u32..).zip(&place) {
            order[*new as usize] = old;
        }
        for old in order {
            let above = place.get(self.parent[old as usize] as usize);
            placed.push(self.name(old), above.map(|above| NodeId::at(*above as usize)));
        }
        for end in ends {
            end.node = NodeId::at(place[end.node.index()] as usize);
        }
        placed.guessed = self.guessed().map(|node| NodeId::at(place[node] as usize)).collect();
        placed.guessed.sort_unstable();
        placed
    }

    /// True when each node follows its caller or what that calls.
    fn is_preorder(&self) -> bool {
        let mut open: Vec<u32> = vec![0];
        (1_u32..).zip(&self.parent[1..]).all(|(at, parent)| {
            while open.last().is_some_and(|last| last != parent) {
                open.pop();
            }
            let follows = !open.is_empty();
            open.push(at);
            follows
        })
    }

    /// The nodes that are alive, each before its children, those in the order of `later`.
    pub(super) fn preorder(
        &self,
        alive: impl Fn(u32) -> bool,
        later: impl Fn(u32, u32) -> std::cmp::Ordering,
    ) -> Vec<u32> {
        let nodes = || (1_u32..).take(self.len().saturating_sub(1)).filter(|at| alive(*at));
        let mut begin = vec![0_u32; self.len() + 1];
        for at in nodes() {
            begin[self.parent[at as usize] as usize + 1] += 1;
        }
        for at in 1..begin.len() {
            begin[at] += begin[at - 1];
        }
        let mut next = begin.clone();
        let mut children = vec![0_u32; begin.last().copied().unwrap_or(0) as usize];
        for at in nodes() {
            let place = &mut next[self.parent[at as usize] as usize];
            children[*place as usize] = at;
            *place += 1;
        }
        let mut order = Vec::with_capacity(children.len() + 1);
        let mut open = vec![0_u32];
        while let Some(at) = open.pop() {
            order.push(at);
            let range = begin[at as usize] as usize..begin[at as usize + 1] as usize;
            let siblings = &mut children[range];
            siblings.sort_unstable_by(|a, b| later(*b, *a));
            open.extend_from_slice(siblings);
        }
        order
    }
}

/// Nodes in preorder, without values.
#[derive(Debug)]
pub(super) struct Placed {
    nodes: Vec<Node>,
    /// Nodes whose frames were all guessed, in order.
    pub(super) guessed: Vec<NodeId>,
}

impl Placed {
    /// No nodes, and room for so many.
    pub(super) fn with_room(nodes: usize) -> Self {
        Self { nodes: Vec::with_capacity(nodes), guessed: Vec::new() }
    }

    /// Adds a node; its caller is the last one or above that.
    #[inline]
    pub(super) fn push(&mut self, name: NameId, parent: Option<NodeId>) -> NodeId {
        let depth = parent.map_or(0, |above| self.nodes[above.index()].depth + 1);
        self.nodes.push(Node { depth, ..Node::new(name, parent) });
        NodeId::at(self.nodes.len() - 1)
    }

    /// The tree of what ended where.
    pub(super) fn finish(
        self,
        names: Arc<Names>,
        mut ends: Vec<End>,
        parts: Vec<Part>,
        unmet: Vec<Unmet>,
    ) -> CallTree {
        let mut nodes = self.nodes;
        for end in &ends {
            nodes[end.node.index()].add(sum_of(&parts, end.leaf));
        }
        for at in (1..nodes.len()).rev() {
            let node = nodes[at];
            if let Some(above) = node.parent {
                nodes[above.index()].add(node.sum());
                nodes[above.index()].size += node.size;
            }
        }
        in_preorder(&mut ends, nodes.len());
        CallTree { names, nodes, guessed: self.guessed, ends, parts: parts.into(), unmet }
    }
}

/// Brings ends into the order of their nodes; those of one node keep theirs.
pub(super) fn in_preorder(ends: &mut Vec<End>, nodes: usize) {
    if ends.is_sorted_by_key(|end| end.node) {
        return;
    }
    let mut begin = vec![0_u32; nodes + 1];
    for end in &*ends {
        begin[end.node.index() + 1] += 1;
    }
    for at in 1..begin.len() {
        begin[at] += begin[at - 1];
    }
    let mut sorted = ends.clone();
    for end in &*ends {
        let next = &mut begin[end.node.index()];
        sorted[*next as usize] = *end;
        *next += 1;
    }
    *ends = sorted;
}
