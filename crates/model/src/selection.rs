//! What a filter keeps of a recording, row by row: the form in which it is given on to writers of
//! other programs' files.
//!
//! ```text
//! steps  0 Process app (1)   1 Thread main (1) <0   2 app!main <1   3 cpu.user <2
//! rows   0.1 s for 3 ms at 3     0.4 s for 1 ms at 3
//! ```

use crate::cause::Cause;
use crate::ids::{ActivityId, FrameId, ProcessId, StepId, ThreadId};
use crate::text::Text;
use crate::time::{Nanos, Time};

/// What a name in a stack stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// A process at the root end.
    Process(ProcessId),
    /// What threads did for activities, or for none, below it.
    Activities(bool),
    /// An activity's name, given by the first of that name.
    Activity(ActivityId),
    /// A thread below it.
    Thread(ThreadId),
    /// A place in code.
    Frame(FrameId),
    /// The cause at the leaf end of thread time.
    Cause(Cause),
    /// What grouping made of one of these, or a stack that was lost.
    Other,
}

/// A name called by the names above it, and so a whole stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The caller, before this one; none at the root end.
    pub parent: Option<StepId>,
    /// The name, as views show it: `module!function` for frames.
    pub name: Text,
    /// What it stands for.
    pub source: Source,
}

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelectedRow {
    /// When, or from when.
    pub time: Time,
    /// How long; 0 for an instant.
    pub duration: Nanos,
    /// Whose; none where process and thread are steps like others.
    pub thread: Option<ThreadId>,
    /// The last step of the stack, with process, thread and cause; none for an empty stack.
    pub leaf: Option<StepId>,
    /// How much, in the metric's unit.
    pub value: u64,
    /// How many samples it stands for.
    pub count: u64,
}

/// The rows that a filter keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Stacks as a prefix tree, callers first.
    pub steps: Vec<Step>,
    /// The rows, ordered by time.
    pub rows: Vec<SelectedRow>,
}

impl Selection {
    /// The steps of a stack, leaf first. A caller that stands behind what it calls ends it.
    pub fn stack(&self, leaf: Option<StepId>) -> impl Iterator<Item = &Step> {
        let known = |id: &StepId| id.index() < self.steps.len();
        let caller = |id: &StepId| self.steps[id.index()].parent.filter(|parent| parent < id);
        let ids = std::iter::successors(leaf.filter(known), caller);
        ids.map(|id| &self.steps[id.index()])
    }
}
