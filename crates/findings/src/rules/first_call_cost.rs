//! `first-call-cost`: the first call of a function costs far more than the later ones.

use std::collections::BTreeMap;

use culprit_model::{Cause, Interval, Nanos, ProcessId, Text, ThreadId};

use crate::evidence::visits::{PathId, Visit, Visits};
use crate::evidence::{Evidence, Segment};
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold, fact};

/// The rule.
pub(crate) struct FirstCallCost;

/// How many times as long as the later visits the first one must be.
const MIN_RATIO: f64 = 10.0;

/// Share of the measured time that the first visit must take.
const MIN_SHARE: f64 = 0.05;

/// How many later visits must be seen.
const MIN_LATER: usize = 5;

/// Later visits from which their usual length is known.
const ENOUGH_LATER: f64 = 20.0;

/// Share of the first visit that must pass in functions that no later visit calls.
const MIN_ONCE: f64 = 0.5;

/// How many of the functions that only the first visit calls are listed.
const LISTED: usize = 3;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "first-call-cost",
    group: Group::Cpu,
    specificity: Specificity::Dependency,
    yields_to: &[],
    claim: "The first call of a function does work that later calls do not repeat, and takes far \
            longer.",
    signature: "Samples show many separate calls of one function of the application: times during \
                which it is on the stack. The first call takes ten times as long as the median of \
                the later ones. At least half of it passes in functions, however deep, that no \
                later call uses.",
    not_reported: &[],
    why: "The program prepares something on first use: a table, a connection, a profile, a cache, \
          code. The first caller waits for all of it, though it may need none of it.",
    fix: &[
        "Prepare it before it is needed: at build time, in another thread, or at the start.",
        "Take a way that does not need it: a constant, an invariant culture, a strict parser.",
        "Load only the part that is used.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; `first-call-cost` in `culprit findings \
            fixed.culprit` must be gone",
    thresholds: &[
        Threshold {
            what: "length of the first call divided by the median of the later ones",
            value: MIN_RATIO,
            unit: "count",
            reason: "Cold caches and untaken branches make a first call 2 to 5 times as long. At \
                     half, such calls would be reported; at double, a first use of 15 ms before \
                     calls of 1 ms would be missed.",
            source: "definition: above what cold caches explain",
        },
        Threshold {
            what: "share of the measured time in the first call",
            value: MIN_SHARE,
            unit: "share",
            reason: "Every program prepares something; a twentieth of the run is worth a change.",
            source: "definition",
        },
        Threshold {
            what: "later calls that samples show",
            value: MIN_LATER as f64,
            unit: "count",
            reason: "With fewer, the first may be one of a few calls that all differ. The later \
                     calls must also have enough samples: chance may hide a function there in at \
                     most one case of twenty. Calls shorter than the clock's period are sampled \
                     only by chance, so the program may have made many more.",
            source: "definition",
        },
        Threshold {
            what: "share of the first call in functions that no later call uses",
            value: MIN_ONCE,
            unit: "share",
            reason: "Samples show calls that follow each other as one long call. Only the \
                     functions inside distinguish a first use from a burst. At half, three \
                     quarters of it may be ordinary work; at double, nothing may be.",
            source: "definition",
        },
    ],
};

/// A first visit that is told.
struct First<'v> {
    path: PathId,
    visit: &'v Visit,
    later: usize,
    median: Nanos,
    /// What only the first visit calls, the longest first.
    once: Vec<(PathId, Nanos)>,
}

impl First<'_> {
    fn once(&self) -> Nanos {
        self.once.iter().map(|(_, time)| *time).sum()
    }
}

impl Rule for FirstCallCost {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let visits = Visits::of(evidence.recording, &evidence.lives, &evidence.chores);
        let mut found: Vec<First<'_>> = Vec::new();
        // Nothing of a program calls a thread's outermost function: its stretches are no calls.
        let called = visits.of.iter().filter(|(path, _)| visits.path(**path).parent.is_some());
        for (path, all) in called {
            let mut processes: BTreeMap<ProcessId, Vec<&Visit>> = BTreeMap::new();
            for visit in all {
                processes.entry(evidence.process(visit.thread)).or_default().push(visit);
            }
            let of_each = processes.values().filter_map(|own| first(evidence, &visits, *path, own));
            found.extend(of_each);
        }
        found.retain(|first| is_earliest(evidence, &visits, first));
        // What a caller's first visit shows because of a callee's is told of the callee alone.
        let inner = |outer: &First<'_>, inner: &First<'_>| {
            visits.is_below(inner.path, outer.path)
                && inner.visit.thread == outer.visit.thread
                && outer.visit.from <= inner.visit.from
                && inner.visit.to <= outer.visit.to
                && inner.once().0 * 2 >= outer.once().0
        };
        let told = found.iter().filter(|outer| !found.iter().any(|other| inner(outer, other)));
        told.filter_map(|first| claim(evidence, &visits, first)).collect()
    }
}

/// The first of a process's visits of a function, where it is unlike the others.
fn first<'v>(
    evidence: &Evidence<'_>,
    visits: &Visits,
    path: PathId,
    all: &[&'v Visit],
) -> Option<First<'v>> {
    let (&visit, later) = all.split_first()?;
    if visit.length().share_of(evidence.chain.whole) < MIN_SHARE || later.len() < MIN_LATER {
        return None;
    }
    let mut lengths: Vec<_> = later.iter().map(|v| v.length()).collect();
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    let longest = lengths.last().copied().unwrap_or_default();
    let unlike =
        median.share_of(visit.length()) <= 1.0 / MIN_RATIO && longest.0 * 2 <= visit.length().0;
    if !unlike {
        return None;
    }
    let once = visits.only_in(evidence.recording, &evidence.lives, path, visit, later);
    let first = First { path, visit, later: later.len(), median, once };
    (first.once().share_of(visit.length()) >= MIN_ONCE).then_some(first)
}

/// True when the function was on no stack of its process before, by whatever path.
fn is_earliest(evidence: &Evidence<'_>, visits: &Visits, first: &First<'_>) -> bool {
    let process = evidence.process(first.visit.thread);
    let same = visits.of.iter().filter(|(path, _)| visits.is_same_function(**path, first.path));
    let mut before = same.flat_map(|(_, all)| all.iter());
    !before.any(|v| v.from < first.visit.from && evidence.process(v.thread) == process)
}

fn claim(evidence: &Evidence<'_>, visits: &Visits, first: &First<'_>) -> Option<Claim> {
    let visit = first.visit;
    let inside =
        |thread: ThreadId, from| thread == visit.thread && visit.from <= from && from < visit.to;
    let held = |segment: &Segment, interval: &Interval| {
        // A wait for a CPU would have come anyway.
        let own = interval.cause != Cause::Runnable && inside(interval.thread, segment.start);
        let awaited = || {
            evidence
                .waits_around(segment)
                .any(|wait| inside(wait.waiter, evidence.interval(wait.interval).start))
        };
        own || (!evidence.fills_queue(segment) && awaited())
    };
    let segments = evidence.segments(held);
    if evidence.total(&segments).share_of(evidence.chain.whole) < MIN_SHARE {
        return None;
    }
    let name = |path: PathId| -> Text { evidence.name(Some(visits.path(path).frame)) };
    let title = format!(
        "`{}` takes {COST} in its first call, {} or less in a usual later one",
        name(first.path),
        first.median
    );
    let mut claim = Claim::new(&DOC, title, segments)
        .at(Site::Function(visits.path(first.path).frame))
        .sure(0.85)
        .time("length of the first call", visit.length())
        .time("median length of the later calls, as far as samples show", first.median)
        .fact("later calls seen", first.later as f64, "count")
        .facts(first.once.iter().take(LISTED).map(|(path, time)| {
            fact(format!("only the first call uses {}", name(*path)), time.0 as f64, "ns")
        }));
    let later = first.later as f64;
    if later < ENOUGH_LATER {
        let factor = (later / ENOUGH_LATER).sqrt();
        claim.confidence.lower(format!("only {later:.0} later calls were seen"), factor);
    }
    Some(claim)
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Basis, Cause, Recording};

    /// `load` is called `later` times after its first call, which does `stack` for 300 ms.
    fn program(stack: &str, later: usize, each: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        scene.run(main, 100, Cause::CpuUser, "main;prepare");
        scene.run(main, 300, Cause::CpuUser, stack);
        for _ in 0..later {
            scene.run(main, 3, Cause::CpuUser, "main;other");
            scene.run(main, each, Cause::CpuUser, "main;load;parse");
        }
        scene.done()
    }

    #[test]
    fn what_only_the_first_call_does_is_told_with_the_function() {
        let found = first(&program("main;load;culture;read_all", 30, 1), super::DOC.id);
        let found = found.expect("found");
        assert_eq!(found.cost.0, 300_000_000);
        assert_eq!(&*found.at[0].function, "load");
        assert!(found.title.contains("`program!load` takes 300 ms in its first call"), "{found:?}");
        assert!(found.evidence.iter().any(|e| e.what.contains("program!read_all")));
    }

    #[test]
    fn a_guard_that_every_call_passes_hides_nothing() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        scene.run(main, 200, Cause::CpuUser, "main;load;once;init;culture;read_all");
        scene.run(main, 100, Cause::CpuUser, "main;load;once;init;culture;sort");
        for _ in 0..30 {
            scene.run(main, 3, Cause::CpuUser, "main;other");
            scene.run(main, 1, Cause::CpuUser, "main;load;once");
        }
        let found = first(&scene.done(), super::DOC.id).expect("found");
        assert!(found.evidence.iter().any(|e| e.what.contains("program!culture")), "{found:?}");
    }

    #[test]
    fn what_threads_begin_in_is_called_by_nobody() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        scene.run(main, 300, Cause::CpuUser, "main;culture");
        let process = scene.recording.thread(main).process;
        for n in 0..30 {
            let other = scene.thread(process, "other", 300 + n);
            scene.run(other, 1, Cause::CpuUser, "main");
        }
        scene.run(main, 30, Cause::CpuUser, "main;work");
        assert!(first(&scene.done(), super::DOC.id).is_none());
    }

    #[test]
    fn a_burst_of_ordinary_calls_is_no_first_use() {
        assert!(first(&program("main;load;parse", 30, 1), super::DOC.id).is_none());
    }

    #[test]
    fn calls_that_all_take_long_are_told_of_none() {
        assert!(first(&program("main;load;culture", 10, 50), super::DOC.id).is_none());
    }

    #[test]
    fn a_function_that_is_seen_once_has_no_later_calls() {
        assert!(first(&program("main;start_up;culture", 30, 1), super::DOC.id).is_none());
    }

    #[test]
    fn few_later_calls_lower_the_confidence() {
        let found = first(&program("main;load;culture", 6, 1), super::DOC.id).expect("found");
        assert!(found.confidence < 0.5, "{}", found.confidence);
    }

    #[test]
    fn a_wait_within_the_first_call_counts_with_what_ends_it() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        let process = scene.recording.thread(main).process;
        let store = scene.thread(process, "store", 0);
        scene.run(store, 200, Cause::CpuUser, "clone3;answer");
        let ask = "main;load;ask_store;libc.so.6!pthread_cond_wait;k:futex_do_wait";
        scene.wait(main, 200, Cause::Lock, ask, End::By(store));
        for _ in 0..30 {
            scene.run(main, 2, Cause::CpuUser, "main;other");
            scene.run(main, 1, Cause::CpuUser, "main;load;parse");
        }
        let found = first(&scene.done(), super::DOC.id).expect("found");
        assert_eq!(found.cost.0, 200_000_000);
    }

    #[test]
    fn stacks_that_were_taken_over_or_miss_a_caller_end_no_call() {
        for borrowed in [true, false] {
            let mut scene = Scene::default();
            let main = scene.program("program", None, 0);
            scene.run(main, 300, Cause::CpuUser, "main;load;culture;read_all");
            for _ in 0..30 {
                // Either the rows in `load` were never seen, or those that are not in it.
                let between = if borrowed { "main;other" } else { "main;parse" };
                scene.run(main, 3, Cause::CpuUser, between);
                scene.run(main, 1, Cause::CpuUser, "main;load;parse");
            }
            let mut recording = scene.done();
            if borrowed {
                let later =
                    recording.intervals.iter_mut().skip(1).filter(|i| i.duration.0 == 1_000_000);
                later.for_each(|i| i.basis = Basis::Nearest);
            }
            assert!(first(&recording, super::DOC.id).is_none(), "{borrowed}");
        }
    }

    #[test]
    fn a_stub_without_a_frame_ends_no_call_of_generated_code() {
        let found = |stub: &str| {
            let mut scene = Scene::default();
            let main = scene.program("node", None, 0);
            scene.run(
                main,
                300,
                Cause::CpuUser,
                "[jit]!JS:~main /a.js:1:1;[jit]!JS:~load /a.js:9:1;[jit]!JS:~culture /a.js:20:1",
            );
            for _ in 0..30 {
                scene.run(main, 1, Cause::CpuUser, stub);
                scene.run(
                    main,
                    9,
                    Cause::CpuUser,
                    "[jit]!JS:~main /a.js:1:1;[jit]!JS:*load /a.js:9:1",
                );
            }
            first(&scene.done(), super::DOC.id).is_some()
        };
        assert!(!found("[jit]!JS:~main /a.js:1:1;node!v8::internal::Runtime_CompileOptimized"));
        assert!(found("[jit]!JS:~main /a.js:1:1;[jit]!JS:~other /a.js:30:1"));
    }

    #[test]
    fn a_helper_that_other_callers_used_before_was_not_called_first() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        scene.run(main, 50, Cause::CpuUser, "main;early;load;parse");
        scene.run(main, 300, Cause::CpuUser, "main;load;culture");
        for _ in 0..30 {
            scene.run(main, 3, Cause::CpuUser, "main;other");
            scene.run(main, 1, Cause::CpuUser, "main;load;parse");
        }
        assert!(first(&scene.done(), super::DOC.id).is_none());
    }

    #[test]
    fn an_interpreters_loop_is_no_function_of_the_program() {
        let eval = "python3.12!_PyEval_EvalFrameDefault";
        let mut scene = Scene::default();
        let main = scene.program("python3.12", None, 0);
        let run = format!("main;{eval};{eval}");
        scene.run(main, 300, Cause::CpuUser, &format!("{run};libz.so.1!inflate"));
        for _ in 0..30 {
            scene.run(main, 3, Cause::CpuUser, &format!("main;{eval}"));
            scene.run(main, 1, Cause::CpuUser, &format!("{run};libz.so.1!crc32"));
        }
        assert!(first(&scene.done(), super::DOC.id).is_none());
    }
}
