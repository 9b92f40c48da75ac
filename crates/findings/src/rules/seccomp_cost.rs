//! `seccomp-cost`: the time that a container's seccomp filter adds to each system call.

use culprit_model::{Cause, Nanos};

use crate::evidence::{Evidence, Family, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold};

/// The rule.
pub(crate) struct SeccompCost;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "seccomp-cost",
    group: Group::Container,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "The container's seccomp filter adds time to each system call.",
    signature: "CPU time in the kernel's filter (`__seccomp_filter`) on the critical path, before \
                the call itself begins. `culprit bench syscall` compares batches of one call by \
                CPU time, round by round, with the filter and without it. A call that does not \
                enter the kernel (vDSO) is the control.",
    not_reported: &[],
    why: "Each system call first runs the filter program. Since Linux 5.11 a bitmap lets calls \
          pass that the filter allows with any arguments. A call whose arguments the filter checks \
          runs the whole program.",
    fix: &[
        "Make fewer and larger system calls: batching, io_uring, vDSO.",
        "Use a seccomp profile of your own that allows the hot calls first.",
        "Otherwise leave it: some hundred thousand calls per second cost a few per cent of a CPU.",
        "Measure the filter's cost per call with `culprit bench syscall --place docker:IMAGE \
         --place docker:IMAGE,seccomp=off`.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; this finding's cost must be smaller than before",
    thresholds: &[Threshold {
        what: "clock samples in the filter",
        value: kernel_time::MIN_LOOKS as f64,
        unit: "count",
        reason: "Ten samples give the time to within a third.",
        source: "Poisson distribution",
    }],
};

impl Rule for SeccompCost {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let filtering = evidence.doing(|d| {
            d.cause == Cause::CpuKernel && evidence.stacks.in_family(d.stack, Family::Seccomp)
        });
        kernel_time::by_program(evidence, &filtering)
            .into_iter()
            .map(|t| told(evidence, &t.key.name, t.segments, t.total))
            .collect()
    }
}

fn told(evidence: &Evidence<'_>, name: &str, segments: Vec<SegmentId>, total: Nanos) -> Claim {
    let caller = kernel_time::caller(evidence, &segments);
    let title = format!(
        "system calls, mainly from `{caller}` in {name}, spend {COST} of {} in the seccomp filter",
        evidence.chain.whole
    );
    let facts = kernel_time::facts(evidence, &segments);
    Claim::new(&DOC, title, segments)
        .at(Site::Entry)
        .sure(0.9)
        .time("CPU time in the filter", total)
        .facts(facts)
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first, told};
    use culprit_model::{Cause, Recording};

    fn calling(filter: &str) -> Recording {
        let call = "main;probe_item;libc.so.6!personality;k:do_syscall_64";
        let mut scene = Scene::default();
        let main = scene.program("sweep", None, 0);
        for _ in 0..20 {
            scene.run(main, 30, Cause::CpuUser, "main;probe_item");
            scene.run(
                main,
                10,
                Cause::CpuKernel,
                &format!("{call};k:syscall_trace_enter;{filter}"),
            );
            scene.run(main, 20, Cause::CpuKernel, &format!("{call};k:__x64_sys_personality"));
        }
        scene.done()
    }

    #[test]
    fn the_filters_time_is_told_apart_from_the_calls() {
        let recording = calling("k:__seccomp_filter;k:?");
        let found = first(&recording, "seccomp-cost").expect("found");
        assert_eq!(found.cost.0, 200_000_000);
        assert!(found.title.contains("calls, mainly from `program!probe_item`"), "{}", found.title);
        assert!(!told(&recording).contains(&"hot-function 1200".to_owned()));
    }

    #[test]
    fn another_tracer_is_no_filter() {
        assert!(first(&calling("k:ptrace_report_syscall"), "seccomp-cost").is_none());
    }
}
