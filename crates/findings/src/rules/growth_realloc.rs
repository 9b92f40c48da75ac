//! `growth-realloc`: much CPU time goes into growing containers.

use culprit_model::Severity;

use crate::allocations;
use crate::chore::{self, Spec};
use crate::evidence::{Chore, Evidence};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct GrowthRealloc;

/// Share of the path's CPU time from which it is reported.
const MIN_SHARE: f64 = 0.10;

/// The same below an interpreter, which does such work for its own steps too.
const MIN_INTERPRETED: f64 = 0.20;

/// Sampled allocations of growing containers per second of CPU time from which they can take such a share: a
/// growth copies, so each costs more than other allocations.
const MIN_ALLOCATIONS: f64 = 100.0;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "growth-realloc",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "Containers grow by moving to larger memory again and again, which takes a notable \
            share of CPU time.",
    signature: "CPU time on the critical path inside realloc, in growing or reserving vectors, \
                strings, lists and slices, and in rehashing. Copies, page faults and allocations \
                inside count too.",
    not_reported: &[],
    why: "Each step allocates a larger block, moves all elements, and frees the old block. \
          Containers that start empty take many small steps each time. Containers that grow by a \
          constant copy quadratically.",
    fix: &[
        "Reserve the final or a likely size.",
        "Keep and clear a container instead of making a new one.",
        "Grow by a factor instead of a constant: reserving a little more each time grows by a \
         constant.",
        "Use a small inline capacity where most containers are small.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the share of these functions in `culprit top \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "share of CPU time on the critical path",
            value: MIN_SHARE,
            unit: "share",
            reason: "A vector that doubles copies each element about once, some per cent of \
                     filling it. A tenth means many small containers or steps that are too small. \
                     At half, programs that build one large table would be reported; at double, a \
                     reader with 15 % would be missed.",
            source: "amortised cost of doubling; sequences given a starting capacity in measured \
                     transactions",
        },
        chore::below_an_interpreter(MIN_INTERPRETED),
        allocations::per_second(MIN_ALLOCATIONS),
    ],
};

/// What it looks for.
const SPEC: Spec = Spec {
    doc: &DOC,
    chore: Chore::Growth,
    doing: "growing containers",
    min_share: MIN_SHARE,
    min_interpreted: MIN_INTERPRETED,
    at_most: Severity::High,
    may_be_purpose: false,
};

impl Rule for GrowthRealloc {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let claims = chore::find(evidence, &SPEC);
        allocations::judge(evidence, Some(SPEC.chore), MIN_ALLOCATIONS, claims)
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{beside, first};

    const STACK: &str = "main;collect;libc.so.6!realloc;libc.so.6!__memcpy_avx_unaligned_erms";

    #[test]
    fn the_caller_is_told_with_the_share() {
        let found = first(&beside(STACK, 10, 10), super::DOC.id).expect("found");
        assert!(
            found.title.starts_with("`program!collect` spends 200 ms of 400 ms"),
            "{}",
            found.title
        );
        assert_eq!(&*found.at[0].function, "collect");
        assert_eq!(found.cost.0, 200_000_000);
    }

    #[test]
    fn a_small_share_is_not() {
        assert!(first(&beside(STACK, 1, 40), super::DOC.id).is_none());
    }
}
