//! Rules that name what the kernel spends a program's time on: one family of kernel functions each.

use culprit_model::{Cause, Nanos};

use crate::evidence::{Doing, Evidence, Family, SegmentId};
use crate::kernel_time;
use crate::rule::{COST, Claim, PERCENT, RuleDoc, Site, Threshold};

/// One such rule.
pub(crate) struct KernelCalls {
    /// Its page.
    pub(crate) doc: &'static RuleDoc,
    /// The kernel's functions: of any of these.
    pub(crate) families: &'static [Family],
    /// What the program's function does in them: `reads directories`.
    pub(crate) does: &'static str,
    /// Whether waits in them count, beside the CPU time.
    pub(crate) waits: bool,
    /// Share of the program's CPU time on the path from which it is found; zero for any.
    pub(crate) of_cpu: f64,
    /// Share of the wall time from which it is listed.
    pub(crate) listed_from: f64,
}

impl KernelCalls {
    /// A claim for each program that spends time in the family.
    pub(crate) fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let inside = evidence.doing(|doing| self.holds(evidence, doing));
        if inside.is_empty() {
            return Vec::new();
        }
        let segments = kernel_time::with_entries(evidence, inside);
        let programs = kernel_time::by_busy_program(evidence, &segments, self.of_cpu).into_iter();
        programs.map(|(t, _)| self.claim(evidence, &t.key.name, t.segments, t.total)).collect()
    }

    fn holds(&self, evidence: &Evidence<'_>, doing: &Doing) -> bool {
        let counts = if self.waits {
            kernel_time::is_kernel_work(doing.cause)
        } else {
            doing.cause == Cause::CpuKernel
        };
        let inside = |family: &Family| evidence.stacks.in_family(doing.stack, *family);
        counts && self.families.iter().any(inside)
    }

    fn claim(
        &self,
        evidence: &Evidence<'_>,
        name: &str,
        segments: Vec<SegmentId>,
        total: Nanos,
    ) -> Claim {
        let caller = kernel_time::caller(evidence, &segments);
        let whole = evidence.chain.whole;
        let does = self.does;
        let title = format!("{name}: `{caller}` {does} for {COST} of {whole} ({PERCENT})");
        let claim = Claim::new(self.doc, title, Vec::new())
            .share_of(whole)
            .at(Site::Entry)
            .sure(0.9)
            .time("time in these kernel functions", total)
            .time("of this, blocked", kernel_time::waited(evidence, &segments))
            .facts(kernel_time::facts(evidence, &segments));
        Claim { segments, listed_from: self.listed_from, ..claim }
    }
}

/// The threshold on samples and waits that all these rules have.
pub(crate) const MIN_LOOKS: Threshold = Threshold {
    what: "CPU samples and waits",
    value: kernel_time::MIN_LOOKS as f64,
    unit: "count",
    reason: "With ten, the error of the time is about one third.",
    source: "Poisson distribution",
};

/// The threshold on the share of CPU time of rules that count no waits.
pub(crate) const fn of_cpu(share: f64) -> Threshold {
    Threshold {
        what: "share of the program's CPU time on the critical path",
        value: share,
        unit: "share",
        reason: "Every program makes some of these calls. At half, event loops under load would be \
                 reported; at double, a fifth of the CPU time could go unseen.",
        source: "definition",
    }
}
