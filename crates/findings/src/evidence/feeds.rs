//! Peers that send when their own timers say so, and that nobody asks.
//!
//! ```text
//! client  recv |~~~~~~~~~~~~| . |~~~~~~~~~~| .      it sends nothing
//! feed    poll |~~ timer ~~~| t |~~ timer ~| t      only timers end its waits
//! ```

use culprit_model::{Cause, ProcessId, ThreadId, WakeSource};

use super::Evidence;

/// Requests for each wait up to which a peer sends by itself: the connection's own messages are some.
const MAX_ASKED: f64 = 0.1;

/// Timers of the peer for each wait from which it sends when they end.
const MIN_TIMED: f64 = 0.5;

/// True where `waits` waits of a process are for a feed: hardly any of them begins with a request to it.
pub(crate) fn is_feed(
    evidence: &Evidence<'_>,
    peer: ProcessId,
    client: ProcessId,
    waits: usize,
) -> bool {
    let recording = evidence.recording;
    let threads = (0..recording.threads.len()).map(ThreadId::from_index);
    let of_peer = threads.filter(|thread| evidence.process(*thread) == peer && peer != client);
    let rows = of_peer.flat_map(|thread| &recording.intervals[evidence.lives.rows(thread)]);
    let receives = rows.filter(|row| matches!(row.cause, Cause::Net | Cause::Poll | Cause::Ipc));
    let (mut asked, mut by_timer) = (0, 0);
    for row in receives {
        match (row.woken_by, row.waker) {
            (Some(WakeSource::Timer), _) => by_timer += 1,
            (_, Some(by)) if evidence.process(by) != client => {}
            // Nobody knows who ended it: perhaps a request did.
            _ => asked += 1,
        }
    }
    f64::from(asked) <= MAX_ASKED * waits as f64 && f64::from(by_timer) >= MIN_TIMED * waits as f64
}
