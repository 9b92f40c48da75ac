//! From rows to the nodes and leaves of an index.
//!
//! ```text
//! trie of stacks (see `trie`)     for each thread: the part of it that its rows touch,
//!   0 main                        below the thread, with causes as leaves
//!   1   f                           Thread a: main < f < cpu.user
//!   2   g                           Thread b: main < g < cpu.user, main < g < blocked.lock
//! ```
//!
//! Two passes over rows: one finds the draft of each row's leaf, one adds rows up by leaf. Between
//! them the nodes are laid out, thread by thread, in the trie's order, which is preorder: nothing
//! is looked up by name, and nothing is sorted but the parts that threads touch.

use std::ops::Range;

use culprit_model::{
    Cause, CostColumns, Fault, IntervalColumns, Label as _, Metric, OptionalColumn, Recording,
    Root, StackId, ThreadId, Time,
};
use rustc_hash::FxHashMap;

use super::activity::{ACTIVITIES, ActivityPaths, NO_ACTIVITY};
use super::index::{NONE, RawName, RowKind, STACK_LOST};
use super::rows::{Leaf, Rows, Weights};
use super::trie::{RawNames, Trie};
use crate::activities::Owners;

/// Nodes and rows of an index.
pub(super) struct Layout {
    pub(super) names: Vec<RawName>,
    /// As in the index.
    pub(super) parent: Vec<u32>,
    pub(super) name: Vec<u32>,
    /// Intervals, faults and costs.
    pub(super) rows: [Rows; 3],
}

impl Layout {
    /// The layout of a recording's threads and stacks under these rows.
    pub(super) fn of(
        recording: &Recording,
        mut intervals: IntervalColumns,
        mut costs: CostColumns,
        (root, paths): (Root, &ActivityPaths),
    ) -> Self {
        let mut names = RawNames::default();
        let works = Works { owners: Owners::of(recording), paths };
        let groups = Groups::of(recording, root, works, &mut names);
        let trie = Trie::of(recording, &mut names);
        let lost = names.text(STACK_LOST, false);
        let causes = Cause::ALL.iter().map(|cause| names.text(cause.word(), false)).collect();
        let faults = &recording.faults;
        let orders = [
            Order::of(&groups, intervals.len(), |at| {
                (Some(intervals.thread[at]), intervals.start[at])
            }),
            Order::of(&groups, faults.len(), |at| (Some(faults[at].thread), faults[at].time)),
            Order::of(&groups, costs.len(), |at| (costs.thread.get(at), costs.time[at])),
        ];
        let mut time = Places::of(std::mem::take(&mut intervals.stack));
        let mut cost = Places::of(std::mem::take(&mut costs.stack));
        let mut fault = vec![0; faults.len()];
        let mut press = Press::new(&trie, recording.stacks.len(), lost, causes);
        press.activities = paths.any();
        let tops = Tops::of(root, paths, &mut names);
        for group in 0..groups.list.len() {
            let whose = groups.list[group];
            press.begin(group, whose.is_some());
            orders[0].each(group, |at| {
                let activity = works.at(Some(intervals.thread[at]), intervals.start[at]);
                time.put(at, |stack| press.interval(stack, intervals.cause[at], activity));
            });
            orders[1].each(group, |at| {
                let activity = works.at(Some(faults[at].thread), faults[at].time);
                fault[at] = press.draft(faults[at].stack, Tag { activity, ..Tag::FAULT });
            });
            orders[2].each(group, |at| {
                let activity = works.at(costs.thread.get(at), costs.time[at]);
                let tag = Tag { activity, ..Tag::cost(&costs, at) };
                cost.put(at, |stack| press.draft(stack, tag));
            });
            press.lay(whose, &tops);
        }
        let Press { parent, name, leaves, drafts, .. } = press;
        let leaf = [time.places, fault, cost.places];
        let of_draft: Vec<u32> = drafts.into_iter().map(|draft| draft.leaf).collect();
        let weights = [time_weights(intervals), fault_weights(faults), cost_weights(costs)];
        let mut tables = leaves.into_iter().zip(leaf).zip(weights);
        let rows = std::array::from_fn(|_| match tables.next() {
            Some(((leaves, leaf), weights)) => Rows::of(leaves, leaf, &of_draft, weights),
            None => Rows::default(),
        });
        Self { names: names.list, parent, name, rows }
    }
}

/// Where rows are: at first the stack of each, then the draft of its leaf. One column, since there
/// are millions of rows.
struct Places {
    places: Vec<u32>,
    known: Option<Vec<bool>>,
}

impl Places {
    fn of(stacks: OptionalColumn<StackId>) -> Self {
        let (stacks, known) = stacks.into_parts();
        Self { places: stacks.into_iter().map(|stack| stack.0).collect(), known }
    }

    #[inline]
    fn put(&mut self, at: usize, draft: impl FnOnce(Option<StackId>) -> u32) {
        let known = self.known.as_ref().is_none_or(|known| known[at]);
        let place = &mut self.places[at];
        *place = draft(known.then_some(StackId(*place)));
    }
}

fn time_weights(columns: IntervalColumns) -> Weights {
    Weights {
        start: columns.start.into_iter().map(|time| time.0).collect(),
        value: columns.duration.into_iter().map(|length| length.0).collect(),
        ..Weights::default()
    }
}

fn fault_weights(faults: &[Fault]) -> Weights {
    Weights {
        start: faults.iter().map(|row| row.time.0).collect(),
        value: faults.iter().map(|row| row.count).collect(),
        length: vec![0; faults.len()],
        count: Vec::new(),
    }
}

fn cost_weights(columns: CostColumns) -> Weights {
    let weights = Weights {
        start: columns.time.into_iter().map(|time| time.0).collect(),
        value: columns.value,
        length: columns.duration.into_iter().map(|length| length.0).collect(),
        count: columns.count,
    };
    weights.slim()
}

/// Whose rows are under one node: a thread, several that have one name and number in processes of
/// one name and number, or nobody.
#[derive(Debug, Clone, Copy)]
struct Whose {
    /// Names of the process and of the thread.
    process: u32,
    thread: u32,
    /// The first such thread.
    id: ThreadId,
    /// The activity that it works on, by name, where views tell these apart; else [`NONE`].
    path: u32,
}

/// Which activity's path a thread works on at a time.
#[derive(Debug, Clone, Copy)]
struct Works<'r> {
    owners: Owners<'r>,
    paths: &'r ActivityPaths,
}

impl Works<'_> {
    #[inline]
    fn at(self, thread: Option<ThreadId>, time: Time) -> u32 {
        let activity = thread.and_then(|thread| self.owners.at(thread, time));
        activity.map_or(NONE, |id| self.paths.path_of(id))
    }
}

/// The threads of a recording, each process's one after the other, below activities where views
/// tell these apart; last what has no thread.
struct Groups<'r> {
    list: Vec<Option<Whose>>,
    /// Of each thread when it works on no activity.
    of_thread: Vec<u32>,
    /// Of each thread and activity; empty where views do not tell them apart.
    of_work: FxHashMap<(ThreadId, u32), u32>,
    works: Works<'r>,
}

impl<'r> Groups<'r> {
    fn of(recording: &Recording, root: Root, works: Works<'r>, names: &mut RawNames) -> Self {
        let mut known: FxHashMap<(u32, u32, u32), u32> = FxHashMap::default();
        let mut list: Vec<Option<Whose>> = Vec::new();
        let mut group = |whose: Whose| {
            let Whose { process, thread, path, .. } = whose;
            *known.entry((process, thread, path)).or_insert_with(|| {
                list.push(Some(whose));
                u32::try_from(list.len() - 1).unwrap_or(NONE)
            })
        };
        let mut threads = Vec::with_capacity(recording.threads.len());
        for (at, thread) in recording.threads.iter().enumerate() {
            let id = ThreadId::from_index(at);
            let process = format!("Process {}", recording.process_name(thread.process));
            let process = names.text(&process, true);
            let thread = names.text(&format!("Thread {}", recording.thread_name(id)), true);
            threads.push(Whose { process, thread, id, path: NONE });
        }
        let mut of_thread: Vec<u32> = threads.iter().map(|whose| group(*whose)).collect();
        let mut of_work: FxHashMap<(ThreadId, u32), u32> = FxHashMap::default();
        if root == Root::Activities {
            for work in &recording.activity_work {
                let path = works.paths.path_of(work.activity);
                if let Some(whose) = threads.get(work.thread.index()) {
                    let path_of_group = works.paths.outermost_of_name(path);
                    let own = group(Whose { path: path_of_group, ..*whose });
                    of_work.insert((work.thread, path), own);
                }
            }
        }
        // Preorder: processes as they first come, below them activities, below those threads.
        let places = works.paths.places();
        let place = |path: u32| places.get(path as usize).copied().unwrap_or(NONE);
        let mut order: Vec<u32> = (0..).take(list.len()).collect();
        order.sort_by_key(|at| {
            list[*at as usize].map(|whose| (whose.process, place(whose.path), whose.id))
        });
        let mut moved = vec![0; list.len()];
        for (new, old) in (0_u32..).zip(&order) {
            moved[*old as usize] = new;
        }
        of_thread.iter_mut().for_each(|group| *group = moved[*group as usize]);
        let of_work = of_work.into_iter().map(|(key, group)| (key, moved[group as usize]));
        let of_work = of_work.collect();
        let mut list: Vec<_> = order.into_iter().map(|old| list[old as usize]).collect();
        list.push(None);
        Self { list, of_thread, of_work, works }
    }

    fn group(&self, thread: Option<ThreadId>, time: Time) -> usize {
        let none = self.list.len() - 1;
        let Some(thread) = thread else { return none };
        if !self.of_work.is_empty() {
            let path = self.works.at(Some(thread), time);
            if let Some(group) = self.of_work.get(&(thread, path)) {
                return *group as usize;
            }
        }
        self.of_thread.get(thread.index()).map_or(none, |group| *group as usize)
    }
}

/// The frames between processes and threads.
struct Tops<'r> {
    root: Root,
    paths: &'r ActivityPaths,
    /// The names above what is done for activities, and for none.
    some: u32,
    none: u32,
    /// The name of each path.
    names: Vec<u32>,
}

impl<'r> Tops<'r> {
    fn of(root: Root, paths: &'r ActivityPaths, names: &mut RawNames) -> Self {
        if root == Root::Threads {
            return Self { root, paths, some: NONE, none: NONE, names: Vec::new() };
        }
        let (some, none) = (names.text(ACTIVITIES, false), names.text(NO_ACTIVITY, false));
        let frames = (0..).map_while(|path| paths.frame(path));
        let names = frames.map(|(_, frame)| names.text(&frame, false)).collect();
        Self { root, paths, some, none, names }
    }
}

/// The rows of a table, group by group, as stretches of rows.
struct Order {
    /// Where the stretches of each group begin, and the end of the last.
    begin: Vec<u32>,
    stretches: Vec<(u32, u32)>,
}

impl Order {
    fn of(
        groups: &Groups<'_>,
        rows: usize,
        whose: impl Fn(usize) -> (Option<ThreadId>, Time),
    ) -> Self {
        let mut begin = vec![0_u32; groups.list.len() + 1];
        let by_time = !groups.of_work.is_empty();
        let each = |take: &mut dyn FnMut(usize, Range<usize>)| {
            let mut from = 0;
            while from < rows {
                let (thread, time) = whose(from);
                let same = |at: &usize| !by_time && whose(*at).0 == thread;
                let to = from + 1 + (from + 1..rows).take_while(same).count();
                take(groups.group(thread, time), from..to);
                from = to;
            }
        };
        each(&mut |group, _| begin[group + 1] += 1);
        for at in 1..begin.len() {
            begin[at] += begin[at - 1];
        }
        let mut next = begin.clone();
        let mut stretches = vec![(0, 0); begin.last().copied().unwrap_or(0) as usize];
        each(&mut |group, rows| {
            let number = |at: usize| u32::try_from(at).unwrap_or(NONE);
            stretches[next[group] as usize] = (number(rows.start), number(rows.end));
            next[group] += 1;
        });
        Self { begin, stretches }
    }

    fn each(&self, group: usize, mut take: impl FnMut(usize)) {
        let stretches = self.begin[group] as usize..self.begin[group + 1] as usize;
        for (from, to) in &self.stretches[stretches] {
            (*from as usize..*to as usize).for_each(&mut take);
        }
    }
}

/// What tells leaves of one node of the trie apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tag {
    kind: RowKind,
    cause: Option<Cause>,
    metric: Metric,
    activity: u32,
}

impl Tag {
    const FAULT: Self =
        Self { kind: RowKind::Fault, cause: None, metric: Metric::Faults, activity: NONE };

    fn cost(columns: &CostColumns, at: usize) -> Self {
        Self {
            kind: RowKind::Cost,
            cause: columns.cause.get(at),
            metric: columns.metric[at],
            activity: NONE,
        }
    }
}

/// A leaf before it has its place.
#[derive(Debug, Clone, Copy)]
struct Draft {
    tag: Tag,
    /// The next draft at the same node of the trie.
    next: u32,
    /// Its place among the leaves of its kind; [`NONE`] until it has one.
    leaf: u32,
}

// Room for them in the keys of [`Press::last`].
const _: () = assert!(Cause::ALL.len() <= 32, "causes have five bits");

/// What is known of a node of the trie within one group.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Which group.
    group: u32,
    /// The node that it became.
    node: u32,
    /// The first of its drafts.
    first: u32,
}

/// Makes the nodes of one group after the other.
struct Press<'t> {
    trie: &'t Trie,
    /// One entry a node of the trie, and one for lost stacks.
    slots: Vec<Slot>,
    /// The draft of the last interval at each stack, and for which group and cause.
    last: Vec<(u32, u32)>,
    /// Nodes of the trie that the group touches, and the same as one bit a node.
    touched: Vec<u32>,
    bits: Vec<u64>,
    drafts: Vec<Draft>,
    group: u32,
    has_thread: bool,
    /// The name of lost stacks, and of each cause.
    lost: u32,
    causes: Vec<u32>,
    /// True when rows at one stack of a group may be of several activities.
    activities: bool,
    /// The node of the last process, by its name.
    process: Option<(u32, u32)>,
    /// The nodes between it and its threads: of each path, and of none.
    tops: FxHashMap<u32, u32>,
    parent: Vec<u32>,
    name: Vec<u32>,
    leaves: [Vec<Leaf>; 3],
}

impl<'t> Press<'t> {
    fn new(trie: &'t Trie, stacks: usize, lost: u32, causes: Vec<u32>) -> Self {
        Self {
            trie,
            slots: vec![Slot { group: NONE, node: NONE, first: NONE }; trie.parent.len() + 1],
            last: vec![(NONE, u32::MAX); stacks],
            touched: Vec::new(),
            bits: vec![0; trie.parent.len() / 64 + 1],
            drafts: Vec::new(),
            group: NONE,
            has_thread: false,
            lost,
            causes,
            activities: false,
            process: None,
            tops: FxHashMap::default(),
            parent: Vec::new(),
            name: Vec::new(),
            leaves: Default::default(),
        }
    }

    fn begin(&mut self, group: usize, has_thread: bool) {
        self.group = u32::try_from(group).unwrap_or(NONE);
        self.has_thread = has_thread;
        self.touched.clear();
    }

    /// The draft of an interval's leaf. Most have the cause of the last one at their stack.
    #[inline]
    fn interval(&mut self, stack: Option<StackId>, cause: Cause, activity: u32) -> u32 {
        // Groups whose number has no room are looked up each time.
        let key = self.group.checked_mul(32).map(|group| group | u32::from(cause.code()));
        let (kind, metric) = (RowKind::Interval, Metric::Wall);
        let tag = Tag { kind, cause: Some(cause), metric, activity };
        let Some(stack) = stack else { return self.draft(None, tag) };
        let (known, of) = self.last[stack.index()];
        let same =
            !self.activities || self.drafts.get(known as usize).is_some_and(|d| d.tag == tag);
        if Some(of) == key && same {
            return known;
        }
        let draft = self.draft(Some(stack), tag);
        if let Some(key) = key {
            self.last[stack.index()] = (draft, key);
        }
        draft
    }

    /// The draft of the leaf at a stack, new or known.
    fn draft(&mut self, stack: Option<StackId>, tag: Tag) -> u32 {
        let lost = self.trie.parent.len();
        let at = stack.map_or(lost, |stack| self.trie.of_stack[stack.index()] as usize);
        self.touch(at);
        let mut next = self.slots[at].first;
        while let Some(draft) = self.drafts.get(next as usize) {
            if draft.tag == tag {
                return next;
            }
            next = draft.next;
        }
        let new = u32::try_from(self.drafts.len()).unwrap_or(NONE);
        self.drafts.push(Draft { tag, next: self.slots[at].first, leaf: NONE });
        self.slots[at].first = new;
        new
    }

    /// Takes a node of the trie and all above it into the group.
    fn touch(&mut self, mut at: usize) {
        while let Some(slot) = self.slots.get_mut(at).filter(|slot| slot.group != self.group) {
            *slot = Slot { group: self.group, node: NONE, first: NONE };
            self.touched.push(u32::try_from(at).unwrap_or(NONE));
            at = self.trie.parent.get(at).map_or(usize::MAX, |above| *above as usize);
        }
    }

    /// Makes the nodes and leaves of what the group touched, in preorder.
    fn lay(&mut self, whose: Option<Whose>, tops: &Tops<'_>) {
        if self.touched.is_empty() {
            return;
        }
        let top = match whose {
            None => NONE,
            Some(whose) => {
                let process = match self.process {
                    Some((name, node)) if name == whose.process => node,
                    _ => {
                        self.tops.clear();
                        self.node(NONE, whose.process)
                    }
                };
                self.process = Some((whose.process, process));
                let above = self.above_threads(process, whose.path, tops);
                self.node(above, whose.thread)
            }
        };
        self.sort_touched();
        let touched = std::mem::take(&mut self.touched);
        for at in &touched {
            let at = *at as usize;
            let above = self.trie.parent.get(at).and_then(|above| self.slots.get(*above as usize));
            let above = above.map_or(top, |slot| slot.node);
            let name = self.trie.name.get(at).copied().unwrap_or(self.lost);
            let node = self.node(above, name);
            self.slots[at].node = node;
            self.finish_drafts(self.slots[at].first, node, whose.map(|whose| whose.id));
        }
        self.touched = touched;
    }

    /// The node above the threads that work on activities of a path, or on none.
    fn above_threads(&mut self, process: u32, path: u32, tops: &Tops<'_>) -> u32 {
        /// Paths that stand for the frame above all of them.
        const SOME: u32 = NONE - 1;
        if tops.root == Root::Threads {
            return process;
        }
        let mut missing = Vec::new();
        let mut next = path;
        let mut node = loop {
            if let Some(known) = self.tops.get(&next) {
                break *known;
            }
            let above = match tops.paths.frame(next) {
                Some((NONE, _)) => SOME,
                Some((above, _)) => tops.paths.outermost_of_name(above),
                None => {
                    let name = if next == SOME { tops.some } else { tops.none };
                    let node = self.node(process, name);
                    self.tops.insert(next, node);
                    break node;
                }
            };
            missing.push(next);
            next = above;
        };
        for path in missing.into_iter().rev() {
            node = self.node(node, tops.names.get(path as usize).copied().unwrap_or(NONE));
            self.tops.insert(path, node);
        }
        node
    }

    /// Brings the touched nodes into order: by their bits where there are many.
    fn sort_touched(&mut self) {
        if self.touched.len() < self.bits.len() / 4 {
            self.touched.sort_unstable();
            return;
        }
        for at in self.touched.drain(..) {
            self.bits[at as usize / 64] |= 1 << (at % 64);
        }
        for (word, bits) in (0_u32..).zip(&mut self.bits) {
            while *bits != 0 {
                self.touched.push(word * 64 + bits.trailing_zeros());
                *bits &= *bits - 1;
            }
        }
    }

    fn node(&mut self, parent: u32, name: u32) -> u32 {
        self.parent.push(parent);
        self.name.push(name);
        u32::try_from(self.parent.len() - 1).unwrap_or(NONE)
    }

    /// Makes the leaves of a chain of drafts: first those at the node itself, then those at one
    /// more node for each cause.
    fn finish_drafts(&mut self, first: u32, node: u32, thread: Option<ThreadId>) {
        self.finish_cause(first, None, node, thread);
        let mut next = first;
        while let Some(draft) = self.drafts.get(next as usize).copied() {
            if let (NONE, Some(cause)) = (draft.leaf, self.shown_cause(draft.tag)) {
                let below = self.node(node, self.causes[usize::from(cause.code())]);
                self.finish_cause(next, Some(cause), below, thread);
            }
            next = draft.next;
        }
    }

    /// Gives the drafts of a chain that show one cause, or none, their leaves at a node.
    fn finish_cause(
        &mut self,
        first: u32,
        shown: Option<Cause>,
        node: u32,
        thread: Option<ThreadId>,
    ) {
        let mut next = first;
        while let Some(Draft { tag, next: after, .. }) = self.drafts.get(next as usize).copied() {
            if self.shown_cause(tag) == shown {
                let leaves = &mut self.leaves[tag.kind as usize];
                let Tag { cause, metric, activity, .. } = tag;
                leaves.push(Leaf { node, thread, cause, metric, activity });
                self.drafts[next as usize].leaf = u32::try_from(leaves.len() - 1).unwrap_or(NONE);
            }
            next = after;
        }
    }

    /// The cause that is a frame: of thread time, and of costs where a thread is known.
    fn shown_cause(&self, tag: Tag) -> Option<Cause> {
        let shows = match tag.kind {
            RowKind::Interval => true,
            RowKind::Fault => false,
            RowKind::Cost => self.has_thread && tag.metric.is_time(),
        };
        tag.cause.filter(|_| shows)
    }
}
