//! From critical paths to rows whose stacks lead through the waits.

use culprit_model::{Cost, Frame, FrameId, Interval, Metric, Recording, Stack, StackId, ThreadId};
use rustc_hash::FxHashMap;

use super::{CONTINUES_ON, NOT_RECORDED, WAITS_FOR};
use crate::calls::STACK_LOST;
use crate::wakers::{CriticalPath, PathWait, Segment};

/// The rows of a run time under construction.
pub(super) struct RunRows<'r> {
    source: &'r Recording,
    /// The source's names and stacks, more of both, and the rows.
    made: Recording,
    /// Frames that are no code.
    frames: FxHashMap<String, FrameId>,
    /// Frames that lead to a thread.
    links: FxHashMap<(&'static str, ThreadId), FrameId>,
    /// Stacks that are not the source's, by caller and frame.
    nodes: FxHashMap<(Option<StackId>, FrameId), StackId>,
    /// Stacks of the source that were put below another stack.
    below: FxHashMap<(StackId, StackId), StackId>,
}

/// What stands above the stacks of a part of a path.
#[derive(Clone, Copy)]
struct Above {
    /// The callers; none at the root end.
    stack: Option<StackId>,
    /// The thread whose stack is expected next.
    thread: ThreadId,
}

impl<'r> RunRows<'r> {
    pub(super) fn new(source: &'r Recording) -> Self {
        let made = Recording {
            meta: source.meta.clone(),
            processes: source.processes.clone(),
            threads: source.threads.clone(),
            modules: source.modules.clone(),
            frames: source.frames.clone(),
            stacks: source.stacks.clone(),
            activities: source.activities.clone(),
            activity_work: source.activity_work.clone(),
            ..Recording::default()
        };
        Self {
            source,
            made,
            frames: FxHashMap::default(),
            links: FxHashMap::default(),
            nodes: FxHashMap::default(),
            below: FxHashMap::default(),
        }
    }

    /// Adds what a path says of a thread.
    pub(super) fn add_path(&mut self, thread: ThreadId, path: &CriticalPath) {
        let root = Above { stack: None, thread };
        let mut waits: Vec<Above> = Vec::with_capacity(path.waits.len());
        for wait in &path.waits {
            let above = within(&waits, wait.under).unwrap_or(root);
            let stack = self.explained(wait, above);
            waits.push(Above { stack: Some(stack), thread: wait.thread });
        }
        for segment in &path.segments {
            let above = within(&waits, segment.under).unwrap_or(root);
            self.add_segment(thread, segment, above);
        }
    }

    /// Adds an interval as it is.
    pub(super) fn add_own(&mut self, row: &Interval) {
        self.made.intervals.push(row.clone());
    }

    /// The rows, in the order of their tables.
    pub(super) fn finish(self) -> Recording {
        let mut made = self.made;
        made.intervals.sort_by_key(|row| (row.thread, row.start));
        made.costs.sort_by_key(|row| (row.thread, row.time));
        made
    }

    fn add_segment(&mut self, thread: ThreadId, segment: &Segment, above: Above) {
        let (start, duration) = (segment.from, segment.length());
        let row = segment.interval.and_then(|at| self.source.intervals.get(at.index()));
        let Some(row) = row else {
            let frame = self.frame(NOT_RECORDED);
            let stack = Some(self.node(above.stack, frame));
            self.made.costs.push(Cost {
                thread: Some(thread),
                time: start,
                duration,
                stack,
                metric: Metric::Run,
                cause: None,
                value: duration.0,
                count: 1,
                variance: None,
            });
            return;
        };
        let stack = self.stack(row, above);
        self.made.intervals.push(Interval {
            thread,
            start,
            duration,
            stack,
            waker: None,
            waker_stack: None,
            woken_by: None,
            ..row.clone()
        });
    }

    /// The stack above what explains a wait: up to the wait, then to the thread that is followed.
    fn explained(&mut self, wait: &PathWait, above: Above) -> StackId {
        let source = self.source;
        let row = source.intervals.get(wait.interval.index());
        let stack = row.and_then(|row| self.stack(row, above)).or(above.stack);
        let stack = stack.unwrap_or_else(|| {
            let lost = self.frame(STACK_LOST);
            self.node(None, lost)
        });
        let link = self.link(WAITS_FOR, wait.thread);
        self.node(Some(stack), link)
    }

    /// The stack of an interval below what led to it; none where there is neither.
    fn stack(&mut self, row: &Interval, above: Above) -> Option<StackId> {
        let over = if row.thread == above.thread {
            above.stack
        } else {
            let link = self.link(CONTINUES_ON, row.thread);
            Some(self.node(above.stack, link))
        };
        match (over, row.stack) {
            (None, own) => own,
            (Some(over), Some(own)) => Some(self.stack_below(over, own)),
            (Some(over), None) => {
                let lost = self.frame(STACK_LOST);
                Some(self.node(Some(over), lost))
            }
        }
    }

    /// A stack of the source as callees of another stack.
    fn stack_below(&mut self, over: StackId, own: StackId) -> StackId {
        let mut open = Vec::new();
        let mut at = over;
        let mut next = Some(own);
        while let Some(stack) = next {
            if let Some(known) = self.below.get(&(over, stack)) {
                at = *known;
                break;
            }
            let Some(row) = self.source.stacks.get(stack.index()) else { break };
            open.push((stack, row.frame));
            next = row.parent.filter(|parent| *parent < stack);
        }
        for (stack, frame) in open.into_iter().rev() {
            at = self.node(Some(at), frame);
            self.below.insert((over, stack), at);
        }
        at
    }

    /// The stack of a frame below a caller that only run time has.
    fn node(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        let stacks = &mut self.made.stacks;
        *self.nodes.entry((parent, frame)).or_insert_with(|| {
            stacks.push(Stack { parent, frame });
            StackId::from_index(stacks.len() - 1)
        })
    }

    fn link(&mut self, leads: &'static str, thread: ThreadId) -> FrameId {
        if let Some(known) = self.links.get(&(leads, thread)) {
            return *known;
        }
        let frame = self.frame(&format!("{leads}{}", self.source.thread_name(thread)));
        self.links.insert((leads, thread), frame);
        frame
    }

    fn frame(&mut self, name: &str) -> FrameId {
        if let Some(known) = self.frames.get(name) {
            return *known;
        }
        self.made.frames.push(Frame::new(None, name, None));
        let frame = FrameId::from_index(self.made.frames.len() - 1);
        self.frames.insert(name.to_owned(), frame);
        frame
    }
}

/// What stands above what a wait explains.
fn within(waits: &[Above], under: Option<crate::wakers::Row>) -> Option<Above> {
    waits.get(under?.index()).copied()
}
