//! `stacks-truncated`: user stacks end before the thread's first function.

use culprit_model::LossKind;

use crate::evidence::Evidence;
use crate::losses;
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity};

/// The rule.
pub(crate) struct StacksTruncated;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "stacks-truncated",
    group: Group::Quality,
    specificity: Specificity::Statement,
    yields_to: &[],
    claim: "Some user stacks are cut: callers are missing.",
    signature: "The loss table counts user stacks that end before the thread's start function.",
    not_reported: &[],
    why: "Code built without frame pointers breaks the chain of frames that the kernel walks. \
          Times and causes are right. Callers may be missing, so call trees have wrong roots.",
    fix: &[
        "Record with DWARF unwinding: `culprit record --stacks dwarf -o dwarf.culprit -- CMD`.",
        "Build with frame pointers: `-fno-omit-frame-pointer`.",
        "For generated code use frame pointers (`java -XX:+PreserveFramePointer`): it has no DWARF \
         tables.",
    ],
    check: "culprit record --stacks dwarf -o second.culprit -- CMD; `culprit findings \
            second.culprit` must show fewer cut stacks",
    thresholds: &[],
};

/// The kinds of loss that this finding reports.
pub(crate) const KINDS: &[LossKind] = &[LossKind::StacksTruncated];

impl Rule for StacksTruncated {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let cut = losses::of_kinds(evidence, KINDS);
        let count: u64 = cut.iter().map(|l| l.count).fold(0, u64::saturating_add);
        let title = format!("{count} user stacks are cut: their callers are missing");
        losses::statement(&DOC, &title, &cut).into_iter().collect()
    }
}
