//! The flame graph as boxes: where each node of a call tree is drawn, in units of 0 to 1.

use culprit_model::{Cause, Label};

use super::tree::{CallTree, NodeId};

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
            cause: None,
        });
        let mut children: Vec<NodeId> = tree.children_as_stored(node).collect();
        children.sort_by(|a, b| tree.name(*a).cmp(tree.name(*b)));
        let mut start = left;
        for child in children {
            open.push((child, start));
            start += tree.node(child).total;
        }
    }
    give_causes(tree, &mut boxes);
    boxes.sort_by(|a, b| a.depth.cmp(&b.depth).then(a.left.total_cmp(&b.left)));
    boxes
}

/// Gives each box the cause of most of its value. A row counts at the innermost box around it, which
/// hands its sums on to its caller's; boxes come in preorder.
fn give_causes(tree: &CallTree, boxes: &mut [FlameBox]) {
    let mut place = vec![u32::MAX; tree.nodes.len()];
    for (at, entry) in (0_u32..).zip(boxes.iter()) {
        place[entry.node.index()] = at;
    }
    for at in 1..tree.nodes.len() {
        if let (u32::MAX, Some(above)) = (place[at], tree.nodes[at].parent) {
            place[at] = place[above.index()];
        }
    }
    let mut sums = vec![[0_u64; Cause::ALL.len()]; boxes.len()];
    for (node, cause, value) in tree.ended_below(NodeId::ROOT) {
        let sums = sums.get_mut(place[node.index()] as usize);
        if let (Some(cause), Some(sums)) = (cause, sums) {
            sums[usize::from(cause.code())] += value;
        }
    }
    for at in (0..boxes.len()).rev() {
        let below = sums[at];
        boxes[at].cause = main_cause(&below);
        let above = tree.node(boxes[at].node).parent.map(|above| place[above.index()]);
        if let Some(above) = above.and_then(|above| sums.get_mut(above as usize)) {
            above.iter_mut().zip(below).for_each(|(sum, more)| *sum += more);
        }
    }
}

fn main_cause(sums: &[u64; Cause::ALL.len()]) -> Option<Cause> {
    let most = sums.iter().copied().max().filter(|most| *most > 0)?;
    let at = sums.iter().position(|value| *value == most)?;
    Cause::ALL.get(at).copied()
}
