//! Peers that send when their own timers say so, and that nobody asks.
//!
//! ```text
//! client  recv |~~~~~~~~~~~~| . |~~~~~~~~~~| .      it sends nothing
//! feed    poll |~~ timer ~~~| t |~~ timer ~| t      only timers end its waits
//! ```

use std::collections::BTreeMap;

use culprit_model::{Cause, ProcessId, WakeSource};

use super::Evidence;

/// Requests for each wait up to which a peer sends by itself: the connection's own messages are some.
const MAX_ASKED: f64 = 0.1;

/// Timers of the peer for each wait from which it sends when they end.
const MIN_TIMED: f64 = 0.5;

/// What ended the waits of one process for something from outside.
#[derive(Debug, Default)]
struct Ends {
    /// Its timers.
    timers: u32,
    /// Nobody knows: perhaps a request.
    unknown: u32,
    /// Threads, by their process.
    by: BTreeMap<ProcessId, u32>,
}

/// What ended the waits of every process.
#[derive(Debug, Default)]
pub(crate) struct Feeds(BTreeMap<ProcessId, Ends>);

impl Feeds {
    /// Linear in intervals.
    pub(crate) fn of(evidence: &Evidence<'_>) -> Self {
        let mut feeds = Self::default();
        let rows = evidence.recording.intervals.iter();
        for row in rows.filter(|row| matches!(row.cause, Cause::Net | Cause::Poll | Cause::Ipc)) {
            let ends = feeds.0.entry(evidence.process(row.thread)).or_default();
            match (row.woken_by, row.waker) {
                (Some(WakeSource::Timer), _) => ends.timers += 1,
                (_, Some(by)) => *ends.by.entry(evidence.process(by)).or_default() += 1,
                _ => ends.unknown += 1,
            }
        }
        feeds
    }

    /// True where `waits` waits of a process are for a feed: hardly any of them begins with a request to it.
    pub(crate) fn is_feed(&self, peer: ProcessId, client: ProcessId, waits: usize) -> bool {
        let Some(ends) = self.0.get(&peer).filter(|_| peer != client) else { return false };
        let asked = ends.unknown + ends.by.get(&client).copied().unwrap_or_default();
        let waits = waits as f64;
        f64::from(asked) <= MAX_ASKED * waits && f64::from(ends.timers) >= MIN_TIMED * waits
    }
}
