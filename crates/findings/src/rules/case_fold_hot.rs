//! `case-fold-hot`: much CPU time goes into letter case and collation.

use culprit_model::Severity;

use crate::chore::{self, Spec};
use crate::evidence::{Chore, Evidence};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct CaseFoldHot;

/// Share of the path's CPU time from which it is reported.
const MIN_SHARE: f64 = 0.05;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "case-fold-hot",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "Converting letter case, comparing text without case, or collating takes a notable \
            share of CPU time.",
    signature: "CPU time on the critical path inside case conversion, case-insensitive comparison \
                or collation. Known functions: the C library, C++, Rust, Go, CPython, Java, ICU \
                and V8.",
    not_reported: &[],
    why: "Each conversion or comparison walks over all characters of a key, often through Unicode \
          tables and into a new string. Most keys are ASCII, and exact equality would decide most \
          comparisons.",
    fix: &[
        "Fold the case once when a value enters, and keep the folded form.",
        "Compare exactly first, and without case only when that fails.",
        "Use ASCII folding, with Unicode folding as the fallback.",
        "Compare bytes where no language's sort order is needed.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the share of these functions in `culprit top \
            fixed.culprit` must be smaller than before",
    thresholds: &[Threshold {
        what: "share of CPU time on the critical path",
        value: MIN_SHARE,
        unit: "share",
        reason: "In a measured run, lower-casing keys took 5.9 % before a fix and 0.6 % after it. \
                 At half, programs that fold what they print would be reported; at double, the \
                 measured run would be missed.",
        source: "measured: keys of documents lower-cased on each access, before and after an ASCII \
                 path",
    }],
};

/// What it looks for.
const SPEC: Spec = Spec {
    doc: &DOC,
    chore: Chore::Cases,
    doing: "case conversion and collation",
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
        assert!(
            found.title.starts_with("`program!find` spends 200 ms of 400 ms"),
            "{}",
            found.title
        );
        assert_eq!(&*found.at[0].function, "find");
        assert_eq!(found.cost.0, 200_000_000);
    }

    #[test]
    fn a_small_share_is_not() {
        assert!(first(&beside(STACK, 1, 40), super::DOC.id).is_none());
    }
}
