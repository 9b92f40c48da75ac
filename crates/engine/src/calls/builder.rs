//! Builds call trees: nodes in any order that has callers before callees, one canonical tree at the
//! end. Everything is a column of numbers.

use rustc_hash::FxHashMap;

use super::names::{NameId, Names};
use super::rows::Sum;
use super::tree::{CallTree, End, Node, NodeId, Part, ROOT, Unmet};

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
}

/// Children that are looked for one after the other: nearly all nodes have fewer, and those made
/// one after the other lie side by side, where a map would fetch from memory for each.
const LISTED: usize = 8;

/// Samples that end at a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draft {
    /// Which node.
    pub(super) at: u32,
    /// Which leaf of the parts.
    pub(super) leaf: u32,
    /// True when folding moved them here.
    pub(super) folded: bool,
    pub(super) sum: Sum,
}

/// No node.
const NONE: u32 = u32::MAX;

impl Builder {
    /// An empty tree that will use these names.
    pub(super) fn new(mut names: Names) -> Self {
        let root = names.intern(&ROOT.into());
        Self {
            names,
            name: vec![root],
            parent: vec![0],
            youngest: vec![NONE],
            older: vec![NONE],
            further: FxHashMap::default(),
        }
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

    /// The node at the end of a path of names below the root.
    pub(super) fn path(&mut self, path: impl IntoIterator<Item = NameId>) -> u32 {
        path.into_iter().fold(0, |node, name| self.child(node, name))
    }

    /// The name of a node.
    #[inline]
    pub(super) fn name(&self, node: u32) -> NameId {
        self.name[node as usize]
    }

    /// The caller of a node; the root is its own.
    pub(super) fn parent(&self, node: u32) -> u32 {
        self.parent[node as usize]
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.name.len()
    }

    /// The tree in canonical order, without nodes that nothing passes through.
    pub(super) fn finish(
        self,
        drafts: Vec<Draft>,
        parts: Vec<Part>,
        unmet: Vec<Unmet>,
    ) -> CallTree {
        let sums = self.totals(&drafts);
        let alive = |at: u32| sums[at as usize].count > 0;
        let order = self.preorder(alive, |a, b| self.later(&sums, a, b));
        let mut place = vec![NONE; self.len()];
        let mut nodes = Vec::with_capacity(order.len());
        for (at, draft) in (0_u32..).zip(&order) {
            place[*draft as usize] = at;
            let sum = sums[*draft as usize];
            let above = (at > 0).then(|| NodeId(place[self.parent[*draft as usize] as usize]));
            nodes.push(Node {
                name: self.name[*draft as usize],
                parent: above,
                depth: 0,
                total: sum.value,
                count: sum.count,
                first: sum.first,
                last: sum.last,
                size: 1,
                ends: 0,
            });
        }
        let ends = ends(drafts, &place, &mut nodes);
        measure(&mut nodes);
        CallTree { names: self.names.into(), nodes, ends, parts: parts.into(), unmet }
    }

    /// What passes through each node; a child is always younger than its parent.
    fn totals(&self, drafts: &[Draft]) -> Vec<Sum> {
        let mut sums = vec![Sum::default(); self.len()];
        for draft in drafts {
            sums[draft.at as usize].add(draft.sum);
        }
        for at in (1..sums.len()).rev() {
            let sum = sums[at];
            sums[self.parent[at] as usize].add(sum);
        }
        sums
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

    /// How two siblings are ordered: the larger first, then the earlier, then by name.
    fn later(&self, sums: &[Sum], a: u32, b: u32) -> std::cmp::Ordering {
        let (one, two) = (&sums[a as usize], &sums[b as usize]);
        (two.value.cmp(&one.value))
            .then(one.first.cmp(&two.first))
            .then_with(|| self.names.text(self.name(a)).cmp(self.names.text(self.name(b))))
    }
}

/// What ended where, in preorder; each node learns where its own begins.
fn ends(drafts: Vec<Draft>, place: &[u32], nodes: &mut [Node]) -> Vec<End> {
    let node = |draft: &Draft| place[draft.at as usize];
    let mut begin = vec![0_u32; nodes.len() + 1];
    for draft in drafts.iter().filter(|draft| node(draft) != NONE) {
        begin[node(draft) as usize + 1] += 1;
    }
    for at in 1..begin.len() {
        begin[at] += begin[at - 1];
    }
    for (node, begin) in nodes.iter_mut().zip(&begin) {
        node.ends = *begin;
    }
    let empty = End { node: NodeId(0), leaf: 0, folded: false, sum: Sum::default() };
    let mut ends = vec![empty; begin.last().copied().unwrap_or(0) as usize];
    for draft in drafts {
        let at = node(&draft);
        if at != NONE {
            let next = &mut begin[at as usize];
            ends[*next as usize] =
                End { node: NodeId(at), leaf: draft.leaf, folded: draft.folded, sum: draft.sum };
            *next += 1;
        }
    }
    ends
}

/// Gives nodes in preorder their depths and sizes.
pub(super) fn measure(nodes: &mut [Node]) {
    for at in 1..nodes.len() {
        let above = nodes[at].parent.map_or(0, |above| nodes[above.index()].depth + 1);
        nodes[at].depth = above;
    }
    for at in (1..nodes.len()).rev() {
        let size = nodes[at].size;
        if let Some(above) = nodes[at].parent {
            nodes[above.index()].size += size;
        }
    }
}
