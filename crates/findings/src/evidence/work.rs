//! Who works when: for every moment, how many threads make progress, and one of them.
//!
//! A thread works while it is on a CPU, ready for one, or waits for a device that serves it. A
//! thread in any other wait does not: another one's work, a timer or the outside world ends it.
//!
//! ```text
//! a      ##..##....
//! b      .###......
//! pieces aabbaa        (the lowest thread of those that work)
//! count  121010
//! ```

use std::collections::BTreeMap;

use culprit_engine::wakers::Lives;
use culprit_model::{Cause, Interval, Nanos, ProcessId, Recording, ThreadId, Time};

use super::families::Family;
use super::stacks::{Stacks, WaitKind};

/// A stretch of time in which the same threads work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// From when.
    pub(crate) from: Time,
    /// Until when.
    pub(crate) to: Time,
    /// One of those that work: the first in the order of the `threads` table.
    pub(crate) thread: ThreadId,
    /// How many work.
    pub(crate) count: u32,
}

/// Who works when.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Ordered by time, without overlap; time in which nobody works is left out.
    pieces: Vec<Piece>,
}

/// True for time in which a thread makes progress by itself or by a device that serves it.
pub(crate) const fn is_work(cause: Cause) -> bool {
    cause.is_cpu()
        || cause.is_runnable()
        || matches!(cause, Cause::Disk | Cause::Fsync | Cause::Fault | Cause::Memory)
}

impl Work {
    /// The work of every recorded thread, n log n in stretches of work.
    pub(crate) fn of_all(recording: &Recording) -> Self {
        Self::of(&recording.intervals, |i| is_work(i.cause))
    }

    /// The work of one process's threads, and what they would have done had no mutex kept them
    /// out.
    pub(crate) fn wanted_by(
        recording: &Recording,
        lives: &Lives,
        stacks: &Stacks,
        process: ProcessId,
    ) -> Self {
        let threads = (0..recording.threads.len()).map(ThreadId::from_index);
        let own = threads.filter(|t| recording.thread(*t).process == process);
        let rows = own.flat_map(|t| &recording.intervals[lives.rows(t)]);
        let kept_out = |i: &Interval| {
            i.cause == Cause::Lock
                && stacks.wait_kind(i.stack) == Some(WaitKind::Mutex)
                && !stacks.in_family(i.waker_stack, Family::Exit)
        };
        Self::of(rows, |i| is_work(i.cause) || kept_out(i))
    }

    /// Rows must come thread by thread, in order of time.
    fn of<'r>(
        rows: impl IntoIterator<Item = &'r Interval>,
        wanted: impl Fn(&Interval) -> bool,
    ) -> Self {
        let mut edges: Vec<(Time, bool, ThreadId)> = Vec::new();
        let mut open: Option<(ThreadId, Time)> = None;
        for interval in rows {
            let end = interval.start + interval.duration;
            let follows = open == Some((interval.thread, interval.start));
            if !follows && let Some((thread, at)) = open.take() {
                edges.push((at, false, thread));
            }
            if wanted(interval) {
                if !follows {
                    edges.push((interval.start, true, interval.thread));
                }
                open = Some((interval.thread, end));
            } else if let Some((thread, at)) = open.take() {
                edges.push((at, false, thread));
            }
        }
        if let Some((thread, at)) = open {
            edges.push((at, false, thread));
        }
        edges.sort_unstable();
        Self { pieces: sweep(&edges) }
    }

    /// The pieces that touch the time from `from` to `to`.
    pub(crate) fn between(&self, from: Time, to: Time) -> impl Iterator<Item = Piece> + '_ {
        let first = self.pieces.partition_point(|p| p.to <= from);
        self.pieces[first..].iter().take_while(move |p| p.from < to).copied()
    }

    /// How much of the time from `from` to `to` at least `count` threads work.
    pub(crate) fn with_at_least(&self, count: u32, from: Time, to: Time) -> Nanos {
        self.between(from, to)
            .filter(|p| p.count >= count)
            .map(|p| p.to.min(to).since(p.from.max(from)))
            .sum()
    }
}

/// Turns edges (true where a thread begins to work) into pieces.
fn sweep(edges: &[(Time, bool, ThreadId)]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut working: BTreeMap<ThreadId, u32> = BTreeMap::new();
    let mut count = 0;
    let mut since = Time::START;
    for &(at, begins, thread) in edges {
        if let Some((&thread, _)) = working.first_key_value()
            && since < at
        {
            let piece = Piece { from: since, to: at, thread, count };
            match pieces.last_mut() {
                Some(last) if (last.to, last.thread, last.count) == (since, thread, count) => {
                    last.to = at;
                }
                _ => pieces.push(piece),
            }
        }
        since = at;
        let entry = working.entry(thread).or_default();
        if begins {
            *entry += 1;
            count += 1;
        } else {
            *entry = entry.saturating_sub(1);
            count -= 1;
            if *entry == 0 {
                working.remove(&thread);
            }
        }
    }
    pieces
}
