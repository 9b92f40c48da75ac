//! `copy-hot`: much CPU time goes into copying memory or joining strings.

use culprit_model::Severity;

use crate::chore::{self, Spec};
use crate::evidence::{Chore, Evidence};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct CopyHot;

/// Share of the path's CPU time from which it is reported.
const MIN_SHARE: f64 = 0.20;

/// The same below an interpreter, which does such work for its own steps too.
const MIN_INTERPRETED: f64 = 0.30;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "copy-hot",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "Copying memory and joining strings takes a large share of CPU time.",
    signature: "CPU time on the critical path inside memcpy, memmove, strcpy, strcat, or functions \
                that append to or clone strings.",
    not_reported: &[
        "copies by a growing container (reported as `growth-realloc`)",
        "copies by a serialiser (reported as `serialize-hot`)",
        "copies by other operations with a rule of their own",
        "moves of elements by a sort",
    ],
    why: "The bytes are moved, not worked on. Large copies run at memory speed, 5 to 20 GB/s, and \
          push everything else out of the caches. Joining strings in a loop copies the beginning \
          again each time.",
    fix: &[
        "Pass references, views or ownership instead of copies.",
        "Append to one buffer instead of joining pairs of strings.",
        "Remove items from the end of an array instead of the front.",
        "Copy only the parts that changed.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the share of these functions in `culprit top \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "share of CPU time on the critical path",
            value: MIN_SHARE,
            unit: "share",
            reason: "Programs spend about 5 % of CPU time on copies; at a fifth, removing them is \
                     worth more than most changes. At half, programs that move messages would be \
                     reported; at double, a program with 35 % would be missed.",
            source: "Kanev et al., Profiling a warehouse-scale computer, ISCA 2015: across a \
                     fleet, allocation, copying, hashing and serialisation each take below 8 % of \
                     CPU time",
        },
        chore::below_an_interpreter(MIN_INTERPRETED),
    ],
};

/// What it looks for.
const SPEC: Spec = Spec {
    doc: &DOC,
    chore: Chore::Copy,
    doing: "copying memory or joining strings",
    min_share: MIN_SHARE,
    min_interpreted: MIN_INTERPRETED,
    at_most: Severity::High,
    may_be_purpose: false,
};

impl Rule for CopyHot {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        chore::find(evidence, &SPEC)
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::{beside, first};

    const STACK: &str = "main;shift;libc.so.6!__memmove_avx_unaligned_erms";

    #[test]
    fn the_caller_is_told_with_the_share() {
        let found = first(&beside(STACK, 10, 10), super::DOC.id).expect("found");
        assert!(
            found.title.starts_with("`program!shift` spends 200 ms of 400 ms"),
            "{}",
            found.title
        );
        assert_eq!(&*found.at[0].function, "shift");
        assert_eq!(found.cost.0, 200_000_000);
    }

    #[test]
    fn the_moves_of_a_sort_are_sorting() {
        let sort = "main;rank;program!sort.Slice;program!sort.pdqsort_func";
        let swap =
            format!("{sort};program!internal/reflectlite.Swapper.func9;runtime.typedmemmove");
        let recording = beside(&swap, 12, 10);
        assert!(first(&recording, super::DOC.id).is_none());
        let found = first(&recording, "hot-function").expect("found");
        assert!(found.title.starts_with("`program!rank` takes 240 ms"), "{}", found.title);
        let compares = beside(&format!("{sort};less;runtime.memmove"), 10, 10);
        assert!(first(&compares, super::DOC.id).is_some());
    }

    #[test]
    fn a_small_share_is_not() {
        assert!(first(&beside(STACK, 1, 40), super::DOC.id).is_none());
    }
}
