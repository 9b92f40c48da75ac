//! `case-fold-hot`: much CPU time goes into letter case and collation.

use culprit_model::Severity;

use crate::chore::{self, Spec};
use crate::evidence::{Chore, Evidence};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct CaseFoldHot;

/// Share of the path's CPU time from which it is told.
const MIN_SHARE: f64 = 0.05;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "case-fold-hot",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    claim: "Converting letter case, comparing without case, or collating takes a notable share \
            of the time on a CPU.",
    signature: "CPU time on the measured thing's path below case conversion, comparison without case \
                and collation of the C library, C++, Rust, Go, CPython, Java, ICU and V8.",
    why: "Each look at a key walks over all of its characters, often through tables for all of \
          Unicode and into a new string, although most keys are ASCII, and most comparisons \
          would be decided by exact equality.",
    fix: "Fold once when a value enters and keep the folded form, compare exactly first and \
          without case only on a miss, use ASCII folding with Unicode as the fall-back, \
          compare bytes where no people's order is needed.",
    check: "culprit record -o fixed.culprit -- CMD; the share of these functions in `culprit top fixed.culprit`",
    thresholds: &[Threshold {
        what: "share of the path's CPU time",
        value: MIN_SHARE,
        unit: "share",
        reason: "Lower-casing keys took 5.9 % of a run that spent 0.6 % after a fix; at half, \
                     programs that fold what they print are told, at double that one is not.",
        source: "measured: keys of documents lower-cased on each access, before and after an ASCII \
                     path",
    }],
};

/// What it looks for.
const SPEC: Spec = Spec {
    doc: &DOC,
    chore: Chore::Cases,
    doing: "letter case and collation",
    min_share: MIN_SHARE,
    min_interpreted: MIN_SHARE,
    at_most: Severity::High,
    may_be_purpose: false,
};

impl Rule for CaseFoldHot {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        chore::find(evidence, &SPEC)
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{beside, first};

    const STACK: &str = "main;find;libc.so.6!__strcasecmp_avx2";

    #[test]
    fn the_caller_is_told_with_the_share() {
        let found = first(&beside(STACK, 10, 10), super::DOC.id).expect("found");
        assert!(found.title.starts_with("`program!find`: 200 ms of 400 ms"), "{}", found.title);
        assert_eq!(&*found.at[0].function, "find");
        assert_eq!(found.cost.0, 200_000_000);
    }

    #[test]
    fn a_small_share_is_not() {
        assert!(first(&beside(STACK, 1, 40), super::DOC.id).is_none());
    }
}
