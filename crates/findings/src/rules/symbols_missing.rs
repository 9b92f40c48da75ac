//! `symbols-missing`: functions have no name.
//!
//! Told only when unnamed code holds enough of the time: nearly every system has some stripped
//! library that does not matter.

use culprit_model::{Cause, LossKind, Nanos};

use crate::evidence::Evidence;
use crate::losses;
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct SymbolsMissing;

/// Share of CPU time in unnamed functions from which it is told.
const MIN_UNNAMED: f64 = 0.02;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "symbols-missing",
    group: Group::Quality,
    specificity: Specificity::Statement,
    claim: "A part of the code has no function names.",
    signature: "Stacks whose leaf has no symbol hold a share of the CPU time, and the loss table says \
                which modules have none.",
    why: "A stripped module, generated code without a map, or a kernel that hides its addresses gives \
          addresses only. Rules that know mechanisms by function names cannot speak about them.",
    fix: "Supply the symbols: debug packages, the unstripped file, a perf map of the runtime.",
    check: "culprit record -o second.culprit -- CMD, with the symbols in place",
    thresholds: &[Threshold {
        what: "share of CPU time in unnamed functions",
        value: MIN_UNNAMED,
        unit: "share",
        reason: "Below it no listed finding can hide there: twice the listing share.",
        source: "the listing share of 1 %",
    }],
};

/// The kinds of loss that this tells.
pub(crate) const KINDS: &[LossKind] = &[
    LossKind::ModulesUnreadable,
    LossKind::SymbolsMissing,
    LossKind::KernelSymbolsMissing,
    LossKind::AddressesUnknown,
    LossKind::NamesAmbiguous,
];

impl Rule for SymbolsMissing {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let cpu =
            |i: &&culprit_model::Interval| matches!(i.cause, Cause::CpuUser | Cause::CpuKernel);
        let all: Nanos = evidence.recording.intervals.iter().filter(cpu).map(|i| i.duration).sum();
        let unnamed: Nanos = evidence
            .recording
            .intervals
            .iter()
            .filter(cpu)
            .filter(|i| is_unnamed(evidence, i))
            .map(|i| i.duration)
            .sum();
        let share = unnamed.share_of(all);
        let missing = losses::of_kinds(evidence, KINDS);
        if share < MIN_UNNAMED {
            return Vec::new();
        }
        let title = format!("{unnamed} of {all} on a CPU is in functions without a name");
        losses::statement(&DOC, &title, &missing)
            .map(|c| c.fact("share of CPU time in unnamed functions", share, "share"))
            .into_iter()
            .collect()
    }
}

fn is_unnamed(evidence: &Evidence<'_>, interval: &culprit_model::Interval) -> bool {
    let recording = evidence.recording;
    let leaf = interval.stack.and_then(|s| recording.stacks.get(s.index()));
    leaf.is_some_and(|s| recording.frame(s.frame).function.as_str() == "?")
}
