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
    claim: "Some user stacks are cut: callers are missing.",
    signature: "The loss table counts stacks that end before the thread's start function.",
    why: "Code built without frame pointers breaks the chain of frames that the kernel walks. Times \
          and causes are right; who called may be missing, so trees have wrong roots.",
    fix: "Let the recorder unwind with DWARF, or build with frame pointers. Generated code has no tables \
          that DWARF could read: there, the runtime must keep frame pointers (java \
          -XX:+PreserveFramePointer).",
    check: "culprit record --stacks dwarf -o second.culprit -- CMD",
    thresholds: &[],
};

/// The kinds of loss that this tells.
pub(crate) const KINDS: &[LossKind] = &[LossKind::StacksTruncated];

impl Rule for StacksTruncated {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let cut = losses::of_kinds(evidence, KINDS);
        let count: u64 = cut.iter().map(|l| l.count).fold(0, u64::saturating_add);
        let title = format!("{count} user stacks end before their thread's first function");
        losses::statement(&DOC, &title, &cut).into_iter().collect()
    }
}
