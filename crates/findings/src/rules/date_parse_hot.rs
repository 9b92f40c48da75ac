//! `date-parse-hot`: much CPU time goes into dates and times as text or calendar fields.

use culprit_model::Severity;

use crate::chore::{self, Spec};
use crate::evidence::{Chore, Evidence};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct DateParseHot;

/// Share of the path's CPU time from which it is reported.
const MIN_SHARE: f64 = 0.05;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "date-parse-hot",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "Converting dates and times from or to text or calendar fields takes a notable share of \
            CPU time.",
    signature: "CPU time on the critical path inside functions of date libraries: strptime, \
                strftime, mktime, localtime, and their equivalents in Rust, Go, CPython, Java and \
                JavaScript.",
    not_reported: &[],
    why: "General date code interprets a format for each value, looks up locale and time zone, and \
          checks every field. This takes some hundred ns to some us. Reading the digits of a fixed \
          format takes tens of ns.",
    fix: &[
        "Parse your data's one format by reading digits at fixed positions.",
        "Keep the last parsed date: neighbouring rows mostly share it.",
        "Store numbers instead of text.",
        "Convert only the values that are used.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the share of these functions in `culprit top \
            fixed.culprit` must be smaller than before",
    thresholds: &[Threshold {
        what: "share of CPU time on the critical path",
        value: MIN_SHARE,
        unit: "share",
        reason: "Few programs exist to handle dates, so a twentieth is worth reporting. At half, \
                 programs that print a few dates would be reported; at double, a log reader that \
                 spends 9 % on its time stamps would be missed.",
        source: "strptime of `%Y-%m-%d %H:%M:%S`: 0.2 to 0.5 us; fixed positions: 20 ns; glibc \
                 2.41",
    }],
};

/// What it looks for.
const SPEC: Spec = Spec {
    doc: &DOC,
    chore: Chore::Dates,
    doing: "converting dates and times",
    min_share: MIN_SHARE,
    min_interpreted: MIN_SHARE,
    at_most: Severity::High,
    may_be_purpose: false,
};

impl Rule for DateParseHot {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        chore::find(evidence, &SPEC)
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{beside, first};

    const STACK: &str = "main;load;libc.so.6!strptime;libc.so.6!__strptime_internal";

    #[test]
    fn the_caller_is_told_with_the_share() {
        let found = first(&beside(STACK, 10, 10), super::DOC.id).expect("found");
        assert!(
            found.title.starts_with("`program!load` spends 200 ms of 400 ms"),
            "{}",
            found.title
        );
        assert_eq!(&*found.at[0].function, "load");
        assert_eq!(found.cost.0, 200_000_000);
    }

    #[test]
    fn a_small_share_is_not() {
        assert!(first(&beside(STACK, 1, 40), super::DOC.id).is_none());
    }
}
