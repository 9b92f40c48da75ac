//! `timer-storm`: timers take much of the CPU time.

use crate::evidence::{Evidence, Family};
use crate::kernel_calls::{KernelCalls, MIN_LOOKS, of_cpu};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity};
use crate::settle::MIN_SHARE;

/// The rule.
pub(crate) struct TimerStorm;

/// Share of the program's CPU time from which it is found.
const MIN_OF_CPU: f64 = 0.10;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "timer-storm",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "Setting, cancelling and expiring timers takes much of the CPU time.",
    signature: "CPU time on the critical path inside the kernel's functions that set, cancel and \
                run timers.",
    not_reported: &["short sleeps in a loop (`poll-sleep-loop`, `idle-await`)"],
    why: "A program that sets a timer for each request, and cancels it when the request is done, \
          enters the kernel twice for nothing in most cases. A timer with a short period wakes \
          the program as often.",
    fix: &[
        "Keep one kernel timer for the earliest deadline, and the others in a heap or timer wheel.",
        "Set the timer anew only when the earliest deadline changes.",
        "Use a longer period, or none while there is nothing to do.",
        "Use the timeout of the wait itself (`epoll_wait`, `pthread_cond_timedwait`) instead of \
         a timer.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `timer-storm` in `culprit findings \
            fixed.culprit` must be smaller than before",
    thresholds: &[MIN_LOOKS, of_cpu(MIN_OF_CPU)],
};

const CALLS: KernelCalls = KernelCalls {
    doc: &DOC,
    families: &[Family::Timer],
    does: "sets timers",
    waits: false,
    of_cpu: MIN_OF_CPU,
    listed_from: MIN_SHARE,
};

impl Rule for TimerStorm {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        CALLS.find(evidence)
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first};
    use culprit_model::{Cause, Recording};

    fn server(in_timers: u64) -> Recording {
        let set = "main;begin_request;libc.so.6!timerfd_settime;k:do_syscall_64;\
                   k:__x64_sys_timerfd_settime;k:do_timerfd_settime;k:hrtimer_start_range_ns";
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        for step in 0..50 {
            scene.run(main, in_timers, Cause::CpuKernel, set);
            scene.run(main, 10, Cause::CpuUser, &format!("main;answer{}", step % 10));
        }
        scene.done()
    }

    #[test]
    fn a_timer_for_each_request_is_found() {
        let found = first(&server(5), "timer-storm").expect("found");
        assert_eq!(found.cost.0, 250_000_000);
        assert!(found.title.contains("`program!begin_request` sets timers"), "{}", found.title);
        assert!(first(&server(1), "timer-storm").is_none());
    }
}
