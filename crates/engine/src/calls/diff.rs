//! Two sets of call trees as one tree with two values a node, and their names compared.
//!
//! Runs of one side are added up; a side's *units* (its runs, or its amount of work) turn sums into
//! values a unit, which is what is compared. What only one side has stays in the tree.
//!
//! ```text
//!                     before   after
//! ROOT                  100      110
//!   main                100      110
//!     f                  50       60
//!     gone               50        -
//!     new                 -       50
//! ```

use std::cmp::Ordering;
use std::collections::BTreeMap;

use culprit_model::{Metric, Text};

use super::builder::Builder;
use super::by_name::by_name;
use super::names::{NameId, Names};
use super::node::NodeId;
use super::tree::CallTree;
use super::when::When;
use crate::stats::{Interval, median_interval};

/// How sure the interval of a difference should be.
const CONFIDENCE: f64 = 0.95;

/// One side of a comparison: its runs' trees, and by what their sums are divided.
#[derive(Debug, Clone)]
pub struct Side {
    /// One tree a run, all under the same filter.
    pub runs: Vec<CallTree>,
    /// Runs, or units of work done in all of them.
    pub units: f64,
}

/// What one side has at a node: sums over its runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Value of the node and all below.
    pub total: u64,
    /// Value that ended at the node.
    pub own: u64,
    /// Rows of the node and all below.
    pub count: u64,
}

/// A node of a [`Diff`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffNode {
    /// Its name.
    pub name: NameId,
    /// The node that called it; none for the root.
    pub parent: Option<NodeId>,
    /// Nodes between it and the root.
    pub depth: u32,
    /// Nodes of its subtree, itself included.
    pub size: u32,
    /// What the baseline has.
    pub before: Amount,
    /// What the candidate has.
    pub after: Amount,
}

/// Two sides in one tree. Nodes are in preorder; siblings by the larger of their two values, then
/// by name.
#[derive(Debug, Clone)]
pub struct Diff {
    names: Names,
    nodes: Vec<DiffNode>,
    metric: Metric,
    units: (f64, f64),
}

impl Diff {
    /// Puts two sides together. Linear in their nodes.
    #[must_use]
    pub fn of(before: &Side, after: &Side) -> Self {
        let mut builder = Builder::new(Names::default());
        let mut amounts: Vec<[Amount; 2]> = vec![<[Amount; 2]>::default()];
        for (side, trees) in [&before.runs, &after.runs].into_iter().enumerate() {
            for tree in trees {
                let places = tree.planted(&mut builder);
                amounts.resize(builder.len(), <[Amount; 2]>::default());
                for (node, place) in tree.nodes.iter().zip(&places) {
                    let amount = &mut amounts[*place as usize][side];
                    amount.total += node.total;
                    amount.count += node.count;
                }
                for end in &tree.ends {
                    amounts[places[end.node.index()] as usize][side].own += tree.sum(end).value;
                }
            }
        }
        let metric = after.runs.iter().chain(&before.runs).next().map(CallTree::metric);
        let units = (before.units, after.units);
        let nodes = ordered(&builder, &amounts, units);
        Self { names: builder.names, nodes, metric: metric.unwrap_or_default(), units }
    }

    /// What the values count.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Every node in preorder; the root is the first.
    #[must_use]
    pub fn nodes(&self) -> &[DiffNode] {
        &self.nodes
    }

    /// The names of both sides.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The name of a node.
    #[must_use]
    pub fn name(&self, node: &DiffNode) -> &Text {
        self.names.text(node.name)
    }

    /// A value of the baseline a unit.
    #[must_use]
    pub fn before(&self, value: u64) -> f64 {
        per(value, self.units.0)
    }

    /// A value of the candidate a unit.
    #[must_use]
    pub fn after(&self, value: u64) -> f64 {
        per(value, self.units.1)
    }

    /// Candidate less baseline of a node and all below, a unit.
    #[must_use]
    pub fn net(&self, node: &DiffNode) -> f64 {
        self.after(node.after.total) - self.before(node.before.total)
    }

    /// Folds nodes whose net value is under `pct` percent of the root's into their callers, as
    /// [`CallTree`]s do. Where the root's is negative nothing is under it.
    #[must_use]
    pub fn fold_small(mut self, pct: f64) -> Self {
        let limit = self.nodes.first().map_or(0.0, |root| self.net(root)) * pct / 100.0;
        let mut named = vec![0.0; self.names.len()];
        for at in self.outermost() {
            named[self.nodes[at].name.index()] += self.net(&self.nodes[at]);
        }
        let mut heirs: Vec<(usize, bool)> = Vec::with_capacity(self.nodes.len());
        let mut kept: Vec<DiffNode> = Vec::new();
        for node in &self.nodes {
            let above = node.parent.map(|above| heirs[above.index()]);
            let tiny = self.net(node).abs() < limit && named[node.name.index()].abs() < limit;
            match above {
                Some((heir, whole)) if !whole || tiny => {
                    kept[heir].before.own += node.before.own;
                    kept[heir].after.own += node.after.own;
                    heirs.push((heir, false));
                }
                above => {
                    heirs.push((kept.len(), true));
                    let parent = above.map(|(heir, _)| NodeId::at(heir));
                    kept.push(DiffNode { parent, size: 1, ..*node });
                }
            }
        }
        sizes(&mut kept);
        self.nodes = kept;
        self
    }

    /// Every node without an ancestor of the same name.
    fn outermost(&self) -> Vec<usize> {
        let mut open_until = vec![0_usize; self.names.len()];
        let outermost = |(at, node): (usize, &DiffNode)| {
            let until = &mut open_until[node.name.index()];
            if at < *until {
                return None;
            }
            *until = at + node.size as usize;
            Some(at)
        };
        self.nodes.iter().enumerate().filter_map(outermost).collect()
    }

    /// Inclusive values by name, the root left out: baseline and candidate, a unit.
    #[must_use]
    pub fn by_name(&self) -> BTreeMap<Text, (f64, f64)> {
        let mut rows: BTreeMap<Text, (f64, f64)> = BTreeMap::new();
        for at in self.outermost().into_iter().filter(|at| *at > 0) {
            let node = &self.nodes[at];
            let row = rows.entry(self.name(node).clone()).or_default();
            row.0 += self.before(node.before.total);
            row.1 += self.after(node.after.total);
        }
        rows
    }
}

fn sizes(nodes: &mut [DiffNode]) {
    for at in (1..nodes.len()).rev() {
        let size = nodes[at].size;
        if let Some(above) = nodes[at].parent {
            nodes[above.index()].size += size;
        }
    }
}

fn per(value: u64, units: f64) -> f64 {
    if units > 0.0 { value as f64 / units } else { 0.0 }
}

fn ordered(builder: &Builder, amounts: &[[Amount; 2]], units: (f64, f64)) -> Vec<DiffNode> {
    let size = |at: u32| {
        let [before, after] = amounts[at as usize];
        per(before.total, units.0).max(per(after.total, units.1))
    };
    let alive = |at: u32| amounts[at as usize].iter().any(|side| side.count > 0);
    let later = |a: u32, b: u32| -> Ordering {
        let name = |at| builder.names.text(builder.name(at));
        size(b).total_cmp(&size(a)).then_with(|| name(a).cmp(name(b)))
    };
    let order = builder.preorder(alive, later);
    let mut place = vec![0_usize; amounts.len()];
    let mut nodes: Vec<DiffNode> = Vec::with_capacity(order.len());
    for (at, old) in order.into_iter().enumerate() {
        place[old as usize] = at;
        let parent = (at > 0).then(|| NodeId::at(place[builder.parent(old) as usize]));
        let depth = parent.map_or(0, |above| nodes[above.index()].depth + 1);
        let [before, after] = amounts[old as usize];
        nodes.push(DiffNode { name: builder.name(old), parent, depth, size: 1, before, after });
    }
    sizes(&mut nodes);
    nodes
}

/// One thing on both sides, a unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What: a function, a cause, a module, ...
    pub name: Text,
    /// Mean of the baseline a unit.
    pub before: f64,
    /// Mean of the candidate a unit.
    pub after: f64,
    /// Between which values the difference of two runs lies, where there are several pairs of runs.
    pub interval: Option<Interval>,
}

impl Change {
    /// Candidate less baseline.
    #[must_use]
    pub fn delta(&self) -> f64 {
        self.after - self.before
    }
}

/// Compares runs' values by name, the largest difference first. The n-th run of one side is paired
/// with the n-th of the other for the interval; what a run does not have is 0.
#[must_use]
pub fn changes(
    before: &[BTreeMap<Text, u64>],
    after: &[BTreeMap<Text, u64>],
    units: (f64, f64),
) -> Vec<Change> {
    let mut names: Vec<&Text> = before.iter().chain(after).flat_map(BTreeMap::keys).collect();
    names.sort_unstable();
    names.dedup();
    let sum = |runs: &[BTreeMap<Text, u64>], name: &Text| -> u64 {
        runs.iter().filter_map(|run| run.get(name)).sum()
    };
    let change = |name: &Text| Change {
        name: name.clone(),
        before: per(sum(before, name), units.0),
        after: per(sum(after, name), units.1),
        interval: interval(before, after, units, name),
    };
    let mut changes: Vec<Change> = names.into_iter().map(change).collect();
    changes.sort_by(|a, b| {
        b.delta().abs().total_cmp(&a.delta().abs()).then_with(|| a.name.cmp(&b.name))
    });
    changes
}

fn interval(
    before: &[BTreeMap<Text, u64>],
    after: &[BTreeMap<Text, u64>],
    units: (f64, f64),
    name: &Text,
) -> Option<Interval> {
    let value = |run: &BTreeMap<Text, u64>| run.get(name).copied().unwrap_or(0);
    // Units are of all runs of a side together.
    let scale = |units: f64, runs: usize| units / runs.max(1) as f64;
    let (one, two) = (scale(units.0, before.len()), scale(units.1, after.len()));
    let pairs = before.iter().zip(after);
    let deltas: Vec<f64> = pairs.map(|(a, b)| per(value(b), two) - per(value(a), one)).collect();
    if deltas.len() < 2 { None } else { median_interval(&deltas, CONFIDENCE) }
}

/// One function's part in the growth of the whole, as PerfView's regression report has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Overweight {
    /// The function.
    pub name: Text,
    /// Inclusive value of the baseline, a unit.
    pub before: f64,
    /// Inclusive value of the candidate, a unit.
    pub after: f64,
    /// Its growth against what it would be had everything grown alike: 1 is in step with the whole.
    pub overweight: f64,
    /// Its growth as a share of the whole's.
    pub responsibility: f64,
    /// 0 to 6: how much it stands out.
    pub interest: u32,
}

/// Rows below this responsibility are left out.
const LEAST_RESPONSIBILITY: f64 = 0.02;

impl Diff {
    /// How much each function that both sides have grew against the whole, the most interesting
    /// first. Empty when both wholes are the same.
    #[must_use]
    pub fn overweight(&self) -> Vec<Overweight> {
        let Some(root) = self.nodes.first() else { return Vec::new() };
        let (whole_before, whole_after) =
            (self.before(root.before.total), self.after(root.after.total));
        let whole = whole_after - whole_before;
        if whole == 0.0 || whole_before == 0.0 {
            return Vec::new();
        }
        let row = |(name, (before, after)): (Text, (f64, f64))| {
            let delta = after - before;
            let overweight = delta / (before * (whole_after / whole_before - 1.0));
            let responsibility = delta / whole;
            let mut row =
                Overweight { name, before, after, overweight, responsibility, interest: 0 };
            row.interest = interest(&row, after / whole_after);
            row
        };
        let both = |(_, (before, after)): &(Text, (f64, f64))| *before > 0.0 && *after > 0.0;
        let rows = self.by_name().into_iter().filter(both).map(row);
        let mut rows: Vec<Overweight> =
            rows.filter(|row| row.responsibility.abs() >= LEAST_RESPONSIBILITY).collect();
        rows.sort_by(|a, b| {
            (b.interest.cmp(&a.interest))
                .then(b.overweight.total_cmp(&a.overweight))
                .then((a.after - a.before).total_cmp(&(b.after - b.before)))
                .then_with(|| a.name.cmp(&b.name))
        });
        rows
    }
}

/// A point each for a growth beyond the whole's, for a part in it, and for being no frame near the
/// root, through which everything passes.
fn interest(row: &Overweight, share: f64) -> u32 {
    let responsibility = row.responsibility.abs();
    let points = [
        row.overweight.abs() > 1.10,
        responsibility > 0.05,
        responsibility > 0.20,
        responsibility > 1.00,
        share < 0.95,
        share < 0.75,
    ];
    points.into_iter().map(u32::from).sum()
}

/// A box of a differential flame graph, in units of 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiffBox {
    /// Place of the node in [`Diff::nodes`].
    pub node: usize,
    /// Left edge.
    pub left: f64,
    /// Right edge.
    pub right: f64,
}

impl Diff {
    /// How wide each node is in a picture of both sides: the larger of the two values that ended there, with
    /// the widths of its callees, so that what vanished stays visible. One entry a node.
    #[must_use]
    pub fn widths(&self) -> Vec<f64> {
        let own = |node: &DiffNode| self.before(node.before.own).max(self.after(node.after.own));
        let mut widths: Vec<f64> = self.nodes.iter().map(own).collect();
        for at in (1..self.nodes.len()).rev() {
            let width = widths[at];
            if let Some(above) = self.nodes[at].parent {
                widths[above.index()] += width;
            }
        }
        widths
    }

    /// The flame graph of both sides: boxes as wide as [`Diff::widths`] says. Boxes narrower than
    /// `narrowest` are left out.
    #[must_use]
    pub fn flame(&self, narrowest: f64) -> Vec<DiffBox> {
        let widths = self.widths();
        let whole = widths.first().copied().unwrap_or(0.0);
        if whole <= 0.0 {
            return Vec::new();
        }
        let mut boxes = Vec::new();
        let mut open = vec![(0_usize, 0.0)];
        while let Some((at, left)) = open.pop() {
            let width = widths[at] / whole;
            if width < narrowest {
                continue;
            }
            boxes.push(DiffBox { node: at, left, right: left + width });
            let mut children: Vec<usize> = self.children(at).collect();
            children.sort_by(|a, b| self.name(&self.nodes[*a]).cmp(self.name(&self.nodes[*b])));
            let mut start = left;
            for child in children {
                open.push((child, start));
                start += widths[child] / whole;
            }
        }
        boxes
    }

    /// The nodes that a node calls.
    pub fn children(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let end = at + self.nodes[at].size as usize;
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let node = self.nodes.get(next).filter(|_| next < end)?;
            let child = next;
            next += node.size as usize;
            Some(child)
        })
    }
}

/// A name's inclusive value over the time of both trees together: candidate less baseline.
#[must_use]
pub fn when_of_difference(before: &CallTree, after: &CallTree, name: &str) -> When {
    let (a, b) = (before.range(), after.range());
    let range = (a.0.min(b.0), a.1.max(b.1));
    let of = |tree: &CallTree| tree.when_over(name, range);
    let mut when = of(after);
    when.subtract(&of(before));
    when
}

/// Inclusive values by name of one run, the root left out.
#[must_use]
pub fn inclusive(tree: &CallTree) -> BTreeMap<Text, u64> {
    by_name(tree).into_iter().map(|row| (row.name, row.inc)).collect()
}
