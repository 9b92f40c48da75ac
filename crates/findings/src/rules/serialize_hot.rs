//! `serialize-hot`: much CPU time goes into reading or writing JSON, XML, base64 or other formats.

use culprit_model::Severity;

use crate::chore::{self, Spec};
use crate::evidence::{Chore, Evidence};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct SerializeHot;

/// Share of the critical path's CPU time from which it is reported.
const MIN_SHARE: f64 = 0.20;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "serialize-hot",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "Reading or writing JSON, XML, base64, serialised objects or character encodings takes \
            much of the CPU time.",
    signature: "CPU time on the critical path below (de)serialisers: jansson, cJSON, simdjson, \
                expat, libxml2, serde, encoding/json, CPython's json and pickle, Jackson, V8's \
                JSON, iconv. With lower confidence also in functions of the program whose names \
                say so (`json_escape`, `base64_encode`).",
    not_reported: &[],
    why: "Every value is converted to text and back, character by character, most of them with an \
          allocation. This may be the program's purpose. Severity is therefore medium at most, and \
          info below half of the CPU time.",
    fix: &[
        "Convert only the parts that you need: streaming, lazy or partial parsing.",
        "Do not convert back and forth between two parts of the same program.",
        "Keep the converted result.",
        "Use a binary format or a faster library.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the share of these functions in `culprit top \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "share of the critical path's CPU time",
            value: MIN_SHARE,
            unit: "share",
            reason: "Programs that exchange documents rarely spend more than 10 % on them; 20 % \
                     decides about the run. At half, every service would be reported; at double, \
                     only converters.",
            source: "fleet-wide shares of allocation, copying, hashing and serialisation, each \
                     below 8 %: Kanev et al., Profiling a warehouse-scale computer, ISCA 2015",
        },
        chore::PURPOSE,
    ],
};

/// What it looks for.
const SPEC: Spec = Spec {
    doc: &DOC,
    chore: Chore::Serialize,
    doing: "reading or writing JSON, XML, base64 or other encodings",
    min_share: MIN_SHARE,
    min_interpreted: MIN_SHARE,
    at_most: Severity::Medium,
    may_be_purpose: true,
};

impl Rule for SerializeHot {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        chore::find(evidence, &SPEC)
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{beside, first};
    use culprit_model::Severity;

    const STACK: &str = "main;answer;libjansson.so.4!json_dumps;libjansson.so.4!do_dump";

    #[test]
    fn the_caller_is_told_with_the_share() {
        let found = first(&beside(STACK, 10, 10), super::DOC.id).expect("found");
        assert!(
            found.title.starts_with("`program!answer` spends 200 ms of 400 ms"),
            "{}",
            found.title
        );
        assert_eq!(&*found.at[0].function, "answer");
        assert_eq!(found.cost.0, 200_000_000);
    }

    #[test]
    fn what_may_be_the_purpose_is_minor_below_half_of_the_time() {
        let severity = |inside, outside| {
            first(&beside(STACK, inside, outside), super::DOC.id).map(|found| found.severity)
        };
        assert_eq!(severity(10, 15), Some(Severity::Info));
        assert_eq!(severity(15, 10), Some(Severity::Medium));
    }

    #[test]
    fn a_function_that_says_so_is_told_with_less_confidence() {
        let own = first(&beside("main;answer;to_json", 10, 10), super::DOC.id).expect("found");
        let known = first(&beside(STACK, 10, 10), super::DOC.id).expect("found");
        assert_eq!(&*own.at[0].function, "to_json");
        assert!(own.confidence < known.confidence * 0.7, "{}", own.confidence);
        assert!(first(&beside("main;answer;to_jsonp_mode", 10, 10), super::DOC.id).is_none());
    }

    #[test]
    fn a_small_share_is_not() {
        assert!(first(&beside(STACK, 1, 40), super::DOC.id).is_none());
    }
}
