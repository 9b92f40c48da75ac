//! What kind of dependence a wait is, from its cause, its stack and who ended it.

use std::collections::BTreeMap;

use culprit_engine::wakers::is_descendant;
use culprit_model::{Cause, Interval, MarkKind, ProcessId, Recording, ThreadId, Time, WakeSource};

use super::Evidence;
use super::Family;
use super::chain::is_pause;
use super::stacks::WaitKind;

/// What a thread depends on while it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Relation {
    /// A lock that another thread holds.
    Lock,
    /// Another thread of the same process: its end, a condition, a hand-over.
    Thread,
    /// A child process.
    Child,
    /// The other end of a pipe.
    Pipe,
    /// A peer: over the network, or another process over a local socket.
    Peer,
    /// A polling loop's look at someone else's progress.
    Progress,
    /// A device, a timer, or nobody knows.
    Other,
}

impl Relation {
    /// The relation of a wait of `wait.thread` whose time `by` fills or ended; a runnable interval
    /// is taken for the end of a lock's wait.
    pub(crate) fn of(
        evidence: &Evidence<'_>,
        wait: &Interval,
        by: Option<ThreadId>,
        inferred: bool,
    ) -> Self {
        let relation = Self::by_cause(evidence, wait, by, inferred);
        // A compiler's or a collector's thread waits for work: the program depends on nothing there.
        let idles = relation == Self::Thread && evidence.managed.purpose(wait.thread).is_some();
        if idles { Self::Other } else { relation }
    }

    fn by_cause(
        evidence: &Evidence<'_>,
        wait: &Interval,
        by: Option<ThreadId>,
        inferred: bool,
    ) -> Self {
        let own = evidence.process(wait.thread);
        let other = by.map(|t| evidence.process(t));
        let same = other == Some(own);
        let child = other.is_some_and(|o| is_descendant(evidence.recording, o, own));
        let locks = evidence.locks.is_lock(evidence.recording, &evidence.stacks, wait);
        let in_family = |family| evidence.stacks.in_family(wait.stack, family);
        // The task that ran on the thread may well run on another one: nobody waits for that one.
        let parked = in_family(Family::Scheduler) && (same || wait.cause == Cause::Lock);
        match wait.cause {
            _ if parked => Self::Other,
            // Who is ready waits for a CPU, whoever has it.
            Cause::Runnable if inferred => Self::Other,
            // A server's wait for whoever may ask is for no peer's answer.
            Cause::Net | Cause::Poll if evidence.for_requests(wait).is_some() => Self::Other,
            Cause::Net if inferred => Self::Peer,
            Cause::Poll if inferred && wait.woken_by == Some(WakeSource::Network) => Self::Peer,
            // Who pauses waits for nobody, whoever works meanwhile.
            _ if inferred && is_pause(wait) && !evidence.loops.is_round(wait) => Self::Other,
            Cause::Pipe => Self::Pipe,
            _ if inferred && same && locks => Self::Lock,
            _ if inferred && same => Self::Thread,
            _ if inferred && child => Self::Child,
            _ if inferred => Self::Progress,
            Cause::Child => Self::Child,
            Cause::Signal if child => Self::Child,
            Cause::Net if in_family(Family::Accept) => Self::Other,
            Cause::Net => Self::Peer,
            Cause::Memory | Cause::Lock if in_family(Family::KernelLock) => Self::Lock,
            Cause::Runnable => Self::Lock,
            Cause::Lock if in_family(Family::Pause) => Self::Other,
            Cause::Lock => of_futex(evidence, wait, by, same, locks),
            Cause::Ipc | Cause::Poll | Cause::Signal | Cause::Sleep if same => Self::Thread,
            Cause::Ipc if in_family(Family::UnixSocket) && !in_family(Family::Accept) => Self::Peer,
            Cause::Poll => of_poll(evidence, wait, by.filter(|_| !same), child),
            _ => Self::Other,
        }
    }
}

/// A futex wait is for a lock when the library's function or who ends whose waits says so, unless it
/// ended because a thread did: nobody lets go of a mutex by exiting. When nothing says what it is,
/// the waker's end tells a join; all else counts as a condition, the weaker claim.
fn of_futex(
    evidence: &Evidence<'_>,
    wait: &Interval,
    by: Option<ThreadId>,
    same: bool,
    locks: bool,
) -> Relation {
    if locks && !evidence.stacks.in_family(wait.waker_stack, Family::Exit) {
        return Relation::Lock;
    }
    match evidence.stacks.wait_kind(wait.stack) {
        Some(kind) if kind != WaitKind::Mutex => Relation::Thread,
        _ if by.is_none() || same => Relation::Thread,
        // The kernel's own waits, such as for readers of what it changes, are for no program.
        _ if !evidence.stacks.in_family(wait.stack, Family::Futex) => Relation::Other,
        // A futex shared between processes: a lock or a queue in shared memory.
        _ => Relation::Peer,
    }
}

/// A poll waits for whatever its waker wrote to. Where wakeups have no stacks, what the two of them do
/// right then tells; where that tells nothing, a child's end or output is waited for, else a peer.
/// `by` is the thread of another process that ended it.
fn of_poll(
    evidence: &Evidence<'_>,
    wait: &Interval,
    by: Option<ThreadId>,
    child: bool,
) -> Relation {
    let around = by.map(|by| around(evidence, wait, by)).unwrap_or_default();
    let woken_in = |family| evidence.stacks.in_family(wait.waker_stack, family);
    let seen_in = |family| around.iter().any(|row| evidence.stacks.in_family(row.stack, family));
    let talks = woken_in(Family::Net) || woken_in(Family::UnixSocket);
    if woken_in(Family::Pipe) {
        Relation::Pipe
    } else if woken_in(Family::Notify) {
        Relation::Progress
    } else if talks || wait.woken_by == Some(WakeSource::Network) {
        Relation::Peer
    } else if by.is_none() {
        Relation::Other
    } else if seen_in(Family::UnixSocket) || seen_in(Family::Net) {
        Relation::Peer
    } else if child {
        Relation::Child
    } else if seen_in(Family::Pipe) {
        Relation::Pipe
    } else if seen_in(Family::Notify) {
        Relation::Progress
    } else {
        Relation::Peer
    }
}

/// How many rows after a wait can show what was waited for: the run queue, the way out of the wait,
/// and the read of what came.
const ROWS_AFTER: usize = 3;

/// What a waiter does right after its wait, and what the thread that ended it did at that moment.
fn around<'a>(evidence: &Evidence<'a>, wait: &Interval, by: ThreadId) -> Vec<&'a Interval> {
    let rows = &evidence.recording.intervals;
    let end = wait.start + wait.duration;
    let own = &rows[evidence.lives.rows(wait.thread)];
    let after = own.partition_point(|row| row.start < end);
    let waker = evidence.lives.before(evidence.recording, by, end).map(|row| &rows[row]);
    own[after..].iter().take(ROWS_AFTER).chain(waker).filter(|row| row.cause.is_cpu()).collect()
}

/// True when a wait is for the output of a process's own descendant: what that one does is what is
/// waited for, as by waiting for its end.
pub(crate) fn is_for_output(evidence: &Evidence<'_>, wait: &Interval, by: ThreadId) -> bool {
    let (own, other) = (evidence.process(wait.thread), evidence.process(by));
    wait.cause == Cause::Pipe
        && !evidence.stacks.writes(wait.stack)
        && is_descendant(evidence.recording, other, own)
}

/// The processes that executed a program while they were recorded, each with when it first did.
pub(crate) fn executed(recording: &Recording) -> BTreeMap<ProcessId, Time> {
    let mut first = BTreeMap::new();
    for mark in recording.marks.iter().filter(|mark| mark.kind == MarkKind::Exec) {
        let time = first.entry(mark.process).or_insert(mark.time);
        *time = mark.time.min(*time);
    }
    first
}
