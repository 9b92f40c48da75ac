//! `hash-lookup-hot`: much CPU time goes into looking up in hash tables or trees.

use culprit_model::Severity;

use crate::chore::{self, Spec};
use crate::evidence::{Chore, Evidence};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct HashLookupHot;

/// Share of the path's CPU time from which it is told.
const MIN_SHARE: f64 = 0.20;

/// The same below an interpreter, which does such work for its own steps too.
const MIN_INTERPRETED: f64 = 0.30;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "hash-lookup-hot",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    claim: "Hashing and looking up in maps and sets takes much of the time on a CPU.",
    signature: "CPU time on the measured thing's path below maps and sets of C++, Rust, Go, CPython, \
                Java, V8, and below their hash functions.",
    why: "A look-up hashes the whole key, then reads memory at a place that caches do not \
          hold; a tree does so at each level. Look-ups of the same key twice (test, then \
          fetch, then store) pay each time.",
    fix: "Look up once and keep the reference (entry API, iterator), use indices or small \
          vectors instead of maps, cheaper keys or a faster hash where nobody attacks, a hash \
          table instead of a tree, a table with the right size from the start.",
    check: "culprit record -o fixed.culprit -- CMD; the share of these functions in `culprit top fixed.culprit`",
    thresholds: &[
        Threshold {
            what: "share of the path's CPU time",
            value: MIN_SHARE,
            unit: "share",
            reason: "Programs that use maps throughout spend below a tenth; at a fifth the maps are the \
                     algorithm. At half, ordinary programs are told, at double only joins and caches.",
            source: "fleet-wide shares of allocation, copying, hashing and serialisation, each below 8 %: \
                     Kanev et al., Profiling a warehouse-scale computer, ISCA 2015",
        },
        chore::below_an_interpreter(MIN_INTERPRETED),
        chore::PURPOSE,
    ],
};

/// What it looks for.
const SPEC: Spec = Spec {
    doc: &DOC,
    chore: Chore::Hash,
    doing: "looking up in hash tables or trees",
    min_share: MIN_SHARE,
    min_interpreted: MIN_INTERPRETED,
    at_most: Severity::Medium,
    may_be_purpose: true,
};

impl Rule for HashLookupHot {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        chore::find(evidence, &SPEC)
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first};
    use culprit_model::{Cause, Recording};

    fn program(in_it: u64, beside: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        for _ in 0..20 {
            let stack =
                "main;join;std::_Hashtable<int, x>::find(int const&);std::_Hash_bytes(void const*)";
            scene.run(main, in_it, Cause::CpuUser, stack);
            scene.run(main, beside, Cause::CpuUser, "main;compute");
        }
        scene.done()
    }

    #[test]
    fn the_caller_is_told_with_the_share() {
        let found = first(&program(10, 10), super::DOC.id).expect("found");
        assert!(found.title.starts_with("`program!join`: 200 ms of 400 ms"), "{}", found.title);
        assert_eq!(&*found.at[0].function, "join");
        assert_eq!(found.cost.0, 200_000_000);
    }

    #[test]
    fn a_small_share_is_not() {
        assert!(first(&program(1, 40), super::DOC.id).is_none());
    }
}
