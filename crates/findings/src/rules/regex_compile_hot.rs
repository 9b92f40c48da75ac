//! `regex-compile-hot`: much CPU time goes into compiling regular expressions.

use culprit_model::Severity;

use crate::chore::{self, Spec};
use crate::evidence::{Chore, Evidence};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct RegexCompileHot;

/// Share of the critical path's CPU time from which it is reported.
const MIN_SHARE: f64 = 0.05;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "regex-compile-hot",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "Compiling regular expressions takes a notable share of the CPU time.",
    signature: "CPU time on the critical path below functions that compile expressions: regcomp, \
                std::regex's constructor, Regex::new, regexp.Compile, PCRE, RE2 and similar ones.",
    not_reported: &["matching with a compiled expression"],
    why: "Compiling parses the expression and builds an automaton. This takes 10 us to \
          milliseconds; one match of a short text takes less than 1 us.",
    fix: &[
        "Compile each expression once and keep it in a static, a field or a cache.",
        "Compile on first use, if the start of the program is slow.",
        "Use plain string functions for fixed texts.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the share of these functions in `culprit top \
            fixed.culprit` must be smaller than before",
    thresholds: &[Threshold {
        what: "share of the critical path's CPU time",
        value: MIN_SHARE,
        unit: "share",
        reason: "A program that compiles each expression once spends a few milliseconds on it. At \
                 5 % it compiles repeatedly, or delays a start that others wait for. At double, a \
                 start with 8 % would be missed.",
        source: "regcomp of a 30-character expression 5 to 50 us, Regex::new 10 us to 1 ms",
    }],
};

/// What it looks for.
const SPEC: Spec = Spec {
    doc: &DOC,
    chore: Chore::Regex,
    doing: "compiling regular expressions",
    min_share: MIN_SHARE,
    min_interpreted: MIN_SHARE,
    at_most: Severity::High,
    may_be_purpose: false,
};

impl Rule for RegexCompileHot {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        chore::find(evidence, &SPEC)
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{beside, first};

    const STACK: &str = "main;check;libc.so.6!regcomp;libc.so.6!re_compile_internal";

    #[test]
    fn the_caller_is_told_with_the_share() {
        let found = first(&beside(STACK, 10, 10), super::DOC.id).expect("found");
        assert!(
            found.title.starts_with("`program!check` spends 200 ms of 400 ms"),
            "{}",
            found.title
        );
        assert_eq!(&*found.at[0].function, "check");
        assert_eq!(found.cost.0, 200_000_000);
    }

    #[test]
    fn a_small_share_is_not() {
        assert!(first(&beside(STACK, 1, 40), super::DOC.id).is_none());
    }
}
