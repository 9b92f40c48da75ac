//! A recording made ready for views: one prefix tree of names, and rows that are numbers.
//!
//! ```text
//! node  parent  name                     rows (leaf, start, value)
//!   0   -       Process app (1)            0  0 ns  5 ns
//!   1   0       Thread main (1)            1  5 ns  3 ns
//!   2   1       app!main                   0  8 ns  1 ns
//!   3   2       cpu.user       leaf 0
//!   4   2       blocked.lock   leaf 1
//! ```
//!
//! Rows are many, distinct stacks few, distinct names fewer. The index is made once: stacks become
//! nodes, names are written once, rows are added up by leaf. A view then judges each name once,
//! walks the nodes once, callers before callees, and touches rows only for a part of the time.

use std::sync::Arc;

use culprit_model::{
    Cause, Cost, Fault, FrameId, Label as _, Metric, Recording, Root, StackId, Text, ThreadId, Time,
};
use rustc_hash::FxHashMap;

use super::activity::{ACTIVITIES, ActivityPaths, NO_ACTIVITY};
use super::query::Query;
use super::rows::{Leaf, Row, Rows};
use super::shape;
use super::tree::CallTree;
use crate::activities::Owners;

/// The frame that stands for a stack that was lost.
pub const STACK_LOST: &str = "[stack lost]";

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// A name before any filter.
#[derive(Debug, Clone)]
pub(super) struct RawName {
    /// As it is shown: `module!function`, a process, a thread, a cause.
    pub(super) text: Text,
    /// Path of the module, where that is more than its name.
    pub(super) path: Option<Text>,
    /// True for processes and threads: the text ends in a number in parentheses.
    pub(super) numbered: bool,
}

impl RawName {
    /// The name with its module's whole path, where that is more than its name.
    pub(super) fn long(&self) -> Option<String> {
        let path = self.path.as_ref()?;
        let function = self.text.split_once('!').map_or("", |(_, function)| function);
        Some(format!("{path}!{function}"))
    }
}

/// Which table of a recording a row is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// `intervals`.
    Interval,
    /// `faults`.
    Fault,
    /// `costs`.
    Cost,
}

/// A recording made ready for views. Making it is linear in rows; asking it is linear in distinct
/// stacks, and in rows where a part of the time is asked for.
#[derive(Debug, Clone, Default)]
pub struct Index {
    pub(super) names: Vec<RawName>,
    /// Caller of each node, [`NONE`] for the outermost. A node comes before all that it calls, and
    /// those follow it without a gap: walks stay within the processor's caches.
    pub(super) parent: Vec<u32>,
    /// Name of each node.
    pub(super) name: Vec<u32>,
    pub(super) time: Rows,
    pub(super) faults: Rows,
    pub(super) costs: Rows,
    /// The activities that threads worked on, by their names.
    pub(super) activities: ActivityPaths,
    /// `NAME (PID)` and `NAME (TID)` of each thread.
    threads: Vec<(Text, Text)>,
    /// The recording's end.
    end: Time,
}

impl Index {
    /// Makes the index of a recording whose intervals are built.
    #[must_use]
    pub fn of(recording: &Recording) -> Arc<Self> {
        Self::rooted(recording, Root::Threads)
    }

    /// As [`Index::of`], with the root end of stacks that a query asks for.
    #[must_use]
    pub fn rooted(recording: &Recording, root: Root) -> Arc<Self> {
        let mut maker = Maker::new(recording);
        maker.root = root;
        maker.index.time.reserve(recording.intervals.len());
        for row in &recording.intervals {
            let owner = maker.owner(row.thread, row.start);
            let leaf = maker.leaf(owner, row.stack, row.cause);
            maker.index.time.push_time(leaf, row.start, row.duration);
        }
        for row in &recording.faults {
            maker.fault(row);
        }
        for row in &recording.costs {
            maker.cost(row);
        }
        Arc::new(maker.finish())
    }

    /// The view that a filter leaves.
    #[must_use]
    pub fn tree(self: &Arc<Self>, query: &Query) -> CallTree {
        shape::tree(self, query)
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.time.len() + self.faults.len() + self.costs.len()
    }

    /// How many distinct stacks, threads and causes told apart.
    #[must_use]
    pub fn stacks(&self) -> usize {
        self.time.leaves.len() + self.faults.leaves.len() + self.costs.leaves.len()
    }

    /// The recording's end.
    #[must_use]
    pub fn end(&self) -> Time {
        self.end
    }

    /// The rows of one kind.
    pub(super) fn table(&self, kind: RowKind) -> &Rows {
        match kind {
            RowKind::Interval => &self.time,
            RowKind::Fault => &self.faults,
            RowKind::Cost => &self.costs,
        }
    }

    /// Which leaves of a kind a filter's metric and threads keep.
    pub(super) fn keep(&self, kind: RowKind, query: &Query) -> Vec<bool> {
        let kept: Vec<bool> =
            self.threads.iter().map(|(process, thread)| query.keeps(process, thread)).collect();
        // A pattern on threads cannot fit what has none.
        let all = query.keeps_all_threads();
        let threads = |leaf: &Leaf| {
            leaf.thread.map_or(all, |id| kept.get(id.index()).copied().unwrap_or(all))
        };
        let activities = self.activities.kept(query);
        let everything = query.keeps_all_activities();
        let activity =
            |leaf: &Leaf| activities.get(leaf.activity as usize).copied().unwrap_or(everything);
        let metric = query.metric();
        let weighs = |leaf: &Leaf| {
            let of_cause = || leaf.cause.is_some_and(|cause| metric.counts(cause));
            let counts_waits = metric == Metric::Waits && kind == RowKind::Cost;
            leaf.metric == metric || (leaf.metric == Metric::Wall && of_cause() && !counts_waits)
        };
        let leaves = &self.table(kind).leaves;
        leaves.iter().map(|leaf| weighs(leaf) && threads(leaf) && activity(leaf)).collect()
    }
}

/// An index under construction.
pub(super) struct Maker<'r> {
    pub(super) index: Index,
    recording: &'r Recording,
    root: Root,
    children: FxHashMap<u64, u32>,
    leaves: FxHashMap<LeafKey, u32>,
    /// The leaf of the last row at each stack, with its thread and cause.
    last: Vec<(u32, u32, Cause)>,
    texts: FxHashMap<(u32, Text), u32>,
    /// The name of each frame.
    frames: Vec<u32>,
    /// The node of each stack, and for which thread.
    stacks: Vec<(u32, u32)>,
    /// The node of each process, thread and activity that time is told apart by.
    owners: Vec<Owner>,
    owner_of: FxHashMap<(ThreadId, u32), u32>,
    /// The owner of the last row of each thread.
    last_owner: Vec<(u32, u32)>,
    /// The node of each path of activities below each process's.
    activities: FxHashMap<(u32, u32), u32>,
    works: Owners<'r>,
}

/// A thread at work on an activity, or on none.
#[derive(Debug, Clone, Copy)]
struct Owner {
    thread: ThreadId,
    activity: u32,
    /// The node below which its stacks are; [`NONE`] until there are any.
    node: u32,
}

/// What tells leaves apart: node, activity, cause, metric, and whether the rows are costs.
type LeafKey = (u32, u32, Option<Cause>, Metric, bool);

/// The module of names that are no frames.
const NO_MODULE: u32 = u32::MAX;
/// The owner of stacks that hold their process and thread themselves.
const NO_OWNER: u32 = u32::MAX - 1;
/// The module of frames whose module is unknown.
const UNKNOWN_MODULE: u32 = u32::MAX - 1;

impl<'r> Maker<'r> {
    /// Starts the index of a recording.
    pub(super) fn new(recording: &'r Recording) -> Self {
        let threads = 0..recording.threads.len();
        let named = |id: ThreadId| {
            let process = recording.process_name(recording.thread(id).process);
            (process.into(), recording.thread_name(id).into())
        };
        let index = Index {
            activities: ActivityPaths::of(recording),
            threads: threads.map(ThreadId::from_index).map(named).collect(),
            end: Time(recording.meta.wall.0),
            ..Index::default()
        };
        Self {
            index,
            recording,
            root: Root::Threads,
            children: FxHashMap::default(),
            leaves: FxHashMap::default(),
            last: vec![(NONE, NONE, Cause::Other); recording.stacks.len()],
            texts: FxHashMap::default(),
            frames: vec![NONE; recording.frames.len()],
            stacks: vec![(NONE, NONE); recording.stacks.len()],
            owners: Vec::new(),
            owner_of: FxHashMap::default(),
            last_owner: vec![(NONE, NONE); recording.threads.len()],
            activities: FxHashMap::default(),
            works: Owners::of(recording),
        }
    }

    /// The node of a name below a node.
    fn child(&mut self, parent: u32, name: u32) -> u32 {
        let index = &mut self.index;
        *self.children.entry(u64::from(parent) << 32 | u64::from(name)).or_insert_with(|| {
            index.parent.push(parent);
            index.name.push(name);
            u32::try_from(index.parent.len() - 1).unwrap_or(NONE)
        })
    }

    /// The number of a name that is no frame.
    fn text(&mut self, text: &str, numbered: bool) -> u32 {
        self.intern(NO_MODULE, Text::from(text), || RawName {
            text: Text::from(text),
            path: None,
            numbered,
        })
    }

    fn intern(&mut self, module: u32, text: Text, name: impl FnOnce() -> RawName) -> u32 {
        let names = &mut self.index.names;
        *self.texts.entry((module, text)).or_insert_with(|| {
            names.push(name());
            u32::try_from(names.len() - 1).unwrap_or(NONE)
        })
    }

    /// The number of a frame's name.
    fn frame(&mut self, recording: &Recording, id: FrameId) -> u32 {
        let known = self.frames[id.index()];
        if known != NONE {
            return known;
        }
        let frame = recording.frame(id);
        let module = frame.module.map(|module| recording.module(module));
        let number = frame.module.map_or(UNKNOWN_MODULE, |module| module.0);
        let name = self.intern(number, frame.function.clone(), || RawName {
            text: recording.frame_name(id).into(),
            path: module.filter(|m| m.path != m.name).map(|m| m.path.clone()),
            numbered: false,
        });
        self.frames[id.index()] = name;
        name
    }

    /// Whose time passes in a thread at a time: its own, and that of what it works on.
    fn owner(&mut self, thread: ThreadId, time: Time) -> u32 {
        let activity = self.works.at(thread, time);
        let activity = activity.map_or(NONE, |id| self.index.activities.path_of(id));
        let (last, owner) = self.last_owner[thread.index()];
        if owner != NONE && last == activity {
            return owner;
        }
        let owners = &mut self.owners;
        let owner = *self.owner_of.entry((thread, activity)).or_insert_with(|| {
            owners.push(Owner { thread, activity, node: NONE });
            u32::try_from(owners.len() - 1).unwrap_or(NONE)
        });
        self.last_owner[thread.index()] = (activity, owner);
        owner
    }

    /// The node below which an owner's stacks are.
    fn owner_node(&mut self, at: u32) -> u32 {
        let Owner { thread, activity, node } = self.owners[at as usize];
        if node != NONE {
            return node;
        }
        let recording = self.recording;
        let process = recording.process_name(recording.thread(thread).process);
        let process = self.text(&format!("Process {process}"), true);
        let mut node = self.child(NONE, process);
        if self.root == Root::Activities {
            node = self.activity_node(node, activity);
        }
        let thread = self.text(&format!("Thread {}", recording.thread_name(thread)), true);
        let node = self.child(node, thread);
        self.owners[at as usize].node = node;
        node
    }

    /// The node of a path of activities below a process's.
    fn activity_node(&mut self, process: u32, activity: u32) -> u32 {
        let mut path = Vec::new();
        let mut next = activity;
        let known = loop {
            if let Some(known) = self.activities.get(&(process, next)) {
                break Some(*known);
            }
            match self.index.activities.frame(next) {
                Some((above, frame)) => {
                    path.push((next, frame));
                    next = above;
                }
                None => break None,
            }
        };
        let mut node = known.unwrap_or_else(|| {
            let top = if path.is_empty() { NO_ACTIVITY } else { ACTIVITIES };
            let top = self.text(top, false);
            self.child(process, top)
        });
        for (at, frame) in path.into_iter().rev() {
            let frame = self.text(&frame, false);
            node = self.child(node, frame);
            self.activities.insert((process, at), node);
        }
        node
    }

    /// The node of a stack of an owner, or of one that holds process and thread itself.
    fn stack(&mut self, owner: Option<u32>, stack: StackId) -> u32 {
        let recording = self.recording;
        let mut path = Vec::new();
        let mut next = Some(stack);
        let mut node = owner.map_or(NONE, |owner| self.owner_node(owner));
        let whose = owner.unwrap_or(NO_OWNER);
        while let Some(at) = next {
            let (known, of) = self.stacks[at.index()];
            if of == whose {
                node = known;
                break;
            }
            path.push(at);
            next = recording.stacks[at.index()].parent;
        }
        for at in path.into_iter().rev() {
            let name = self.frame(recording, recording.stacks[at.index()].frame);
            node = self.child(node, name);
            self.stacks[at.index()] = (node, whose);
        }
        node
    }

    /// The node of a stack of an owner, or of a lost one.
    fn place(&mut self, owner: u32, stack: Option<StackId>) -> u32 {
        match stack {
            Some(stack) => self.stack(Some(owner), stack),
            None => {
                let (lost, above) = (self.text(STACK_LOST, false), self.owner_node(owner));
                self.child(above, lost)
            }
        }
    }

    /// The leaf of intervals at a stack of an owner for a cause.
    fn leaf(&mut self, owner: u32, stack: Option<StackId>, cause: Cause) -> u32 {
        if let Some(stack) = stack {
            let (known, of, why) = self.last[stack.index()];
            if (of, why) == (owner, cause) {
                return known;
            }
        }
        let place = self.place(owner, stack);
        let Owner { thread, activity, .. } = self.owners[owner as usize];
        let key = (place, activity, Some(cause), Metric::Wall, false);
        let leaf = self.leaves.get(&key).copied().unwrap_or_else(|| {
            let word = self.text(cause.word(), false);
            let node = self.child(place, word);
            let leaf = Leaf {
                node,
                thread: Some(thread),
                cause: Some(cause),
                metric: Metric::Wall,
                activity,
            };
            let leaf = self.index.time.add_leaf(leaf);
            self.leaves.insert(key, leaf);
            leaf
        });
        if let Some(stack) = stack {
            self.last[stack.index()] = (leaf, owner, cause);
        }
        leaf
    }

    fn fault(&mut self, row: &Fault) {
        let owner = self.owner(row.thread, row.time);
        let node = self.place(owner, row.stack);
        let Owner { thread, activity, .. } = self.owners[owner as usize];
        let metric = Metric::Faults;
        let leaf = Leaf { node, thread: Some(thread), cause: None, metric, activity };
        let rows = &mut self.index.faults;
        let key = (node, activity, None, metric, false);
        let leaf = *self.leaves.entry(key).or_insert_with(|| rows.add_leaf(leaf));
        rows.push(Row { leaf, start: row.time.0, length: 0, value: row.count, count: 1 });
    }

    /// Adds what another profiler's file tells; a cause is a frame only where a thread is known.
    fn cost(&mut self, row: &Cost) {
        let owner = row.thread.map(|thread| self.owner(thread, row.time));
        let activity = owner.map_or(NONE, |owner| self.owners[owner as usize].activity);
        let mut node = match (owner, row.stack) {
            (Some(owner), stack) => self.place(owner, stack),
            (None, Some(stack)) => self.stack(None, stack),
            (None, None) => {
                let lost = self.text(STACK_LOST, false);
                self.child(NONE, lost)
            }
        };
        if let (Some(cause), true, true) = (row.cause, row.thread.is_some(), row.metric.is_time()) {
            let word = self.text(cause.word(), false);
            node = self.child(node, word);
        }
        let Cost { thread, cause, metric, .. } = *row;
        let leaf = Leaf { node, thread, cause, metric, activity };
        let rows = &mut self.index.costs;
        let key = (node, activity, cause, metric, true);
        let leaf = *self.leaves.entry(key).or_insert_with(|| rows.add_leaf(leaf));
        let (start, length) = (row.time.0, row.duration.0);
        rows.push(Row { leaf, start, length, value: row.value, count: row.count });
    }

    /// The index, its nodes in preorder.
    fn finish(self) -> Index {
        let mut index = self.index;
        let order = preorder(&index.parent);
        let mut place = vec![NONE; order.len()];
        for (at, old) in (0_u32..).zip(&order) {
            place[*old as usize] = at;
        }
        let parent = |old: &u32| place.get(index.parent[*old as usize] as usize);
        let parents = order.iter().map(|old| parent(old).copied().unwrap_or(NONE)).collect();
        let names = order.iter().map(|old| index.name[*old as usize]).collect();
        (index.parent, index.name) = (parents, names);
        let tables = [&mut index.time, &mut index.faults, &mut index.costs];
        for leaf in tables.into_iter().flat_map(|rows| &mut rows.leaves) {
            leaf.node = place[leaf.node as usize];
        }
        index
    }
}

/// The nodes of a forest, each before all that hangs on it.
fn preorder(parent: &[u32]) -> Vec<u32> {
    let mut youngest = vec![NONE; parent.len()];
    let mut older = vec![NONE; parent.len()];
    let mut roots = Vec::new();
    for (at, above) in (0_u32..).zip(parent) {
        match youngest.get_mut(*above as usize) {
            Some(youngest) => older[at as usize] = std::mem::replace(youngest, at),
            None => roots.push(at),
        }
    }
    let mut order = Vec::with_capacity(parent.len());
    let mut open: Vec<u32> = roots.into_iter().rev().collect();
    while let Some(at) = open.pop() {
        order.push(at);
        let children =
            std::iter::successors(Some(youngest[at as usize]), |c| older.get(*c as usize).copied());
        open.extend(children.take_while(|child| *child != NONE));
    }
    order
}

#[cfg(test)]
impl Index {
    /// The index of samples that are paths of names, the outermost first, from a start for a
    /// length of time.
    pub(super) fn of_paths(samples: &[(Time, u64, Vec<String>)], end: Time) -> Arc<Self> {
        let nothing = Recording::default();
        let mut maker = Maker::new(&nothing);
        let mut leaves: FxHashMap<u32, u32> = FxHashMap::default();
        for (start, value, path) in samples {
            let node = path.iter().fold(NONE, |node, name| {
                let name = maker.text(name, false);
                maker.child(node, name)
            });
            let rows = &mut maker.index.time;
            let metric = Metric::Wall;
            let leaf = Leaf { node, thread: None, cause: None, metric, activity: NONE };
            let leaf = *leaves.entry(node).or_insert_with(|| rows.add_leaf(leaf));
            rows.push_time(leaf, *start, culprit_model::Nanos(*value));
        }
        maker.index.end = end;
        Arc::new(maker.finish())
    }
}
