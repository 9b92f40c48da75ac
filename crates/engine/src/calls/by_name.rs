//! One row a name: what ended at it, and what passed through it.

use culprit_model::{Text, Time};

use super::names::NameId;
use super::node::{NodeId, Own};
use super::rows::Sum;
use super::tree::CallTree;
use super::when::When;

/// All nodes of one name together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameRow {
    /// The name's number in its tree.
    pub id: NameId,
    /// The name.
    pub name: Text,
    /// Value that ended at the name, in the metric's unit.
    pub exc: u64,
    /// Rows that ended at it.
    pub exc_count: u64,
    /// Value that passed through it or ended there. A stack that holds the name several times
    /// counts once.
    pub inc: u64,
    /// Rows that passed through it or ended there.
    pub count: u64,
    /// The part of `exc` that folding moved here.
    pub fold: u64,
    /// The rows that folding moved here.
    pub fold_count: u64,
    /// When the first row begins.
    pub first: Time,
    /// When the last row ends.
    pub last: Time,
}

/// One row a name that stands in the tree, the root left out; by falling exclusive value, then by
/// falling inclusive value, then by name. Linear in nodes.
#[must_use]
pub fn by_name(tree: &CallTree) -> Vec<NameRow> {
    // Few bytes a name: they are fetched in no order for each node.
    let mut passed = vec![Sum::default(); tree.names.len()];
    for at in outermost(tree) {
        let node = tree.node(at);
        passed[node.name.index()].add(node.sum());
    }
    let mut ended = vec![Own::default(); tree.names.len()];
    for end in &tree.ends {
        let own = &mut ended[tree.node(end.node).name.index()];
        let sum = tree.sum(end);
        own.value += sum.value;
        own.count += sum.count;
        if end.folded {
            own.fold += sum.value;
            own.fold_count += sum.count;
        }
    }
    let row = |id: NameId| {
        let (passed, own) = (passed[id.index()], ended[id.index()]);
        (passed.count > 0).then(|| NameRow {
            id,
            name: tree.names.text(id).clone(),
            exc: own.value,
            exc_count: own.count,
            inc: passed.value,
            count: passed.count,
            fold: own.fold,
            fold_count: own.fold_count,
            first: passed.first,
            last: passed.last,
        })
    };
    let mut rows: Vec<NameRow> = tree.names.ids().filter_map(row).collect();
    rows.sort_by(|a, b| {
        (b.exc.cmp(&a.exc)).then(b.inc.cmp(&a.inc)).then_with(|| a.name.cmp(&b.name))
    });
    rows
}

impl CallTree {
    /// A name's inclusive value by time.
    #[must_use]
    pub fn when_named(&self, name: NameId) -> When {
        self.whens_named(&[name]).pop().unwrap_or_default()
    }

    /// The inclusive values of names by time, in their order. One pass over the rows for all.
    #[must_use]
    pub fn whens_named(&self, wanted: &[NameId]) -> Vec<When> {
        let mut place = vec![None; self.names.len()];
        for (at, name) in wanted.iter().enumerate() {
            place[name.index()] = Some(at);
        }
        let named = |at: &NodeId| place[self.node(*at).name.index()].is_some();
        let nodes: Vec<NodeId> = outermost(self).filter(named).collect();
        let mut whens = vec![When::default(); wanted.len()];
        for (at, when) in nodes.iter().zip(self.whens(&nodes)) {
            if let Some(at) = place[self.node(*at).name.index()] {
                whens[at].add(&when);
            }
        }
        whens
    }
}

/// The nodes of a name without an ancestor of it.
pub(super) fn outermost_of(tree: &CallTree, name: NameId) -> Vec<NodeId> {
    outermost(tree).filter(|at| tree.node(*at).name == name).collect()
}

/// Every node without an ancestor of the same name, except the root.
fn outermost(tree: &CallTree) -> impl Iterator<Item = NodeId> + '_ {
    // Preorder: an ancestor of the same name is one whose subtree has not ended yet.
    let mut open_until = vec![0_u32; tree.names.len()];
    (0_u32..).zip(&tree.nodes).skip(1).filter_map(move |(at, node)| {
        let until = &mut open_until[node.name.index()];
        if at < *until {
            return None;
        }
        *until = at + node.size;
        Some(NodeId::at(at as usize))
    })
}
