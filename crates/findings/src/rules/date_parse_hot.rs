//! `date-parse-hot`: much CPU time goes into dates and times as text or calendar fields.

use culprit_model::Severity;

use crate::chore::{self, Spec};
use crate::evidence::{Chore, Evidence};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct DateParseHot;

/// Share of the path's CPU time from which it is told.
const MIN_SHARE: f64 = 0.05;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "date-parse-hot",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    claim: "Turning text into dates and times, or dates into text or calendar fields, takes a \
            notable share of the time on a CPU.",
    signature: "CPU time on the measured thing's path below functions of date libraries: strptime, \
                strftime, mktime, localtime, and their like in Rust, Go, CPython, Java and \
                JavaScript.",
    why: "General date code interprets a format for each value, consults locale and time zone, \
          and checks every field: some hundred ns to some us, where a fixed format takes tens \
          of ns by reading digits at known places.",
    fix: "Parse the one format that the data has at fixed places, keep the last date \
          (neighbouring rows mostly share it), store numbers instead of text, or convert only \
          what is asked for.",
    check: "culprit record -o fixed.culprit -- CMD; the share of these functions in `culprit top fixed.culprit`",
    thresholds: &[Threshold {
        what: "share of the path's CPU time",
        value: MIN_SHARE,
        unit: "share",
        reason: "Few programs are about dates, so that a twentieth is worth a look; at half, reports \
                     of a few dates are told, at double a log reader that spends 9 % on its time stamps \
                     is not.",
        source: "strptime of `%Y-%m-%d %H:%M:%S`, 0.2 to 0.5 us, against 20 ns for fixed places, \
                     glibc 2.41",
    }],
};

/// What it looks for.
const SPEC: Spec = Spec {
    doc: &DOC,
    chore: Chore::Dates,
    doing: "dates and times as text or calendar fields",
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
        assert!(found.title.starts_with("`program!load`: 200 ms of 400 ms"), "{}", found.title);
        assert_eq!(&*found.at[0].function, "load");
        assert_eq!(found.cost.0, 200_000_000);
    }

    #[test]
    fn a_small_share_is_not() {
        assert!(first(&beside(STACK, 1, 40), super::DOC.id).is_none());
    }
}
