//! `atomic-contention`: several threads execute atomic instructions at the same time.
//!
//! The recording says which instructions are atomic (`frames.instruction`). The rule infers the
//! contention: threads on different CPUs are at these instructions at the same time, in a larger
//! share of their samples than an instruction without contention could take.

use std::collections::BTreeMap;

use culprit_model::{Basis, FrameId, Instruction, Interval, Nanos, ProcessId, Text, ThreadId};

use crate::evidence::{Doing, Evidence, SegmentId};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Specificity, Threshold};
use crate::tally::{self, Tally};

/// The rule.
pub(crate) struct AtomicContention;

/// Share of the CPU time at atomic instructions whose address stands in the code.
const MIN_FIXED: f64 = 0.10;

/// The same where the address is in a register, and each thread may have a cell of its own.
const MIN_ANY: f64 = 0.30;

/// Share of the CPU time from which a function's atomic instructions count beside others'.
const MIN_PLACE: f64 = 0.10;

/// Length of time within which two threads count as being at a place at once, ns.
const AT_ONCE: u64 = 10_000_000;

/// Clock samples below which a share is not known, unless they stand for [`MIN_TIME`].
const MIN_SAMPLES: f64 = 10.0;

/// What [`MIN_SAMPLES`] stand for at the usual rate.
const MIN_TIME: Nanos = Nanos(10_000_000);

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "atomic-contention",
    group: Group::Cpu,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "Several threads change the same memory with atomic instructions at the same time.",
    signature: "Clock samples show threads of one process on different CPUs within the same 10 ms \
                at (or just after) atomic instructions: `lock` and `xchg` on x86, LSE atomics and \
                exclusive pairs on aarch64. If the address is in the code, the threads are in the \
                same function; if it is in a register, in any functions of the program. These \
                samples are a large share of the threads' CPU time.",
    not_reported: &[
        "loops that only wait (reported as `spin-wait`)",
        "threads that only read the shared variable: samples do not show this",
    ],
    why: "A CPU must own the variable's cache line to change it. While other CPUs change it too, \
          each instruction waits for the line: 5.3 ns instead of 1.9 ns between hardware threads \
          of one core, some hundred cycles between cores. Each further CPU makes the wait longer, \
          until all threads together run as slowly as one alone.",
    fix: &[
        "Read a flag or a limit first, and write it only when it must change.",
        "Count in per-thread variables on separate cache lines, and add them up when the total is \
         needed.",
        "Add once per batch instead of once per item.",
        "If the variable is a reference count or a lock word: share the object less, or move its \
         handle instead of copying it.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the function's share in `culprit top \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "share of CPU time (of the critical path and of these threads) at atomic \
                   instructions whose address is in the code",
            value: MIN_FIXED,
            unit: "share",
            reason: "Every thread at such an instruction uses the same variable. At half, counters \
                     that cost as much as a call would be reported; at double, programs that lose \
                     a sixth of their CPU time would be missed.",
            source: "definition",
        },
        Threshold {
            what: "the same where the address is in a register, summed over the functions of a \
                   process",
            value: MIN_ANY,
            unit: "share",
            reason: "An atomic instruction on a thread's own variable takes some 20 cycles. \
                     Allocators and reference counts without contention take less than a fifth of \
                     CPU time; at half, they would be reported.",
            source: "definition",
        },
        Threshold {
            what: "share of CPU time from which one function counts towards the finding",
            value: MIN_PLACE,
            unit: "share",
            reason: "Reference counts and locks without contention cost some per cent in many \
                     functions; a wait for a cache line costs more. At half, they would add up to \
                     a finding; at double, a variable that four functions change would be missed.",
            source: "definition",
        },
        Threshold {
            what: "time window in which two threads count as being there at once",
            value: AT_ONCE as f64,
            unit: "ns",
            reason: "The window holds ten clock samples at the usual rate. At half, threads that \
                     are elsewhere half of their time would miss each other; at double, threads \
                     that take turns could meet.",
            source: "definition",
        },
    ],
};

impl Rule for AtomicContention {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let held = evidence.doing(|d| atomic(evidence, d).is_some());
        if held.is_empty() {
            return Vec::new();
        }
        let presences = presences(evidence);
        let total = evidence.chore_time.cpu;
        let found =
            tally::by(evidence, &held, |s| Some(place_of(evidence, evidence.of_segment(s))));
        let mut processes: BTreeMap<(ProcessId, bool), Vec<Contended<'_>>> = BTreeMap::new();
        for found in found {
            let contended =
                presences.get(&found.key.0).and_then(|p| contended(evidence, p, &found));
            let of_much =
                contended.filter(|c| evidence.total(&c.held).share_of(total) >= MIN_PLACE);
            if let Some(contended) = of_much {
                processes.entry((found.key.0, contended.fixed)).or_default().push(contended);
            }
        }
        processes.into_values().filter_map(|places| told(evidence, &places, total)).collect()
    }
}

/// A function of a process.
type Key = (ProcessId, Text);

/// Threads and the CPUs that they are on, by stretches of [`AT_ONCE`].
type Present = BTreeMap<u64, Vec<(ThreadId, Option<u32>)>>;

/// Who is at a process's atomic instructions.
#[derive(Debug, Default)]
struct Presence {
    /// At any whose address is in a register: one cell may be changed by several functions.
    anywhere: Present,
    /// At those of one function whose address stands in the code: its own cell.
    fixed: BTreeMap<Text, Present>,
    /// Time at those of one function, by thread.
    threads: BTreeMap<Text, BTreeMap<ThreadId, Nanos>>,
}

/// True when another thread is there on another CPU at the same time.
fn is_shared(present: &Present, interval: &Interval) -> bool {
    let other = |(thread, cpu): &(ThreadId, Option<u32>)| {
        *thread != interval.thread && (*cpu != interval.cpu || cpu.is_none())
    };
    stretches(interval).any(|at| present.get(&at).is_some_and(|all| all.iter().any(other)))
}

impl Presence {
    /// True when another thread may change the same cell at the same time.
    fn is_contended(&self, function: &Text, kind: Instruction, interval: &Interval) -> bool {
        match kind {
            Instruction::AtomicFixed => {
                self.fixed.get(function).is_some_and(|present| is_shared(present, interval))
            }
            _ => is_shared(&self.anywhere, interval),
        }
    }
}

fn stretches(interval: &Interval) -> std::ops::RangeInclusive<u64> {
    let from = interval.start.0;
    from / AT_ONCE..=from.saturating_add(interval.duration.0.saturating_sub(1)) / AT_ONCE
}

/// What kind of atomic instruction a thread is at.
fn atomic(evidence: &Evidence<'_>, doing: &Doing) -> Option<Instruction> {
    let atomic = |i: &Instruction| matches!(i, Instruction::Atomic | Instruction::AtomicFixed);
    evidence.instruction(doing).filter(atomic)
}

/// Where an atomic instruction is: the application's function, where it came out of a header into the
/// same module; a library's own function stays what it is.
fn place_of(evidence: &Evidence<'_>, interval: &Interval) -> Key {
    let function = evidence.function(interval);
    let module = |frame: FrameId| evidence.recording.frame(frame).module;
    let owner = evidence.chores.owner(interval.stack);
    let owner = owner.filter(|owner| function.is_some_and(|f| module(f) == module(*owner)));
    (evidence.process(interval.thread), evidence.name(owner.or(function)))
}

/// Every process's, by all threads: what contends need not be on the path.
fn presences(evidence: &Evidence<'_>) -> BTreeMap<ProcessId, Presence> {
    let mut presences: BTreeMap<ProcessId, Presence> = BTreeMap::new();
    for interval in &evidence.recording.intervals {
        let Some(kind) = atomic(evidence, &interval.into()) else { continue };
        let (process, function) = place_of(evidence, interval);
        let presence = presences.entry(process).or_default();
        let threads = presence.threads.entry(function.clone()).or_default();
        *threads.entry(interval.thread).or_default() += interval.duration;
        let present = match kind {
            Instruction::AtomicFixed => presence.fixed.entry(function).or_default(),
            _ => &mut presence.anywhere,
        };
        for at in stretches(interval) {
            let present = present.entry(at).or_default();
            let here = (interval.thread, interval.cpu);
            if !present.contains(&here) {
                present.push(here);
            }
        }
    }
    presences
}

/// The atomic instructions of one function, with the time at them on the path while other threads may
/// change the same cell.
struct Contended<'p> {
    name: Text,
    threads: &'p BTreeMap<ThreadId, Nanos>,
    held: Vec<SegmentId>,
    /// Whether most of it is at addresses that stand in the code: one cell for all threads.
    fixed: bool,
}

fn contended<'p>(
    evidence: &Evidence<'_>,
    presence: &'p Presence,
    found: &Tally<Key>,
) -> Option<Contended<'p>> {
    let (_, name) = &found.key;
    let interval = |s: &SegmentId| evidence.of_segment(evidence.chain.segment(*s));
    let kind = |s: &SegmentId| atomic(evidence, &interval(s).into());
    let contended =
        |s: &SegmentId| kind(s).is_some_and(|k| presence.is_contended(name, k, interval(s)));
    let held: Vec<SegmentId> = found.segments.iter().copied().filter(contended).collect();
    let fixed = |s: &SegmentId| kind(s) == Some(Instruction::AtomicFixed);
    let fixed: Vec<SegmentId> = held.iter().copied().filter(fixed).collect();
    let fixed = evidence.total(&fixed).share_of(evidence.total(&held)) > 0.5;
    let threads = presence.threads.get(name).filter(|_| !held.is_empty())?;
    Some(Contended { name: name.clone(), threads, held, fixed })
}

/// The claim of a process's places, the costliest first: a counter may be changed by several functions,
/// each of which looks harmless.
fn told(evidence: &Evidence<'_>, places: &[Contended<'_>], total: Nanos) -> Option<Claim> {
    let first = places.first()?;
    let from = if first.fixed { MIN_FIXED } else { MIN_ANY };
    let held: Vec<SegmentId> = places.iter().flat_map(|p| p.held.iter().copied()).collect();
    let own = evidence.total(&held);
    let share = own.share_of(total);
    let mut threads: BTreeMap<ThreadId, Nanos> = BTreeMap::new();
    for (thread, time) in places.iter().flat_map(|place| place.threads) {
        *threads.entry(*thread).or_default() += *time;
    }
    let of_threads = share_of_threads(evidence, &threads);
    let is_sample =
        |s: &&SegmentId| evidence.of_segment(evidence.chain.segment(**s)).basis == Basis::Sample;
    let samples = held.iter().filter(is_sample).count() as f64;
    let known = samples >= MIN_SAMPLES || own >= MIN_TIME;
    if share < from || of_threads < from || threads.len() < 2 || !known {
        return None;
    }
    let who = match places.len() - 1 {
        0 => format!("`{}` spends", first.name),
        1 => format!("`{}` and another function spend", first.name),
        others => format!("`{}` and {others} other functions spend", first.name),
    };
    let title = format!(
        "{who} {COST} of {total} CPU time ({PERCENT}) on atomic instructions that {} threads \
         execute at once",
        threads.len()
    );
    let mut claim = Claim::new(&DOC, title, held)
        .share_of(total)
        .sure(0.9)
        .time("time on the critical path at these instructions while other threads are too", own)
        .fact("share of CPU time on the critical path", share, "share")
        .fact("share of these threads' CPU time", of_threads, "share")
        .fact("threads at these instructions", threads.len() as f64, "count")
        .fact("clock samples at these instructions", samples, "count");
    if !first.fixed {
        let why = "the address is in a register; how long the instructions take suggests that the \
                   threads share one variable";
        claim.confidence.lower(why, 0.75);
    }
    Some(claim)
}

/// Share of their CPU time that the threads are at a place.
fn share_of_threads(evidence: &Evidence<'_>, threads: &BTreeMap<ThreadId, Nanos>) -> f64 {
    let own: Nanos = threads.values().copied().sum();
    let rows = threads.keys().flat_map(|thread| evidence.lives.rows(*thread));
    let rows = rows.map(|row| &evidence.recording.intervals[row]);
    let cpu: Nanos = rows.filter(|i| i.cause.is_cpu()).map(|i| i.duration).sum();
    own.share_of(cpu)
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Cause, Recording};

    /// Two threads that are `at` a place for `own` of 10 ms, on CPUs of their own or on one.
    fn threads(at: &str, own: u64, cpus: u32) -> Recording {
        let rounds = [(at, own), ("clone3;work", 10 - own)];
        pair([&rounds, &rounds], cpus)
    }

    /// Two threads that go 50 times through stretches of these stacks and lengths.
    fn pair(rounds: [&[(&str, u64)]; 2], cpus: u32) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        let threads = ["a", "b"].map(|name| scene.thread(process, name, 0));
        for _ in 0..50 {
            for (thread, round) in threads.into_iter().zip(rounds) {
                for (stack, ms) in round {
                    scene.run(thread, *ms, Cause::CpuUser, stack);
                }
            }
        }
        scene.wait(main, 500, Cause::Lock, "main;join", End::By(threads[1]));
        let mut recording = scene.done();
        for interval in recording.intervals.iter_mut().filter(|i| i.thread == threads[1]) {
            interval.cpu = Some(cpus - 1);
        }
        recording
    }

    #[test]
    fn two_threads_at_one_counter_are_told() {
        let found = first(&threads("clone3;count^atomic-fixed", 3, 2), "atomic-contention");
        let found = found.expect("found");
        assert_eq!(found.cost.0 / 1_000_000, 150);
        assert!(found.title.contains("`program!count` spends 150 ms of 500 ms"), "{}", found.title);
        assert!(found.title.contains("2 threads"), "{}", found.title);
    }

    #[test]
    fn a_cell_that_may_be_each_threads_own_must_cost_more_and_is_less_sure() {
        let fixed = first(&threads("clone3;count^atomic-fixed", 6, 2), "atomic-contention");
        let any = first(&threads("clone3;count^atomic", 6, 2), "atomic-contention");
        let (fixed, any) = (fixed.expect("found"), any.expect("found"));
        assert!(any.confidence < fixed.confidence, "{} {}", any.confidence, fixed.confidence);
        assert!(first(&threads("clone3;count^atomic", 2, 2), "atomic-contention").is_none());
    }

    #[test]
    fn what_several_functions_do_to_a_cell_counts_together() {
        let rounds = [("clone3;price^atomic", 2), ("clone3;quote^atomic", 2), ("clone3;work", 6)];
        let recording = pair([&rounds, &rounds], 2);
        let found = first(&recording, "atomic-contention").expect("found");
        assert_eq!(found.cost.0 / 1_000_000, 200);
        assert!(
            found.title.starts_with("`program!price` and another function spend 200 ms"),
            "{}",
            found.title
        );
    }

    #[test]
    fn cells_of_two_functions_that_one_thread_each_changes_are_not_shared() {
        let rounds = |at| [(at, 8), ("clone3;work", 2)];
        let (a, b) = (rounds("clone3;a^atomic-fixed"), rounds("clone3;b^atomic-fixed"));
        let recording = pair([&a, &b], 2);
        assert!(first(&recording, "atomic-contention").is_none());
    }

    #[test]
    fn threads_that_share_a_cpu_do_not_contend() {
        assert!(first(&threads("clone3;count^atomic-fixed", 8, 1), "atomic-contention").is_none());
    }

    #[test]
    fn one_thread_alone_does_not_contend() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        for _ in 0..50 {
            scene.run(main, 9, Cause::CpuUser, "main;count^atomic-fixed");
            scene.run(main, 1, Cause::CpuUser, "main;work");
        }
        let recording = scene.done();
        assert!(first(&recording, "atomic-contention").is_none());
        assert!(first(&recording, "hot-function").is_some());
    }

    #[test]
    fn threads_at_one_place_one_after_the_other_do_not_contend() {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        let (a, b) = (scene.thread(process, "a", 0), scene.thread(process, "b", 500));
        scene.run(a, 400, Cause::CpuUser, "clone3;count^atomic-fixed");
        scene.run(b, 400, Cause::CpuUser, "clone3;count^atomic-fixed");
        scene.wait(main, 900, Cause::Lock, "main;join", End::By(b));
        let mut recording = scene.done();
        recording.intervals.iter_mut().filter(|i| i.thread == b).for_each(|i| i.cpu = Some(1));
        assert!(first(&recording, "atomic-contention").is_none());
    }
}
