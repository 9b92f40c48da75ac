//! Threads that wait for something outside their process, on behalf of one that pauses meanwhile.
//!
//! ```text
//! main    pppppTpppppTppppp#      looks every 50 ms whether an answer is there
//! helper  #nnnnnnnnnnnnnn##       waits for a name server, and hands the answer over
//! ```
//!
//! Nobody works while main pauses, but the pauses are for what the helper waits for.

use std::collections::BTreeMap;

use culprit_model::{Cause, Interval, ProcessId, Recording, ThreadId, Time, WakeSource};

use super::chain::Source;
use super::families::Family;
use super::serving::Serving;
use super::stacks::Stacks;

/// The threads of each process that wait for something outside, with those waits in order of time.
#[derive(Debug, Default)]
pub(super) struct Helpers {
    of: BTreeMap<ProcessId, Vec<Outside>>,
}

/// A wait for something outside.
#[derive(Debug, Clone, Copy)]
struct Outside {
    from: Time,
    to: Time,
    thread: ThreadId,
}

impl Helpers {
    /// Linear in intervals.
    pub(super) fn of(recording: &Recording, stacks: &Stacks, serving: &Serving) -> Self {
        let mut helpers = Self::default();
        let is_outside = |row: &&Interval| {
            is_outside(recording, stacks, row)
                && serving.for_requests(recording, stacks, row).is_none()
        };
        for row in recording.intervals.iter().filter(is_outside) {
            let (from, to) = (row.start, row.start + row.duration);
            let process = recording.thread(row.thread).process;
            let outside = Outside { from, to, thread: row.thread };
            helpers.of.entry(process).or_default().push(outside);
        }
        helpers
    }

    /// The other thread of a process that waits for something outside all through a time; of several, the
    /// one whose wait lasts longest from then on.
    pub(super) fn during(
        &self,
        source: &Source<'_>,
        own: ThreadId,
        (from, to): (Time, Time),
    ) -> Option<ThreadId> {
        let waits = self.of.get(&source.recording.thread(own).process)?;
        // What ends while the pausing thread acts may be of its own doing: it sends to itself.
        let is_ours = |wait: &Outside| {
            let row = source.lives.before(source.recording, own, wait.to);
            row.is_some_and(|row| !source.recording.intervals[row].cause.is_blocked())
        };
        let through = waits.iter().filter(|wait| wait.from <= from && wait.to >= to);
        let others = through.filter(|wait| wait.thread != own && !is_ours(wait));
        others.max_by_key(|wait| (wait.to, std::cmp::Reverse(wait.thread))).map(|wait| wait.thread)
    }
}

/// True for a wait that somebody outside of the process ends, or a resolver's limit.
fn is_outside(recording: &Recording, stacks: &Stacks, row: &Interval) -> bool {
    let within = |family| stacks.in_family(row.stack, family);
    if within(Family::Resolver) {
        return row.cause.is_blocked();
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
}
