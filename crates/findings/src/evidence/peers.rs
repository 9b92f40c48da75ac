//! Who ended a wait, where no wakeup names a thread.
//!
//! Peers on the same machine: on the loopback device the sender's own send delivers the data, but in the network's receive
//! path, so that the wakeup names no thread. The sender is on a CPU at that very moment, though. A
//! thread that was on a CPU, alone among those that use sockets, at the end of nearly all of a
//! thread's network waits is taken for its peer, and said to be inferred.
//!
//! ```text
//! client  work |~~~~ recv ~~~~| work |~~~~ recv ~~~~| work
//! server   ~~~ recv | answer, send | ~ recv | answer, send |
//!                             ^ woken by the network while only the server is on a CPU
//! ```
//!
//! Recorders without the right to see wakeups: whoever ended a wait had to be on a CPU for it, so
//! the thread that was so last, and of the waiter's own process if there is one, is taken.

use std::collections::BTreeMap;

use culprit_engine::wakers::Lives;
use culprit_model::{Cause, Interval, LossKind, Nanos, Recording, ThreadId, Time, WakeSource};

use super::Family;
use super::stacks::Stacks;

/// Share of a thread's network waits at whose end exactly one other socket user must be on a CPU.
/// Of unrelated threads one that is half of the time on a CPU would be met at half of the ends.
const MIN_MET: f64 = 0.8;

/// Network waits below which a meeting is chance.
const MIN_WAITS: u32 = 5;

/// How long before the end of a wait its ender may have left the CPU: without wakeups a wait ends
/// when the waiter runs, so the run queue lies between.
const ENDED_WITHIN: Nanos = Nanos(1_000_000);

/// Threads times waits up to which enders are looked for without wakeups; about a second of work.
const MAX_LOOKS: usize = 20_000_000;

/// Inferred peers of a recording's threads.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    /// Threads that use sockets.
    talkers: Vec<ThreadId>,
    /// Threads whose network waits end while one of those is on a CPU.
    local: Vec<ThreadId>,
    /// Threads that may have ended waits; empty where wakeups were recorded.
    enders: Vec<ThreadId>,
}

impl Peers {
    /// Looks at every network wait's end; waits times talkers times the logarithm of rows.
    pub(crate) fn of(recording: &Recording, lives: &Lives, stacks: &Stacks) -> Self {
        let talks = |i: &&Interval| i.cause == Cause::Net || stacks.in_family(i.stack, Family::Net);
        let mut talkers: Vec<_> =
            recording.intervals.iter().filter(talks).map(|i| i.thread).collect();
        talkers.dedup();
        let mut peers = Self { talkers, local: Vec::new(), enders: enders(recording, lives) };
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
        if is_network_wait(wait) && self.local.binary_search(&wait.thread).is_ok() {
            return self.sender(recording, lives, wait);
        }
        let unknown = wait.woken_by.is_none() && wait.waker.is_none();
        if unknown && needs_another(wait.cause) { self.last(recording, lives, wait) } else { None }
    }

    /// The thread that was last on a CPU when a wait ended, those of the same process first.
    fn last(&self, recording: &Recording, lives: &Lives, wait: &Interval) -> Option<ThreadId> {
        let end = wait.start + wait.duration;
        let process = |thread: ThreadId| recording.thread(thread).process;
        let near = self.enders.iter().copied().filter(|t| *t != wait.thread).filter_map(|thread| {
            let left = left_cpu(recording, lives, thread, end)?;
            Some((process(thread) == process(wait.thread), left, thread))
        });
        near.max_by_key(|(same, left, thread)| (*same, *left, std::cmp::Reverse(*thread)))
            .map(|(_, _, thread)| thread)
    }

    /// The only other talker on a CPU at the end of a wait.
    fn sender(&self, recording: &Recording, lives: &Lives, wait: &Interval) -> Option<ThreadId> {
        let end = wait.start + wait.duration;
        let on_cpu = |thread: &&ThreadId| {
            // A sender that is alone on its CPU with whom it woke leaves it at that very instant.
            [end, end + Nanos(1)].into_iter().any(|time| {
                let row = lives.before(recording, **thread, time);
                row.is_some_and(|row| recording.intervals[row].cause.is_cpu())
            })
        };
        let mut senders = self.talkers.iter().filter(|t| **t != wait.thread).filter(on_cpu);
        let first = senders.next().copied();
        first.filter(|_| senders.next().is_none())
    }
}

/// Threads that may have ended waits, where wakeups are missing and there is not too much to look
/// through.
fn enders(recording: &Recording, lives: &Lives) -> Vec<ThreadId> {
    let missing = recording.losses.iter().any(|l| l.kind == LossKind::WakersMissing);
    let waits = recording.intervals.iter().filter(|i| needs_another(i.cause)).count();
    let threads = (0..recording.threads.len()).map(ThreadId::from_index);
    let threads: Vec<_> = threads.filter(|t| !lives.rows(*t).is_empty()).collect();
    let few = waits.saturating_mul(threads.len()) <= MAX_LOOKS;
    if missing && few { threads } else { Vec::new() }
}

/// When a thread was last on a CPU up to a time, at most [`ENDED_WITHIN`] before it.
fn left_cpu(recording: &Recording, lives: &Lives, thread: ThreadId, time: Time) -> Option<Time> {
    let rows = &recording.intervals[lives.rows(thread)];
    let before = rows.partition_point(|i| i.start < time);
    rows[..before]
        .iter()
        .rev()
        .take_while(|i| time.since(i.start + i.duration) <= ENDED_WITHIN)
        .find(|i| i.cause.is_cpu())
        .map(|i| (i.start + i.duration).min(time))
}

/// True for waits that only another thread's act can end.
const fn needs_another(cause: Cause) -> bool {
    matches!(cause, Cause::Lock | Cause::Pipe | Cause::Ipc)
}

fn is_network_wait(interval: &Interval) -> bool {
    matches!(interval.cause, Cause::Net | Cause::Poll)
        && interval.woken_by == Some(WakeSource::Network)
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, told};
    use culprit_model::{Cause, Loss, LossKind};

    #[test]
    fn a_peer_that_was_born_during_the_wait_fills_the_rest_of_it_only() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        let process = scene.recording.thread(main).process;
        for round in 0..10 {
            let answers = scene.thread(process, "connection", round * 20 + 15);
            scene.run(answers, 4, Cause::CpuUser, "clone3;answer");
            scene.run(answers, 2, Cause::CpuKernel, "clone3;libc.so.6!send;k:tcp_sendmsg");
            let wait = "main;ask;libc.so.6!recv;k:tcp_recvmsg;k:sk_wait_data";
            scene.wait(main, 20, Cause::Net, wait, End::Network);
        }
        let recording = scene.done();
        let waits = crate::scene::first(&recording, "network-wait").expect("found");
        assert!(waits.cost.0 >= 150_000_000, "{}", waits.cost);
    }

    #[test]
    fn without_wakeups_whoever_was_last_on_a_cpu_is_taken_to_have_ended_a_wait() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        let process = scene.recording.thread(main).process;
        let other = scene.thread(process, "other", 0);
        let worker = scene.thread(process, "worker", 0);
        scene.run(other, 10, Cause::CpuUser, "clone3;other");
        scene.wait(other, 490, Cause::Lock, "clone3;idle", End::Unknown);
        scene.run(worker, 500, Cause::CpuUser, "clone3;work");
        for _ in 0..2 {
            scene.wait(main, 250, Cause::Lock, "main;collect", End::Unknown);
        }
        let mut recording = scene.done();
        assert!(told(&recording).is_empty(), "nothing says whom it waits for");
        let loss = |kind| Loss { kind, count: 1, from: None, to: None, detail: "".into() };
        recording.losses.push(loss(LossKind::WakersMissing));
        let found = crate::scene::first(&recording, "wait-on-thread").expect("found");
        assert!(
            found.title.contains("for worker (1002) while no other thread works"),
            "{}",
            found.title
        );
        assert!(found.confidence < 0.75, "{}", found.confidence);
    }
}
