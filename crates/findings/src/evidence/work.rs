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

use std::ops::Deref;
use std::sync::OnceLock;

use culprit_engine::wakers::Lives;
use culprit_model::{Cause, Interval, Nanos, ProcessId, Recording, ThreadId, Time};

use super::Family;
use super::chain::Segment;
use super::locks::Locks;
use super::stacks::Stacks;

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
    /// Where in them to look.
    directory: Directory,
}

/// Pieces a slot of the directory, on average, at most.
const PIECES_A_SLOT: u64 = 8;

/// Time in slots of equal length, and the first piece that ends in or after each: rules ask about
/// millions of segments, and a search through all pieces misses the caches at every step.
#[derive(Debug, Default)]
struct Directory {
    /// The begin of the first slot.
    from: Time,
    /// A slot's length is two to the power of this, in ns.
    bits: u32,
    /// The pieces, as indexes; one a slot.
    first: Vec<u32>,
}

impl Directory {
    fn of(pieces: &[Piece]) -> Self {
        let (Some(begin), Some(end)) = (pieces.first(), pieces.last()) else {
            return Self::default();
        };
        let span = end.to.since(begin.from).0;
        let length = (span / (pieces.len() as u64 / PIECES_A_SLOT + 1)).max(1);
        let mut directory = Self { from: begin.from, bits: length.ilog2(), first: vec![0] };
        for (at, piece) in (0u32..).zip(pieces) {
            let slots = directory.slot(piece.to);
            if directory.first.len() <= slots {
                directory.first.resize(slots + 1, at);
            }
        }
        directory
    }

    fn slot(&self, at: Time) -> usize {
        usize::try_from(at.since(self.from).0 >> self.bits).unwrap_or(usize::MAX)
    }

    /// Where the first of the pieces is that ends after a moment.
    fn find(&self, pieces: &[Piece], at: Time) -> usize {
        let slot = self.slot(at);
        let bound =
            |slot: usize| self.first.get(slot).map_or(pieces.len(), |first| *first as usize);
        let (low, high) = (bound(slot), bound(slot.saturating_add(1)));
        low + pieces[low..high].partition_point(|piece| piece.to <= at)
    }
}

/// True for time in which a thread makes progress by itself or by a device that serves it.
pub(crate) const fn is_work(cause: Cause) -> bool {
    cause.is_cpu()
        || cause.is_runnable()
        || matches!(cause, Cause::Disk | Cause::Fsync | Cause::Fault | Cause::Memory)
}

/// The work of every recorded thread, found out by whoever asks first: n log n in stretches of work.
#[derive(Debug)]
pub(crate) struct WorkOfAll<'a> {
    recording: &'a Recording,
    found: OnceLock<Work>,
}

impl<'a> WorkOfAll<'a> {
    pub(crate) const fn of(recording: &'a Recording) -> Self {
        Self { recording, found: OnceLock::new() }
    }

    /// Finds it out, unless somebody has.
    pub(crate) fn find_out(&self) -> &Work {
        self.found.get_or_init(|| Work::of(&self.recording.intervals, |i| is_work(i.cause)))
    }
}

impl Deref for WorkOfAll<'_> {
    type Target = Work;

    fn deref(&self) -> &Work {
        self.find_out()
    }
}

impl Work {
    /// What recorded threads do on CPUs.
    pub(crate) fn on_cpus(recording: &Recording) -> Self {
        Self::of(&recording.intervals, |i| i.cause.is_cpu())
    }

    /// The work of one process's threads, and what they would have done had no lock kept them
    /// out.
    pub(crate) fn wanted_by(
        recording: &Recording,
        lives: &Lives,
        (stacks, locks): (&Stacks, &Locks),
        process: ProcessId,
    ) -> Self {
        let threads = (0..recording.threads.len()).map(ThreadId::from_index);
        let own = threads.filter(|t| recording.thread(*t).process == process);
        let rows = own.flat_map(|t| &recording.intervals[lives.rows(t)]);
        let kept_out = |i: &Interval| {
            i.cause == Cause::Lock
                && locks.is_lock(recording, stacks, i)
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
        // Threads come one after the other, each in order: the stable sort merges such runs.
        edges.sort();
        let pieces = sweep(&edges);
        Self { directory: Directory::of(&pieces), pieces }
    }

    /// The pieces that touch the time from `from` to `to`.
    pub(crate) fn between(&self, from: Time, to: Time) -> impl Iterator<Item = Piece> + '_ {
        let first = self.directory.find(&self.pieces, from);
        self.pieces[first..].iter().take_while(move |p| p.from < to).copied()
    }

    /// How much of a segment at least `count` threads work.
    pub(crate) fn during(&self, segment: &Segment, count: u32) -> Nanos {
        self.with_at_least(count, segment.start, segment.start + segment.length)
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
    let mut pieces: Vec<Piece> = Vec::with_capacity(edges.len());
    // Those that work, in order: hardly ever more than there are CPUs and a few that are ready.
    let mut working: Vec<ThreadId> = Vec::new();
    let mut since = Time::START;
    for &(at, begins, thread) in edges {
        if let Some(&thread) = working.first()
            && since < at
        {
            let count = u32::try_from(working.len()).unwrap_or(u32::MAX);
            let piece = Piece { from: since, to: at, thread, count };
            match pieces.last_mut() {
                Some(last) if (last.to, last.thread, last.count) == (since, thread, count) => {
                    last.to = at;
                }
                _ => pieces.push(piece),
            }
        }
        since = at;
        match working.binary_search(&thread) {
            Err(at) if begins => working.insert(at, thread),
            Ok(at) if !begins => drop(working.remove(at)),
            // A thread's stretches do not touch, so that it begins and ends in turn.
            _ => {}
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_finds_what_a_search_through_all_pieces_finds() {
        // Bursts of short pieces, gaps, and one long piece.
        let (mut pieces, mut at) = (Vec::new(), 1000);
        for n in 0..2000_u64 {
            let (gap, length) = match n % 100 {
                0 => (70_000, 1),
                1 => (0, 9_000_000),
                _ => (n * n % 7, 1 + n % 13),
            };
            let (from, to) = (Time(at + gap), Time(at + gap + length));
            pieces.push(Piece { from, to, thread: ThreadId(0), count: 1 });
            at = to.0;
        }
        let work = Work { directory: Directory::of(&pieces), pieces };
        let edges = work.pieces.iter().flat_map(|p| [p.from.0, p.to.0]);
        for at in edges.flat_map(|edge| [edge - 1, edge, edge + 1]).chain([0, u64::MAX]).map(Time) {
            let expected = work.pieces.partition_point(|p| p.to <= at);
            assert_eq!(work.directory.find(&work.pieces, at), expected, "{at:?}");
        }
        assert_eq!(Directory::of(&[]).find(&[], Time(7)), 0);
    }
}
