//! From the index to a tree: group, exclude, fold, include.
//!
//! Each name is judged once; then one walk over the index's nodes, callers before callees, takes
//! each node to a node of the tree. The order is PerfView's: grouping renames, an excluded name
//! drops the stack, a folded one gives its value to its caller, direct recursion is one node, and
//! only names that are left count for the include patterns.
//!
//! ```text
//! leaves that the metric, threads and time keep      ends
//!   less those that exclude and include drop         ends
//!   nodes above what is left                         live
//!   the tree's nodes: as they are, or renamed and    Copied, Built
//!   folded together
//! ```

use std::sync::Arc;

use culprit_model::{Drill, Metric, Text};

use super::builder::{Builder, Placed};
use super::index::{Index, NONE, RawName, RowKind};
use super::names::{NameId, Names};
use super::node::{End, NodeId, ROOT};
use super::pattern::Patterns;
use super::query::Query;
use super::rows::{Rows, Sum};
use super::tree::{CallTree, Part, Unmet};

/// The view of an index that a filter leaves.
pub(super) fn tree(index: &Arc<Index>, query: &Query) -> CallTree {
    let parts = parts(index, query);
    let (text, through) = match query.drill() {
        Drill::No => return view(index, query, parts, query.flat()),
        Drill::Through(text) => (text, true),
        Drill::At(text) => (text, false),
    };
    let whole = view(index, query, parts.clone(), false);
    view(index, &query.plain(), behind(&whole, text, through, parts), query.flat())
}

fn view(index: &Arc<Index>, query: &Query, parts: Vec<Part>, flat: bool) -> CallTree {
    let mut judge = Judge { query, names: Names::default(), judged: Vec::new(), seen: 0 };
    let mut ends = ends(&parts);
    let mut live = live(index, &ends);
    let mut unmet = Vec::new();
    if query.drops() {
        unmet = drop(index, &mut judge, &live, &mut ends);
        live = self::live(index, &ends);
    }
    let (placed, names) = if query.keeps_names() && index.is_distinct() && !flat {
        (copied(index, &live, &mut ends), Arc::clone(&index.texts))
    } else {
        let mut builder = built(index, judge, &live, &mut ends);
        if flat {
            builder = flattened(builder, &mut ends);
        }
        let placed = builder.placed(&mut ends);
        (placed, builder.names.into())
    };
    let tree = placed.finish(names, ends, parts, unmet);
    match query.fold_pct {
        Some(pct) if pct > 0.0 => tree.fold_small(pct),
        _ => tree,
    }
}

/// The tables that a filter's metric weighs.
fn parts(index: &Arc<Index>, query: &Query) -> Vec<Part> {
    let metric = query.metric();
    let own = if metric == Metric::Faults { RowKind::Fault } else { RowKind::Interval };
    let kinds = [own, RowKind::Cost].into_iter().enumerate();
    let used = kinds.filter(|(nth, kind)| *nth == 0 || index.table(*kind).len() > 0);
    let part = |(_, kind): (usize, RowKind)| {
        let range = query.range_to(index.end());
        let keep = index.keep(kind, query);
        let cut = index.table(kind).cut(range, &keep).map(Arc::from);
        Part { index: Arc::clone(index), kind, metric, range, keep, cut }
    };
    used.map(part).collect()
}

/// The parts with nothing but the leaves behind the nodes of a name.
fn behind(tree: &CallTree, text: &str, through: bool, mut parts: Vec<Part>) -> Vec<Part> {
    let names = named(tree, text);
    let mut hit: Vec<bool> = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        let above = node.parent.is_some_and(|above| through && hit[above.index()]);
        // The root is no node that anybody can choose.
        hit.push(above || (node.parent.is_some() && names[node.name.index()]));
    }
    let leaves = parts.iter().map(|part| part.keep.len()).sum();
    let mut kept = vec![false; leaves];
    for end in tree.ends.iter().filter(|end| hit[end.node.index()]) {
        kept[end.leaf as usize] = true;
    }
    let mut kept = kept.into_iter();
    for part in &mut parts {
        part.keep.iter_mut().zip(&mut kept).for_each(|(keep, hit)| *keep = hit);
    }
    parts
}

/// Which names a text means: the name itself, else those that it fits as a pattern.
fn named(tree: &CallTree, text: &str) -> Vec<bool> {
    let names = &tree.names;
    if let Some(exact) = tree.find(text) {
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

    /// What is kept of a leaf's rows.
    #[inline]
    pub(super) fn sum(&self, leaf: usize) -> Sum {
        if !self.keep[leaf] {
            return Sum::default();
        }
        let sum = self.cut.as_ref().map_or_else(|| self.rows().whole(leaf), |cut| cut[leaf]);
        if self.metric == Metric::Waits { Sum { value: sum.count, ..sum } } else { sum }
    }
}

/// Every leaf of which something is kept, at its node of the index.
fn ends(parts: &[Part]) -> Vec<End> {
    let mut ends = Vec::with_capacity(parts.iter().map(|part| part.keep.len()).sum());
    let mut first = 0;
    for part in parts {
        for (at, leaf) in part.rows().leaves.iter().enumerate() {
            if part.keep[at] && part.sum(at).count > 0 {
                let number = u32::try_from(first + at).unwrap_or(NONE);
                let node = NodeId::at(leaf.node as usize);
                ends.push(End { node, leaf: number, folded: false });
            }
        }
        first += part.keep.len();
    }
    ends
}

/// Which nodes of the index have ends at them or below.
fn live(index: &Index, ends: &[End]) -> Vec<bool> {
    let mut live = vec![false; index.parent.len()];
    for end in ends {
        live[end.node.index()] = true;
    }
    for at in (0..live.len()).rev() {
        if let (true, Some(above)) = (live[at], live.get_mut(index.parent[at] as usize)) {
            *above = true;
        }
    }
    live
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
    names: Names,
    judged: Vec<Option<Judged>>,
    /// Include patterns that the original name of some frame fits.
    seen: u64,
}

impl Judge<'_> {
    #[inline]
    fn judge(&mut self, raw: &[RawName], at: u32) -> Judged {
        match self.judged.get(at as usize) {
            Some(Some(known)) => *known,
            _ => self.judge_anew(raw, at as usize),
        }
    }

    fn judge_anew(&mut self, names: &[RawName], at: usize) -> Judged {
        let raw = &names[at];
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
            name: self.names.intern(&shown),
            entry: entry.map(|entry| self.names.intern(&Text::from(entry))),
            excluded: self.query.exclude.any_of(&shown, long),
            folded: self.query.fold.any_of(&shown, long),
            included: self.fits(&shown, long),
        };
        if !self.query.include.is_empty() {
            self.seen |= self.fits(&original, raw.long().as_deref());
        }
        if self.judged.is_empty() {
            self.judged = vec![None; names.len()];
        }
        self.judged[at] = Some(judged);
        judged
    }

    fn fits(&self, name: &str, long: Option<&str>) -> u64 {
        let bits = self.query.include.iter().zip(0..);
        bits.filter(|(pattern, _)| pattern.fits(name, long))
            .fold(0, |word, (_, bit)| word | 1 << bit)
    }
}

/// What a name does below the frames that are left of its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// It drops the stack.
    Dropped,
    /// A pattern folded it into its caller.
    Folded,
    /// It is the same frame as its caller, or within the same entry group.
    Same,
    /// It is a frame.
    New,
}

/// What a name does below `above`, the innermost frame that is left; none at the root.
#[inline]
fn step(judged: Judged, above: Option<Judged>) -> Step {
    let Some(above) = above else {
        return if judged.excluded { Step::Dropped } else { Step::New };
    };
    if judged.excluded {
        Step::Dropped
    } else if judged.entry.is_some() && judged.entry == above.entry {
        Step::Same
    } else if judged.folded {
        Step::Folded
    } else if judged.name == above.name {
        Step::Same
    } else {
        Step::New
    }
}

/// The innermost frame at the root.
const TOP: u32 = NONE - 1;

/// Keeps the ends whose stacks have no excluded name and a name for each include pattern; tells
/// which include patterns kept nothing.
fn drop(index: &Index, judge: &mut Judge<'_>, live: &[bool], ends: &mut Vec<End>) -> Vec<Unmet> {
    let all = judge.query.include.iter().zip(0..).fold(0_u64, |word, (_, bit)| word | 1 << bit);
    // The name of the innermost frame that is left; [`NONE`] where the stack is dropped.
    let mut frame = vec![NONE; index.parent.len()];
    // The include patterns that frames fit so far.
    let mut fits = vec![0_u64; if all == 0 { 0 } else { index.parent.len() }];
    for at in (0..frame.len()).filter(|at| live[*at]) {
        let parent = index.parent[at] as usize;
        let above = frame.get(parent).copied().unwrap_or(TOP);
        if above == NONE {
            continue;
        }
        let judged = judge.judge(&index.names, index.name[at]);
        let over = (above != TOP).then(|| judge.judge(&index.names, above));
        let step = step(judged, over);
        frame[at] = match step {
            Step::Dropped => NONE,
            Step::Folded | Step::Same => above,
            Step::New => index.name[at],
        };
        if all > 0 {
            let new = if step == Step::New { judged.included } else { 0 };
            fits[at] = fits.get(parent).copied().unwrap_or(0) | new;
        }
    }
    let mut met = 0;
    ends.retain(|end| {
        let at = end.node.index();
        let bits = fits.get(at).copied().unwrap_or(0);
        met |= if frame[at] == NONE { 0 } else { bits };
        frame[at] != NONE && bits == all
    });
    unmet(judge.query, met, judge.seen)
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

/// The live nodes as they are, below a root: where no name changes none can meet another. Ends
/// move from nodes of the index to nodes of the tree.
fn copied(index: &Index, live: &[bool], ends: &mut [End]) -> Placed {
    let mut placed = Placed::with_room(live.iter().filter(|live| **live).count() + 1);
    let root = placed.push(NameId::at(0), None);
    let mut place = vec![root; index.parent.len()];
    for at in (0..live.len()).filter(|at| live[*at]) {
        let above = place.get(index.parent[at] as usize).copied().unwrap_or(root);
        // The root's name is the first.
        place[at] = placed.push(NameId::at(index.name[at] as usize + 1), Some(above));
    }
    let guessed = index.guessed.iter().map(|at| *at as usize).filter(|at| live[*at]);
    placed.guessed = guessed.map(|at| place[at]).collect();
    for end in ends {
        end.node = place[end.node.index()];
    }
    placed
}

/// The tree of the live nodes, renamed and folded. Ends move from nodes of the index to nodes of the
/// builder.
fn built(index: &Index, mut judge: Judge<'_>, live: &[bool], ends: &mut [End]) -> Builder {
    let mut builder = Builder::under(judge.names.intern(&ROOT.into()));
    builder.tells_guesses(!index.guessed.is_empty());
    let mut guessed = index.guessed.iter().map(|at| *at as usize).peekable();
    builder.reserve(live.iter().filter(|live| **live).count() + 1);
    // The builder's node, and whether the index's node was folded into it: columns of small numbers,
    // for there may be millions.
    let mut out = vec![0_u32; index.parent.len()];
    let mut folded = vec![false; index.parent.len()];
    // The name that made each node.
    let mut made: Vec<u32> = Vec::with_capacity(index.parent.len() + 1);
    made.push(TOP);
    for at in (0..live.len()).filter(|at| live[*at]) {
        let above = out.get(index.parent[at] as usize).copied().unwrap_or(0);
        let judged = judge.judge(&index.names, index.name[at]);
        let over = made[above as usize];
        let over = (over != TOP).then(|| judge.judge(&index.names, over));
        let step = step(judged, over);
        folded[at] = step == Step::Folded;
        out[at] = match step {
            // What was dropped is not live.
            Step::Dropped | Step::Same | Step::Folded => above,
            Step::New => builder.child(above, judged.name),
        };
        if made.len() < builder.len() {
            made.push(index.name[at]);
        }
        while guessed.next_if(|guess| *guess < at).is_some() {}
        if matches!(step, Step::New | Step::Same) {
            builder.found(out[at], guessed.peek() == Some(&at));
        }
    }
    for end in ends {
        let at = end.node.index();
        (end.node, end.folded) = (NodeId::at(out[at] as usize), folded[at]);
    }
    builder.names = judge.names;
    builder
}

/// Each sample with its last frame alone.
fn flattened(mut builder: Builder, ends: &mut [End]) -> Builder {
    let mut flat = Builder::new(std::mem::take(&mut builder.names));
    for end in ends.iter_mut().filter(|end| end.node != NodeId::ROOT) {
        let node = flat.child(0, builder.name_at(end.node));
        end.node = NodeId::at(node as usize);
    }
    flat
}
