//! `wait-on-child`: a process waits for its children, and their work is on the critical path.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use culprit_model::{Cause, Nanos, ProcessId, Recording, Severity, ThreadId, Time};

use crate::evidence::relation::is_for_output;
use crate::evidence::{Evidence, Relation, Segment, SegmentId};
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold, fact};
use crate::settle::severity_of;
use crate::tally;

/// The rule.
pub(crate) struct WaitOnChild;

/// Share of its time that a process with one child works itself. Below it the process only wraps
/// that child, and waiting is its purpose.
const MIN_OWN_WORK: f64 = 0.10;

/// Share of the children's time in code without names, above which the finding is info: without
/// names nobody can judge whether the work is needed.
const MAX_UNNAMED: f64 = 0.5;

/// Share of the measured time from which a wrapper's wait is listed, as far as no other finding
/// explains its child's time.
const MIN_WRAPPED: f64 = 0.10;

/// Share of the waiting from which a child counts.
const MIN_CHILD: f64 = 0.05;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "wait-on-child",
    group: Group::Waiting,
    specificity: Specificity::Relation,
    yields_to: &[],
    claim: "A process waits for child processes, and their work is on the critical path.",
    signature: "A process on the critical path is blocked in wait4, waitid or vfork, or waits for \
                a child's output. The time is what the children did. Severity: the most that \
                running parent and children in parallel on free CPUs could save, while only one \
                child lives.",
    not_reported: &[
        "time of an only child that another finding explains; the rest is `info`",
        "time that another finding explains, if running in parallel would save next to nothing",
    ],
    why: "The children run one after the other while their parent waits. Each also pays for its \
          start, its linking and its end.",
    fix: &[
        "Run children that do not need each other in parallel: `make -j`, `xargs -P`, `&` and \
         `wait`.",
        "Run the same child only once and keep its result.",
        "Do the work in the process itself.",
        "Reduce the children's work: it is listed under \"meanwhile\".",
    ],
    check: "culprit record -o fixed.culprit -- CMD; time waiting for children in `culprit findings \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "share of its time that a parent of a single child works itself",
            value: MIN_OWN_WORK,
            unit: "share",
            reason: "Shells, launchers and supervisors wait because that is their purpose. The \
                     work of their only child is the program.",
            source: "definition",
        },
        Threshold {
            what: "share of the measured time from which the wait of a wrapper is listed",
            value: MIN_WRAPPED,
            unit: "share",
            reason: "Unexplained time of an only child is worth listing only when it is much. At \
                     half, each start of a child would be reported; at double, a fifth of a run \
                     would have no name.",
            source: "the medium severity bound",
        },
        Threshold {
            what: "share of the children's time in code without names, above which the finding is \
                   info",
            value: MAX_UNNAMED,
            unit: "share",
            reason: "Without names nobody can judge whether the work is needed, as a compiler's \
                     is. At half, children with mostly named code would be `info`; at double, \
                     children without names would get full severity.",
            source: "definition",
        },
        Threshold {
            what: "share of the waiting from which a child counts",
            value: MIN_CHILD,
            unit: "share",
            reason: "A helper of some ms beside the main child does not turn a wrapper into a \
                     driver.",
            source: "definition",
        },
    ],
};

impl Rule for WaitOnChild {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let mut segments = evidence.depending_on(Relation::Child);
        segments.append(&mut evidence.depending_on(Relation::Pipe));
        let (parents, waiting) = Parents::of(evidence, &segments);
        let mut by_waiter: BTreeMap<ThreadId, Vec<SegmentId>> = BTreeMap::new();
        for (innermost, segment) in waiting {
            let waiter = parents.waiter(evidence, innermost, segment);
            by_waiter.entry(waiter).or_default().push(segment);
        }
        let told = by_waiter.iter().map(|(waiter, held)| told(evidence, &parents, *waiter, held));
        told.collect()
    }
}

/// The waits for children around a segment, the innermost first: who waits, for which child. A wait
/// of another kind ends the row.
fn waits(
    evidence: &Evidence<'_>,
    segment: &Segment,
) -> impl Iterator<Item = (ThreadId, ProcessId)> {
    evidence.waits_around(segment).map_while(|wait| {
        let interval = evidence.interval(wait.interval);
        // A pipe's own relation is another one; it tells a child only by whose output it has.
        let of_child = is_for_output(evidence, interval, wait.by)
            || (interval.cause != Cause::Pipe && wait.relation == Relation::Child);
        of_child.then(|| (wait.waiter, evidence.process(wait.by)))
    })
}

/// What each waiting parent waits for.
#[derive(Default)]
struct Parents {
    /// The time of each child of each parent, its own children's included.
    children: BTreeMap<ThreadId, BTreeMap<ProcessId, Nanos>>,
    /// The time that each thread works itself, one entry a thread.
    own: Vec<Nanos>,
    drivers: BTreeSet<ThreadId>,
}

impl Parents {
    /// The parents that wait in some segments, and the segments in which a parent waits, each with
    /// the innermost such parent.
    fn of(evidence: &Evidence<'_>, segments: &[SegmentId]) -> (Self, Vec<(ThreadId, SegmentId)>) {
        let (mut parents, mut waiting) = (Self::default(), Vec::new());
        let mut times: FxHashMap<(ThreadId, ProcessId), Nanos> = FxHashMap::default();
        let (mut last, mut around) = (None, Vec::new());
        for id in segments {
            let segment = evidence.chain.segment(*id);
            // One thread's segments that follow each other mostly fill the same wait.
            let here = (segment.link, evidence.of_segment(segment).thread);
            if last != Some(here) {
                around.clear();
                around.extend(waits(evidence, segment));
                last = Some(here);
            }
            if let Some((innermost, _)) = around.first() {
                waiting.push((*innermost, *id));
            }
            around.iter().for_each(|pair| *times.entry(*pair).or_default() += segment.length);
        }
        let mut times: Vec<_> = times.into_iter().collect();
        times.sort_unstable_by_key(|(pair, _)| *pair);
        for ((waiter, child), time) in times {
            parents.children.entry(waiter).or_default().insert(child, time);
        }
        if waiting.is_empty() {
            return (parents, waiting);
        }
        parents.own.resize(evidence.recording.threads.len(), Nanos::ZERO);
        for segment in &evidence.chain.segments {
            let interval = evidence.of_segment(segment);
            if !interval.cause.is_blocked() {
                parents.own[interval.thread.index()] += segment.length;
            }
        }
        let drives = |(waiter, children): (&ThreadId, &BTreeMap<ProcessId, Nanos>)| {
            let total: Nanos = children.values().copied().sum();
            let counted = children.values().filter(|t| t.share_of(total) >= MIN_CHILD).count();
            let own = parents.own[waiter.index()];
            (counted >= 2 || own.share_of(own + total) >= MIN_OWN_WORK).then_some(*waiter)
        };
        parents.drivers = parents.children.iter().filter_map(drives).collect();
        (parents, waiting)
    }

    /// The most that running a parent and its children in parallel could save. The longest of them
    /// remains, there are only so many CPUs, and it counts only while one child runs alone.
    fn spared(&self, evidence: &Evidence<'_>, waiter: ThreadId, segments: &[SegmentId]) -> Nanos {
        let lonely = lonely(evidence.recording, evidence.process(waiter));
        let cpus = evidence.recording.meta.cpus.max(1);
        let mut free = Nanos::ZERO;
        let mut alone: BTreeMap<ProcessId, Nanos> = BTreeMap::new();
        for segment in segments.iter().map(|s| evidence.chain.segment(*s)) {
            if let Some(child) = within(&lonely, segment) {
                free += segment.length.saturating_sub(evidence.work.during(segment, cpus));
                *alone.entry(child).or_default() += segment.length;
            }
        }
        let own = self.own[waiter.index()];
        let longest = alone.values().copied().max().unwrap_or_default().max(own);
        let all = alone.into_values().sum::<Nanos>() + own;
        all.saturating_sub(longest).min(free)
    }

    /// The innermost parent around a segment that is more than a wrapper around one child; where
    /// none is, the innermost one.
    fn waiter(&self, evidence: &Evidence<'_>, innermost: ThreadId, segment: SegmentId) -> ThreadId {
        if self.drivers.contains(&innermost) {
            return innermost;
        }
        let mut waiters =
            waits(evidence, evidence.chain.segment(segment)).map(|(waiter, _)| waiter);
        waiters.find(|waiter| self.drivers.contains(waiter)).unwrap_or(innermost)
    }
}

/// The stretches in which one child of a process lives alone, in order.
fn lonely(recording: &Recording, parent: ProcessId) -> Vec<(Time, Time, ProcessId)> {
    let ids = (0..recording.processes.len()).map(ProcessId::from_index);
    let children = ids.filter(|id| recording.process(*id).parent == Some(parent));
    let mut edges: Vec<(Time, bool, ProcessId)> = children
        .flat_map(|id| {
            let child = recording.process(id);
            [(child.start, true, id), (child.end.unwrap_or(Time(u64::MAX)), false, id)]
        })
        .collect();
    edges.sort_unstable();
    let (mut alive, mut stretches, mut since) = (BTreeSet::new(), Vec::new(), Time::START);
    for (at, born, id) in edges {
        if let (1, Some(only)) = (alive.len(), alive.first())
            && since < at
        {
            stretches.push((since, at, *only));
        }
        if born {
            alive.insert(id)
        } else {
            alive.remove(&id)
        };
        since = at;
    }
    stretches
}

/// The child that lives alone at the middle of a segment.
fn within(lonely: &[(Time, Time, ProcessId)], segment: &Segment) -> Option<ProcessId> {
    let middle = segment.start + Nanos(segment.length.0 / 2);
    let next = lonely.partition_point(|(_, to, _)| *to <= middle);
    lonely.get(next).filter(|(from, ..)| *from <= middle).map(|(.., child)| *child)
}

fn told(
    evidence: &Evidence<'_>,
    parents: &Parents,
    waiter: ThreadId,
    segments: &[SegmentId],
) -> Claim {
    let children = &parents.children[&waiter];
    let mut named: Vec<_> = children.iter().collect();
    named.sort_by_key(|(process, time)| (std::cmp::Reverse(**time), **process));
    let names = named.iter().map(|(p, _)| evidence.recording.process_name(**p)).collect();
    let title = format!(
        "{} waits {COST} of {} for its children {}",
        evidence.recording.process_name(evidence.process(waiter)),
        evidence.chain.whole,
        tally::named(names)
    );
    let costliest = named.into_iter().take(3).map(|(process, time)| {
        let what = format!("child {}", evidence.recording.process_name(*process));
        fact(what, time.0 as f64, "ns")
    });
    let claim = Claim::new(&DOC, title, segments.to_vec())
        .at(Site::WaitThenWork)
        .sure(0.9)
        .fact("children waited for", children.len() as f64, "count")
        .facts(costliest)
        .facts(tally::done(evidence, segments, 3));
    if !parents.drivers.contains(&waiter) {
        let specificity = Specificity::Statement;
        Claim { at_most: Severity::Info, listed_from: MIN_WRAPPED, specificity, ..claim }
    } else {
        let spared = parents.spared(evidence, waiter, segments);
        let severity = severity_of(spared.share_of(evidence.chain.whole));
        let unnamed = unnamed_share(evidence, segments) > MAX_UNNAMED;
        let at_most = if unnamed { Severity::Info } else { severity };
        // If nothing can be saved, findings about the children's work say more than this one.
        let moot = severity == Severity::Info;
        let specificity = if moot { Specificity::Statement } else { claim.specificity };
        let what = "most that running parent and children in parallel could save";
        Claim { at_most, specificity, ..claim.fact(what, spared.0 as f64, "ns") }
    }
}

/// The share of the time that children compute in code without names. Nobody can judge then whether
/// that work is needed, as a compiler's is.
fn unnamed_share(evidence: &Evidence<'_>, segments: &[SegmentId]) -> f64 {
    let is_unnamed = |segment: &&SegmentId| {
        let interval = evidence.of_segment(evidence.chain.segment(**segment));
        interval.cause.is_cpu() && evidence.chores.owner(interval.stack).is_none()
    };
    let unnamed: Vec<_> = segments.iter().filter(is_unnamed).copied().collect();
    evidence.total(&unnamed).share_of(evidence.total(segments))
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first, told};
    use culprit_model::{Cause, Recording, Severity};

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
    fn children_that_nothing_could_be_done_beside_are_of_less_severity() {
        let severity =
            |recording: &Recording| first(recording, "wait-on-child").map(|found| found.severity);
        assert_eq!(severity(&serial(3)), Some(Severity::High));
        // A server for its client's load, and no time but that.
        let mut scene = Scene::default();
        let shell = scene.program("sh", None, 0);
        for (name, ms) in [("server", 60), ("load", 900)] {
            let child = scene.program(name, Some(shell), scene.now_ms(shell));
            for step in 0..10 {
                scene.run(child, ms / 10, Cause::CpuUser, &format!("main;phase{step}"));
            }
            scene.wait(shell, ms, Cause::Child, WAIT, End::By(child));
        }
        assert_eq!(severity(&scene.done()), Some(Severity::Low));
        // Two at a time on two CPUs.
        let mut scene = Scene::default();
        let make = scene.program("make", None, 0);
        for round in 0..3 {
            let pair = [(); 2].map(|()| scene.program("cc1", Some(make), round * 300));
            for (child, step) in pair.into_iter().flat_map(|child| (0..10).map(move |s| (child, s)))
            {
                scene.run(child, 30, Cause::CpuUser, &format!("main;phase{step}"));
            }
            scene.wait(make, 300, Cause::Child, WAIT, End::By(pair[1]));
        }
        assert_eq!(severity(&scene.done()), Some(Severity::Info));
    }

    #[test]
    fn wrappers_between_a_driver_and_its_children_are_looked_through() {
        let mut scene = Scene::default();
        let parent = scene.program("sh", None, 0);
        for at in 0..3 {
            let front = scene.program("cc", Some(parent), at * 100);
            let child = scene.program("cc1", Some(front), at * 100);
            for step in 0..10 {
                scene.run(child, 10, Cause::CpuUser, &format!("main;phase{step}"));
            }
            scene.wait(front, 100, Cause::Child, WAIT, End::By(child));
            scene.wait(parent, 100, Cause::Child, WAIT, End::By(front));
        }
        let found = first(&scene.done(), "wait-on-child").expect("found");
        assert_eq!(found.cost.0, 300_000_000);
        assert!(
            found
                .title
                .starts_with("sh (100) waits 300 ms of 300 ms for its children cc (101), cc"),
            "{}",
            found.title
        );
    }

    #[test]
    fn a_wrapper_around_one_child_is_not_guilty_of_waiting() {
        let found = first(&serial(1), "wait-on-child").expect("nothing else explains the time");
        assert_eq!(found.severity, Severity::Info);
        let mut scene = Scene::default();
        let parent = scene.program("sh", None, 0);
        let child = scene.program("solver", Some(parent), 0);
        scene.run(child, 1000, Cause::CpuUser, "main;solve");
        scene.wait(parent, 1000, Cause::Child, WAIT, End::By(child));
        assert_eq!(told(&scene.done()), ["hot-function 1000"]);
    }

    /// A program that runs tools and takes their output, by a pipe that it reads or polls.
    fn captured(cause: Cause, wait: &str) -> Recording {
        let mut scene = Scene::default();
        let parent = scene.program("build", None, 0);
        for at in 0..3 {
            let child = scene.program("tool", Some(parent), at * 300);
            for step in 0..10 {
                scene.run(child, 30, Cause::CpuUser, &format!("main;phase{step}"));
            }
            scene.wait(parent, 300, cause, wait, End::By(child));
        }
        scene.done()
    }

    #[test]
    fn who_waits_for_the_output_of_its_children_waits_for_them() {
        let read = "main;capture;libc.so.6!read;k:__x64_sys_read;k:anon_pipe_read";
        let poll = "main;capture;libc.so.6!poll;k:do_sys_poll";
        for (cause, stack) in [(Cause::Pipe, read), (Cause::Poll, poll)] {
            let recording = captured(cause, stack);
            let found = first(&recording, "wait-on-child").expect(stack);
            assert_eq!(found.cost.0, 900_000_000, "{stack}");
            assert!(first(&recording, "pipe-backpressure").is_none());
        }
    }

    #[test]
    fn an_event_loop_that_looks_at_its_job_again_and_again_waits_for_it_while_it_works() {
        const TICK: &str = "main;loop;libc.so.6!epoll_pwait;k:do_epoll_wait";
        let mut scene = Scene::default();
        let parent = scene.program("driver", None, 0);
        for at in 0..3 {
            let job = scene.program("job", Some(parent), at * 210);
            scene.run(job, 209, Cause::CpuUser, "main;work");
            for round in 0..10 {
                // The job's end is told by a signal, which ends a wait of whatever kind.
                let end = if round == 9 { End::By(job) } else { End::Timer };
                scene.wait(parent, 20, Cause::Poll, TICK, end);
                scene.run(parent, 1, Cause::CpuUser, "main;look");
            }
        }
        let report = crate::find(&scene.done(), &crate::Options::default());
        assert!(report.explained_share > 0.9, "{}", report.explained_share);
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
