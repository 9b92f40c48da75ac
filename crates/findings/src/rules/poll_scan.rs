//! `poll-scan`: looking at every descriptor of a `poll` or `select` takes much of the CPU time.

use culprit_model::Cause;

use crate::evidence::{Doing, Evidence, Family, SegmentId};
use crate::kernel_calls::{KernelCalls, MIN_LOOKS};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};
use crate::settle::MIN_SHARE;

/// The rule.
pub(crate) struct PollScan;

/// Share of the program's CPU time from which it is found.
const MIN_OF_CPU: f64 = 0.25;

/// Share of the calls' time that only enters and leaves the kernel, up to which they look at many descriptors.
const MAX_ENTERING: f64 = 0.10;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "poll-scan",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "`poll` or `select` takes much of the CPU time: each call looks at every descriptor.",
    signature: "CPU time on the critical path inside the kernel's `poll` and `select`, where it asks each \
                descriptor whether something is there.",
    not_reported: &[
        "the wait for an event",
        "`epoll`, which returns only what has an event",
        "many calls for a few descriptors (`syscall-storm`)",
    ],
    why: "A call of `poll` or `select` takes 30 to 100 ns for each descriptor, busy or not. With thousands of \
          connections, each event costs as much as all of them.",
    fix: &[
        "Use `epoll`: the kernel then keeps the list and returns only descriptors with an event. A library \
         does it portably (libuv, libevent, asio).",
        "Handle all events that one call returns before the next call.",
        "Spread the connections over threads with a set of descriptors each.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `poll-scan` in `culprit findings \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        MIN_LOOKS,
        Threshold {
            what: "share of the program's CPU time on the critical path",
            value: MIN_OF_CPU,
            unit: "share",
            reason: "A loop over a few descriptors spends up to 15 % there, mostly to enter the call and to \
                     prepare its wait. At half, such loops would be reported; at double, a third of the CPU \
                     time could go unseen.",
            source: "definition",
        },
        Threshold {
            what: "share of the calls' time that only enters and leaves the kernel, above which they are cheap",
            value: MAX_ENTERING,
            unit: "share",
            reason: "To enter and leave takes 0.1 to 0.2 us. At a tenth, a call looks at some dozens of \
                     descriptors. At half, a call for fifty would be cheap; at double, one for ten would be a \
                     scan.",
            source: "`poll` of 1 and of 4,000 descriptors: 35 % and 0 %, Linux 6.18",
        },
    ],
};

/// Share of a claim's time that only enters and leaves the kernel.
fn entering(evidence: &Evidence<'_>, segments: &[SegmentId]) -> f64 {
    let at_gate = |d: &Doing| d.cause == Cause::CpuKernel && evidence.stacks.at_gate(d.stack);
    let gate = evidence.doings.among(segments, at_gate);
    evidence.total(&gate).share_of(evidence.total(segments))
}

const CALLS: KernelCalls = KernelCalls {
    doc: &DOC,
    families: &[Family::PollScan],
    does: "looks at all descriptors of `poll` or `select`",
    waits: false,
    of_cpu: MIN_OF_CPU,
    listed_from: MIN_SHARE,
};

impl Rule for PollScan {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let claims = CALLS.find(evidence).into_iter();
        claims.filter(|claim| entering(evidence, &claim.segments) <= MAX_ENTERING).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first};
    use culprit_model::{Cause, Recording};

    fn relay(in_poll: u64, entering: u64) -> Recording {
        let scan = "main;event_loop;libc.so.6!poll;k:do_syscall_64;k:__x64_sys_poll;k:do_sys_poll;k:sock_poll";
        let mut scene = Scene::default();
        let main = scene.program("relay", None, 0);
        for step in 0..50 {
            scene.run(main, in_poll, Cause::CpuKernel, scan);
            let enter = "main;event_loop;libc.so.6!poll;k:do_syscall_64";
            scene.run(main, entering, Cause::CpuKernel, enter);
            scene.run(main, 10, Cause::CpuUser, &format!("main;work{}", step % 10));
        }
        scene.done()
    }

    #[test]
    fn a_scan_of_many_descriptors_is_reported_with_its_caller() {
        let found = first(&relay(10, 0), "poll-scan").expect("found");
        assert_eq!(found.cost.0, 500_000_000);
        assert!(found.title.contains("event_loop` looks at all descriptors"), "{}", found.title);
        assert!(first(&relay(1, 0), "poll-scan").is_none());
        assert!(first(&relay(10, 5), "poll-scan").is_none(), "many calls for a few");
    }
}
