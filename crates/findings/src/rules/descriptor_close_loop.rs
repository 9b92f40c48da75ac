//! `descriptor-close-loop`: a program closes every descriptor number up to its limit.
//!
//! A `close` of an open descriptor reaches the file. A `close` of any other number returns from the
//! descriptor table at once. Thousands of such calls in a row are a loop over all numbers that the
//! limit allows, usually between fork and exec.

use culprit_model::Nanos;

use crate::evidence::{Evidence, Family, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold};

/// The rule.
pub(crate) struct DescriptorCloseLoop;

/// Time from which it is reported.
const MIN_TIME: Nanos = Nanos(10_000_000);

/// Share of the calls' time in closing what is open, up to which they close what is not.
const MAX_OPEN: f64 = 0.10;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "descriptor-close-loop",
    group: Group::Cpu,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "The program closes descriptor numbers that are not open, up to the limit on their \
            number.",
    signature: "Kernel time in `close` on the critical path that almost never reaches a file: the \
                descriptors were not open. The calls are not counted. Culprit infers that they \
                fail from the kernel functions that they never reach.",
    not_reported: &[],
    why: "Some programs close everything in a loop up to RLIMIT_NOFILE before they start another \
          program. With the 1,024 of a login this costs nothing. Container engines and service \
          managers have set 1,048,576 and 1,073,741,816: there the loop takes a tenth of a second \
          to minutes for each child.",
    fix: &[
        "Close the range with one call: close_range or closefrom.",
        "List /proc/self/fd and close only the descriptors in it.",
        "Open files with O_CLOEXEC and close nothing.",
        "Lower the limit from outside: `docker run --ulimit nofile=1024:524288`, or LimitNOFILE= \
         of the service.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; kernel time of `close` in `culprit callees \
            close fixed.culprit` must be gone",
    thresholds: &[
        Threshold {
            what: "time in these calls",
            value: MIN_TIME.0 as f64,
            unit: "ns",
            reason: "A call takes some 100 ns, so 10 ms are 100,000 numbers: a hundred times what \
                     a plain limit allows. At half, services that restart a few helpers would be \
                     reported.",
            source: "close of a number that is not open: 60 to 160 ns, Linux 6.18, virtual machine",
        },
        Threshold {
            what: "share of this time spent closing open descriptors",
            value: MAX_OPEN,
            unit: "share",
            reason: "Closing an open file spends most of the call on releasing the file.",
            source: "fs/open.c close_fd, filp_flush, fput_close_sync",
        },
    ],
};

impl Rule for DescriptorCloseLoop {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let closing = evidence.doing(|d| {
            kernel_time::is_kernel_work(d.cause)
                && evidence.stacks.in_family(d.stack, Family::Close)
        });
        if closing.is_empty() {
            return Vec::new();
        }
        let segments = kernel_time::with_entries(evidence, closing);
        kernel_time::by_program(evidence, &segments)
            .into_iter()
            .filter(|t| t.total >= MIN_TIME)
            .filter_map(|t| told(evidence, &t.key.name, t.segments, t.total))
            .collect()
    }
}

fn told(
    evidence: &Evidence<'_>,
    name: &str,
    segments: Vec<SegmentId>,
    total: Nanos,
) -> Option<Claim> {
    let share = kernel_time::in_family(evidence, &segments, Family::CloseOpen).share_of(total);
    if share > MAX_OPEN {
        return None;
    }
    let caller = kernel_time::caller(evidence, &segments);
    let title =
        format!("{name} spends {COST} closing descriptors that are not open, in `{caller}`");
    let claim = Claim::new(&DOC, title, Vec::new())
        .at(Site::Entry)
        .sure(0.9)
        .time("time in these calls", total)
        .fact("share of this time spent closing open descriptors", share, "share")
        .facts(kernel_time::facts(evidence, &segments));
    Some(Claim { segments, ..claim })
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first, told};
    use culprit_model::{Cause, Recording};

    const CLOSE: &str = "main;start;close_all;libc.so.6!close;k:do_syscall_64";

    fn closing(inside: &str) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("starter", None, 0);
        for _ in 0..30 {
            scene.run(main, 2, Cause::CpuKernel, CLOSE);
            scene.run(main, 2, Cause::CpuKernel, &format!("{CLOSE};k:__x64_sys_close{inside}"));
            scene.run(main, 1, Cause::CpuUser, "main;start");
        }
        scene.done()
    }

    #[test]
    fn closing_what_is_not_open_is_told_with_its_caller() {
        let recording = closing(";k:file_close_fd");
        let found = first(&recording, "descriptor-close-loop").expect("found");
        assert_eq!(found.cost.0, 120_000_000);
        assert!(found.title.ends_with("in `program!close_all`"), "{}", found.title);
        assert!(told(&recording)[0].starts_with("descriptor-close-loop"));
    }

    #[test]
    fn closing_files_is_work() {
        assert!(first(&closing(";k:filp_flush"), "descriptor-close-loop").is_none());
        assert!(first(&closing(";k:fput_close_sync;k:__fput"), "descriptor-close-loop").is_none());
    }
}
