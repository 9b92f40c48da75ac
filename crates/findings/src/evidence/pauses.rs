//! Pauses: waits that only their own timer ended, and whether anybody works meanwhile.

use std::collections::BTreeMap;

use culprit_model::{Cause, FrameId, Interval, Nanos, ThreadId, WakeSource};

use super::{Evidence, Segment};

/// How many times as long a wait must be as those that something else ended to be none of them.
const LIKE: u64 = 10;

/// Whether only a wait's own timer ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PauseEnd {
    /// A timer was seen, or nothing else can have ended it.
    Timer,
    /// An interrupt of which no more is known; an idle CPU does not trace all of them.
    Likely,
    /// Something else.
    Other,
}

impl PauseEnd {
    /// What ended a wait, by its cause and what was seen.
    pub(crate) fn of(interval: &Interval) -> Self {
        let unknown = matches!(interval.woken_by, Some(WakeSource::Interrupt | WakeSource::Unseen));
        match interval.cause {
            // Nothing else ends a sleep but a signal, which a thread sends.
            Cause::Sleep if unknown || interval.woken_by.is_none() => Self::Timer,
            Cause::Poll if unknown => Self::Likely,
            cause if cause.is_blocked() && interval.woken_by == Some(WakeSource::Timer) => {
                Self::Timer
            }
            // Another thread ends the wait for a lock or a condition, and that one is seen.
            Cause::Lock if interval.woken_by == Some(WakeSource::Interrupt) => Self::Timer,
            _ => Self::Other,
        }
    }
}

/// Where threads were woken by something else, and after how long at most: what was not seen at the
/// end of a wait like that need not be a timer.
pub(crate) struct Pauses {
    woken: BTreeMap<(ThreadId, Option<FrameId>), Nanos>,
}

impl Pauses {
    /// Linear in intervals.
    pub(crate) fn of(evidence: &Evidence<'_>) -> Self {
        let other = [WakeSource::Thread, WakeSource::Network, WakeSource::Disk];
        let polls = evidence.recording.intervals.iter().filter(|i| i.cause == Cause::Poll);
        let mut woken: BTreeMap<_, Nanos> = BTreeMap::new();
        for wait in polls.filter(|i| i.woken_by.is_some_and(|by| other.contains(&by))) {
            let place = woken.entry((wait.thread, evidence.focus(wait))).or_default();
            *place = (*place).max(wait.duration);
        }
        Self { woken }
    }

    /// True for a wait that, as far as is known, its own timer ended.
    pub(crate) fn has(&self, evidence: &Evidence<'_>, wait: &Interval) -> bool {
        match PauseEnd::of(wait) {
            PauseEnd::Timer => true,
            PauseEnd::Likely => {
                let longest = self.woken.get(&(wait.thread, evidence.focus(wait))).copied();
                longest.unwrap_or_default().0.saturating_mul(LIKE) < wait.duration.0
            }
            PauseEnd::Other => false,
        }
    }
}

/// True for time in most of which no recorded thread works.
pub(crate) fn nobody_works(evidence: &Evidence<'_>, segment: &Segment) -> bool {
    evidence.work.during(segment, 1).share_of(segment.length) < 0.5
}
