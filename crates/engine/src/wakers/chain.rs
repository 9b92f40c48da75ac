//! Who ended a wait, and what that one had waited for.

use culprit_model::{Cause, Interval, Nanos, Recording, StackId, ThreadId, Time, WakeSource};

use super::lives::{Lives, end};
use super::process_of;

/// How far a chain is followed; longer ones are loops of unclear data.
const MOST_LINKS: usize = 64;

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// A thread made it ready.
    By {
        /// Which.
        thread: ThreadId,
        /// Where it was; none where wakeups have no stacks.
        stack: Option<StackId>,
    },
    /// The child process that it waited for ended; no waker was recorded.
    ByExit {
        /// The child's thread that ended its process.
        thread: ThreadId,
    },
    /// An interrupt: a timer, a disk, the network.
    ByInterrupt(WakeSource),
    /// The wait lasted to the thread's end.
    Not,
    /// Nothing tells.
    Unknown,
}

impl Ended {
    /// The thread that ended the wait, if one did.
    #[must_use]
    pub fn thread(self) -> Option<ThreadId> {
        match self {
            Self::By { thread, .. } | Self::ByExit { thread } => Some(thread),
            Self::ByInterrupt(_) | Self::Not | Self::Unknown => None,
        }
    }
}

/// What ended the wait in a row of the `intervals` table.
#[must_use]
pub fn ended(recording: &Recording, lives: &Lives, wait: &Interval) -> Ended {
    if let Some(thread) = wait.waker {
        return Ended::By { thread, stack: wait.waker_stack };
    }
    let by_exit =
        || child_that_ended(recording, lives, wait).map(|thread| Ended::ByExit { thread });
    match wait.woken_by {
        None | Some(WakeSource::Thread) if end(wait) >= recording.thread_end(wait.thread) => {
            Ended::Not
        }
        None | Some(WakeSource::Thread) => by_exit().unwrap_or(Ended::Unknown),
        // A thread that exits is no longer recorded when it wakes its parent: what is seen of that is
        // an interrupt at most.
        Some(source @ (WakeSource::Interrupt | WakeSource::Unseen)) => {
            by_exit().unwrap_or(Ended::ByInterrupt(source))
        }
        Some(source) => Ended::ByInterrupt(source),
    }
}

/// The thread that ended the child process that a thread waited for.
fn child_that_ended(recording: &Recording, lives: &Lives, wait: &Interval) -> Option<ThreadId> {
    let parent = process_of(recording, wait.thread).filter(|_| wait.cause == Cause::Child)?;
    lives.ends.child(recording, parent, (wait.start, end(wait)))
}

/// One link of a chain: a wait and what ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Row of the `intervals` table.
    pub wait: usize,
    /// What ended it.
    pub ended: Ended,
    /// How much of the first link's time this wait took up: a waker may have waited long before.
    pub held: Nanos,
}

/// The wait of a row, then the wait of the thread that ended it which took up most of that time,
/// and so on: until the one that is waited for works for more than half of the time, or waits for
/// what is no thread.
#[must_use]
pub fn chain(recording: &Recording, lives: &Lives, wait: usize) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    let Some(first) = recording.intervals.get(wait) else { return links };
    let mut span = (first.start, end(first));
    let mut next = Some(wait);
    while let Some(row) = next.and_then(|at| recording.intervals.get(at)) {
        let at = next.unwrap_or_default();
        if links.len() == MOST_LINKS || links.iter().any(|link| link.wait == at) {
            break;
        }
        span = (span.0.max(row.start), span.1.min(end(row)));
        let ended = ended(recording, lives, row);
        links.push(Link { wait: at, ended, held: span.1.since(span.0) });
        next = ended.thread().and_then(|thread| main_wait(recording, lives, thread, span));
    }
    links
}

/// The wait of a thread that took up more than half of a span of time.
fn main_wait(
    recording: &Recording,
    lives: &Lives,
    thread: ThreadId,
    (begin, until): (Time, Time),
) -> Option<usize> {
    let range = lives.rows(thread);
    let rows = &recording.intervals[range.clone()];
    let from = rows.partition_point(|row| end(row) <= begin);
    let to = rows.partition_point(|row| row.start < until);
    let overlap = |row: &Interval| end(row).min(until).since(row.start.max(begin));
    let waits = (from..to).filter(|at| rows[*at].cause.is_blocked());
    let longest = waits.max_by_key(|at| (overlap(&rows[*at]), std::cmp::Reverse(*at)))?;
    (overlap(&rows[longest]).0 > until.since(begin).0 / 2).then_some(range.start + longest)
}
