//! `memory-growth`: a process's private memory rises throughout the recording.
//!
//! ```text
//! lows   |  .   |   .  |   .  |   :  |   :  |   :       each window's lowest reading
//! window  start |  1   |  2   |  3   |  4   |  5        the start is left out
//! ```
//!
//! A garbage-collected heap rises and falls, so the lowest readings of the windows are compared. A
//! cache that fills rises less and less. No counter shows what the memory is for, so the finding is
//! a statement.

use std::collections::BTreeMap;

use culprit_model::{
    FaultKind, FrameId, Nanos, ProcessId, Severity, StackId, Text, ThreadId, Time,
};

use crate::evidence::{Evidence, Resident};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold, fact};

/// The rule.
pub(crate) struct MemoryGrowth;

/// Windows of equal length into which a process's readings are divided; the first is its start.
const WINDOWS: usize = 6;

/// Readings from which the lowest of a window means something: three a window.
const MIN_READINGS: usize = 3 * WINDOWS;

/// Bytes of growth from which it is reported.
const MIN_GROWTH: u64 = 16 << 20;

/// The same as a share of what the process has at the end.
const MIN_SHARE: f64 = 0.10;

/// Share of the mean step from one window to the next that each step must have.
const MIN_STEP: f64 = 0.5;

/// Length from which a service's warm-up is over as a rule.
const WARM: Nanos = Nanos(60_000_000_000);

/// How many functions and places are listed.
const LISTED: usize = 3;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "memory-growth",
    group: Group::Memory,
    specificity: Specificity::Statement,
    yields_to: &[],
    claim: "A process's private memory rises throughout the recording.",
    signature: "The time in which the process was seen is divided into six windows. The lowest \
                private memory (anonymous pages, swapped ones included) rises from the second \
                window to the last, by similar steps. The listed functions touched the fresh \
                anonymous pages.",
    not_reported: &[
        "memory that a process takes at its start",
        "a heap that is collected and falls back",
        "a cache that fills more and more slowly",
    ],
    why: "Memory that is never freed reaches a limit: reclaim and swap slow the process down, then \
          the kernel kills it. In a service, growth at rest or under even load is a leak or an \
          unbounded cache. A command that ends by itself may need the memory for its result, so \
          there the finding is `info`.",
    fix: &[
        "Find entries that the listed functions add and never remove.",
        "Remove the listeners and buffers of requests that have ended.",
        "Bound each cache by size or age.",
        "If the first touch of pages does not show who allocates: `culprit record --alloc -o \
         allocs.culprit -- CMD`. Then `culprit top --metric live-bytes allocs.culprit` lists who allocated \
         what was never freed.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; `memory-growth` must be gone from `culprit \
            findings fixed.culprit`",
    thresholds: &[
        Threshold {
            what: "readings of a process",
            value: MIN_READINGS as f64,
            unit: "count",
            reason: "Each sixth of the time needs three readings. With one, a heap that is \
                     collected now and then seems to rise. There are five readings a second, so \
                     runs under 4 s are left out.",
            source: "definition",
        },
        Threshold {
            what: "growth after the first sixth",
            value: MIN_GROWTH as f64,
            unit: "bytes",
            reason: "Allocators and interpreters take memory in pieces of up to some megabytes and \
                     keep them. At half, slow starts are reported.",
            source: "glibc arenas (64 MiB reserved, touched as used), V8 semi-spaces (16 MiB)",
        },
        Threshold {
            what: "growth as a share of the private memory at the end",
            value: MIN_SHARE,
            unit: "share",
            reason: "The memory of a process of gigabytes changes by some per cent with its load.",
            source: "definition",
        },
        Threshold {
            what: "smallest step as a share of the mean step",
            value: MIN_STEP,
            unit: "share",
            reason: "A cache that fills by random hits adds less with each step. Seen for 1.5 of \
                     its time constants, its last step is half of the mean step. A leak under even \
                     load adds the same in each step.",
            source: "steps of 1 - exp(-t) over five windows",
        },
    ],
};

impl Rule for MemoryGrowth {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let mut programs: BTreeMap<Text, Vec<(ProcessId, Growth)>> = BTreeMap::new();
        for (process, readings) in evidence.memory.iter() {
            if let Some(growth) = Growth::of(readings) {
                let name = evidence.recording.process(process).name.clone();
                programs.entry(name).or_default().push((process, growth));
            }
        }
        programs.iter().map(|(name, grown)| told(evidence, name, grown)).collect()
    }
}

/// How a process's private memory rose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Growth {
    /// The first window's lowest reading after the start, and the last window's.
    from: Resident,
    to: Resident,
    /// The smallest step from one window to the next.
    least: u64,
}

impl Growth {
    /// The growth of readings that rise all through; none for others.
    fn of(readings: &[Resident]) -> Option<Self> {
        let (first, last) = (readings.first()?, readings.last()?);
        if readings.len() < MIN_READINGS {
            return None;
        }
        let window = (last.time.since(first.time).0 / WINDOWS as u64).saturating_add(1);
        let mut lows: [Option<Resident>; WINDOWS] = [None; WINDOWS];
        for reading in readings {
            let at = usize::try_from(reading.time.since(first.time).0 / window).ok()?;
            let low = lows.get_mut(at)?;
            if low.is_none_or(|low| reading.private < low.private) {
                *low = Some(*reading);
            }
        }
        let lows: Vec<Resident> = lows.into_iter().skip(1).collect::<Option<_>>()?;
        let steps = lows.windows(2).map(|pair| pair[1].private.checked_sub(pair[0].private));
        let steps: Vec<u64> = steps.collect::<Option<_>>()?;
        let (from, to) = (*lows.first()?, *lows.last()?);
        let (grown, least) = (to.private - from.private, steps.iter().copied().min()?);
        let enough = grown >= MIN_GROWTH && grown as f64 >= MIN_SHARE * to.private as f64;
        let even = least as f64 >= MIN_STEP * grown as f64 / steps.len() as f64;
        (enough && even).then_some(Self { from, to, least })
    }

    const fn bytes(&self) -> u64 {
        self.to.private - self.from.private
    }

    fn time(&self) -> Nanos {
        self.to.time.since(self.from.time)
    }
}

fn told(evidence: &Evidence<'_>, name: &str, grown: &[(ProcessId, Growth)]) -> Claim {
    let bytes: u64 = grown.iter().map(|(_, growth)| growth.bytes()).sum();
    let of = |part: fn(&Growth) -> u64| grown.iter().map(|(_, growth)| part(growth)).sum::<u64>();
    let longest = grown.iter().map(|(_, growth)| growth.time()).max().unwrap_or_default();
    let rate = bytes as f64 / longest.seconds().max(1e-9);
    let who = match grown {
        [(one, _)] => evidence.recording.process_name(*one),
        _ => format!("{} processes of {name}", grown.len()),
    };
    let touches = Touches::of(evidence, grown);
    let most = touches.functions.first().map(|(name, _)| format!(", mostly in `{name}`"));
    let title = format!(
        "{who}: private memory rises steadily by {} (to {}) in {longest}{}",
        mib(bytes),
        mib(of(|g| g.to.private)),
        most.unwrap_or_default()
    );
    let one_shot = evidence.chain.one_shot;
    let severity = match (one_shot, longest >= WARM) {
        (true, _) => Severity::Info,
        (false, true) => Severity::Medium,
        (false, false) => Severity::Low,
    };
    let mut claim = Claim::statement(&DOC, title, severity)
        .pointing(touches.stacks)
        .sure(0.9)
        .fact("private memory after the start", of(|g| g.from.private) as f64, "bytes")
        .fact("private memory at the end", of(|g| g.to.private) as f64, "bytes")
        .fact("growth per second", rate, "bytes/s")
        .fact(
            "smallest growth from one sixth of the time to the next",
            of(|g| g.least) as f64,
            "bytes",
        )
        .fact("pages of mapped files at the end", of(|g| g.to.file) as f64, "bytes");
    let whole = touches.total as f64;
    claim = claim.facts(touches.functions.into_iter().take(LISTED).map(|(name, count)| {
        fact(format!("share of fresh pages touched in {name}"), count as f64 / whole, "share")
    }));
    if one_shot {
        claim.confidence.lower("a command that ends by itself may need this memory", 0.8);
    } else if longest < WARM {
        claim
            .confidence
            .lower(format!("only {longest} of growth was seen: it may be the start-up"), 0.7);
    }
    claim
}

/// `17.3 MiB`.
fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// The functions that touched fresh anonymous pages while the memory rose.
#[derive(Default)]
struct Touches {
    /// By function, the most first.
    functions: Vec<(Text, u64)>,
    /// The most frequent stack of each of them.
    stacks: Vec<(ThreadId, StackId)>,
    total: u64,
}

impl Touches {
    fn of(evidence: &Evidence<'_>, grown: &[(ProcessId, Growth)]) -> Self {
        let range = |process: ProcessId| -> Option<(Time, Time)> {
            let (_, growth) = grown.iter().find(|(grown, _)| *grown == process)?;
            Some((growth.from.time, growth.to.time))
        };
        let mut stacks: BTreeMap<(ThreadId, StackId), u64> = BTreeMap::new();
        for fault in &evidence.recording.faults {
            let Some(stack) = fault.stack else { continue };
            let within = range(evidence.process(fault.thread))
                .is_some_and(|(from, to)| (from..=to).contains(&fault.time));
            if within && fault.kind == FaultKind::Minor && fault.file.is_none() {
                *stacks.entry((fault.thread, stack)).or_default() += fault.count;
            }
        }
        let mut stacks: Vec<_> = stacks.into_iter().collect();
        // The sort is stable, so equal counts stay in the order of their handles.
        stacks.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut functions: BTreeMap<Text, (u64, (ThreadId, StackId))> = BTreeMap::new();
        for (at, count) in &stacks {
            let name = evidence.name(toucher(evidence, at.1));
            functions.entry(name).or_insert((0, *at)).0 += count;
        }
        let total = stacks.iter().map(|(_, count)| *count).sum();
        let mut functions: Vec<_> = functions.into_iter().collect();
        functions.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        Self {
            stacks: functions.iter().take(LISTED).map(|(_, (_, at))| *at).collect(),
            functions: functions.into_iter().map(|(name, (count, _))| (name, count)).collect(),
            total,
        }
    }
}

/// The application's function that called the library which touched a page, else the function that
/// touched it.
fn toucher(evidence: &Evidence<'_>, stack: StackId) -> Option<FrameId> {
    evidence.chores.caller(Some(stack)).or_else(|| evidence.stacks.focus(Some(stack)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{MS, Scene, first};
    use culprit_model::{Cause, Counter, Fault, Recording, counter_names};

    /// A program of 10 s whose private memory is `mib` at each fifth of a second.
    fn program(mib: impl Fn(u64) -> u64) -> Scene {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        for at in 0..50 {
            scene.run(main, 200, Cause::CpuUser, "main;serve;remember");
            scene.recording.counters.push(Counter {
                time: Time(at * 200 * MS),
                process: Some(process),
                name: counter_names::RSS_ANON_BYTES.into(),
                value: mib(at) << 20,
            });
        }
        scene
    }

    fn touched(scene: Scene, of: fn(Scene) -> Recording) -> Recording {
        let mut recording = of(scene);
        let stack = recording.intervals[0].stack;
        recording.faults = (0..40)
            .map(|at| Fault {
                time: Time(at * 250 * MS),
                thread: ThreadId(0),
                kind: FaultKind::Minor,
                address: 0x1000 * at,
                count: 10,
                file: if at % 4 == 0 { Some("/lib/libc.so.6".into()) } else { None },
                stack,
            })
            .collect();
        recording
    }

    #[test]
    fn a_service_that_keeps_what_it_takes_is_told_with_who_touched_it() {
        let recording = touched(program(|at| 20 + 2 * at), Scene::running);
        let found = first(&recording, "memory-growth").expect("found");
        assert_eq!(found.severity, Severity::Low, "it was seen for 10 s");
        assert!(found.title.ends_with(" s, mostly in `program!remember`"), "{}", found.title);
        assert_eq!(&*found.at[0].function, "remember");
        assert_eq!(found.cost, Nanos::ZERO);
    }

    #[test]
    fn a_command_that_ends_by_itself_may_need_what_it_takes() {
        let found = first(&touched(program(|at| 20 + 2 * at), Scene::done), "memory-growth");
        assert_eq!(found.map(|f| f.severity), Some(Severity::Info));
    }

    #[test]
    fn a_collected_heap_that_keeps_more_each_time_rises_too() {
        let rising = program(|at| 20 + 2 * at + 30 * (at % 4));
        assert!(first(&rising.running(), "memory-growth").is_some());
    }

    #[test]
    fn caches_that_fill_heaps_that_are_collected_and_starts_are_not_growth() {
        let full = |mib: fn(u64) -> u64| first(&program(mib).running(), "memory-growth").is_none();
        assert!(full(|at| (20 + 20 * at).min(300)), "it is full half-way");
        assert!(full(|at| 300 - 280 / (1 + at / 4)), "it fills less and less");
        assert!(full(|at| 50 + 10 * (at % 6)), "it is collected");
        assert!(full(|at| if at < 5 { 100 * at } else { 500 }), "it starts");
        assert!(full(|at| 2_000 + at), "it changes by little");
        assert!(full(|at| if at < 25 { 100 } else { 200 }), "it took once");
    }
}
