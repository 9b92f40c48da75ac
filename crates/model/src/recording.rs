//! One recording in memory: every table, and what it says about itself.

use crate::column::{Row, Table};
use crate::ids::{ActivityId, FrameId, ModuleId, ProcessId, StackId, ThreadId};
use crate::meta::Meta;
use crate::metric::Metric;
use crate::tables::{
    Activity, ActivityEdge, ActivityWork, Cost, Counter, Fault, Frame, InterpreterStack, Interval,
    Loss, Mapping, Mark, Module, Observation, Process, Sample, Stack, Switch, Thread, Wakeup,
};

/// One recording in memory. Rows are in the order that each table states.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recording {
    /// What the recording says about itself.
    pub meta: Meta,
    /// Processes.
    pub processes: Vec<Process>,
    /// Threads.
    pub threads: Vec<Thread>,
    /// Sources of code.
    pub modules: Vec<Module>,
    /// Places in code.
    pub frames: Vec<Frame>,
    /// Stacks as a prefix tree.
    pub stacks: Vec<Stack>,
    /// Raw switches; empty once intervals are built.
    pub switches: Vec<Switch>,
    /// Clock samples.
    pub samples: Vec<Sample>,
    /// Thread time without gaps; empty until the engine builds it.
    pub intervals: Vec<Interval>,
    /// Who made whom ready.
    pub wakeups: Vec<Wakeup>,
    /// Page faults.
    pub faults: Vec<Fault>,
    /// Executable mappings.
    pub mappings: Vec<Mapping>,
    /// Instants worth a line.
    pub marks: Vec<Mark>,
    /// Numbers read again and again.
    pub counters: Vec<Counter>,
    /// Polled states.
    pub observations: Vec<Observation>,
    /// What interpreters ran; empty once intervals are built.
    pub interpreter_stacks: Vec<InterpreterStack>,
    /// What stacks cost, from another profiler's file.
    pub costs: Vec<Cost>,
    /// Units of work with a start and a stop.
    pub activities: Vec<Activity>,
    /// Which thread worked on which of them.
    pub activity_work: Vec<ActivityWork>,
    /// Ends of activities; empty once those are built.
    pub activity_edges: Vec<ActivityEdge>,
    /// What is missing.
    pub losses: Vec<Loss>,
}

/// Every table of a recording, in the order of its file.
pub const TABLES: [Table; 20] = [
    Process::TABLE,
    Thread::TABLE,
    Module::TABLE,
    Frame::TABLE,
    Stack::TABLE,
    Switch::TABLE,
    Sample::TABLE,
    Interval::TABLE,
    Wakeup::TABLE,
    Fault::TABLE,
    Mapping::TABLE,
    Mark::TABLE,
    Counter::TABLE,
    Observation::TABLE,
    InterpreterStack::TABLE,
    Cost::TABLE,
    Activity::TABLE,
    ActivityWork::TABLE,
    ActivityEdge::TABLE,
    Loss::TABLE,
];

/// As [`Recording::main_metric`], from whether threads' time is known and from the metrics of costs.
#[must_use]
pub fn main_metric(timed: bool, costs: impl Iterator<Item = Metric>) -> Metric {
    if timed { Metric::Wall } else { costs.min().unwrap_or_default() }
}

impl Recording {
    /// The process of a handle.
    ///
    /// # Panics
    /// On a handle of another recording; files are checked for such when they are read.
    #[must_use]
    #[inline]
    pub fn process(&self, id: ProcessId) -> &Process {
        &self.processes[id.index()]
    }

    /// The thread of a handle.
    ///
    /// # Panics
    /// As [`Recording::process`].
    #[must_use]
    #[inline]
    pub fn thread(&self, id: ThreadId) -> &Thread {
        &self.threads[id.index()]
    }

    /// The activity of a handle.
    ///
    /// # Panics
    /// As [`Recording::process`].
    #[must_use]
    #[inline]
    pub fn activity(&self, id: ActivityId) -> &Activity {
        &self.activities[id.index()]
    }

    /// The frame of a handle.
    ///
    /// # Panics
    /// As [`Recording::process`].
    #[must_use]
    #[inline]
    pub fn frame(&self, id: FrameId) -> &Frame {
        &self.frames[id.index()]
    }

    /// The module of a handle.
    ///
    /// # Panics
    /// As [`Recording::process`].
    #[must_use]
    #[inline]
    pub fn module(&self, id: ModuleId) -> &Module {
        &self.modules[id.index()]
    }

    /// The frames of a stack, leaf first.
    pub fn stack(&self, leaf: StackId) -> impl Iterator<Item = FrameId> + '_ {
        let mut next = Some(leaf);
        std::iter::from_fn(move || {
            let node = self.stacks.get(next?.index())?;
            next = node.parent;
            Some(node.frame)
        })
    }

    /// `module!function`, as frames are named everywhere; the function alone where the module is
    /// unknown, `?!?` where both are.
    #[must_use]
    pub fn frame_name(&self, id: FrameId) -> String {
        let frame = self.frame(id);
        match frame.module {
            Some(module) => format!("{}!{}", self.module(module).name, frame.function),
            None if frame.function.as_str() == "?" => "?!?".to_owned(),
            None => frame.function.to_string(),
        }
    }

    /// What to weigh by when nobody says: wall-clock time where threads' time is known, else the
    /// first metric that the costs have.
    #[must_use]
    pub fn main_metric(&self) -> Metric {
        let timed = !(self.intervals.is_empty() && self.switches.is_empty());
        main_metric(timed, self.costs.iter().map(|cost| cost.metric))
    }

    /// `NAME (PID)`, as processes are named everywhere.
    #[must_use]
    pub fn process_name(&self, id: ProcessId) -> String {
        let process = self.process(id);
        format!("{} ({})", process.name, process.pid)
    }

    /// `NAME (TID)`, as threads are named everywhere.
    #[must_use]
    pub fn thread_name(&self, id: ThreadId) -> String {
        let thread = self.thread(id);
        format!("{} ({})", thread.name, thread.tid)
    }

    /// When a thread's row ends: its exit, or the recording's end.
    #[must_use]
    #[inline]
    pub fn thread_end(&self, id: ThreadId) -> crate::time::Time {
        self.thread(id).end.unwrap_or(crate::time::Time(self.meta.wall.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, Nanos, Text, Tid, Time, WakeSource};

    #[test]
    fn rows_come_back_from_their_columns() {
        let thread = |tid, end| Thread {
            end,
            sched_cpu: Some(Nanos(7)),
            ..Thread::new(ProcessId(0), Tid(tid), "worker", Time(3))
        };
        let rows = vec![thread(1, None), thread(2, Some(Time(9)))];
        assert_eq!(Thread::rows(Thread::columns(&rows)), Ok(rows));
    }

    #[test]
    fn words_come_back_too_and_missing_ones_stay_missing() {
        let rows = vec![Interval {
            thread: ThreadId(1),
            start: Time(0),
            duration: Nanos(5),
            cause: Cause::Lock,
            stack: None,
            basis: crate::Basis::Switch,
            cpu: Some(1),
            waker: Some(ThreadId(2)),
            waker_stack: None,
            woken_by: Some(WakeSource::Thread),
            uncertain: false,
        }];
        assert_eq!(Interval::rows(Interval::columns(&rows)), Ok(rows));
    }

    #[test]
    fn a_frame_of_no_known_module_is_named_by_its_function() {
        let frame = |module, function: &str| Frame::new(module, function, None);
        let mut recording = Recording::default();
        recording.modules.push(Module {
            name: Text::from("app"),
            path: Text::from("/app"),
            build_id: None,
            symbols: true,
            lines: false,
        });
        recording.frames = vec![
            frame(Some(ModuleId(0)), "main"),
            frame(Some(ModuleId(0)), "?"),
            frame(None, "handle"),
            frame(None, "?"),
        ];
        let names = [0, 1, 2, 3].map(|at| recording.frame_name(FrameId(at)));
        assert_eq!(names, ["app!main", "app!?", "handle", "?!?"]);
    }

    #[test]
    fn every_table_and_column_is_documented_and_named_once() {
        let mut names = std::collections::BTreeSet::new();
        for table in TABLES {
            assert!(names.insert(table.name), "{} twice", table.name);
            let mut columns = std::collections::BTreeSet::new();
            for column in table.columns {
                assert!(columns.insert(column.name), "{}.{} twice", table.name, column.name);
                assert!(
                    column.doc.trim().ends_with('.'),
                    "{}.{}: {}",
                    table.name,
                    column.name,
                    column.doc
                );
            }
        }
    }
}
