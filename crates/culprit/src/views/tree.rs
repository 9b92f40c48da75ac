//! A call tree as text: one line a node, callers above callees.
//!
//! Deep chains of single calls would run off the screen, so a node is set in only where the branch
//! above it forks; the guides show what belongs together.

use std::collections::BTreeSet;

use culprit_engine::calls::{CallTree, NodeId};
use culprit_model::{Cause, Label as _};

use super::{box_name, guess_mark, share, value};
use crate::output::{Output, elide, percent};

/// Nodes below this share of the whole are left out unless all are wanted: they could not be told
/// from noise, and a screen holds some fifty lines.
const SMALLEST: f64 = 0.005;

/// The tree in lines. `limit` counts lines; 0 shows every node.
pub(crate) fn tree_text(tree: &CallTree, limit: usize, output: &Output) -> String {
    let shown = chosen(tree, limit);
    let mut text = String::new();
    let heading = format!("{:>9} {:>6}  {:>9}  ", tree.metric(), "share", "own");
    text.push_str(&output.paint().faint(&format!("{heading}frame")));
    text.push('\n');
    let mut open: Vec<(NodeId, String)> = vec![(NodeId::ROOT, String::new())];
    while let Some((node, guide)) = open.pop() {
        text.push_str(&line(tree, node, &guide, output));
        let children: Vec<NodeId> =
            tree.children(node).filter(|child| shown.contains(child)).collect();
        let forks = children.len() > 1;
        let bare = guide.replace("├ ", "│ ").replace("└ ", "  ");
        for (nth, child) in children.iter().enumerate().rev() {
            let last = nth + 1 == children.len();
            let mark = match (forks, last) {
                (false, _) => "",
                (true, true) => "└ ",
                (true, false) => "├ ",
            };
            open.push((*child, format!("{bare}{mark}")));
        }
    }
    let hidden = tree.nodes().len() - shown.len();
    if hidden > 0 {
        text.push_str(&format!("{hidden} smaller nodes are not shown; `--limit 0` shows all.\n"));
    }
    text
}

/// The nodes to show: the largest ones. A node is never larger than its caller, so with a node all
/// of its callers are chosen too.
fn chosen(tree: &CallTree, limit: usize) -> BTreeSet<NodeId> {
    if limit == 0 {
        return tree.ids().collect();
    }
    let large = |node: &NodeId| share(tree.node(*node).total, tree.total()) >= SMALLEST;
    let mut nodes: Vec<NodeId> = tree.ids().filter(large).collect();
    // Equal totals stand in preorder, callers first.
    nodes.sort_by_key(|node| (std::cmp::Reverse(tree.node(*node).total), *node));
    nodes.truncate(limit);
    nodes.into_iter().collect()
}

fn line(tree: &CallTree, at: NodeId, guide: &str, output: &Output) -> String {
    let node = tree.node(at);
    let metric = tree.metric();
    let own = tree.own(at).map_or_else(String::new, |own| value(metric, own.value));
    let numbers = format!(
        "{:>9} {:>6}  {own:>9}  ",
        value(metric, node.total),
        percent(share(node.total, tree.total()))
    );
    let room = output.width().saturating_sub(numbers.chars().count() + guide.chars().count());
    let mark = guess_mark(tree, at);
    let name = box_name(tree, at);
    let name = elide(&name, room.saturating_sub(mark.len()).max(16));
    let paint = output.paint();
    let name = match Cause::from_word(tree.name(at)) {
        Some(cause) => paint.cause(cause, &name),
        None => name.into_owned(),
    };
    let mark = if mark.is_empty() { String::new() } else { paint.faint(mark) };
    format!("{numbers}{}{name}{mark}\n", paint.faint(guide))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_guessed_function_is_marked_behind_its_name() {
        let filter = culprit_model::Filter::default();
        let text = |recording: &culprit_model::Recording| {
            let tree = crate::load::tree(recording, &filter).unwrap();
            tree_text(&tree, 0, &Output::unread(false))
        };
        let marked = text(&testing::with_a_guess());
        let lines: Vec<&str> = marked.lines().filter(|line| line.contains("guessed")).collect();
        assert!(!lines.is_empty());
        assert!(lines.iter().all(|line| line.ends_with("app!compute (guessed)")), "{marked}");
        assert_eq!(marked.replace(" (guessed)", ""), text(&testing::recording()));
    }
}
