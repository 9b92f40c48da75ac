//! The flame graph as boxes: where each node of a call tree is drawn, in units of 0 to 1.

use culprit_model::Cause;

use super::node::NodeId;
use super::tree::CallTree;

/// One node's box. Depth 0 is the root; a box's children lie within its width, ordered by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlameBox {
    /// Which node.
    pub node: NodeId,
    /// Rows between it and the root.
    pub depth: u32,
    /// Left edge, 0 to 1.
    pub left: f64,
    /// Right edge, 0 to 1.
    pub right: f64,
    /// The cause of most of its value; none for metrics that are no time.
    pub cause: Option<Cause>,
}

/// The boxes that are at least `narrowest` wide, callers before callees.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "pixels need no more than 53 bits")]
pub fn flame(tree: &CallTree, narrowest: f64) -> Vec<FlameBox> {
    let whole = tree.total();
    let mut boxes = Vec::new();
    if whole == 0 {
        return boxes;
    }
    let causes = tree.main_causes();
    let mut open = vec![(NodeId::ROOT, 0_u64)];
    while let Some((node, left)) = open.pop() {
        let total = tree.node(node).total;
        let edge = |value: u64| value as f64 / whole as f64;
        if edge(total) < narrowest {
            continue;
        }
        boxes.push(FlameBox {
            node,
            depth: tree.node(node).depth,
            left: edge(left),
            right: edge(left + total),
            cause: causes[node.index()],
        });
        let mut children: Vec<NodeId> = tree.children_as_stored(node).collect();
        children.sort_by(|a, b| tree.name(*a).cmp(tree.name(*b)));
        let mut start = left;
        for child in children {
            open.push((child, start));
            start += tree.node(child).total;
        }
    }
    boxes.sort_by(|a, b| a.depth.cmp(&b.depth).then(a.left.total_cmp(&b.left)));
    boxes
}
