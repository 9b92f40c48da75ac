//! What a process's children did while it waited for them, where something else ended the wait.
//!
//! A time limit, a signal or the end of the recording may end a wait for a child. Until then the waiter
//! waited for the child all the same.
//!
//! ```text
//! parent  UccccccccccccTU|     c waits for a child, T its own timer: a limit of 12
//! child   .UUUUUUUUUUUUUUUU    works on, and is killed later or never
//! path    pccccccccccccpp
//! ```

use std::collections::BTreeMap;

use culprit_model::{Cause, Interval, Nanos, ProcessId, Recording, ThreadId, Time};

use super::chain::Ended;
use super::lives::{Lives, end};
use super::process_of;

/// Processes with the threads of each, and the children of each.
#[derive(Debug, Clone, Default)]
pub(super) struct Children {
    /// The processes that each process started, in the order of the table.
    of: BTreeMap<ProcessId, Vec<ProcessId>>,
    /// The threads of each process.
    threads: Vec<Vec<ThreadId>>,
}

impl Children {
    /// Linear in processes and threads.
    pub(super) fn of(recording: &Recording) -> Self {
        let mut of: BTreeMap<ProcessId, Vec<ProcessId>> = BTreeMap::new();
        for (at, process) in recording.processes.iter().enumerate() {
            if let Some(parent) = process.parent {
                of.entry(parent).or_default().push(ProcessId::from_index(at));
            }
        }
        let mut threads = vec![Vec::new(); recording.processes.len()];
        for (at, thread) in recording.threads.iter().enumerate() {
            if let Some(own) = threads.get_mut(thread.process.index()) {
                own.push(ThreadId::from_index(at));
            }
        }
        Self { of, threads }
    }

    /// The threads of a process.
    pub(super) fn threads(&self, process: ProcessId) -> &[ThreadId] {
        self.threads.get(process.index()).map_or(&[], Vec::as_slice)
    }

    /// The first thread of the child for which `row` waited up to `stop`, where no descendant's act
    /// ended that wait: of the children that lived then, the one with the most work below it.
    pub(super) fn waited_for(
        &self,
        recording: &Recording,
        lives: &Lives,
        (row, stop): (&Interval, Time),
        ended: Ended,
    ) -> Option<ThreadId> {
        let parent = process_of(recording, row.thread).filter(|_| row.cause == Cause::Child)?;
        let by = ended.thread().and_then(|by| process_of(recording, by));
        if by.is_some_and(|by| is_descendant(recording, by, parent)) {
            return None;
        }
        let living = self.of.get(&parent)?.iter().filter(|child| {
            let process = &recording.processes[child.index()];
            process.start < stop && process.end.is_none_or(|gone| gone >= stop)
        });
        let most = living.max_by_key(|child| {
            let work = self.work_below(recording, lives, **child, (row.start, stop));
            (work, std::cmp::Reverse(**child))
        })?;
        let born = |thread: &&ThreadId| !lives.rows(**thread).is_empty();
        self.threads[most.index()].iter().find(born).copied()
    }

    /// The time in which threads of a process and of those that it started were not blocked.
    fn work_below(
        &self,
        recording: &Recording,
        lives: &Lives,
        process: ProcessId,
        (from, to): (Time, Time),
    ) -> Nanos {
        let mut open = vec![process];
        let mut work = Nanos::ZERO;
        while let Some(process) = open.pop() {
            // A parent's row comes before its children's, so the walk ends.
            let children = self.of.get(&process).into_iter().flatten();
            open.extend(children.filter(|child| **child > process));
            for thread in &self.threads[process.index()] {
                let rows = &recording.intervals[lives.rows(*thread)];
                let first = rows.partition_point(|row| end(row) <= from);
                let within = rows[first..].iter().take_while(|row| row.start < to);
                let works = within.filter(|row| !row.cause.is_blocked());
                work += works.map(|row| end(row).min(to).since(row.start.max(from))).sum::<Nanos>();
            }
        }
        work
    }
}

/// True when `process` was started by `ancestor` or by a descendant of it.
#[must_use]
pub fn is_descendant(recording: &Recording, process: ProcessId, ancestor: ProcessId) -> bool {
    let parent = |process: ProcessId| recording.processes.get(process.index())?.parent;
    // A parent's row comes before its children's, so the walk ends.
    let mut next = parent(process);
    while let Some(at) = next {
        if at == ancestor {
            return true;
        }
        next = parent(at).filter(|above| *above < at);
    }
    false
}
