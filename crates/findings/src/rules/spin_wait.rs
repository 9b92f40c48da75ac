//! `spin-wait`: a thread burns CPU time in a loop until another thread acts.
//!
//! Recognised by the loop's instructions (`frames.instruction`), or by calls that yield to the
//! scheduler. A lock that spins briefly and then blocks leaves the CPU after microseconds; only
//! longer spinning counts.

use std::collections::BTreeMap;

use culprit_model::{Instruction, Interval, Nanos, ProcessId, Text, ThreadId};

use crate::evidence::{Doing, Evidence, Family, SegmentId};
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold, fact};
use crate::tally::{self, Tally};

/// The rule.
pub(crate) struct SpinWait;

/// Share of the measured time.
const MIN_SHARE: f64 = 0.10;

/// Mean length of time on a CPU from which a thread does not block after a short try.
const MIN_STRETCH: Nanos = Nanos(100_000);

/// Share of the spinning during which another process must work, where the own process has no other
/// thread.
const MIN_OTHERS: f64 = 0.10;

/// How many of those that work meanwhile a finding lists.
const LISTED: usize = 3;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "spin-wait",
    group: Group::Cpu,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "A thread burns CPU time in a loop that does nothing until another thread acts.",
    signature: "Clock samples in a short loop with the CPU's wait hint (`pause`, `yield`), in a \
                short loop that only reads memory, or in `sched_yield`. The thread remains on the \
                CPU and does not block. Another thread or process that can end the loop is alive.",
    not_reported: &[
        "locks that spin for some microseconds and then block",
        "a thread that is alone: it waits for time or a signal",
    ],
    why: "The loop takes a CPU from threads that could run, often from the very thread that it \
          waits for. A spinning lock also pulls the cache line away from its holder. Blocking \
          frees the CPU; it shortens the run only where CPUs are short.",
    fix: &[
        "Block: condition variable, semaphore, `std::atomic::wait`, futex, channel or join.",
        "If waits are mostly shorter than a context switch, spin some microseconds, then block.",
        "Replace a spin lock of your own by the library's mutex.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; cpu.user in `culprit report fixed.culprit` \
            must be smaller than before",
    thresholds: &[
        Threshold {
            what: "share of the measured time",
            value: MIN_SHARE,
            unit: "share",
            reason: "Brief spinning before blocking is below it. At half, busy adaptive locks \
                     would be reported; at double, loops that burn a sixth of the run would be \
                     missed.",
            source: "definition",
        },
        Threshold {
            what: "mean time on a CPU in the loop",
            value: MIN_STRETCH.0 as f64,
            unit: "ns",
            reason: "Adaptive locks spin for 100 rounds, 2 to 5 us, then block. A thread that \
                     still spins after ten context switches' time does not block. At double \
                     nothing changes; at half, busy machines add their switches.",
            source: "std::sync::Mutex of Rust 1.9x, PTHREAD_MUTEX_ADAPTIVE_NP of glibc 2.41",
        },
        Threshold {
            what: "share of the loop's time in which another process works, for a single thread",
            value: MIN_OTHERS,
            unit: "share",
            reason: "Processes may wait for each other through shared memory. A thread that is \
                     alone waits for time or a signal, which is not reported.",
            source: "definition",
        },
    ],
};

impl Rule for SpinWait {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let spins = |d: &Doing| is_spinning(evidence, d);
        let segments = evidence.doing(spins);
        let key = |i: &Interval| {
            let function = match evidence.instruction(&i.into()) {
                Some(_) => evidence.function(i),
                None => evidence.focus(i),
            };
            (evidence.process(i.thread), evidence.name(function))
        };
        tally::by(evidence, &segments, |s| Some(key(evidence.of_segment(s))))
            .into_iter()
            .filter_map(|found| told(evidence, &spins, &found.key.1.clone(), found))
            .collect()
    }
}

fn is_spinning(evidence: &Evidence<'_>, doing: &Doing) -> bool {
    let waits = |i: Instruction| matches!(i, Instruction::Spin | Instruction::Pause);
    evidence.instruction(doing).is_some_and(waits)
        || (doing.cause.is_cpu() && evidence.stacks.in_family(doing.stack, Family::Yield))
}

fn told<K>(
    evidence: &Evidence<'_>,
    spins: &impl Fn(&Doing) -> bool,
    name: &Text,
    found: Tally<K>,
) -> Option<Claim> {
    let own = found.total;
    let share = own.share_of(evidence.chain.whole);
    let interval = |s: &SegmentId| evidence.of_segment(evidence.chain.segment(*s));
    let stretch = Nanos(own.0 / (found.segments.len() as u64).max(1));
    if share < MIN_SHARE || stretch < MIN_STRETCH {
        return None;
    }
    let thread = interval(found.segments.first()?).thread;
    let others = meanwhile(evidence, spins, &found.segments);
    let process = evidence.process(thread);
    let is_own = |t: &ThreadId| evidence.process(*t) == process;
    let working: Nanos = others.iter().filter(|(t, _)| !is_own(t)).map(|(_, time)| *time).sum();
    let peers = has_peers(evidence, &found.segments);
    if !peers && working.share_of(own) < MIN_OTHERS {
        return None;
    }
    let whole = evidence.chain.whole;
    let title = format!("`{name}` spins for {COST} of {whole} on a CPU until another thread acts");
    // Below a call that yields, the function to look at is the one that calls it.
    let decoded = evidence.instruction(&interval(found.segments.first()?).into()).is_some();
    let mut claim = Claim::new(&DOC, title, found.segments)
        .at(if decoded { Site::Work } else { Site::Entry })
        .sure(if peers { 0.9 } else { 0.6 })
        .time("time in the loop on the critical path", own)
        .fact("share of the measured time", share, "share")
        .time("mean time on a CPU in the loop", stretch)
        .facts(others.iter().take(LISTED).map(|(thread, time)| {
            let name = evidence.recording.thread_name(*thread);
            fact(format!("meanwhile: {name} works"), time.0 as f64, "ns")
        }));
    if others.is_empty() {
        claim.confidence.lower("no other thread was seen working meanwhile", 0.7);
    }
    Some(claim)
}

/// True when another thread of the process lived for most of the spinning.
fn has_peers(evidence: &Evidence<'_>, held: &[SegmentId]) -> bool {
    let mut threads: BTreeMap<ProcessId, Vec<ThreadId>> = BTreeMap::new();
    for thread in (0..evidence.recording.threads.len()).map(ThreadId::from_index) {
        threads.entry(evidence.process(thread)).or_default().push(thread);
    }
    let accompanied = |s: &&SegmentId| {
        let segment = evidence.chain.segment(**s);
        let own = evidence.of_segment(segment).thread;
        threads[&evidence.process(own)].iter().any(|id| {
            let thread = evidence.recording.thread(*id);
            *id != own
                && thread.start <= segment.start
                && thread.end.is_none_or(|end| end > segment.start)
        })
    };
    2 * held.iter().filter(accompanied).count() > held.len()
}

/// Who is on a CPU, and not in such a loop, while any of the segments passes; the busiest first.
fn meanwhile(
    evidence: &Evidence<'_>,
    spins: &impl Fn(&Doing) -> bool,
    held: &[SegmentId],
) -> Vec<(ThreadId, Nanos)> {
    let segments = held.iter().map(|s| evidence.chain.segment(*s));
    let mut ranges: Vec<_> = segments.map(|s| (s.start.0, s.start.0 + s.length.0)).collect();
    ranges.sort_unstable();
    // Several threads may spin at once: joined, the ranges end in the order in which they begin.
    ranges.dedup_by(|next, range| {
        let joins = next.0 <= range.1;
        if joins {
            range.1 = range.1.max(next.1);
        }
        joins
    });
    let mut others: BTreeMap<ThreadId, Nanos> = BTreeMap::new();
    let working = |i: &&Interval| i.cause.is_cpu() && !spins(&(*i).into());
    for row in evidence.recording.intervals.iter().filter(working) {
        let (from, to) = (row.start.0, row.start.0 + row.duration.0);
        let first = ranges.partition_point(|range| range.1 <= from);
        let met = ranges[first..].iter().take_while(|range| range.0 < to);
        let both: u64 = met.map(|range| range.1.min(to) - range.0.max(from)).sum();
        if both > 0 {
            *others.entry(row.thread).or_default() += Nanos(both);
        }
    }
    let mut others: Vec<_> = others.into_iter().collect();
    others.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    others
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first};
    use culprit_model::{Cause, Recording};

    /// A thread that is in a loop while another one works, then goes on.
    fn waits(stack: &str, stretch_us: u64, cause: Cause) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        let worker = scene.thread(process, "worker", 0);
        for _ in 0..200_000 / stretch_us {
            scene.spend(main, stretch_us * 1000, cause, stack, crate::scene::End::Unknown);
        }
        scene.run(worker, 200, Cause::CpuUser, "clone3;load");
        scene.run(main, 300, Cause::CpuUser, "main;use");
        scene.done()
    }

    #[test]
    fn loops_that_pause_or_look_or_yield_are_told_with_who_works_meanwhile() {
        for (stack, cause) in [
            ("main;await_ready^pause", Cause::CpuUser),
            ("main;await_ready^spin", Cause::CpuUser),
            ("main;await_ready;libc.so.6!sched_yield", Cause::CpuUser),
            (
                "main;await_ready;libc.so.6!sched_yield;k:do_syscall_64;k:__x64_sys_sched_yield",
                Cause::CpuKernel,
            ),
        ] {
            let found = first(&waits(stack, 1000, cause), "spin-wait").expect(stack);
            assert_eq!(found.cost.0 / 1_000_000, 200, "{stack}");
            assert!(
                found.title.starts_with("`program!await_ready` spins for 200 ms of"),
                "{}",
                found.title
            );
            let worker = |e: &culprit_model::Evidence| e.what.contains("worker");
            assert!(found.evidence.iter().any(worker), "{:?}", found.evidence);
        }
    }

    #[test]
    fn a_lock_that_blocks_after_a_short_try_is_not() {
        let recording = waits("main;lock_contended^pause", 5, Cause::CpuUser);
        assert!(first(&recording, "spin-wait").is_none());
    }

    #[test]
    fn a_thread_that_is_alone_waits_for_nobody() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        for _ in 0..200 {
            scene.run(main, 1, Cause::CpuUser, "main;until_signal^spin");
        }
        assert!(first(&scene.done(), "spin-wait").is_none());
    }

    #[test]
    fn work_is_no_spinning() {
        let recording = waits("main;compute", 1000, Cause::CpuUser);
        assert!(first(&recording, "spin-wait").is_none());
    }
}
