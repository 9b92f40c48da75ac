//! From the index to a tree: group, exclude, fold, include.
//!
//! Each name is judged once; then one walk over the index's nodes, callers before callees, takes
//! each node to a node of the tree. The order is PerfView's: grouping renames, an excluded name
//! drops the stack, a folded one gives its value to its caller, direct recursion is one node, and
//! only names that are left count for the include patterns.

use std::sync::Arc;

use culprit_model::{Drill, Metric, Text};

use super::builder::{Builder, Draft};
use super::index::{Index, NONE, RawName, RowKind};
use super::names::{NameId, Names};
use super::pattern::Patterns;
use super::query::Query;
use super::rows::{Leaf, Rows, Sum};
use super::tree::{CallTree, Part, Unmet};

/// The view of an index that a filter leaves.
pub(super) fn tree(index: &Arc<Index>, query: &Query) -> CallTree {
    let parts = parts(index, query);
    let sums: Vec<Sum> = parts.iter().flat_map(Part::sums).collect();
    let view = |query: &Query, sums: &[Sum], flat: bool| {
        let mut shaped = Shaped::of(index, query, &parts, sums);
        if flat {
            shaped.flatten();
        }
        let Shaped { builder, drafts, unmet } = shaped;
        let tree = builder.finish(drafts, parts.clone(), unmet);
        match query.fold_pct {
            Some(pct) if pct > 0.0 => tree.fold_small(pct),
            _ => tree,
        }
    };
    let (text, through) = match query.drill() {
        Drill::No => return view(query, &sums, query.flat()),
        Drill::Through(text) => (text, true),
        Drill::At(text) => (text, false),
    };
    let whole = view(query, &sums, false);
    view(&query.plain(), &behind(&whole, text, through, &sums), query.flat())
}

/// The tables that a filter's metric weighs.
fn parts(index: &Arc<Index>, query: &Query) -> Vec<Part> {
    let metric = query.metric();
    let own = if metric == Metric::Faults { RowKind::Fault } else { RowKind::Interval };
    let kinds = [own, RowKind::Cost].into_iter().enumerate();
    let used = kinds.filter(|(nth, kind)| *nth == 0 || index.table(*kind).len() > 0);
    let part = |(_, kind): (usize, RowKind)| Part {
        index: Arc::clone(index),
        kind,
        metric,
        range: query.range_to(index.end()),
        keep: index.keep(kind, query),
    };
    used.map(part).collect()
}

/// The sums of the leaves behind the nodes of a name alone.
fn behind(tree: &CallTree, text: &str, through: bool, sums: &[Sum]) -> Vec<Sum> {
    let names = named(&tree.names, text);
    let mut hit: Vec<bool> = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        let above = node.parent.is_some_and(|above| through && hit[above.index()]);
        // The root is no node that anybody can choose.
        hit.push(above || (node.parent.is_some() && names[node.name.index()]));
    }
    let mut kept = vec![Sum::default(); sums.len()];
    for end in tree.ends.iter().filter(|end| hit[end.node.index()]) {
        kept[end.leaf as usize] = sums[end.leaf as usize];
    }
    kept
}

/// Which names a text means: the name itself, else those that it fits as a pattern.
fn named(names: &Names, text: &str) -> Vec<bool> {
    if let Some(exact) = names.find(text) {
        return names.ids().map(|id| id == exact).collect();
    }
    let patterns = Patterns::parse(text).unwrap_or_default();
    names.ids().map(|id| patterns.any(names.text(id))).collect()
}

impl Part {
    /// The rows of the table.
    pub(super) fn rows(&self) -> &Rows {
        self.index.table(self.kind)
    }

    /// What is kept, by leaf.
    fn sums(&self) -> Vec<Sum> {
        let mut sums = self.rows().sums(self.range, &self.keep);
        if self.metric == Metric::Waits {
            sums.iter_mut().for_each(|sum| sum.value = sum.count);
        }
        sums
    }
}

/// What the filter says about one name.
#[derive(Debug, Clone, Copy)]
struct Judged {
    name: NameId,
    /// The entry group's own name.
    entry: Option<NameId>,
    excluded: bool,
    folded: bool,
    /// The include patterns that the name fits, one bit each.
    included: u64,
}

/// The patterns' judgement on each name, made once.
struct Judge<'a> {
    query: &'a Query,
    judged: Vec<Option<Judged>>,
    /// Include patterns that the original name of some frame fits.
    seen: u64,
}

impl Judge<'_> {
    fn judge(&mut self, names: &mut Names, raw: &[RawName], at: u32) -> Judged {
        if let Some(known) = self.judged[at as usize] {
            return known;
        }
        let raw = &raw[at as usize];
        let original = if self.query.erases_ids() && raw.numbered {
            raw.text.rsplit_once(" (").map_or_else(|| raw.text.clone(), |(name, _)| name.into())
        } else {
            raw.text.clone()
        };
        let long = if self.query.wants_paths() { raw.long() } else { None };
        let grouped = self.query.groups.apply(&original, long.as_deref());
        let (shown, long, entry) = match grouped {
            Some(grouped) => (Text::from(grouped.name), None, grouped.entry),
            None => (original.clone(), long.clone(), None),
        };
        let long = long.as_deref();
        let judged = Judged {
            name: names.intern(&shown),
            entry: entry.map(|entry| names.intern(&Text::from(entry))),
            excluded: self.query.exclude.any_of(&shown, long),
            folded: self.query.fold.any_of(&shown, long),
            included: self.fits(&shown, long),
        };
        if !self.query.include.is_empty() {
            self.seen |= self.fits(&original, raw.long().as_deref());
        }
        self.judged[at as usize] = Some(judged);
        judged
    }

    fn fits(&self, name: &str, long: Option<&str>) -> u64 {
        let bits = self.query.include.iter().zip(0..);
        bits.filter(|(pattern, _)| pattern.fits(name, long))
            .fold(0, |word, (_, bit)| word | 1 << bit)
    }
}

/// What the walk knows at a node of the index.
#[derive(Debug, Clone, Copy)]
struct State {
    /// The node of the tree; [`NONE`] below an excluded frame.
    out: u32,
    /// The entry group that the tree's node belongs to.
    inside: Option<NameId>,
    /// True when the index's node was folded away by a pattern.
    folded: bool,
}

/// The tree's nodes and what ends at them.
struct Shaped {
    builder: Builder,
    drafts: Vec<Draft>,
    unmet: Vec<Unmet>,
}

impl Shaped {
    fn of(index: &Index, query: &Query, parts: &[Part], sums: &[Sum]) -> Self {
        let leaves: Vec<Leaf> =
            parts.iter().flat_map(|part| part.rows().leaves.iter().copied()).collect();
        let live = live(index, leaves.iter().map(|leaf| leaf.node).zip(sums));
        let mut judge = Judge { query, judged: vec![None; index.names.len()], seen: 0 };
        let mut builder = Builder::new(Names::default());
        builder.reserve(live.iter().filter(|live| **live).count());
        let mut states = vec![State { out: NONE, inside: None, folded: false }; index.parent.len()];
        let wants = !query.include.is_empty();
        let mut included = vec![0_u64; if wants { index.parent.len() } else { 0 }];
        for at in 0..index.parent.len() {
            if !live[at] {
                continue;
            }
            let parent = index.parent[at];
            let top = State { out: 0, inside: None, folded: false };
            let above = states.get(parent as usize).copied().unwrap_or(top);
            if above.out == NONE {
                continue;
            }
            let judged = judge.judge(&mut builder.names, &index.names, index.name[at]);
            let (state, new) = step(&mut builder, above, judged);
            states[at] = state;
            if wants {
                let over = included.get(parent as usize).copied().unwrap_or(0);
                included[at] = if new { over | judged.included } else { over };
            }
        }
        let all = query.include.iter().zip(0..).fold(0_u64, |word, (_, bit)| word | 1 << bit);
        let mut met = 0;
        let mut drafts = Vec::new();
        for ((leaf, sum), number) in leaves.iter().zip(sums).zip(0..) {
            let state = states[leaf.node as usize];
            if sum.count == 0 || state.out == NONE {
                continue;
            }
            let bits = included.get(leaf.node as usize).copied().unwrap_or(0);
            met |= bits;
            if bits == all {
                drafts.push(Draft { at: state.out, leaf: number, folded: state.folded, sum: *sum });
            }
        }
        Self { builder, drafts, unmet: unmet(query, met, judge.seen) }
    }

    /// Leaves each sample with its last frame alone.
    fn flatten(&mut self) {
        let mut flat = Builder::new(std::mem::take(&mut self.builder.names));
        for draft in &mut self.drafts {
            draft.at = match draft.at {
                0 => 0,
                at => flat.child(0, self.builder.name(at)),
            };
        }
        self.builder = flat;
    }
}

/// Takes one frame along; true when it is left in the stack, or is the same as the one before.
fn step(builder: &mut Builder, above: State, judged: Judged) -> (State, bool) {
    if judged.excluded {
        return (State { out: NONE, ..above }, false);
    }
    if judged.entry.is_some() && judged.entry == above.inside {
        return (State { folded: false, ..above }, false);
    }
    if above.out != 0 && judged.folded {
        return (State { folded: true, ..above }, false);
    }
    if above.out != 0 && builder.name(above.out) == judged.name {
        return (State { folded: false, ..above }, false);
    }
    let out = builder.child(above.out, judged.name);
    (State { out, inside: judged.entry, folded: false }, true)
}

/// Which nodes have rows at them or below.
fn live<'s>(index: &Index, leaves: impl Iterator<Item = (u32, &'s Sum)>) -> Vec<bool> {
    let mut live = vec![false; index.parent.len()];
    for (node, sum) in leaves {
        live[node as usize] |= sum.count > 0;
    }
    for at in (0..live.len()).rev() {
        if let (true, Some(above)) = (live[at], live.get_mut(index.parent[at] as usize)) {
            *above = true;
        }
    }
    live
}

fn unmet(query: &Query, met: u64, seen: u64) -> Vec<Unmet> {
    let bits = query.include.iter().zip(0..);
    bits.filter(|(_, bit)| met & (1 << bit) == 0)
        .map(|(pattern, bit)| Unmet {
            pattern: pattern.text().to_owned(),
            hidden: seen & (1 << bit) != 0,
        })
        .collect()
}
