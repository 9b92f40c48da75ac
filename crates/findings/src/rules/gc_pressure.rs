//! `gc-pressure`: garbage collection takes a notable share of a program's time.

use std::collections::BTreeMap;

use culprit_model::{Basis, FrameId, Nanos, ProcessId, Text};

use crate::chore;
use crate::evidence::{Chore, Evidence, Family, Segment, SegmentId};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold, fact};
use crate::tally;

/// The rule.
pub(crate) struct GcPressure;

/// Share of a process's working time on the path from which it is reported.
const MIN_SHARE: f64 = 0.10;

/// Share of the time that a collector aims at; what is above it can be saved.
const GOAL: f64 = 1.0 / 13.0;

/// Share of a stretch of a collector's own thread in which the program's threads may work: above
/// it, the collector works beside the program, which then waits for nothing.
const MAX_BESIDE: f64 = 0.5;

/// How many functions that allocate are listed.
const LISTED: usize = 3;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "gc-pressure",
    group: Group::Cpu,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "Garbage collection takes a notable share of the time, on the program's own threads or \
            while they wait.",
    signature: "Time on the critical path in the garbage collectors of the JVM, Go, V8, CPython or \
                .NET. It counts inside a thread of the program (assists, scavenges, collections), \
                and on a collector's thread while the program does not work. Waits that a \
                collector's thread ends count too.",
    not_reported: &[
        "a collector that runs while the program works",
        "time in which a \
                     collector's thread waits for a CPU (`run-queue`)",
    ],
    why: "A collector walks over all live objects each time that the program has filled the free \
          memory. Much allocation makes it run often; many live objects make each run long. A heap \
          hardly larger than its live objects does both.",
    fix: &[
        "Allocate less in the listed functions: reuse buffers, avoid boxing and temporary \
         collections, stream instead of loading everything.",
        "Keep fewer objects alive.",
        "Give the heap more room: -Xmx (JVM), GOGC and GOMEMLIMIT (Go), --max-semi-space-size \
         (Node.js).",
        "Tune the collector: choose another one (JVM), or call gc.freeze() and gc.set_threshold() \
         (CPython).",
    ],
    check: "culprit record -o fixed.culprit -- CMD; `gc-pressure` in `culprit findings \
            fixed.culprit` must be smaller than before or be gone",
    thresholds: &[
        Threshold {
            what: "share of the process's working time on the critical path",
            value: MIN_SHARE,
            unit: "share",
            reason: "Collectors tune themselves towards a share: G1 towards 8 %, the parallel one \
                     towards 1 %. Above a tenth they miss their own goal. At half, healthy \
                     services would be reported; at double, a fifth of the time could go unseen.",
            source: "OpenJDK gc_globals.hpp: GCTimeRatio 12 for G1, 99 else",
        },
        Threshold {
            what: "share of the process's working time that a collector aims at; only the rest \
                   decides the severity",
            value: GOAL,
            unit: "share",
            reason: "A healthy program that allocates pays this much. At half, batch jobs at 14 % \
                     would have medium severity; at double, services at 24 % would have low \
                     severity.",
            source: "OpenJDK gc_globals.hpp: GCTimeRatio 12 for G1, one part in 13",
        },
        Threshold {
            what: "share of a collector thread's run in which the program works, up to which it is \
                   a pause",
            value: MAX_BESIDE,
            unit: "share",
            reason: "A collector that marks while the program works costs a CPU but delays no \
                     thread. In a pause hardly anything else of the process runs: the share is \
                     near 0. Beside a busy thread it is near 1.",
            source: "definition",
        },
    ],
};

/// What collecting costs one process.
#[derive(Default)]
struct Collected {
    segments: Vec<SegmentId>,
    /// Inside threads of the program.
    inside: Nanos,
    /// On the collector's own threads while nothing else works.
    pauses: Nanos,
}

impl Rule for GcPressure {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let mut working: BTreeMap<ProcessId, Nanos> = BTreeMap::new();
        let mut collected: BTreeMap<ProcessId, Collected> = BTreeMap::new();
        for (id, segment) in evidence.chain.iter() {
            let interval = evidence.of_segment(segment);
            let process = evidence.process(interval.thread);
            let held = held(evidence, segment);
            if interval.cause.is_cpu() || held.is_some() {
                *working.entry(process).or_default() += segment.length;
            }
            if let Some(held) = held {
                let sums = collected.entry(process).or_default();
                sums.segments.push(id);
                match held {
                    Held::Inside => sums.inside += segment.length,
                    Held::Pause => sums.pauses += segment.length,
                }
            }
        }
        let told = collected.into_iter().filter_map(|(process, sums)| {
            let total = working.get(&process).copied().unwrap_or_default();
            told(evidence, process, sums, total)
        });
        told.collect()
    }
}

/// How a collector holds a program up.
#[derive(Clone, Copy)]
enum Held {
    /// It works in a thread of the program.
    Inside,
    /// It works in a thread of its own, and the program waits for it.
    Pause,
}

/// Whether a segment's time goes to a collector. Time on the run queue is another story.
fn held(evidence: &Evidence<'_>, segment: &Segment) -> Option<Held> {
    let interval = evidence.of_segment(segment);
    if !interval.cause.is_cpu() && !interval.cause.is_blocked() {
        return None;
    }
    let collects = evidence.chores.chore(interval.stack) == Some(Chore::Collect);
    let own = evidence.managed.purpose(interval.thread) == Some(Chore::Collect);
    if own || (collects && evidence.chores.is_worker(interval.stack)) {
        let waits = waits_of_program(evidence, segment);
        if waits == Some(true) {
            return Some(Held::Pause);
        }
        // A collector's thread that stands by collects nothing.
        if interval.cause.is_blocked() && waits.is_none() {
            return None;
        }
        let process = evidence.process(interval.thread);
        let (from, to) = (segment.start, segment.start + segment.length);
        let beside = evidence.managed.program_works(process, from, to);
        let asked = collects || !is_busy_otherwise(evidence, segment);
        return (asked && beside.share_of(segment.length) <= MAX_BESIDE).then_some(Held::Pause);
    }
    if collects {
        return Some(if interval.cause.is_cpu() { Held::Inside } else { Held::Pause });
    }
    let ended = interval.waker.filter(|_| interval.cause.is_blocked());
    let by_collector = ended.is_some_and(|waker| {
        evidence.managed.purpose(waker) == Some(Chore::Collect)
            && evidence.chores.chore(interval.waker_stack) == Some(Chore::Collect)
    });
    by_collector.then_some(Held::Pause)
}

/// Whether a thread of the program that waits above a segment needs memory or asked for a collection;
/// none when no thread of the program waits there.
fn waits_of_program(evidence: &Evidence<'_>, segment: &Segment) -> Option<bool> {
    let waits = evidence.chain.links(segment).map(|link| evidence.interval(link.wait));
    let mut own = waits.filter(|wait| evidence.managed.purpose(wait.thread).is_none()).peekable();
    own.peek()?;
    let chore = |wait: &culprit_model::Interval| evidence.chores.chore(wait.stack);
    Some(own.any(|wait| matches!(chore(wait), Some(Chore::Allocate | Chore::Collect))))
}

/// True where a collector's thread does something whose functions have names, none of them the
/// collector's: the JVM's operations of other kinds share a thread with it.
fn is_busy_otherwise(evidence: &Evidence<'_>, segment: &Segment) -> bool {
    let stack = evidence.of_segment(segment).stack;
    let Some(stack) = stack else { return false };
    let recording = evidence.recording;
    recording.stack(stack).any(|frame| {
        evidence.known.is(frame, Family::Jvm) && recording.frame(frame).function.as_str() != "?"
    })
}

fn told(
    evidence: &Evidence<'_>,
    process: ProcessId,
    sums: Collected,
    working: Nanos,
) -> Option<Claim> {
    let own = evidence.total(&sums.segments);
    let share = own.share_of(working);
    let looked = |s: &&SegmentId| {
        let interval = evidence.of_segment(evidence.chain.segment(**s));
        interval.basis == Basis::Sample || interval.cause.is_blocked()
    };
    let looks = sums.segments.iter().filter(looked).count();
    if share < MIN_SHARE || !chore::is_enough(looks, own) {
        return None;
    }
    let allocators = allocators(evidence, process, &sums.segments);
    let who = evidence.recording.process_name(process);
    let allocates = allocators.first().map(|(name, _)| format!("; `{name}` allocates most"));
    let title = format!(
        "garbage collection takes {COST} of {who}'s {working} working time ({PERCENT}){}",
        allocates.unwrap_or_default()
    );
    let mut claim =
        Claim::new(&DOC, title, sums.segments)
            .share_of(working)
            .at(Site::Requester)
            .sure(0.9)
            .fact("share of the process's working time on the critical path", share, "share")
            .time("collection inside the program's threads", sums.inside)
            .time("collection on its own threads while the program waits", sums.pauses)
            .facts(allocators.iter().take(LISTED).map(|(name, time)| {
                fact(format!("garbage allocated by {name}"), time.0 as f64, "ns")
            }));
    chore::doubt_few(&mut claim, looks);
    Some(Claim { saves: 1.0 - GOAL / share, ..claim })
}

/// The application's functions in which collections began, the costliest first; where none is known,
/// those that allocate most on the path.
fn allocators(
    evidence: &Evidence<'_>,
    process: ProcessId,
    segments: &[SegmentId],
) -> Vec<(Text, Nanos)> {
    let by = |segments: &[SegmentId], key: &dyn Fn(&Segment) -> Option<FrameId>| {
        let mut names: BTreeMap<Text, Nanos> = BTreeMap::new();
        for part in tally::by(evidence, segments, key) {
            *names.entry(evidence.name(Some(part.key))).or_default() += part.total;
        }
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        names
    };
    let asked = by(segments, &|s| {
        evidence.chores.application(evidence.of_segment(&evidence.requester(s)).stack)
    });
    if !asked.is_empty() {
        return asked;
    }
    let allocate = evidence.chore_time.segments.get(&Chore::Allocate);
    let own = |s: &Segment| {
        let interval = evidence.of_segment(s);
        (evidence.process(interval.thread) == process)
            .then(|| evidence.chores.application(interval.stack))
            .flatten()
    };
    allocate.map(|held| by(held, &own)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, beside, first};
    use culprit_model::{Cause, Recording, Severity};

    /// A JVM whose thread works for `work` ms and stands still for `pause` ms, twenty times.
    fn jvm(work: u64, pause: u64, stack: &str) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("java", None, 0);
        let process = scene.recording.thread(main).process;
        let collector = scene.thread(process, "GC Thread#0", 0);
        let idle = "clone3;libjvm.so!GangWorker::loop;libc.so.6!sem_wait;k:futex_do_wait";
        let blocked = "clone3;[jit]!void Shop.cart(int);libjvm.so!G1CollectedHeap::mem_allocate;\
                       libc.so.6!pthread_cond_wait;k:futex_do_wait";
        for _ in 0..20 {
            scene.run(main, work, Cause::CpuUser, "clone3;[jit]!void Shop.cart(int)");
            scene.wait(collector, work, Cause::Lock, idle, End::By(main));
            scene.wait(main, pause, Cause::Lock, blocked, End::By(collector));
            scene.run(collector, pause, Cause::CpuUser, stack);
        }
        scene.done()
    }

    const EVACUATE: &str = "clone3;libjvm.so!GangWorker::loop;\
                            libjvm.so!G1ParScanThreadState::trim_queue_to_threshold";

    #[test]
    fn pauses_of_a_jvm_are_told_with_the_function_that_allocates() {
        let found = first(&jvm(10, 10, EVACUATE), super::DOC.id).expect("found");
        assert_eq!(found.cost.0, 200_000_000);
        assert!(found.title.ends_with("; `Shop.cart` allocates most"), "{}", found.title);
        assert_eq!(&*found.at[0].function, "Shop.cart");
    }

    #[test]
    fn collectors_without_symbols_are_known_by_their_threads() {
        let found = first(&jvm(10, 10, "clone3;libjvm.so!?"), super::DOC.id).expect("found");
        assert_eq!(found.cost.0, 200_000_000);
    }

    #[test]
    fn a_moderate_share_is_no_pressure() {
        assert!(first(&jvm(30, 2, EVACUATE), super::DOC.id).is_none());
    }

    #[test]
    fn a_thread_of_that_name_in_another_program_collects_nothing() {
        let mut scene = Scene::default();
        let main = scene.program("app", None, 0);
        let process = scene.recording.thread(main).process;
        let worker = scene.thread(process, "GC Thread#0", 0);
        scene.run(worker, 300, Cause::CpuUser, "clone3;rinse");
        let wait = "main;libc.so.6!pthread_cond_wait;k:futex_do_wait";
        scene.wait(main, 300, Cause::Lock, wait, End::By(worker));
        assert!(first(&scene.done(), super::DOC.id).is_none());
    }

    #[test]
    fn a_collector_that_stands_by_collects_nothing() {
        let mut scene = Scene::default();
        let main = scene.program("java", None, 0);
        let process = scene.recording.thread(main).process;
        let collector = scene.thread(process, "G1 Service", 0);
        let ticker = scene.thread(process, "VM Periodic Tas", 0);
        let idle =
            "clone3;libjvm.so!ConcurrentGCThread::run;libc.so.6!pthread_cond_wait;k:futex_do_wait";
        let tick =
            "clone3;libjvm.so!WatcherThread::run;libc.so.6!pthread_cond_wait;k:futex_do_wait";
        let work = "clone3;[jit]!void Shop.cart(int)";
        for _ in 0..20 {
            scene.run(main, 1, Cause::CpuUser, work);
            scene.wait(main, 99, Cause::Net, "clone3;libc.so.6!recv;k:sk_wait_data", End::Network);
            scene.wait(collector, 90, Cause::Lock, idle, End::By(ticker));
            scene.wait(
                collector,
                10,
                Cause::Lock,
                "clone3;libjvm.so!Z::wait;libc.so.6!pthread_cond_wait;k:futex_do_wait",
                End::By(ticker),
            );
            scene.wait(ticker, 100, Cause::Lock, tick, End::Timer);
        }
        assert!(first(&scene.running(), super::DOC.id).is_none());
    }

    #[test]
    fn a_wait_for_memory_is_the_collections_whatever_the_virtual_machine_does_in_it() {
        let mut scene = Scene::default();
        let main = scene.program("java", None, 0);
        let process = scene.recording.thread(main).process;
        let vm = scene.thread(process, "VM Thread", 0);
        let ask = "clone3;[jit]!void Shop.cart(int);[jit]!new_type_array Runtime1 stub;\
                   libjvm.so!Runtime1::new_type_array;libc.so.6!pthread_cond_wait;k:futex_do_wait";
        let idle = "clone3;libjvm.so!VMThread::run;libc.so.6!pthread_cond_wait;k:futex_do_wait";
        let stop = "clone3;libjvm.so!VMThread::run;libjvm.so!SafepointSynchronize::begin";
        for _ in 0..20 {
            scene.run(main, 10, Cause::CpuUser, "clone3;[jit]!void Shop.cart(int)");
            scene.wait(vm, 10, Cause::Lock, idle, End::By(main));
            scene.wait(main, 10, Cause::Lock, ask, End::By(vm));
            scene.run(vm, 10, Cause::CpuUser, stop);
        }
        let recording = scene.done();
        assert!(first(&recording, "wait-on-thread").is_none());
        let found = first(&recording, super::DOC.id).expect("found");
        assert!(found.title.ends_with("; `Shop.cart` allocates most"), "{}", found.title);
    }

    #[test]
    fn marking_beside_a_working_program_delays_nobody() {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        let worker = scene.thread(process, "server", 0);
        for _ in 0..30 {
            scene.run(main, 10, Cause::CpuUser, "runtime.goexit;main.serve;main.answer");
            let mark = "runtime.goexit;runtime.gcBgMarkWorker;runtime.gcDrain";
            scene.run(worker, 8, Cause::CpuUser, mark);
            scene.run(worker, 2, Cause::CpuUser, "runtime.goexit;runtime.schedule");
        }
        assert!(first(&scene.running(), super::DOC.id).is_none());
    }

    #[test]
    fn assists_in_a_thread_of_the_program_are_told_with_their_caller() {
        let stack = "runtime.goexit;main.decode;runtime.mallocgc;runtime.gcAssistAlloc;\
                     runtime.gcDrainN";
        let found = first(&beside(stack, 5, 10), super::DOC.id).expect("found");
        assert!(found.title.ends_with("; `program!main.decode` allocates most"), "{}", found.title);
        assert_eq!(found.severity, Severity::Medium, "what is above the collector's goal");
    }

    #[test]
    fn a_python_collection_is_told() {
        let stack = "python3.12!_PyEval_EvalFrameDefault;python3.12!_Py_RunGC;\
                     python3.12!gc_collect_main;python3.12!deduce_unreachable";
        assert!(first(&beside(stack, 5, 10), super::DOC.id).is_some());
        let own = "main;collect;deduce_unreachable";
        assert!(first(&beside(own, 5, 10), super::DOC.id).is_none());
    }
}
