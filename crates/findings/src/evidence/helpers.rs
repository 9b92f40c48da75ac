//! Threads that wait for something outside their process, on behalf of one that pauses meanwhile.
//!
//! ```text
//! main    pppppTpppppTppppp#      looks every 50 ms whether an answer is there
//! helper  #nnnnnnnnnnnnnn##       waits for a name server, and hands the answer over
//! ```
//!
//! Nobody works while main pauses, but the pauses are for what the helper waits for.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{Cause, Interval, ProcessId, Recording, ThreadId, Time, WakeSource};

use super::Family;
use super::chain::Source;
use super::serving::Serving;
use super::stacks::Stacks;

/// The threads of each process that wait for something outside it.
#[derive(Debug, Default)]
pub(super) struct Helpers {
    of: BTreeMap<ProcessId, BTreeSet<ThreadId>>,
}

impl Helpers {
    /// Linear in intervals.
    pub(super) fn of(recording: &Recording, stacks: &Stacks, serving: &Serving) -> Self {
        let mut helpers = Self::default();
        let outside = recording.intervals.iter();
        for row in outside.filter(|row| is_outside(recording, stacks, serving, row)) {
            let process = recording.thread(row.thread).process;
            helpers.of.entry(process).or_default().insert(row.thread);
        }
        helpers
    }

    /// The other thread of a process that waits for something outside all through a time; of several, the
    /// one whose wait lasts longest from then on. Threads times the logarithm of rows.
    pub(super) fn during(
        &self,
        source: &Source<'_>,
        own: ThreadId,
        (from, to): (Time, Time),
    ) -> Option<ThreadId> {
        let Source { recording, stacks, lives, serving, .. } = *source;
        let row_before = |thread, time| {
            lives.before(recording, thread, time).map(|row| &recording.intervals[row])
        };
        // What ends while the pausing thread acts may be of its own doing: it sends to itself.
        let is_ours = |end| row_before(own, end).is_some_and(|row| !row.cause.is_blocked());
        let threads = self.of.get(&recording.thread(own).process)?.iter().copied();
        let waits = threads.filter(|thread| *thread != own).filter_map(|thread| {
            let row = row_before(thread, to).filter(|row| row.start <= from)?;
            let end = row.start + row.duration;
            let counts = is_outside(recording, stacks, serving, row) && !is_ours(end);
            counts.then_some((end, std::cmp::Reverse(thread)))
        });
        waits.max().map(|(_, std::cmp::Reverse(thread))| thread)
    }

    /// The same for a thread that waits for a name server.
    pub(super) fn resolving(
        &self,
        source: &Source<'_>,
        own: ThreadId,
        range: (Time, Time),
    ) -> Option<ThreadId> {
        let helper = self.during(source, own, range)?;
        let row = source.lives.before(source.recording, helper, range.1)?;
        let stack = source.recording.intervals[row].stack;
        source.stacks.in_family(stack, Family::Resolver).then_some(helper)
    }
}

/// True for a wait that somebody outside of the process ends, or a resolver's limit.
fn is_outside(recording: &Recording, stacks: &Stacks, serving: &Serving, row: &Interval) -> bool {
    if !row.cause.is_blocked() || serving.for_requests(recording, stacks, row).is_some() {
        return false;
    }
    let within = |family| stacks.in_family(row.stack, family);
    if within(Family::Resolver) {
        return true;
    }
    let process = |thread: ThreadId| recording.thread(thread).process;
    let by_peer = row.waker.is_some_and(|by| process(by) != process(row.thread))
        || row.woken_by == Some(WakeSource::Network);
    matches!(row.cause, Cause::Net | Cause::Poll)
        && by_peer
        && !within(Family::Accept)
        && !stacks.writes(row.stack)
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first, told};
    use culprit_model::Cause;

    const PAUSE: &str = "main;wait_for_answer;libc.so.6!clock_nanosleep;k:do_nanosleep";
    const ASK: &str =
        "clone3;helper;libc.so.6!getaddrinfo;libc.so.6!send_dg;libc.so.6!poll;k:do_sys_poll";

    #[test]
    fn a_pause_while_a_helper_waits_for_a_name_server_is_for_that() {
        let mut scene = Scene::default();
        let main = scene.program("fetch", None, 0);
        let process = scene.recording.thread(main).process;
        let helper = scene.thread(process, "helper", 0);
        scene.wait(helper, 4970, Cause::Poll, ASK, End::Timer);
        scene.run(helper, 30, Cause::CpuUser, "clone3;helper");
        for _ in 0..100 {
            scene.wait(main, 49, Cause::Sleep, PAUSE, End::Timer);
            scene.run(main, 1, Cause::CpuUser, "main;look");
        }
        let recording = scene.done();
        let found = first(&recording, "name-lookup-wait").expect("found");
        assert!(found.share > 0.9, "{:?}", told(&recording));
        assert!(first(&recording, "poll-sleep-loop").is_none(), "{:?}", told(&recording));
    }

    /// As curl does: it looks after 1, 2, 4, 8 ... ms.
    #[test]
    fn pauses_that_grow_are_for_the_name_server_too() {
        const LOOK: &str = "main;curl_multi_poll;libc.so.6!poll;k:do_sys_poll";
        let mut scene = Scene::default();
        let main = scene.program("curl", None, 0);
        let process = scene.recording.thread(main).process;
        let helper = scene.thread(process, "curl", 0);
        scene.wait(helper, 2041, Cause::Poll, ASK, End::Timer);
        scene.run(helper, 2, Cause::CpuUser, "clone3;helper");
        for step in 0..10 {
            let end = if step % 2 == 0 { End::Timer } else { End::Interrupt };
            scene.wait(main, 1 << step, Cause::Poll, LOOK, end);
            scene.run(main, 1, Cause::CpuUser, "main;look");
        }
        scene.wait(main, 1010, Cause::Poll, LOOK, End::By(helper));
        let recording = scene.done();
        let found = first(&recording, "name-lookup-wait").expect("found");
        assert!(found.share > 0.9, "{:?}", told(&recording));
    }
}
