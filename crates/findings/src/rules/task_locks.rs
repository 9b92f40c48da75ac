//! `lock-contention` among tasks: locks of a runtime that runs many tasks on few threads.
//!
//! No thread waits for such a lock: the runtime runs another task, or the thread idles if there is
//! no other task. Two traces remain. Threads take the slow paths into and out of the lock only
//! while tasks wait. And one thread works alone in that time:
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

/// Share of the time in a function with the lock in which no other thread works. Below it the lock
/// is not reported: while other threads work, it leaves no CPU idle.
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

/// The function that takes or leaves the lock: the innermost one outside the lock's own code that
/// the compiler did not make for a deferred call.
fn taker(evidence: &Evidence<'_>, stack: StackId) -> Option<FrameId> {
    let recording = evidence.recording;
    let name = |frame: &FrameId| recording.frame(*frame).function.as_str();
    let is_lock = |frame: &FrameId| evidence.known.is(*frame, Family::TaskLockPackage);
    let mut outside = recording.stack(stack).skip_while(|frame| !is_lock(frame));
    outside.find(|frame| !is_lock(frame) && !name(frame).contains(".deferwrap"))
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
        "`{name}` takes a lock that other tasks wait for: one thread works there alone for {COST} \
         of {}",
        evidence.chain.whole
    );
    let claim = Claim::new(&DOC, title, alone)
        .at(Site::Function(taker))
        .sure(0.8)
        .time("time in the function and its callees", all)
        .fact("share of it in which no other thread works", share, "share")
        .time("time in the slow paths into and out of the lock", evidence.total(slow))
        .fact("samples in these slow paths", slow.len() as f64, "count");
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
        assert!(
            found.title.starts_with("`program!main.Lookup` takes a lock that"),
            "{}",
            found.title
        );
    }

    #[test]
    fn a_lock_that_hardly_anybody_waits_for_or_that_keeps_no_cpu_idle_is_not() {
        assert!(first(&server(5, false), "lock-contention").is_none());
        assert!(first(&server(50, true), "lock-contention").is_none());
    }
}
