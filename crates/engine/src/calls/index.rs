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
    Cause, CostColumns, IntervalColumns, Label as _, Metric, Recording, Root, Text, ThreadId, Time,
};

use super::activity::ActivityPaths;
use super::layout::{Layout, Sharing};
use super::names::Names;
use super::node::ROOT;
use super::query::Query;
use super::rows::{Leaf, Rows};
use super::shape;
use super::tree::CallTree;

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
    /// True for processes, threads and links to threads: the text ends in a number in parentheses.
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

impl RowKind {
    /// Every table, in the order of their numbers.
    pub(super) const ALL: [Self; 3] = [Self::Interval, Self::Fault, Self::Cost];
}

/// A recording made ready for views. Making it is linear in rows; asking it is linear in distinct
/// stacks, and in the rows of a part of the time where one is asked for.
#[derive(Debug, Clone, Default)]
pub struct Index {
    pub(super) names: Vec<RawName>,
    /// The root's name, then the names' texts in their order where these are distinct.
    pub(super) texts: Arc<Names>,
    /// Caller of each node, [`NONE`] for the outermost. A node comes before all that it calls, and
    /// those follow it without a gap: walks stay within the processor's caches. No two nodes of one
    /// caller have one name, and none has its caller's.
    pub(super) parent: Vec<u32>,
    /// Name of each node.
    pub(super) name: Vec<u32>,
    /// Nodes whose frames were guessed in all stacks, in order.
    pub(super) guessed: Vec<u32>,
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
        let intervals = IntervalColumns::of(&recording.intervals);
        Self::of_columns(recording, intervals, CostColumns::of(&recording.costs), root)
    }

    /// As [`Index::rooted`], where a recording's intervals and costs were read by column; its own are
    /// not looked at.
    #[must_use]
    pub fn of_columns(
        recording: &Recording,
        intervals: IntervalColumns,
        costs: CostColumns,
        root: Root,
    ) -> Arc<Self> {
        Self::shared(recording, (intervals, costs), root, Sharing::of_machine())
    }

    /// As [`Index::of_columns`], laid out in so many shares, which makes no difference.
    pub(super) fn shared(
        recording: &Recording,
        (intervals, costs): (IntervalColumns, CostColumns),
        root: Root,
        sharing: Sharing,
    ) -> Arc<Self> {
        let activities = ActivityPaths::of(recording);
        let layout = Layout::of(recording, intervals, costs, (root, &activities), sharing);
        let mut texts = Names::default();
        texts.intern(&ROOT.into());
        layout.names.iter().for_each(|name| {
            texts.intern(&name.text);
        });
        let [time, faults, costs] = layout.rows;
        let threads = (0..recording.threads.len()).map(ThreadId::from_index).map(|id| {
            let process = recording.process_name(recording.thread(id).process);
            (process.into(), recording.thread_name(id).into())
        });
        Arc::new(Self {
            names: layout.names,
            texts: texts.into(),
            parent: layout.parent,
            name: layout.name,
            guessed: layout.guessed,
            time,
            faults,
            costs,
            activities,
            threads: threads.collect(),
            end: Time(recording.meta.wall.0),
        })
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

    /// True when threads worked on activities.
    #[must_use]
    pub fn has_activities(&self) -> bool {
        self.activities.any()
    }

    /// True when names are told apart by their texts.
    pub(super) fn is_distinct(&self) -> bool {
        self.texts.len() == self.names.len() + 1
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
        // A pattern on threads cannot fit what has none.
        let all = query.keeps_all_threads();
        let kept: Vec<bool> = if all {
            Vec::new()
        } else {
            self.threads.iter().map(|(process, thread)| query.keeps(process, thread)).collect()
        };
        let threads = |leaf: &Leaf| {
            leaf.thread.map_or(all, |id| kept.get(id.index()).copied().unwrap_or(all))
        };
        let activities = self.activities.kept(query);
        let everything = query.keeps_all_activities();
        let activity =
            |leaf: &Leaf| activities.get(leaf.activity as usize).copied().unwrap_or(everything);
        let metric = query.metric();
        let counts: Vec<bool> = Cause::ALL.iter().map(|cause| metric.counts(*cause)).collect();
        let weighs = |leaf: &Leaf| {
            let of_cause = || leaf.cause.is_some_and(|cause| counts[usize::from(cause.code())]);
            // How often threads waited, and what a run waited for, is not in amounts of time.
            let unknown = kind == RowKind::Cost && matches!(metric, Metric::Waits | Metric::Run);
            leaf.metric == metric || (leaf.metric == Metric::Wall && of_cause() && !unknown)
        };
        let leaves = &self.table(kind).leaves;
        leaves.iter().map(|leaf| weighs(leaf) && threads(leaf) && activity(leaf)).collect()
    }
}

#[cfg(test)]
impl Index {
    /// The index of samples that are paths of names, the outermost first, from a start for a
    /// length of time.
    pub(super) fn of_paths(samples: &[(Time, u64, Vec<String>)], end: Time) -> Arc<Self> {
        use culprit_model::{Cost, Frame, FrameId, Nanos, Stack, StackId};
        let mut recording = Recording::default();
        recording.meta.wall = Nanos(end.0);
        for (time, value, path) in samples {
            let mut stack = None;
            for name in path {
                recording.frames.push(Frame {
                    module: None,
                    function: Text::from(name.as_str()),
                    address: None,
                    file: None,
                    line: None,
                    inlined: false,
                    instruction: None,
                    guessed: None,
                });
                let frame = FrameId::from_index(recording.frames.len() - 1);
                recording.stacks.push(Stack { parent: stack, frame });
                stack = Some(StackId::from_index(recording.stacks.len() - 1));
            }
            recording.costs.push(Cost {
                time: *time,
                duration: Nanos(*value),
                thread: None,
                stack,
                metric: Metric::Wall,
                cause: None,
                value: *value,
                count: 1,
                variance: None,
            });
        }
        Self::of(&recording)
    }
}
