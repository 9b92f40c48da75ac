//! `exception-hot`: throwing exceptions and writing down their stacks takes much of the CPU time.

use culprit_model::Severity;

use crate::chore::{self, Spec};
use crate::evidence::{Chore, Evidence};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct ExceptionHot;

/// Share of the critical path's CPU time from which it is reported.
const MIN_SHARE: f64 = 0.10;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "exception-hot",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "Throwing exceptions, or writing down the stacks they were thrown on, takes much of the \
            CPU time.",
    signature: "CPU time on the critical path below functions that throw and unwind: `__cxa_throw`, \
                `_Unwind_RaiseException`, `Throwable.<init>`, `fillInStackTrace`, `IL_Throw`, \
                V8's `Error`, Ruby's `raise`, `panic`. Functions that write down a stack count too: \
                `StackWalker`, `traceback`, `caller`, `runtime.Callers`.",
    not_reported: &["what the handler of an exception does"],
    why: "An exception is made for what seldom happens. To throw one, the runtime walks up the stack \
          and often writes it down. That takes 1 to 50 us, more on deep stacks. An ordinary \
          return takes a few ns.",
    fix: &[
        "Do not throw for what happens often: check the input first, or return the failure as a \
         value (`TryParse`, `std::from_chars`, `Optional`, error codes).",
        "Throw once outside the loop, not once per item.",
        "Java: override `fillInStackTrace` in exceptions that are only caught, or construct them \
         without a writable stack trace.",
        "Logging: leave out the caller's file and line, which need a stack for each message.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the share of these functions in `culprit top \
            fixed.culprit` must be smaller than before",
    thresholds: &[Threshold {
        what: "share of the critical path's CPU time",
        value: MIN_SHARE,
        unit: "share",
        reason: "Exceptions that are exceptions take far less than 1 %. From a tenth on, they are an \
                 ordinary way through the program. At half, a service with a few failing requests \
                 is reported; at double, a parser that spends 15 % on them is missed.",
        source: "CPU time of `throw` and `catch` over three frames: 1.9 us, GCC 12; over 20 frames: \
                 2.1 us, OpenJDK 17",
    }],
};

/// What it looks for.
const SPEC: Spec = Spec {
    doc: &DOC,
    chore: Chore::Throw,
    doing: "throwing exceptions and writing down stacks",
    min_share: MIN_SHARE,
    min_interpreted: MIN_SHARE,
    at_most: Severity::High,
    may_be_purpose: false,
};

impl Rule for ExceptionHot {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        chore::find(evidence, &SPEC)
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{beside, first};

    const STACKS: [&str; 3] = [
        "main;check;libstdc++.so.6!__cxa_throw;libgcc_s.so.1!_Unwind_RaiseException",
        "main;check;std::__cxx11::stod(a);std::__throw_invalid_argument(a);\
         libstdc++.so.6!__cxa_throw;libgcc_s.so.1!_Unwind_RaiseException",
        "main;check;java.lang.Integer.parseInt;java.lang.NumberFormatException.forInputString;\
         java.lang.Throwable.<init>;libjvm.so!java_lang_Throwable::fill_in_stack_trace(a)",
    ];

    #[test]
    fn who_throws_is_reported_whatever_the_library_was_called_for() {
        for stack in STACKS {
            let found = first(&beside(stack, 10, 10), super::DOC.id).expect(stack);
            assert!(
                found.title.starts_with("`program!check` spends 200 ms of 400 ms"),
                "{}",
                found.title
            );
            assert_eq!(&*found.at[0].function, "check");
        }
    }

    #[test]
    fn a_few_exceptions_are_not_reported() {
        assert!(first(&beside(STACKS[0], 1, 40), super::DOC.id).is_none());
    }

    #[test]
    fn the_conversion_itself_is_no_exception() {
        let stack = "main;check;std::__cxx11::stod(a);libc.so.6!strtod";
        assert!(first(&beside(stack, 10, 10), super::DOC.id).is_none());
    }
}
