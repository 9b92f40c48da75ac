//! `signal-storm`: signals take much of the CPU time.

use crate::evidence::{Evidence, Family};
use crate::kernel_calls::{KernelCalls, MIN_LOOKS, of_cpu};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity};
use crate::settle::MIN_SHARE;

/// The rule.
pub(crate) struct SignalStorm;

/// Share of the program's CPU time from which it is found.
const MIN_OF_CPU: f64 = 0.10;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "signal-storm",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "Sending, delivering and handling signals takes much of the CPU time.",
    signature: "CPU time on the critical path inside the kernel's functions that send signals, \
                call handlers and return from them, or change the signal mask.",
    not_reported: &["the work of the handler itself (`hot-function`)"],
    why: "A signal costs 1 to 3 us: the kernel interrupts the thread, saves its registers on the \
          stack, runs the handler and restores them with another system call. Handlers also \
          interrupt system calls, which must then be made again.",
    fix: &[
        "Use another way to notify: eventfd, a pipe, a futex or a condition variable.",
        "Lower the rate of timers that send signals (`setitimer`, `timer_create`, a profiler's \
         interval).",
        "Take signals synchronously with `signalfd` or `sigtimedwait`, many at a time.",
        "If the signals are faults on protected memory (a garbage collector, `mprotect` tricks), \
         track the writes another way.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `signal-storm` in `culprit findings \
            fixed.culprit` must be smaller than before",
    thresholds: &[MIN_LOOKS, of_cpu(MIN_OF_CPU)],
};

const CALLS: KernelCalls = KernelCalls {
    doc: &DOC,
    family: Family::Signal,
    does: "sends or handles signals",
    waits: false,
    of_cpu: MIN_OF_CPU,
    listed_from: MIN_SHARE,
};

impl Rule for SignalStorm {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        CALLS.find(evidence)
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first};
    use culprit_model::{Cause, Recording};

    fn notifier(in_signals: u64) -> Recording {
        let kill = "main;notify;libc.so.6!kill;k:do_syscall_64;k:__x64_sys_kill;k:do_send_sig_info";
        let back = "main;on_signal;libc.so.6!__restore_rt;k:do_syscall_64;k:__x64_sys_rt_sigreturn";
        let mut scene = Scene::default();
        let main = scene.program("notifier", None, 0);
        for step in 0..50 {
            scene.run(main, in_signals, Cause::CpuKernel, kill);
            scene.run(main, in_signals, Cause::CpuKernel, back);
            scene.run(main, 20, Cause::CpuUser, &format!("main;work{}", step % 10));
        }
        scene.done()
    }

    #[test]
    fn both_ends_of_signals_are_counted() {
        let found = first(&notifier(4), "signal-storm").expect("found");
        assert_eq!(found.cost.0, 400_000_000);
        assert!(found.title.contains("sends or handles signals"), "{}", found.title);
        assert!(first(&notifier(1), "signal-storm").is_none());
    }
}
