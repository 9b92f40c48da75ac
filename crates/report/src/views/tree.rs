//! A call tree as text: one line a node, callers above callees.
//!
//! Deep chains of single calls would run off the screen, so a node is set in only where the branch
//! above it forks; the guides show what belongs together.
//!
//! A runtime and a kernel put dozens of functions above and below those of the program, one calling the next. Where
//! nothing branches off, such a chain is one line, so that the lines are left for the program's own functions:
//!
//! ```text
//! python3.11!_start … libpython3.11.so.1.0!_PyEval_EvalFrame (18 frames)
//! app.py!<module>
//! app.py!main
//! ```

use std::collections::{BTreeMap, BTreeSet};

use culprit_engine::calls::{CallTree, NodeId};
use culprit_engine::own::CodeOrigin;
use culprit_model::{Cause, Label as _};

use super::{box_name, guess_mark, share, value};
use crate::layout::{Layout, elide};
use crate::units::percent;

/// Nodes below this share of the whole are left out unless all are wanted: they could not be told
/// from noise, and a screen holds some fifty lines.
const SMALLEST: f64 = 0.005;

/// The fewest frames that become one line: of three, the one between two names would be all that is saved.
const LEAST_CHAIN: usize = 4;

/// The share of its caller's time from which a callee goes on a chain: what is missing is below what is shown.
const WHOLE: f64 = 0.99;

/// How a tree is shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct TreeText<'a> {
    /// Lines; 0 shows every node.
    pub limit: usize,
    /// Whose code each name is. Chains of what is not the program's own are one line, unless every node is wanted.
    pub origins: Option<&'a BTreeMap<String, CodeOrigin>>,
}

/// Chains of functions that are not the program's own, and of which each calls the next and hardly anything else.
#[derive(Debug, Default)]
struct Chains {
    /// The last node and the number of nodes of each chain, by its first.
    ends: BTreeMap<NodeId, (NodeId, usize)>,
    /// The nodes of chains, without the first of each.
    inner: BTreeSet<NodeId>,
}

impl Chains {
    fn of(tree: &CallTree, origins: &BTreeMap<String, CodeOrigin>) -> Self {
        let mut chains = Self::default();
        let is_foreign = |node: NodeId| {
            origins.get(tree.name(node).as_str()).is_some_and(|origin| *origin != CodeOrigin::Own)
        };
        for first in tree.ids() {
            if chains.inner.contains(&first) || !is_foreign(first) {
                continue;
            }
            let next = |node: &NodeId| only_callee(tree, *node).filter(|next| is_foreign(*next));
            let chain: Vec<NodeId> = std::iter::successors(Some(first), next).collect();
            let Some(last) = chain.last().filter(|_| chain.len() >= LEAST_CHAIN) else { continue };
            chains.ends.insert(first, (*last, chain.len()));
            chains.inner.extend(&chain[1..]);
        }
        chains
    }

    /// The node whose callees stand below a line.
    fn last(&self, first: NodeId) -> NodeId {
        self.ends.get(&first).map_or(first, |(last, _)| *last)
    }
}

/// The one node that a node's time passes in.
fn only_callee(tree: &CallTree, node: NodeId) -> Option<NodeId> {
    let callee = tree.children(node).next()?;
    (share(tree.node(callee).total, tree.node(node).total) >= WHOLE).then_some(callee)
}

/// The tree in lines.
#[must_use]
pub fn tree_text(tree: &CallTree, how: TreeText<'_>, layout: &Layout) -> String {
    let TreeText { limit, origins } = how;
    let origins = origins.filter(|_| limit > 0);
    let chains = origins.map(|origins| Chains::of(tree, origins)).unwrap_or_default();
    let shown = chosen(tree, &chains, limit);
    let mut text = String::new();
    let heading = format!("{:>9} {:>6}  {:>9}  ", tree.metric(), "share", "own");
    text.push_str(&layout.paint().faint(&format!("{heading}frame")));
    text.push('\n');
    let mut open: Vec<(NodeId, String)> = vec![(NodeId::ROOT, String::new())];
    while let Some((node, guide)) = open.pop() {
        text.push_str(&line(tree, (node, chains.ends.get(&node)), &guide, layout));
        let below = tree.children(chains.last(node));
        let children: Vec<NodeId> = below.filter(|child| shown.contains(child)).collect();
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
    let folded = chains.ends.iter().filter(|(first, _)| shown.contains(first));
    let folded: usize = folded.map(|(_, (_, length))| length - 1).sum();
    let hidden = tree.nodes().len() - shown.len() - folded;
    if hidden > 0 {
        text.push_str(&format!("{hidden} smaller nodes are not shown; `--limit 0` shows all.\n"));
    }
    text
}

/// The nodes to show: the largest ones. A node is never larger than its caller, so with a node all
/// of its callers are chosen too.
fn chosen(tree: &CallTree, chains: &Chains, limit: usize) -> BTreeSet<NodeId> {
    if limit == 0 {
        return tree.ids().collect();
    }
    let large = |node: &NodeId| {
        !chains.inner.contains(node) && share(tree.node(*node).total, tree.total()) >= SMALLEST
    };
    let mut nodes: Vec<NodeId> = tree.ids().filter(large).collect();
    // Equal totals stand in preorder, callers first.
    nodes.sort_by_key(|node| (std::cmp::Reverse(tree.node(*node).total), *node));
    nodes.truncate(limit);
    nodes.into_iter().collect()
}

/// A node's line; of a chain, the first and the last name.
fn line(
    tree: &CallTree,
    (at, chain): (NodeId, Option<&(NodeId, usize)>),
    guide: &str,
    layout: &Layout,
) -> String {
    let node = tree.node(at);
    let metric = tree.metric();
    let own = tree.own(at).map_or_else(String::new, |own| value(metric, own.value));
    let numbers = format!(
        "{:>9} {:>6}  {own:>9}  ",
        value(metric, node.total),
        percent(share(node.total, tree.total()))
    );
    let room =
        layout.width_of_values().saturating_sub(numbers.chars().count() + guide.chars().count());
    let mark = guess_mark(tree, at);
    let mut name = box_name(tree, at);
    if let Some((last, length)) = chain {
        name = format!("{name} … {} ({length} frames)", box_name(tree, *last));
    }
    let name = elide(&name, room.saturating_sub(mark.len()).max(16));
    let paint = layout.paint();
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
            let tree = crate::shown::tree(recording, &filter).unwrap();
            tree_text(&tree, TreeText::default(), &Layout::plain(100))
        };
        let marked = text(&testing::with_a_guess());
        let lines: Vec<&str> = marked.lines().filter(|line| line.contains("guessed")).collect();
        assert!(!lines.is_empty());
        assert!(lines.iter().all(|line| line.ends_with("app!compute (guessed)")), "{marked}");
        assert_eq!(marked.replace(" (guessed)", ""), text(&testing::recording()));
    }

    #[test]
    fn a_chain_of_a_runtime_is_one_line_and_the_program_is_reached() {
        let recording = testing::under_a_runtime();
        let filter = culprit_model::Filter::default();
        let tree = crate::shown::tree(&recording, &filter).unwrap();
        let own = culprit_engine::own::OwnCode::new(
            &recording,
            &culprit_engine::calls::Patterns::parse("").unwrap(),
        );
        let origins = own.by_name(&recording);
        let text = |limit| {
            let how = TreeText { limit, origins: Some(&origins) };
            tree_text(&tree, how, &Layout::plain(100))
        };
        let short = text(8);
        assert!(short.contains("python3.11!_start … ") && short.contains("(12 frames)"), "{short}");
        assert!(short.contains("app!main\n"), "{short}");
        assert!(short.contains("blocked.sleep"), "{short}");
        assert!(!short.contains("not shown"), "a line stands for all of its frames: {short}");
        let all = text(0);
        assert!(all.contains("libpython3.11.so.1.0!f5\n") && !all.contains('…'), "{all}");
    }
}
