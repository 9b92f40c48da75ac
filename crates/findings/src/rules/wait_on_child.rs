//! `wait-on-child`: a process waits for its children, and their work is on the measured thing's
//! path.

use std::collections::BTreeMap;

use culprit_model::{Nanos, ProcessId, ThreadId};

use crate::evidence::relation::is_descendant;
use crate::evidence::{Evidence, Relation, Segment, SegmentId};
use crate::rule::{Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::tally;

/// The rule.
pub(crate) struct WaitOnChild;

/// Share of its time that a process with one child works itself: below it, it is only a wrapper
/// around that child, and to wait is its purpose.
const MIN_OWN_WORK: f64 = 0.05;

/// Share of the waiting that a child must take to be counted as one that is waited for.
const MIN_CHILD: f64 = 0.05;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "wait-on-child",
    group: Group::Waiting,
    specificity: Specificity::Relation,
    claim: "A process waits for child processes, and what they do is on the path.",
    signature: "Blocked in wait4, waitid or vfork on the measured thing's path; the time is what the \
                children did. A process that only wraps one child is left out.",
    why: "The children run one after the other while their parent waits; each also pays for its \
          start, its linking and its end.",
    fix: "Run children in parallel where they do not need each other, run the same one only once \
          and keep its result, or do the work in the process itself. What the children did is \
          listed under \"meanwhile\".",
    check: "culprit record -o fixed.culprit -- CMD; time waiting for children in `culprit findings fixed.culprit` must shrink",
    thresholds: &[
        Threshold {
            what: "share of its time that a parent of a single child works itself",
            value: MIN_OWN_WORK,
            unit: "share",
            reason: "Shells, launchers and supervisors wait because that is their purpose; what \
                     their only child does is the program.",
            source: "definition",
        },
        Threshold {
            what: "share of the waiting that counts a child",
            value: MIN_CHILD,
            unit: "share",
            reason: "A helper of some ms beside the main child does not make a wrapper a driver.",
            source: "definition",
        },
    ],
};

impl Rule for WaitOnChild {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let waiting = evidence.depending_on(Relation::Child);
        tally::by(evidence, &waiting, |s| Some(waiter(evidence, s)))
            .into_iter()
            .filter_map(|t| told(evidence, t.key, &t.segments, t.total))
            .collect()
    }
}

/// The thread that waits for a child in a segment.
fn waiter(evidence: &Evidence<'_>, segment: &Segment) -> ThreadId {
    let own = evidence.of_segment(segment);
    evidence.chain.links(segment).next().map_or(own.thread, |l| evidence.interval(l.wait).thread)
}

fn told(
    evidence: &Evidence<'_>,
    waiter: ThreadId,
    segments: &[SegmentId],
    total: Nanos,
) -> Option<Claim> {
    let parent = evidence.process(waiter);
    let children = children(evidence, parent, segments);
    let counted = children.values().filter(|t| t.share_of(total) >= MIN_CHILD).count();
    let own =
        evidence.total(&evidence.segments(|_, i| i.thread == waiter && !i.cause.is_blocked()));
    if counted < 2 && own.share_of(own + total) < MIN_OWN_WORK {
        return None;
    }
    let mut named: Vec<_> = children.iter().collect();
    named.sort_by_key(|(process, time)| (std::cmp::Reverse(**time), **process));
    let names = named.iter().map(|(p, _)| evidence.recording.process_name(**p)).collect();
    let title = format!(
        "{} waits {total} for its children {}",
        evidence.recording.process_name(parent),
        tally::named(names)
    );
    let costliest = named.into_iter().take(3).map(|(process, time)| {
        let what = format!("child {}", evidence.recording.process_name(*process));
        crate::rule::fact(what, time.0 as f64, "ns")
    });
    Some(
        Claim::new(&DOC, title, segments.to_vec())
            .at(Site::WaitThenWork)
            .sure(0.9)
            .fact("children waited for", children.len() as f64, "count")
            .facts(costliest)
            .facts(tally::done(evidence, segments, 3)),
    )
}

/// The time of each child; a grandchild's counts for itself.
fn children(
    evidence: &Evidence<'_>,
    parent: ProcessId,
    segments: &[SegmentId],
) -> BTreeMap<ProcessId, Nanos> {
    let mut children = BTreeMap::new();
    for segment in segments.iter().map(|s| evidence.chain.segment(*s)) {
        let process = evidence.process(evidence.of_segment(segment).thread);
        if is_descendant(evidence, process, parent) {
            *children.entry(process).or_default() += segment.length;
        }
    }
    children
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first, told};
    use culprit_model::{Cause, Recording};

    const WAIT: &str = "main;wait_for;libc.so.6!wait4;k:do_wait";

    /// A parent that runs children one after the other; each does many different things.
    fn serial(children: u64) -> Recording {
        let mut scene = Scene::default();
        let parent = scene.program("make", None, 0);
        for at in 0..children {
            let child = scene.program("cc1", Some(parent), at * 300);
            for step in 0..10 {
                scene.run(child, 30, Cause::CpuUser, &format!("main;phase{step}"));
            }
            scene.wait(parent, 300, Cause::Child, WAIT, End::By(child));
        }
        scene.done()
    }

    #[test]
    fn children_one_after_the_other_are_told_with_their_names() {
        let found = first(&serial(3), "wait-on-child").expect("found");
        assert_eq!(found.cost.0, 900_000_000);
        assert!(
            found.title.contains("for its children cc1 (101), cc1 (102) and 1 more"),
            "{}",
            found.title
        );
    }

    #[test]
    fn a_wrapper_around_one_child_is_not_guilty_of_waiting() {
        assert!(first(&serial(1), "wait-on-child").is_none());
    }

    #[test]
    fn a_childs_own_culprit_is_more_specific() {
        let mut scene = Scene::default();
        let shell = scene.program("sh", None, 0);
        for at in 0..2 {
            let child = scene.program("tool", Some(shell), at * 500);
            scene.run(child, 500, Cause::CpuUser, "main;spin");
            scene.wait(shell, 500, Cause::Child, WAIT, End::By(child));
        }
        assert_eq!(told(&scene.done()), ["hot-function 1000"]);
    }
}
