//! Rows on their way to the file.
//!
//! Rows are kept with raw stacks for at most a second, then the stacks are named and everything is
//! appended to the spool in one go: first what others point to, then what points to it, so that a
//! file cut between two parts has no dangling handle. Bounded: a flush is due by time or by count.

use culprit_model::{
    ActivityEdge, Cost, Counter, Fault, FaultKind, InterpreterStack, Mapping, Mark, Observation,
    Process, Sample, SampleKind, StackId, Switch, SwitchKind, Text, Thread, ThreadId, Time,
    WakeSource, Wakeup, WakeupKind,
};
use culprit_recording::{Error, SpoolWriter};

use crate::events::costs::Costs;
use crate::events::ledger::Ledger;
use crate::events::stacks::{RawStack, RawStacks};
use crate::symbolize::modules::Modules;
use crate::symbolize::resolve::Resolver;

/// Rows that are kept in memory at most; at 130,000 switches a second half a second's worth.
const MOST_ROWS: usize = 200_000;

/// A row of the switches table before its stack is named.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawSwitch {
    pub(crate) time: Time,
    pub(crate) thread: ThreadId,
    pub(crate) kind: SwitchKind,
    pub(crate) cpu: u32,
    pub(crate) stack: Option<RawStack>,
    /// The state letter of who left, where it was traced.
    pub(crate) state: Option<char>,
}

/// A row of the samples table before its stack is named.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawSample {
    pub(crate) time: Time,
    pub(crate) thread: ThreadId,
    pub(crate) kind: SampleKind,
    pub(crate) cpu: u32,
    pub(crate) stack: Option<RawStack>,
}

/// A row of the wakeups table before its stack is named.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawWakeup {
    pub(crate) time: Time,
    pub(crate) thread: ThreadId,
    pub(crate) kind: WakeupKind,
    pub(crate) source: WakeSource,
    pub(crate) waker: Option<ThreadId>,
    pub(crate) stack: Option<RawStack>,
}

/// A row of the faults table before its stack is named.
#[derive(Debug, Clone)]
pub(crate) struct RawFault {
    pub(crate) time: Time,
    pub(crate) thread: ThreadId,
    pub(crate) kind: FaultKind,
    pub(crate) address: u64,
    pub(crate) count: u64,
    pub(crate) file: Option<Text>,
    pub(crate) stack: Option<RawStack>,
}

/// Rows since the last flush.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) switches: Vec<RawSwitch>,
    /// Switches of threads that were asleep when the recording began.
    asleep: Vec<Switch>,
    pub(crate) samples: Vec<RawSample>,
    pub(crate) wakeups: Vec<RawWakeup>,
    pub(crate) faults: Vec<RawFault>,
    pub(crate) mappings: Vec<Mapping>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) counters: Vec<Counter>,
    pub(crate) observations: Vec<Observation>,
    pub(crate) interpreter_stacks: Vec<InterpreterStack>,
    pub(crate) costs: Costs,
    pub(crate) activity_edges: Vec<ActivityEdge>,
}

/// How much of the growing tables is in the file.
#[derive(Debug, Default)]
pub(crate) struct Written {
    processes: usize,
    threads: usize,
    modules: usize,
    frames: usize,
    stacks: usize,
    losses: u64,
}

/// What a flush writes besides the rows.
#[derive(Debug)]
pub(crate) struct Growing<'a> {
    pub(crate) processes: &'a [Process],
    pub(crate) threads: &'a [Thread],
    pub(crate) modules: &'a Modules,
    pub(crate) resolver: &'a Resolver,
    pub(crate) raw: &'a RawStacks,
    pub(crate) ledger: &'a Ledger,
}

impl Rows {
    /// Whether so many rows wait that they should be written now.
    pub(crate) fn full(&self) -> bool {
        let events = self.switches.len() + self.samples.len() + self.wakeups.len();
        events + self.faults.len() + self.costs.len() + self.activity_edges.len() > MOST_ROWS
    }

    /// A thread was asleep at a time, when events began to see it.
    pub(crate) fn was_asleep(
        &mut self,
        (thread, time): (ThreadId, Time),
        cpu: u32,
        stack: Option<StackId>,
    ) {
        let kind = SwitchKind::Out;
        self.asleep.push(Switch { time, thread, kind, cpu, stack, state: None });
    }

    /// Writes everything and forgets it. On an error the rows are forgotten too: there is no place
    /// to keep them.
    pub(crate) fn flush(
        &mut self,
        spool: &mut SpoolWriter,
        written: &mut Written,
        growing: &Growing<'_>,
    ) -> Result<(), Error> {
        written.grow(spool, growing)?;
        let raw = growing.raw;
        let row = |stack: Option<RawStack>| stack.and_then(|stack| raw.row(stack));
        spool.append(&std::mem::take(&mut self.mappings))?;
        let asleep = std::mem::take(&mut self.asleep).into_iter();
        let switches = self.switches.drain(..).map(|switch| switch.row(row(switch.stack)));
        spool.append_events(&asleep.chain(switches).collect::<Vec<_>>())?;
        let samples = self.samples.drain(..).map(|sample| sample.row(row(sample.stack)));
        spool.append_events(&samples.collect::<Vec<_>>())?;
        let wakeups = self.wakeups.drain(..).map(|wakeup| wakeup.row(row(wakeup.stack)));
        spool.append_events(&wakeups.collect::<Vec<_>>())?;
        let faults = self.faults.drain(..).map(|fault| {
            let stack = row(fault.stack);
            fault.row(stack)
        });
        spool.append_events(&faults.collect::<Vec<_>>())?;
        let costs: Vec<Cost> = self.costs.take(&row);
        spool.append_events(&costs)?;
        spool.append_events(&std::mem::take(&mut self.activity_edges))?;
        spool.append_events(&std::mem::take(&mut self.marks))?;
        spool.append_events(&std::mem::take(&mut self.counters))?;
        spool.append_events(&std::mem::take(&mut self.interpreter_stacks))?;
        spool.append_events(&std::mem::take(&mut self.observations))
    }
}

impl Written {
    /// Appends what is new of the tables that others point into.
    fn grow(&mut self, spool: &mut SpoolWriter, growing: &Growing<'_>) -> Result<(), Error> {
        append_new(spool, growing.processes, &mut self.processes)?;
        append_new(spool, growing.threads, &mut self.threads)?;
        append_new(spool, growing.modules.rows(), &mut self.modules)?;
        append_new(spool, growing.resolver.frames(), &mut self.frames)?;
        append_new(spool, growing.resolver.stacks(), &mut self.stacks)?;
        let losses = growing.ledger.changes();
        if losses != self.losses {
            spool.replace(&growing.ledger.rows())?;
            self.losses = losses;
        }
        Ok(())
    }
}

fn append_new<R: culprit_model::Row>(
    spool: &mut SpoolWriter,
    rows: &[R],
    written: &mut usize,
) -> Result<(), Error> {
    spool.append(rows.get(*written..).unwrap_or(&[]))?;
    *written = rows.len();
    Ok(())
}

impl RawSwitch {
    fn row(self, stack: Option<StackId>) -> Switch {
        let Self { time, thread, kind, cpu, .. } = self;
        Switch { time, thread, kind, cpu, stack, state: self.state.map(u32::from) }
    }
}

impl RawSample {
    fn row(self, stack: Option<StackId>) -> Sample {
        let Self { time, thread, kind, cpu, .. } = self;
        Sample { time, thread, kind, cpu, stack }
    }
}

impl RawWakeup {
    fn row(self, waker_stack: Option<StackId>) -> Wakeup {
        let Self { time, thread, kind, source, waker, .. } = self;
        Wakeup { time, thread, kind, source, waker, waker_stack }
    }
}

impl RawFault {
    fn row(self, stack: Option<StackId>) -> Fault {
        let Self { time, thread, kind, address, count, file, .. } = self;
        Fault { time, thread, kind, address, count, file, stack }
    }
}
