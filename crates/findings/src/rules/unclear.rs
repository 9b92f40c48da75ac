//! `unclear`: the runs differ too much among themselves to compare two places.
//!
//! Only `find_difference` and `find_measured` report it: one recording has nothing to compare with.

use crate::evidence::Evidence;
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity};

/// The rule.
pub(crate) struct Unclear;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "unclear",
    group: Group::Comparison,
    specificity: Specificity::Statement,
    yields_to: &[],
    claim: "The runs are too few or too noisy to say whether the places differ.",
    signature: "The confidence interval of the ratio of wall times crosses an edge of the band in \
                which runs count as equal. Or there are too few runs for an interval.",
    not_reported: &[],
    why: "A difference smaller than the noise of the runs cannot be distinguished from chance.",
    fix: &[
        "Make more runs: `--runs N`.",
        "Stop other programs on the machine.",
        "Give the command more to do, so that one run takes longer.",
    ],
    check: "culprit why --runs 20 -- CMD; on a quiet machine the verdict must be clear",
    thresholds: &[],
};

impl Rule for Unclear {
    fn find(&self, _: &Evidence<'_>) -> Vec<Claim> {
        Vec::new()
    }
}
