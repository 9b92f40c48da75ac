//! `futex-storm`: putting threads to sleep and waking them takes much of the CPU time.

use crate::evidence::{Evidence, Family};
use crate::kernel_calls::{KernelCalls, MIN_LOOKS, of_cpu};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity};
use crate::settle::MIN_SHARE;

/// The rule.
pub(crate) struct FutexStorm;

/// Share of the program's CPU time from which it is found.
const MIN_OF_CPU: f64 = 0.10;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "futex-storm",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "Threads hand over so often that the system calls for it take much of the CPU time.",
    signature: "CPU time on the critical path inside the kernel's futex calls: what a mutex, a \
                condition variable or a queue does when a thread must wait or be woken.",
    not_reported: &["the waits themselves (`lock-contention`, `wait-on-thread`)"],
    why: "Putting a thread to sleep and waking it costs 2 to 10 us of CPU time on both sides. If the work \
          takes no longer than that, waking costs more than the work.",
    fix: &[
        "Hand over many items at once: a batch for each wakeup.",
        "Wake a thread only if one waits, and after the lock was released.",
        "Do small work where it arises, instead of in another thread.",
        "Shorten the critical section, or keep data per thread, so that threads rarely meet at \
         the lock.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `futex-storm` in `culprit findings \
            fixed.culprit` must be smaller than before",
    thresholds: &[MIN_LOOKS, of_cpu(MIN_OF_CPU)],
};

const CALLS: KernelCalls = KernelCalls {
    doc: &DOC,
    families: &[Family::Futex],
    does: "waits on and wakes up other threads through futexes",
    waits: false,
    of_cpu: MIN_OF_CPU,
    listed_from: MIN_SHARE,
};

impl Rule for FutexStorm {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        CALLS.find(evidence)
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first};
    use culprit_model::{Cause, Recording};

    fn queue(in_futex: u64) -> Recording {
        let wake = "main;push;libc.so.6!pthread_cond_signal;k:do_syscall_64;k:__x64_sys_futex;\
                    k:do_futex;k:futex_wake";
        let mut scene = Scene::default();
        let main = scene.program("queue", None, 0);
        for step in 0..50 {
            scene.run(main, in_futex, Cause::CpuKernel, wake);
            scene.run(main, 10, Cause::CpuUser, &format!("main;work{}", step % 10));
        }
        scene.done()
    }

    #[test]
    fn a_wakeup_for_each_small_item_is_found() {
        let found = first(&queue(4), "futex-storm").expect("found");
        assert_eq!(found.cost.0, 200_000_000);
        assert!(found.title.contains("`program!push` waits on and wakes up"), "{}", found.title);
        assert!(first(&queue(1), "futex-storm").is_none(), "a tenth is not reached");
    }
}
