//! `no-difference`: two places are equally fast, within a stated bound.
//!
//! Told by `find_difference` and `find_measured` only: one recording has nothing to compare with.

use crate::evidence::Evidence;
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity};

/// The rule.
pub(crate) struct NoDifference;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "no-difference",
    group: Group::Comparison,
    specificity: Specificity::Statement,
    claim: "The command, or a probe's work, takes the same in both places, within the stated bound.",
    signature: "The interval of the ratio of wall times lies wholly inside the band in which runs \
                count as equal. Not having shown a difference is not enough: that is `unclear`.",
    why: "Whatever the place adds is smaller than the bound for this command.",
    fix: "Nothing is to be done in the place. If the command is slow in both, look at the findings of \
          either recording.",
    check: "culprit why --runs 20 -- CMD gives a narrower bound",
    thresholds: &[],
};

impl Rule for NoDifference {
    fn find(&self, _: &Evidence<'_>) -> Vec<Claim> {
        Vec::new()
    }
}
