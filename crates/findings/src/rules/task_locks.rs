//! `lock-contention` among tasks: locks of a runtime that runs many tasks on few threads.
//!
//! No thread waits for such a lock: its runtime lets another task run, and where there is none the thread
//! idles. What is left of it are the slow ways into and out of the lock, which are taken only while tasks
//! wait, and that meanwhile one thread works alone:
//!
//! ```text
//! thread 1   Lookup: render .......... unlockSlow | Lookup: render ...
//! thread 2   lockSlow, idle                       | lockSlow, idle
//! ```

use culprit_model::{FrameId, StackId};

use super::lock_contention::DOC;
use crate::evidence::stacks::with_any;
use crate::evidence::{Doing, Evidence, Family, SegmentId};
use crate::kernel_time::MIN_LOOKS;
use crate::rule::{COST, Claim, Site};
use crate::tally;

/// Share of the time in a function with the lock in which no other thread works, below which the lock
/// keeps nobody: while others work, no CPU waits for it.
pub(crate) const MIN_ALONE: f64 = 0.5;

/// The functions that take contended locks and then work alone, on a machine where others could.
pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Claim> {
    if evidence.recording.meta.cpus < 2 {
        return Vec::new();
    }
    let in_lock = |d: &Doing| evidence.stacks.in_family(d.stack, Family::TaskLock);
    let slow = evidence.doing(|d| d.cause.is_cpu() && in_lock(d));
    let takers = tally::by_name(evidence, &slow, |d| taker(evidence, d.stack?));
    let seen = takers.into_iter().filter(|taker| taker.segments.len() >= MIN_LOOKS);
    seen.filter_map(|taker| {
        let first = evidence.of_segment(evidence.chain.segment(*taker.segments.first()?));
        told(evidence, self::taker(evidence, first.stack?)?, &taker.segments)
    })
    .collect()
}

/// The function that takes or leaves the lock: the innermost one that is none of the lock's own, and
/// none that the compiler made for a deferred call.
fn taker(evidence: &Evidence<'_>, stack: StackId) -> Option<FrameId> {
    let recording = evidence.recording;
    let name = |frame: &FrameId| recording.frame(*frame).function.as_str();
    let is_lock = |name: &str| name.starts_with("sync.") || name.starts_with("internal/sync.");
    let mut outside = recording.stack(stack).skip_while(|frame| !is_lock(name(frame)));
    outside.find(|frame| !is_lock(name(frame)) && !name(frame).contains(".deferwrap"))
}

fn told(evidence: &Evidence<'_>, taker: FrameId, slow: &[SegmentId]) -> Option<Claim> {
    let name = evidence.name(Some(taker));
    let below = with_any(evidence.recording, |frame| evidence.name(Some(frame)) == name);
    let inside =
        evidence.doing(|d| d.cause.is_cpu() && d.stack.is_some_and(|stack| below[stack.index()]));
    let is_alone = |id: &SegmentId| {
        let segment = evidence.chain.segment(*id);
        evidence.work.during(segment, 2).share_of(segment.length) < 0.5
    };
    let alone: Vec<_> = inside.iter().copied().filter(is_alone).collect();
    let all = evidence.total(&inside);
    let share = evidence.total(&alone).share_of(all);
    if share < MIN_ALONE {
        return None;
    }
    let title = format!(
        "tasks wait for a lock that `{name}` takes: for {COST} one thread works there and no other one"
    );
    let claim = Claim::new(&DOC, title, alone)
        .at(Site::Function(taker))
        .sure(0.8)
        .time("in the function with what it calls", all)
        .fact("share of it in which no other thread worked", share, "share")
        .time("in the slow ways into and out of the lock", evidence.total(slow))
        .fact("samples there", slow.len() as f64, "count");
    Some(claim)
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Cause, Recording};

    const IDLE: &str = "runtime.mcall;runtime.schedule;runtime.stopm;k:futex_do_wait";

    /// Two threads of a runtime; tasks render under a lock, and `beside` of the time both work.
    fn server(slow: u64, beside: bool) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        let other = scene.thread(process, "server", 0);
        for at in 0..100 {
            scene.run(main, 9, Cause::CpuUser, "runtime.goexit;main.serve;main.Lookup;main.render");
            let unlock = "runtime.goexit;main.serve;main.Lookup;sync.(*Mutex).Unlock;\
                          sync.(*Mutex).unlockSlow;sync.runtime_Semrelease;runtime.semrelease1";
            let last = if at < slow { unlock } else { "runtime.goexit;main.serve" };
            scene.run(main, 1, Cause::CpuUser, last);
            if beside {
                scene.run(other, 10, Cause::CpuUser, "runtime.goexit;main.serve;main.answer");
            } else {
                scene.wait(other, 10, Cause::Lock, IDLE, End::By(main));
            }
        }
        scene.done()
    }

    #[test]
    fn a_contended_lock_under_which_one_thread_works_alone_is_told() {
        let found = first(&server(50, false), "lock-contention").expect("found");
        assert_eq!(found.cost.0, 950_000_000);
        assert_eq!(&*found.at[0].function, "main.Lookup");
        assert!(found.title.contains("a lock that `program!main.Lookup` takes"), "{}", found.title);
    }

    #[test]
    fn a_lock_that_hardly_anybody_waits_for_or_that_keeps_no_cpu_idle_is_not() {
        assert!(first(&server(5, false), "lock-contention").is_none());
        assert!(first(&server(50, true), "lock-contention").is_none());
    }
}
