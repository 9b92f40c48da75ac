//! `alloc-churn`: much CPU time goes into allocating and freeing memory.

use culprit_model::Severity;

use crate::chore::{self, Spec};
use crate::evidence::{Chore, Evidence};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct AllocChurn;

/// Share of the path's CPU time from which it is told.
const MIN_SHARE: f64 = 0.15;

/// The same below an interpreter, which does such work for its own steps too.
const MIN_INTERPRETED: f64 = 0.35;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "alloc-churn",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    claim: "Memory is allocated and freed at such a rate that the allocator takes a notable \
            share of the time on a CPU.",
    signature: "CPU time on the measured thing's path below malloc and free, operator new and \
                delete, the Rust and Go allocators, CPython's object allocator, jemalloc, mimalloc, \
                tcmalloc, with the kernel's work for them.",
    why: "Each block costs 20 to 100 ns to get and give back, more where threads share an \
          arena or blocks go back to the kernel, and new blocks are cold in the caches.",
    fix: "Reuse buffers and objects, keep temporaries on the stack, allocate many at once \
          (arena, pool), avoid boxing and temporary arrays for calls. `culprit record --alloc` \
          gives calls and bytes by stack.",
    check: "culprit record -o fixed.culprit -- CMD; the share of these functions in `culprit top fixed.culprit`",
    thresholds: &[
        Threshold {
            what: "share of the path's CPU time",
            value: MIN_SHARE,
            unit: "share",
            reason: "Programs spend about 7 % in the allocator; twice that is churn. At half, ordinary \
                     object-oriented programs are told, at double a program at 25 % is not. Interpreters \
                     allocate for every value, so that their threshold is higher.",
            source: "fleet-wide shares of allocation, copying, hashing and serialisation, each below 8 %: \
                     Kanev et al., Profiling a warehouse-scale computer, ISCA 2015",
        },
        chore::below_an_interpreter(MIN_INTERPRETED),
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
        chore::find(evidence, &SPEC)
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{beside, first};

    const STACK: &str = "main;request;libc.so.6!malloc;libc.so.6!_int_malloc";

    #[test]
    fn the_caller_is_told_with_the_share() {
        let found = first(&beside(STACK, 10, 10), super::DOC.id).expect("found");
        assert!(found.title.starts_with("`program!request`: 200 ms of 400 ms"), "{}", found.title);
        assert_eq!(&*found.at[0].function, "request");
        assert_eq!(found.cost.0, 200_000_000);
    }

    #[test]
    fn a_small_share_is_not() {
        assert!(first(&beside(STACK, 1, 40), super::DOC.id).is_none());
    }
}
