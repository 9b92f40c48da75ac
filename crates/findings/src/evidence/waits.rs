//! Every wait that another thread's time fills, classified once: what for, who waits, whose time fills it.
//!
//! Rules ask about these records, and never classify a wait themselves.

use culprit_model::ThreadId;

use super::chain::Link;
use super::{Evidence, IntervalId, Relation};

/// A wait around segments of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The wait.
    pub(crate) interval: IntervalId,
    /// Who waits.
    pub(crate) waiter: ThreadId,
    /// Whose time fills it: the thread that ended it, or works meanwhile.
    pub(crate) by: ThreadId,
    /// What the waiter depends on.
    pub(crate) relation: Relation,
    /// True for a wait for requests that anybody may make.
    pub(crate) for_requests: bool,
}

impl Wait {
    /// Classifies the wait of a link.
    pub(super) fn of(evidence: &Evidence<'_>, link: &Link) -> Self {
        let interval = evidence.interval(link.wait);
        Self {
            interval: link.wait,
            waiter: interval.thread,
            by: link.by,
            relation: Relation::of(evidence, interval, Some(link.by), link.inferred),
            for_requests: evidence.for_requests(interval).is_some(),
        }
    }
}
