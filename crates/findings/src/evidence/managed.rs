//! Managed runtimes: which threads are a runtime's own, and when the program's own threads work.
//!
//! A runtime's threads are known by their names in a process whose stacks show the runtime's module.
//! The functions that they run tell more ([`super::chores`]), where the module has symbols.

use std::collections::BTreeMap;

use culprit_engine::names::{self, Families};
use culprit_model::{Nanos, ProcessId, Recording, ThreadId, Time};

use super::chores::{self, Chore, Chores};

/// The threads of managed runtimes, and who works in them.
#[derive(Debug)]
pub(crate) struct Managed {
    /// What a thread is for, one entry a thread; none for the program's own.
    threads: Vec<Option<Chore>>,
    /// When threads of the program work, in order and apart, by process; only for processes that have
    /// work of a runtime.
    program: BTreeMap<ProcessId, Vec<(Time, Time)>>,
}

impl Managed {
    /// Finds the threads and the program's work; n log n in intervals.
    pub(crate) fn of(recording: &Recording, chores: &Chores) -> Self {
        let of_stacks = modules_of_stacks(recording);
        let mut present = vec![Families::NONE; recording.processes.len()];
        let mut has_runtime = vec![false; recording.processes.len()];
        for interval in &recording.intervals {
            let Some(stack) = interval.stack else { continue };
            let process = recording.thread(interval.thread).process.index();
            present[process] = present[process].with(of_stacks[stack.index()]);
            let chore = chores.chore(Some(stack));
            has_runtime[process] |= matches!(chore, Some(Chore::Collect | Chore::Generate));
        }
        let threads: Vec<Option<Chore>> = recording
            .threads
            .iter()
            .map(|thread| {
                chores::chore(names::thread(&thread.name, present[thread.process.index()]))
            })
            .collect();
        for (thread, chore) in recording.threads.iter().zip(&threads) {
            has_runtime[thread.process.index()] |= chore.is_some();
        }
        let program = program_work(recording, chores, &threads, &has_runtime);
        Self { threads, program }
    }

    /// What a runtime's own thread is for; none for a thread of the program.
    pub(crate) fn purpose(&self, thread: ThreadId) -> Option<Chore> {
        self.threads.get(thread.index()).copied().flatten()
    }

    /// How much of the time from `from` to `to` a thread of the program works.
    pub(crate) fn program_works(&self, process: ProcessId, from: Time, to: Time) -> Nanos {
        let Some(pieces) = self.program.get(&process) else { return Nanos::ZERO };
        let first = pieces.partition_point(|(_, end)| *end <= from);
        let inside = pieces[first..].iter().take_while(|(start, _)| *start < to);
        inside.map(|(start, end)| (*end).min(to).since((*start).max(from))).sum()
    }
}

/// The families of the modules that each stack passes through.
fn modules_of_stacks(recording: &Recording) -> Vec<Families> {
    let modules: Vec<Families> =
        recording.modules.iter().map(|module| names::module(&module.name)).collect();
    let mut stacks: Vec<Families> = Vec::with_capacity(recording.stacks.len());
    for node in &recording.stacks {
        let found = node.parent.and_then(|p| stacks.get(p.index())).copied().unwrap_or_default();
        let module = recording.frame(node.frame).module;
        stacks.push(module.map_or(found, |module| found.with(modules[module.index()])));
    }
    stacks
}

/// When threads of the program are on a CPU for itself, by process, merged.
fn program_work(
    recording: &Recording,
    chores: &Chores,
    threads: &[Option<Chore>],
    wanted: &[bool],
) -> BTreeMap<ProcessId, Vec<(Time, Time)>> {
    let mut work: BTreeMap<ProcessId, Vec<(Time, Time)>> = BTreeMap::new();
    for interval in recording.intervals.iter().filter(|i| i.cause.is_cpu()) {
        let process = recording.thread(interval.thread).process;
        let own = threads[interval.thread.index()].is_none()
            && !chores.is_worker(interval.stack)
            && chores.chore(interval.stack) != Some(Chore::Collect);
        if own && wanted[process.index()] {
            let piece = (interval.start, interval.start + interval.duration);
            work.entry(process).or_default().push(piece);
        }
    }
    for pieces in work.values_mut() {
        pieces.sort_unstable();
        let mut merged: Vec<(Time, Time)> = Vec::with_capacity(pieces.len());
        for &(from, to) in pieces.iter() {
            match merged.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        *pieces = merged;
    }
    work
}
