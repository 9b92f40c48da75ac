//! Builds call trees from paths of names: inserts in any order, one canonical tree at the end.

use culprit_model::{Metric, Time};
use rustc_hash::FxHashMap;

use super::names::{NameId, Names};
use super::tree::{CallTree, Node, NodeId, Own, ROOT, Unmet};

/// A call tree under construction.
#[derive(Debug)]
pub(super) struct Builder {
    pub(super) names: Names,
    nodes: Vec<Draft>,
    known: FxHashMap<(u32, NameId), u32>,
}

#[derive(Debug)]
struct Draft {
    name: NameId,
    parent: u32,
    own: Option<Own>,
    /// Nothing but totals: of this node and all below.
    sum: Sum,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    total: u64,
    count: u64,
    first: Time,
    last: Time,
    size: u32,
}

impl Sum {
    fn add(&mut self, other: Self) {
        if other.count > 0 {
            let none_yet = self.count == 0;
            self.first = if none_yet { other.first } else { self.first.min(other.first) };
            self.last = self.last.max(other.last);
        }
        self.total += other.total;
        self.count += other.count;
        self.size += other.size;
    }
}

impl Builder {
    /// An empty tree that will use these names.
    pub(super) fn new(mut names: Names) -> Self {
        let root = names.intern(ROOT);
        let draft = Draft { name: root, parent: 0, own: None, sum: Sum::default() };
        Self { names, nodes: vec![draft], known: FxHashMap::default() }
    }

    /// Adds what ended at the end of a path; an empty path is the root itself.
    pub(super) fn insert(&mut self, path: &[NameId], own: &Own) {
        let mut at = 0_u32;
        for name in path {
            let nodes = &mut self.nodes;
            at = *self.known.entry((at, *name)).or_insert_with(|| {
                nodes.push(Draft { name: *name, parent: at, own: None, sum: Sum::default() });
                u32::try_from(nodes.len() - 1).unwrap_or(u32::MAX)
            });
        }
        self.nodes[at as usize].own.get_or_insert_default().add(own);
    }

    /// The tree in canonical order.
    pub(super) fn finish(
        mut self,
        metric: Metric,
        range: (Time, Time),
        unmet: Vec<Unmet>,
    ) -> CallTree {
        self.sum_up();
        let children = self.children();
        let mut nodes = Vec::with_capacity(self.nodes.len());
        let mut owns = Vec::new();
        let mut open = vec![(0_u32, None::<NodeId>, 0_u32)];
        while let Some((draft, parent, depth)) = open.pop() {
            let id = NodeId::at(nodes.len());
            let Draft { name, sum, own, .. } = &mut self.nodes[draft as usize];
            nodes.push(Node {
                name: *name,
                parent,
                depth,
                total: sum.total,
                count: sum.count,
                first: sum.first,
                last: sum.last,
                size: sum.size,
                owns: u32::try_from(owns.len()).unwrap_or(u32::MAX),
            });
            owns.extend(own.take().map(|own| (id, own)));
            let below = children[draft as usize].iter().rev();
            open.extend(below.map(|child| (*child, Some(id), depth + 1)));
        }
        CallTree { names: self.names, nodes, owns, metric, range, unmet }
    }

    /// Totals from the leaves up; a child is always younger than its parent.
    fn sum_up(&mut self) {
        for at in (0..self.nodes.len()).rev() {
            let draft = &mut self.nodes[at];
            if let Some(own) = &draft.own {
                draft.sum.add(Sum {
                    total: own.value,
                    count: own.count,
                    first: own.first,
                    last: own.last,
                    size: 0,
                });
            }
            draft.sum.size += 1;
            let (sum, parent) = (draft.sum, draft.parent as usize);
            if at > 0 {
                self.nodes[parent].sum.add(sum);
            }
        }
    }

    /// The children of each node in canonical order.
    fn children(&self) -> Vec<Vec<u32>> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for (at, draft) in (0_u32..).zip(&self.nodes).skip(1) {
            children[draft.parent as usize].push(at);
        }
        for siblings in &mut children {
            siblings.sort_by(|a, b| {
                let (a, b) = (&self.nodes[*a as usize], &self.nodes[*b as usize]);
                (b.sum.total.cmp(&a.sum.total))
                    .then(a.sum.first.cmp(&b.sum.first))
                    .then_with(|| self.names.text(a.name).cmp(self.names.text(b.name)))
            });
        }
        children
    }
}
