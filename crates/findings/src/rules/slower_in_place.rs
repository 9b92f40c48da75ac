//! `slower-in-place`: the same command takes longer in one place than in another.
//!
//! Only `find_difference` and `find_measured` report it: one recording has nothing to compare with.

use crate::evidence::Evidence;
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity};

/// The rule.
pub(crate) struct SlowerInPlace;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "slower-in-place",
    group: Group::Comparison,
    specificity: Specificity::Statement,
    yields_to: &[],
    claim: "The command, or a probe's work, takes longer in this place than in the baseline place.",
    signature: "The runs alternate between the places. The confidence interval of the ratio of \
                their wall times lies wholly above the band in which runs count as equal.",
    not_reported: &[],
    why: "The difference is real within the stated confidence. The other findings explain where \
          the extra time goes.",
    fix: &["Begin with the finding that explains most of the extra time."],
    check: "culprit why -- CMD; after the change the ratio must be lower",
    thresholds: &[],
};

impl Rule for SlowerInPlace {
    fn find(&self, _: &Evidence<'_>) -> Vec<Claim> {
        Vec::new()
    }
}
