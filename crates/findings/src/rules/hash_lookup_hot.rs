//! `hash-lookup-hot`: much CPU time goes into lookups in hash tables or trees.

use culprit_model::Severity;

use crate::chore::{self, Spec};
use crate::evidence::{Chore, Evidence};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct HashLookupHot;

/// Share of the path's CPU time from which it is reported.
const MIN_SHARE: f64 = 0.20;

/// The same below an interpreter, which does such work for its own steps too.
const MIN_INTERPRETED: f64 = 0.30;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "hash-lookup-hot",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "Hashing and lookups in maps and sets take a large share of CPU time.",
    signature: "CPU time on the critical path inside maps and sets of C++, Rust, Go, CPython, Java \
                and V8, and inside their hash functions.",
    not_reported: &[],
    why: "A lookup hashes the whole key, then reads memory that is not in the caches; a tree does \
          so at each level. Looking up the same key several times (test, fetch, store) costs this \
          each time.",
    fix: &[
        "Look the key up once and keep the reference (entry API, iterator).",
        "Use indices or small vectors instead of maps.",
        "Use cheaper keys, or a faster hash where no attacker chooses the keys.",
        "Use a hash table instead of a tree.",
        "Give the table the right size from the start.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the share of these functions in `culprit top \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "share of CPU time on the critical path",
            value: MIN_SHARE,
            unit: "share",
            reason: "Programs that use maps throughout spend below a tenth; at a fifth the maps \
                     are the algorithm. At half, ordinary programs would be reported; at double, \
                     only joins and caches.",
            source: "Kanev et al., Profiling a warehouse-scale computer, ISCA 2015: across a \
                     fleet, allocation, copying, hashing and serialisation each take below 8 % of \
                     CPU time",
        },
        chore::below_an_interpreter(MIN_INTERPRETED),
        chore::PURPOSE,
    ],
};

/// What it looks for.
const SPEC: Spec = Spec {
    doc: &DOC,
    chore: Chore::Hash,
    doing: "lookups in hash tables or trees",
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
        assert!(
            found.title.starts_with("`program!join` spends 200 ms of 400 ms"),
            "{}",
            found.title
        );
        assert_eq!(&*found.at[0].function, "join");
        assert_eq!(found.cost.0, 200_000_000);
    }

    #[test]
    fn a_small_share_is_not() {
        assert!(first(&program(1, 40), super::DOC.id).is_none());
    }
}
