//! `alloc-churn`: much CPU time goes into allocating and freeing memory.

use culprit_model::Severity;

use crate::allocations;
use crate::chore::{self, Spec};
use crate::evidence::{Chore, Evidence};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct AllocChurn;

/// Share of the path's CPU time from which it is reported.
const MIN_SHARE: f64 = 0.15;

/// The same below an interpreter, which does such work for its own steps too.
const MIN_INTERPRETED: f64 = 0.35;

/// Sampled allocations per second of CPU time from which they can take such a share.
const MIN_ALLOCATIONS: f64 = 50_000.0;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "alloc-churn",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "The program allocates and frees memory so often that the allocator takes a large share \
            of its CPU time.",
    signature: "CPU time on the critical path in the allocator, plus the kernel time that it causes. \
                Known are malloc and free, new and delete, jemalloc, mimalloc, tcmalloc, and the \
                allocators of Rust, Go and CPython.",
    not_reported: &[],
    why: "Allocating and freeing one block costs 20 to 100 ns. It costs more when threads compete for \
          one heap, or when blocks go back to the kernel. Large new blocks are not yet in the CPU \
          cache.",
    fix: &[
        "Find the callers, as root: `culprit record --alloc -o allocs.culprit -- CMD`. Then `culprit top \
         --metric allocs allocs.culprit` lists the functions that allocate most often, with the error of each \
         estimate.",
        "Reuse buffers and objects instead of allocating new ones.",
        "Keep short-lived values in local variables, not on the heap.",
        "Allocate many objects at once from one large block: an arena or a pool.",
        "Do not wrap numbers in objects. Do not build an array only to pass arguments.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `alloc-churn` in `culprit findings \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "share of CPU time on the critical path",
            value: MIN_SHARE,
            unit: "share",
            reason: "Across a fleet, the allocator takes less than 8 % of the CPU time; twice that is \
                     churn. At half, ordinary object-oriented programs would be reported; at \
                     double, a program at 25 % would be missed. Interpreters allocate for every \
                     value, so their threshold is higher.",
            source: "Kanev et al., Profiling a warehouse-scale computer, ISCA 2015: across a \
                     fleet, allocation, copying, hashing and serialisation each take below 8 % of \
                     CPU time",
        },
        chore::below_an_interpreter(MIN_INTERPRETED),
        allocations::per_second(MIN_ALLOCATIONS),
    ],
};

/// What it looks for.
const SPEC: Spec = Spec {
    doc: &DOC,
    chore: Chore::Allocate,
    doing: "allocating and freeing memory",
    min_share: MIN_SHARE,
    min_interpreted: MIN_INTERPRETED,
    at_most: Severity::High,
    may_be_purpose: false,
};

impl Rule for AllocChurn {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        allocations::judge(evidence, None, MIN_ALLOCATIONS, chore::find(evidence, &SPEC))
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{beside, first};

    const STACK: &str = "main;request;libc.so.6!malloc;libc.so.6!_int_malloc";

    #[test]
    fn the_caller_is_told_with_the_share() {
        let found = first(&beside(STACK, 10, 10), super::DOC.id).expect("found");
        assert!(
            found.title.starts_with("`program!request` spends 200 ms of 400 ms"),
            "{}",
            found.title
        );
        assert_eq!(&*found.at[0].function, "request");
        assert_eq!(found.cost.0, 200_000_000);
    }

    #[test]
    fn a_small_share_is_not() {
        assert!(first(&beside(STACK, 1, 40), super::DOC.id).is_none());
    }
}
