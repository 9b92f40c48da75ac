//! Makes the nodes and leaves of one group after the other.

use culprit_model::{Cause, Label as _, Metric, Root, ThreadId};
use rustc_hash::FxHashMap;

use super::Shared;
use super::groups::{Tops, Whose};
use super::shares::{CARRIED, Laid};
use crate::calls::index::{NONE, RowKind};
use crate::calls::rows::Leaf;
use crate::calls::trie::Trie;

/// What tells leaves of one node of the trie apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag {
    kind: RowKind,
    cause: Option<Cause>,
    metric: Metric,
    pub(super) activity: u32,
}

#[expect(clippy::cast_possible_truncation, reason = "codes of labels have one byte")]
impl Tag {
    const METRICS: u32 = Metric::ALL.len() as u32;
    /// Each cause, and none.
    const CAUSES: u32 = Cause::ALL.len() as u32 + 1;
    /// How many there are of one activity.
    const COUNT: u32 = RowKind::ALL.len() as u32 * Self::CAUSES * Self::METRICS;

    pub(super) const FAULT: Self =
        Self { kind: RowKind::Fault, cause: None, metric: Metric::Faults, activity: NONE };

    #[inline]
    pub(super) fn interval(cause: Cause) -> Self {
        let (kind, metric) = (RowKind::Interval, Metric::Wall);
        Self { kind, cause: Some(cause), metric, activity: NONE }
    }

    #[inline]
    pub(super) fn cost(metric: Metric, cause: Option<Cause>) -> Self {
        Self { kind: RowKind::Cost, cause, metric, activity: NONE }
    }

    /// Its number among those of one activity.
    #[inline]
    fn number(self) -> u32 {
        let cause = self.cause.map_or(0, |cause| u32::from(cause.code()) + 1);
        let of_kind = self.kind as u32 * Self::CAUSES + cause;
        of_kind * Self::METRICS + u32::from(self.metric.code())
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

/// Makes nodes and leaves.
pub(super) struct Press<'s> {
    trie: &'s Trie,
    tops: &'s Tops<'s>,
    /// One entry a node of the trie, and one for lost stacks.
    slots: Vec<Slot>,
    /// The last draft at each stack, and for which group and tag.
    last: Vec<(u32, u32)>,
    /// Nodes of the trie that the group touches, and the same as one bit a node.
    touched: Vec<u32>,
    bits: Vec<u64>,
    drafts: Vec<Draft>,
    group: u32,
    has_thread: bool,
    /// The name of lost stacks, and of each cause.
    lost: u32,
    causes: &'s [u32],
    /// True when rows at one stack of a group may be of several activities.
    activities: bool,
    /// The node of the last process, by its name.
    process: Option<(u32, u32)>,
    /// The nodes between it and its threads: of each path, and of none.
    between: FxHashMap<u32, u32>,
    parent: Vec<u32>,
    name: Vec<u32>,
    /// Nodes whose frames were guessed, in order.
    guessed: Vec<u32>,
    leaves: [Vec<Leaf>; 3],
}

impl<'s> Press<'s> {
    /// A press that goes on in the process of this name, which was begun before.
    pub(super) fn new(shared: &'s Shared<'_>, process: Option<u32>) -> Self {
        let trie = &shared.trie;
        Self {
            trie,
            tops: &shared.tops,
            slots: vec![Slot { group: NONE, node: NONE, first: NONE }; trie.parent.len() + 1],
            last: vec![(NONE, NONE); trie.of_stack.len()],
            touched: Vec::new(),
            bits: vec![0; trie.parent.len() / 64 + 1],
            drafts: Vec::new(),
            group: NONE,
            has_thread: false,
            lost: shared.lost,
            causes: &shared.causes,
            activities: shared.works.any(),
            process: process.map(|name| (name, CARRIED)),
            between: FxHashMap::default(),
            parent: Vec::new(),
            name: Vec::new(),
            guessed: Vec::new(),
            leaves: Default::default(),
        }
    }

    pub(super) fn begin(&mut self, group: u32, has_thread: bool) {
        self.group = group;
        self.has_thread = has_thread;
        self.touched.clear();
    }

    /// The draft of the leaf at a stack, or at none. Most are that of the last row at the stack.
    #[inline]
    pub(super) fn draft(&mut self, stack: u32, tag: Tag) -> u32 {
        // Groups whose number has no room are looked up each time.
        let key = self
            .group
            .checked_mul(Tag::COUNT)
            .and_then(|group| group.checked_add(tag.number()).filter(|key| *key != NONE));
        match self.last.get(stack as usize) {
            Some((known, of)) if Some(*of) == key && self.is_of(*known, tag) => *known,
            _ => self.look_up(stack, tag, key.unwrap_or(NONE)),
        }
    }

    /// True when a draft with a tag's number has its activity too.
    #[inline]
    fn is_of(&self, draft: u32, tag: Tag) -> bool {
        let of = |draft: &Draft| draft.tag.activity == tag.activity;
        !self.activities || self.drafts.get(draft as usize).is_some_and(of)
    }

    fn look_up(&mut self, stack: u32, tag: Tag, key: u32) -> u32 {
        let lost = self.trie.parent.len();
        let at = self.trie.of_stack.get(stack as usize).map_or(lost, |at| *at as usize);
        self.touch(at);
        let draft = self.draft_at(at, tag);
        if let Some(last) = self.last.get_mut(stack as usize) {
            *last = (draft, key);
        }
        draft
    }

    /// The draft at a node, new or known.
    fn draft_at(&mut self, at: usize, tag: Tag) -> u32 {
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

    /// What was laid out, and the leaf that each draft became.
    pub(super) fn done(self) -> (Laid<'static>, Vec<u32>) {
        let Self { parent, name, guessed, leaves, drafts, .. } = self;
        let process = self.process.map(|(_, node)| node);
        let laid = Laid { parent, name, guessed, leaves, process, ..Laid::default() };
        (laid, drafts.into_iter().map(|draft| draft.leaf).collect())
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
    pub(super) fn lay(&mut self, whose: Option<Whose>) {
        if self.touched.is_empty() {
            return;
        }
        let top = match whose {
            None => NONE,
            Some(whose) => {
                let process = match self.process {
                    Some((name, node)) if name == whose.process => node,
                    _ => {
                        self.between.clear();
                        self.node(NONE, whose.process)
                    }
                };
                self.process = Some((whose.process, process));
                let above = self.above_threads(process, whose.path);
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
            if self.trie.guessed.get(at) == Some(&true) {
                self.guessed.push(node);
            }
            self.finish_drafts(self.slots[at].first, node, whose.map(|whose| whose.id));
        }
        self.touched = touched;
    }

    /// The node above the threads that work on activities of a path, or on none.
    fn above_threads(&mut self, process: u32, path: u32) -> u32 {
        /// Paths that stand for the frame above all of them.
        const SOME: u32 = NONE - 1;
        let tops = self.tops;
        if tops.root == Root::Threads {
            return process;
        }
        let mut missing = Vec::new();
        let mut next = path;
        let mut node = loop {
            if let Some(known) = self.between.get(&next) {
                break *known;
            }
            let above = match tops.paths.frame(next) {
                Some((NONE, _)) => SOME,
                Some((above, _)) => tops.paths.outermost_of_name(above),
                None => {
                    let name = if next == SOME { tops.some } else { tops.none };
                    let node = self.node(process, name);
                    self.between.insert(next, node);
                    break node;
                }
            };
            missing.push(next);
            next = above;
        };
        for path in missing.into_iter().rev() {
            node = self.node(node, tops.names.get(path as usize).copied().unwrap_or(NONE));
            self.between.insert(path, node);
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
