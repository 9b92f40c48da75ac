//! Peers on the same machine: who sent what ended a wait for the network.
//!
//! On the loopback device the sender's own send delivers the data, but in the network's receive
//! path, so that the wakeup names no thread. The sender is on a CPU at that very moment, though. A
//! thread that was on a CPU, alone among those that use sockets, at the end of nearly all of a
//! thread's network waits is taken for its peer, and said to be inferred.
//!
//! ```text
//! client  work |~~~~ recv ~~~~| work |~~~~ recv ~~~~| work
//! server   ~~~ recv | answer, send | ~ recv | answer, send |
//!                             ^ woken by the network while only the server is on a CPU
//! ```

use std::collections::BTreeMap;

use culprit_engine::wakers::Lives;
use culprit_model::{Cause, Interval, Nanos, Recording, ThreadId, WakeSource};

use super::families::Family;
use super::stacks::Stacks;

/// Share of a thread's network waits at whose end exactly one other socket user must be on a CPU.
/// Of unrelated threads one that is half of the time on a CPU would be met at half of the ends.
const MIN_MET: f64 = 0.8;

/// Network waits below which a meeting is chance.
const MIN_WAITS: u32 = 5;

/// Inferred peers of a recording's threads.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    /// Threads that use sockets.
    talkers: Vec<ThreadId>,
    /// Threads whose network waits end while one of those is on a CPU.
    local: Vec<ThreadId>,
}

impl Peers {
    /// Looks at every network wait's end; waits times talkers times the logarithm of rows.
    pub(crate) fn of(recording: &Recording, lives: &Lives, stacks: &Stacks) -> Self {
        let talks = |i: &&Interval| i.cause == Cause::Net || stacks.in_family(i.stack, Family::Net);
        let mut talkers: Vec<_> =
            recording.intervals.iter().filter(talks).map(|i| i.thread).collect();
        talkers.dedup();
        let mut peers = Self { talkers, local: Vec::new() };
        let mut met: BTreeMap<ThreadId, (u32, u32)> = BTreeMap::new();
        for wait in recording.intervals.iter().filter(|i| is_network_wait(i)) {
            let (waits, alone) = met.entry(wait.thread).or_default();
            *waits += 1;
            *alone += u32::from(peers.sender(recording, lives, wait).is_some());
        }
        let local = met.into_iter().filter(|(_, (waits, alone))| {
            *waits >= MIN_WAITS && f64::from(*alone) >= MIN_MET * f64::from(*waits)
        });
        peers.local = local.map(|(thread, _)| thread).collect();
        peers
    }

    /// The peer that ended a wait; none where it is not on this machine, or not clear.
    pub(crate) fn ended(
        &self,
        recording: &Recording,
        lives: &Lives,
        wait: &Interval,
    ) -> Option<ThreadId> {
        let local = is_network_wait(wait) && self.local.binary_search(&wait.thread).is_ok();
        if local { self.sender(recording, lives, wait) } else { None }
    }

    /// The only other talker on a CPU at the end of a wait.
    fn sender(&self, recording: &Recording, lives: &Lives, wait: &Interval) -> Option<ThreadId> {
        let just_after = wait.start + wait.duration + Nanos(1);
        let on_cpu = |thread: &&ThreadId| {
            let row = lives.before(recording, **thread, just_after);
            row.is_some_and(|row| recording.intervals[row].cause.is_cpu())
        };
        let mut senders = self.talkers.iter().filter(|t| **t != wait.thread).filter(on_cpu);
        let first = senders.next().copied();
        first.filter(|_| senders.next().is_none())
    }
}

fn is_network_wait(interval: &Interval) -> bool {
    matches!(interval.cause, Cause::Net | Cause::Poll)
        && interval.woken_by == Some(WakeSource::Network)
}
