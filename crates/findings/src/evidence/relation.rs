//! What kind of dependence a wait is, from its cause, its stack and who ended it.

use culprit_model::{Cause, Interval, ProcessId, ThreadId};

use super::Evidence;
use super::families::Family;
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
        let child = other.is_some_and(|o| is_descendant(evidence, o, own));
        let kind = evidence.stacks.wait_kind(wait.stack);
        let in_family = |family| evidence.stacks.in_family(wait.stack, family);
        // The task that ran on the thread may well run on another one: nobody waits for that one.
        let parked = in_family(Family::Scheduler) && (same || wait.cause == Cause::Lock);
        match wait.cause {
            _ if parked => Self::Other,
            Cause::Net if inferred => Self::Peer,
            Cause::Pipe => Self::Pipe,
            _ if inferred && same && kind == Some(WaitKind::Mutex) => Self::Lock,
            _ if inferred && same => Self::Thread,
            _ if inferred && child => Self::Child,
            _ if inferred => Self::Progress,
            Cause::Child => Self::Child,
            Cause::Signal if child => Self::Child,
            Cause::Net if in_family(Family::Accept) => Self::Other,
            Cause::Net => Self::Peer,
            Cause::Memory | Cause::Lock if in_family(Family::KernelLock) => Self::Lock,
            Cause::Runnable => Self::Lock,
            Cause::Lock => of_futex(evidence, wait, by, same),
            Cause::Ipc | Cause::Poll | Cause::Signal | Cause::Sleep if same => Self::Thread,
            Cause::Ipc if in_family(Family::UnixSocket) && !in_family(Family::Accept) => Self::Peer,
            Cause::Poll => of_poll(evidence, wait),
            _ => Self::Other,
        }
    }
}

/// A futex wait is for a lock when the library's function says so, unless it ended because a thread
/// did: nobody lets go of a mutex by exiting. When nothing says what it is,
/// the waker's end tells a join; all else counts as a condition, the weaker claim.
fn of_futex(
    evidence: &Evidence<'_>,
    wait: &Interval,
    by: Option<ThreadId>,
    same: bool,
) -> Relation {
    let kind = evidence.stacks.wait_kind(wait.stack);
    match kind.filter(|_| !evidence.stacks.in_family(wait.waker_stack, Family::Exit)) {
        Some(WaitKind::Mutex) => Relation::Lock,
        Some(WaitKind::Condition | WaitKind::Join) => Relation::Thread,
        None if by.is_none() || same => Relation::Thread,
        // A futex shared between processes: a lock or a queue in shared memory.
        None => Relation::Peer,
    }
}

/// A poll waits for whatever its waker wrote to.
fn of_poll(evidence: &Evidence<'_>, wait: &Interval) -> Relation {
    let woken_in = |family| evidence.stacks.in_family(wait.waker_stack, family);
    if woken_in(Family::Pipe) {
        Relation::Pipe
    } else if woken_in(Family::Notify) {
        Relation::Progress
    } else if woken_in(Family::Net)
        || woken_in(Family::UnixSocket)
        || wait.woken_by == Some(culprit_model::WakeSource::Network)
    {
        Relation::Peer
    } else {
        Relation::Other
    }
}

/// True when `process` was forked by `ancestor` or by a descendant of it.
pub(crate) fn is_descendant(
    evidence: &Evidence<'_>,
    process: ProcessId,
    ancestor: ProcessId,
) -> bool {
    // A parent's row comes before its children's, so the walk ends.
    let mut next = evidence.recording.process(process).parent;
    while let Some(parent) = next {
        if parent == ancestor {
            return true;
        }
        next = evidence.recording.process(parent).parent.filter(|p| *p < parent);
    }
    false
}
