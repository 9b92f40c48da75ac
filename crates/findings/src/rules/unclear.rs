//! `unclear`: the runs differ too much among themselves to compare two places.
//!
//! Told by `find_difference` and `find_measured` only: one recording has nothing to compare with.

use crate::evidence::Evidence;
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity};

/// The rule.
pub(crate) struct Unclear;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "unclear",
    group: Group::Comparison,
    specificity: Specificity::Statement,
    claim: "The runs are too few or too noisy to say whether the places differ.",
    signature: "The interval of the ratio of wall times reaches into and out of the band in which \
                runs count as equal, or there are too few runs for an interval.",
    why: "A difference smaller than the noise of the runs cannot be told from chance.",
    fix: "Make more runs (`--runs`), stop what else uses the machine, or give the command more to do \
          so that one run takes longer.",
    check: "culprit why --runs 20 -- CMD on a quiet machine",
    thresholds: &[],
};

impl Rule for Unclear {
    fn find(&self, _: &Evidence<'_>) -> Vec<Claim> {
        Vec::new()
    }
}
