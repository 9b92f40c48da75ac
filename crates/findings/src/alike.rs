//! One claim for what several threads or processes do alike.
//!
//! Rules look at one thread or process after the other. Where eight workers wait in one function of
//! one program, that is one fault of the whole time and not eight of an eighth each, which would look
//! minor one by one. Functions of the kernel tell nothing of that kind: everybody is in them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use culprit_model::Text;

use crate::evidence::Evidence;
use crate::rule::{Claim, Specificity};
use crate::sites;

/// How functions of the kernel begin.
const KERNEL: &str = "[kernel]!";

/// Joins claims of one rule that cost most in the same function of programs of the same name. The one
/// that explains the most time speaks for all.
pub(crate) fn joined(evidence: &Evidence<'_>, claims: Vec<Claim>) -> Vec<Claim> {
    let mut by_rule: BTreeMap<&'static str, Vec<Claim>> = BTreeMap::new();
    for claim in claims {
        by_rule.entry(claim.rule.id).or_default().push(claim);
    }
    by_rule.into_values().flat_map(|claims| of_rule(evidence, claims)).collect()
}

/// A claim, with the program and function that it is about, and how many others it speaks for.
type Joined = (Option<(Text, Text)>, usize, Claim);

fn of_rule(evidence: &Evidence<'_>, mut claims: Vec<Claim>) -> Vec<Claim> {
    // What is left of different causes is not alike, although it is left in one function.
    let is_rest = |claim: &Claim| claim.specificity == Specificity::Remainder;
    if claims.len() < 2 || claims.iter().any(is_rest) {
        return claims;
    }
    claims.sort_by_cached_key(|claim| {
        (Reverse(evidence.total(&claim.segments)), claim.title.clone())
    });
    let mut joined: Vec<Joined> = Vec::new();
    for claim in claims {
        let counts = !claim.segments.is_empty();
        let place = counts.then(|| sites::costliest(evidence, &claim.segments, claim.site));
        let place = place.flatten().filter(|(_, function)| !function.starts_with(KERNEL));
        let same = |(at, _, first): &&mut Joined| {
            place.is_some() && *at == place && first.specificity == claim.specificity
        };
        match joined.iter_mut().find(same) {
            Some((_, others, first)) => {
                *others += 1;
                first.segments.extend(claim.segments);
            }
            None => joined.push((place, 0, claim)),
        }
    }
    joined.into_iter().map(|(_, others, claim)| speaking_for(claim, others)).collect()
}

/// The claim, saying for how many others it speaks.
fn speaking_for(mut claim: Claim, others: usize) -> Claim {
    if others > 0 {
        claim.title = format!("{}; {others} more like this in the same function", claim.title);
        let what = "more like this in the same function";
        claim.evidence.insert(0, crate::rule::fact(what, others as f64, "count"));
    }
    claim
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, MS, Scene};
    use crate::{Options, find};
    use culprit_model::Cause;

    #[test]
    fn what_several_threads_do_in_one_function_is_one_finding() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        let process = scene.recording.thread(main).process;
        let store = |id: u64| format!("clone3;store_{};libc.so.6!fdatasync;k:do_fsync", id / 3);
        for id in 0..4 {
            let child = scene.process("worker", Some(process));
            let worker = scene.thread(child, "worker", id * 500);
            for _ in 0..50 {
                scene.wait(worker, 10, Cause::Fsync, &store(id), End::Disk);
            }
            let wait = "main;run;libc.so.6!wait4;k:do_wait";
            scene.wait(main, 500, Cause::Child, wait, End::By(worker));
        }
        let report = find(&scene.done(), &Options::default());
        let storms = report.findings.iter().filter(|f| f.id == "fsync-storm");
        let storms: Vec<_> = storms.map(|f| (f.cost.0 / MS, &*f.at[0].function)).collect();
        assert_eq!(storms, [(1500, "store_0"), (500, "store_1")]);
        assert!(
            report.findings[0].title.ends_with("; 2 more like this in the same function"),
            "{:?}",
            report.findings
        );
    }
}
