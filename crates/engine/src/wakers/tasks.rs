//! Runtimes that run many tasks on few threads: who works on tasks when.
//!
//! A task moves from thread to thread, so no one thread's life is the task's. A thread without a
//! task parks in the runtime's scheduler until some task is ready, or looks there for what the timers
//! and the network bring; what goes on meanwhile is what the other threads of its process do. So
//! the threads of such a process make one track, and a path that comes to a parked thread goes on
//! with whoever works:
//!
//! ```text
//! thread a  TTTTppppppppppTT      T works on tasks, p parked
//! thread b  ppppTTTTTppppppp
//! track     aaaabbbbb     aa      nobody: the process waits, told once
//! ```

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{Cause, Interval, ProcessId, Recording, StackId, ThreadId, Time};

use super::ends::with_any;
use super::lives::end;
use super::process_of;
use crate::names::{Families, Family, library};

/// A stretch of time, and the thread that works in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    from: Time,
    to: Time,
    thread: ThreadId,
}

/// What a process with such a runtime does.
#[derive(Debug, Clone, Default)]
struct Track {
    /// Who works, in order of time, without overlap.
    work: Vec<Piece>,
    /// Waits for what is no task of the process, in the order of their ends: when, and whose.
    waits: Vec<(Time, ThreadId)>,
}

/// What a process does at an instant at which one of its threads has no task of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meanwhile {
    /// A thread works on a task, since when at least.
    Works(ThreadId, Time),
    /// None does, since the given time; the thread, if any, is the one whose wait ended that.
    Waits(Time, Option<ThreadId>),
}

/// The tracks of a recording's processes.
#[derive(Debug, Clone, Default)]
pub(super) struct Tasks {
    /// Whether each stack is in a scheduler; empty where no runtime is known.
    parked: Vec<bool>,
    /// Whether each stack is in a task of the runtime itself.
    housekeeping: Vec<bool>,
    tracks: BTreeMap<ProcessId, Track>,
}

impl Tasks {
    /// Makes the tracks; n log n in the intervals of processes with such a runtime.
    pub(super) fn of(recording: &Recording) -> Self {
        let in_family = |wanted: Family| {
            with_any(recording, false, |name| library(name, Families::NONE).has(wanted))
        };
        let parked = in_family(Family::Scheduler);
        if !parked.contains(&true) {
            return Self::default();
        }
        let housekeeping = in_family(Family::Housekeeping);
        let mut tasks = Self { parked, housekeeping, tracks: BTreeMap::default() };
        let process = |row: &Interval| process_of(recording, row.thread);
        let parks = recording.intervals.iter().filter(|row| tasks.is_at(row.stack));
        tasks.tracks = parks.filter_map(|row| Some((process(row)?, Track::default()))).collect();
        let mut edges: BTreeMap<ProcessId, Vec<Edge>> = BTreeMap::default();
        for row in &recording.intervals {
            let Some(process) = process(row).filter(|p| tasks.tracks.contains_key(p)) else {
                continue;
            };
            if tasks.works(row) {
                let chore = tasks.is_chore(row.stack);
                let edges = edges.entry(process).or_default();
                edges.push((row.start, true, chore, row.thread));
                edges.push((end(row), false, chore, row.thread));
            } else if tasks.ends_rest(row)
                && let Some(track) = tasks.tracks.get_mut(&process)
            {
                track.waits.push((end(row), row.thread));
            }
        }
        for (process, track) in &mut tasks.tracks {
            track.waits.sort_unstable();
            track.work = sweep(edges.remove(process).unwrap_or_default());
        }
        tasks
    }

    fn is_at(&self, stack: Option<StackId>) -> bool {
        stack.is_some_and(|s| self.parked.get(s.index()).copied().unwrap_or(false))
    }

    fn is_chore(&self, stack: Option<StackId>) -> bool {
        stack.is_some_and(|s| self.housekeeping.get(s.index()).copied().unwrap_or(false))
    }

    /// True where a thread has no task: it waits in a scheduler, or looks there for one.
    pub(super) fn is_parked(&self, row: &Interval) -> bool {
        !row.cause.is_runnable() && self.is_at(row.stack)
    }

    /// True where a thread has no task of the program: it is parked, or has one of the runtime's own.
    pub(super) fn is_spare(&self, row: &Interval) -> bool {
        self.is_parked(row) || self.is_chore(row.stack)
    }

    /// True where a thread makes progress with a task.
    fn works(&self, row: &Interval) -> bool {
        let device = matches!(row.cause, Cause::Disk | Cause::Fsync | Cause::Fault | Cause::Memory);
        let works = row.cause.is_cpu() || row.cause.is_runnable() || device;
        works && row.stack.is_some() && !self.is_at(row.stack)
    }

    /// True for a wait whose end may be why a process goes on: for what the scheduler itself watches
    /// over, or for something outside of the process.
    fn ends_rest(&self, row: &Interval) -> bool {
        let outside = row.cause.is_blocked() && row.cause != Cause::Lock;
        if self.is_at(row.stack) { row.cause == Cause::Poll } else { outside }
    }

    /// What goes on just before a time in the process of a thread that is spare then; `waker` ended its
    /// wait at that time.
    pub(super) fn meanwhile(
        &self,
        recording: &Recording,
        (row, time): (&Interval, Time),
        waker: Option<&Interval>,
    ) -> Meanwhile {
        let process = process_of(recording, row.thread);
        let own = |by: &&Interval| process_of(recording, by.thread) == process;
        if let Some(by) = waker.filter(own).filter(|by| self.works(by) && !self.is_chore(by.stack))
        {
            return Meanwhile::Works(by.thread, by.start);
        }
        let Some(track) = process.and_then(|process| self.tracks.get(&process)) else {
            return Meanwhile::Waits(Time::START, None);
        };
        let before = track.work.partition_point(|piece| piece.from < time).checked_sub(1);
        let last = before.map(|at| track.work[at]);
        if let Some(piece) = last.filter(|piece| piece.to >= time) {
            return Meanwhile::Works(piece.thread, piece.from);
        }
        let since = last.map_or(Time::START, |piece| piece.to);
        let ended = track.waits.partition_point(|(ended, _)| *ended <= time).checked_sub(1);
        let ended = ended.map(|at| track.waits[at]).filter(|(ended, _)| *ended > since);
        Meanwhile::Waits(since, ended.map(|(_, thread)| thread))
    }
}

/// When, whether work begins, whether it is the runtime's own, whose.
type Edge = (Time, bool, bool, ThreadId);

/// Turns the edges of a process's work into pieces: the thread that works goes on for as long as it
/// does; the program's tasks go before the runtime's.
fn sweep(mut edges: Vec<Edge>) -> Vec<Piece> {
    // Ends before begins, so that a thread that goes on is in a set once.
    edges.sort_unstable();
    let mut pieces: Vec<Piece> = Vec::new();
    let mut working = [BTreeSet::new(), BTreeSet::new()];
    let mut since = Time::START;
    for (at, begins, chore, thread) in edges {
        let last = pieces.last().map(|piece| piece.thread);
        let chosen = working.iter().find_map(|set: &BTreeSet<ThreadId>| {
            last.filter(|last| set.contains(last)).or_else(|| set.first().copied())
        });
        if let Some(thread) = chosen.filter(|_| since < at) {
            match pieces.last_mut() {
                Some(last) if (last.to, last.thread) == (since, thread) => last.to = at,
                _ => pieces.push(Piece { from: since, to: at, thread }),
            }
        }
        since = at;
        let set = &mut working[usize::from(chore)];
        if begins {
            set.insert(thread);
        } else {
            set.remove(&thread);
        }
    }
    pieces
}
