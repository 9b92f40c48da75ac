//! `no-difference`: two places are equally fast, within a stated bound.
//!
//! Only `find_difference` and `find_measured` report it: one recording has no other side.

use crate::evidence::Evidence;
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity};

/// The rule.
pub(crate) struct NoDifference;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "no-difference",
    group: Group::Comparison,
    specificity: Specificity::Statement,
    yields_to: &[],
    claim: "The command, or a probe's work, takes the same time in both places, within the stated \
            bound.",
    signature: "The confidence interval of the ratio of wall times lies wholly inside the band in \
                which runs count as equal.",
    not_reported: &["an interval that reaches outside this band (`unclear`)"],
    why: "For this command, the place adds less time than the bound.",
    fix: &[
        "Leave the place as it is.",
        "If the command is slow in both places, read the findings of either recording.",
    ],
    check: "culprit why --runs 20 -- CMD; more runs must give a narrower bound",
    thresholds: &[],
};

impl Rule for NoDifference {
    fn find(&self, _: &Evidence<'_>) -> Vec<Claim> {
        Vec::new()
    }
}
