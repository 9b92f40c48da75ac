//! `signal-storm`: signals take much of the CPU time.

use crate::evidence::{Evidence, Family};
use crate::kernel_calls::{KernelCalls, MIN_LOOKS, of_cpu};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};
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
                call handlers and return from them, or change the signal mask. If faults on protected \
                pages send the signals, the calls that protect these pages count, too.",
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
    thresholds: &[
        MIN_LOOKS,
        of_cpu(MIN_OF_CPU),
        Threshold {
            what: "share of the time in signals from which calls that protect pages count, too",
            value: BY_FAULTS,
            unit: "share",
            reason: "A collector that protects pages has faults and little else in its signals. Below a \
                     quarter, other signals are what costs.",
            source: "definition",
        },
    ],
};

const CALLS: KernelCalls = KernelCalls {
    doc: &DOC,
    families: &[Family::Signal],
    does: "sends or handles signals",
    waits: false,
    of_cpu: MIN_OF_CPU,
    listed_from: MIN_SHARE,
};

/// Signals that faults on protected pages send, with the calls that protect these.
const PROTECTING: KernelCalls = KernelCalls {
    families: &[Family::Signal, Family::Protect],
    does: "protects pages, and handles a signal for each fault on them,",
    ..CALLS
};

/// Share of the time in signals from which faults on pages send them.
const BY_FAULTS: f64 = 0.25;

impl Rule for SignalStorm {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let inside = |family| evidence.doing(|d| evidence.stacks.in_family(d.stack, family));
        let (signals, faults) = (inside(Family::Signal), inside(Family::FaultSignal));
        let by_faults = evidence.total(&faults).share_of(evidence.total(&signals)) >= BY_FAULTS;
        if by_faults { PROTECTING.find(evidence) } else { CALLS.find(evidence) }
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
    fn calls_that_protect_pages_count_where_faults_send_the_signals() {
        let cost = |sender: &str| {
            let fault = format!("main;change;k:asm_exc_page_fault;k:{sender}");
            let mut scene = Scene::default();
            let main = scene.program("tracker", None, 0);
            for step in 0..50 {
                scene.run(main, 4, Cause::CpuKernel, &fault);
                let protect = "main;change;libc.so.6!mprotect;k:do_syscall_64;k:__x64_sys_mprotect";
                scene.run(main, 4, Cause::CpuKernel, protect);
                scene.run(main, 20, Cause::CpuUser, &format!("main;work{}", step % 10));
            }
            first(&scene.done(), "signal-storm").map(|found| found.cost.0)
        };
        assert_eq!(cost("force_sig_fault"), Some(400_000_000));
        assert_eq!(cost("send_signal_locked"), Some(200_000_000));
    }

    #[test]
    fn both_ends_of_signals_are_counted() {
        let found = first(&notifier(4), "signal-storm").expect("found");
        assert_eq!(found.cost.0, 400_000_000);
        assert!(found.title.contains("sends or handles signals"), "{}", found.title);
        assert!(first(&notifier(1), "signal-storm").is_none());
    }
}
