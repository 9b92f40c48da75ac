//! `number-format-hot`: converting numbers and formatting text takes much of the CPU time.

use culprit_model::Severity;

use crate::chore::{self, Spec};
use crate::evidence::{Chore, Evidence};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct NumberFormatHot;

/// Share of the CPU time on the critical path from which it is reported.
const MIN_SHARE: f64 = 0.10;

/// The same for code of interpreters, which do such work for their own steps too.
const MIN_INTERPRETED: f64 = 0.20;

/// Share of its time that the fix saves: a direct conversion must compute the digits as well.
const SAVES: f64 = 0.7;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "number-format-hot",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "Converting numbers to or from text, or formatting text, takes much of the CPU time.",
    signature: "CPU time on the critical path below `printf`, `scanf`, `strtod`, iostream \
                operators, `core::fmt`, `fmt`, `strconv`, `String.format` or float conversions.",
    not_reported: &["the system calls that write the text", "exceptions that a conversion throws"],
    why: "The program interprets a format again for each value, and checks locale and width. The \
          shortest exact digits of a floating-point number are costly. One number takes 100 to \
          1000 ns.",
    fix: &[
        "Write integers with a direct conversion: `std::to_chars`, `itoa`.",
        "Keep numbers binary between programs.",
        "Format only text that is read.",
        "Build one string for many values.",
        "Check the log level before formatting a log line.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the share of these functions in `culprit top \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "share of CPU time on the critical path",
            value: MIN_SHARE,
            unit: "share",
            reason: "Programs that print results spend some per cent on it. From a tenth on, the \
                     form of the output costs more than its content should. At half, tables of \
                     results are reported; at double, a writer of numbers at 15 % is missed.",
            source: "snprintf of `%f` 200 to 400 ns, std::to_chars 20 to 40 ns, glibc 2.41 and \
                     libstdc++ 14",
        },
        chore::below_an_interpreter(MIN_INTERPRETED),
        chore::PURPOSE,
        Threshold {
            what: "share of this time that the fix saves; it decides the severity",
            value: SAVES,
            unit: "share",
            reason: "The digits must be computed in any case. At half, only a cost above a quarter \
                     of the run is of medium severity; at 1, the text of ordinary answers is.",
            source: "three fields: snprintf 99 ns, std::to_chars 12 ns; `%.2f`: 252 and 58 ns, \
                     glibc 2.36; fmt.Fprintf 202 ns, strconv.AppendInt 38 ns; a float: 143 and 63 \
                     ns, Go 1.26",
        },
    ],
};

/// What it looks for.
const SPEC: Spec = Spec {
    doc: &DOC,
    chore: Chore::Numbers,
    doing: "converting numbers and formatting text",
    min_share: MIN_SHARE,
    min_interpreted: MIN_INTERPRETED,
    at_most: Severity::High,
    may_be_purpose: true,
};

impl Rule for NumberFormatHot {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let claims = chore::find(evidence, &SPEC).into_iter();
        claims.map(|claim| Claim { saves: SAVES, ..claim }).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{beside, first};
    use culprit_model::Severity;

    const STACK: &str = "main;dump;libc.so.6!snprintf;libc.so.6!__printf_fp_l";

    #[test]
    fn the_caller_is_told_with_the_share() {
        let found = first(&beside(STACK, 10, 10), super::DOC.id).expect("found");
        assert!(
            found.title.starts_with("`program!dump` spends 200 ms of 400 ms"),
            "{}",
            found.title
        );
        assert_eq!(&*found.at[0].function, "dump");
        assert_eq!(found.cost.0, 200_000_000);
    }

    #[test]
    fn the_severity_is_that_of_what_the_fix_saves_where_it_is_not_the_purpose() {
        let severity = |inside, outside| {
            first(&beside(STACK, inside, outside), super::DOC.id).map(|found| found.severity)
        };
        assert_eq!(severity(12, 13), Some(Severity::Info), "it may be what the program is for");
        assert_eq!(severity(13, 12), Some(Severity::High), "a direct conversion saves 36 %");
    }

    #[test]
    fn an_exception_on_the_way_is_no_formatting() {
        let thrown = "main;dump;std::__cxx11::stod(a);std::__throw_invalid_argument(a);\
                      libstdc++.so.6!__cxa_throw;libgcc_s.so.1!_Unwind_RaiseException";
        let recording = beside(thrown, 40, 10);
        assert!(first(&recording, super::DOC.id).is_none());
        let thrown = first(&recording, "exception-hot").expect("found");
        assert_eq!(&*thrown.at[0].function, "dump", "{thrown:?}");
    }

    #[test]
    fn a_small_share_is_not() {
        assert!(first(&beside(STACK, 1, 40), super::DOC.id).is_none());
    }
}
