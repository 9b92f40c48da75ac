//! `spawn-storm`: many short child processes; starting and ending them takes much of the time.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{Cause, Interval, Nanos, ProcessId, StackId, Text, ThreadId, Time};

use crate::evidence::chores::Chore;
use crate::evidence::relation::executed;
use crate::evidence::{Evidence, Family, Segment, SegmentId};
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct SpawnStorm;

/// Short processes from which they are a storm.
const MIN_CHILDREN: usize = 20;

/// CPU time in work of its own up to which a process is short.
const SHORT_CPU: Nanos = Nanos(50_000_000);

/// Functions that start processes of which the places name as many.
const STARTERS: usize = 2;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "spawn-storm",
    group: Group::Waiting,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "Many short child processes are started. Starting and ending them takes a notable \
            part of the time.",
    signature: "Many processes started and ended in the recording and used little CPU time for work of \
                their own. \
                Their time on a CPU, on the run queue, in page faults and on the disk lies on the \
                critical path. So does their parents' time in fork.",
    not_reported: &[
        "what the children do in functions of their own program: other findings report it",
        "sleeps and other waits of the children: other findings report them",
    ],
    why: "Each process copies page tables, loads and links its program, faults in every page that \
          it touches, and is torn down. Before any work this takes 0.5 ms for a small static \
          program, 4 ms for perl and 40 ms of CPU for python3.",
    fix: &[
        "In a shell loop, use built-ins and parameter expansion instead of `expr`, `sed` or `cut`.",
        "Process all lines with one `awk` or one script.",
        "Pass many arguments to one process: `xargs`, or `find -exec PROGRAM {} +`.",
        "Call a library function instead of a program.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the number of short processes in `culprit \
            findings fixed.culprit` must fall",
    thresholds: &[
        Threshold {
            what: "short processes",
            value: MIN_CHILDREN as f64,
            unit: "count",
            reason: "A start-up script runs a dozen helpers once; a loop starts one for each \
                     item. At half, \
                     ordinary wrapper scripts would be reported.",
            source: "definition",
        },
        Threshold {
            what: "CPU time of a short process, without its start and the modules that it loads",
            value: SHORT_CPU.0 as f64,
            unit: "ns",
            reason: "The start of an interpreter alone takes up to 41 ms of CPU, and not all of it has \
                     names. A process with more CPU time does work of its own.",
            source: "python3 -c pass 41 ms, perl -e 1 3 ms, a static C program 1.6 ms, Linux 6.18, \
                     2 CPUs",
        },
    ],
};

impl Rule for SpawnStorm {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        if evidence.recording.processes.len() < MIN_CHILDREN {
            return Vec::new();
        }
        let short = short_processes(evidence);
        if short.len() < MIN_CHILDREN {
            return Vec::new();
        }
        let executed = executed(evidence.recording);
        let segments = evidence.segments(|s, i| {
            let is_short = |thread| short.contains(&evidence.process(thread));
            // No thread's time fills the wait before a child's first instruction. What lasts longer than a
            // start is a wait for what others did before this child was made.
            let unborn = matches!(i.cause, Cause::Child | Cause::Pipe)
                && s.length <= SHORT_CPU
                && i.waker.is_some_and(is_short);
            let costs = is_running_cost(i.cause) && !is_own_work(evidence, &executed, i);
            (is_short(i.thread) && costs) || is_forking(evidence, i) || unborn
        });
        if segments.is_empty() { Vec::new() } else { vec![told(evidence, &short, segments)] }
    }
}

/// Processes that were born in the recording, ended in it and used little CPU.
fn short_processes(evidence: &Evidence<'_>) -> BTreeSet<ProcessId> {
    let recording = evidence.recording;
    let mut cpu = vec![Nanos::ZERO; recording.processes.len()];
    let works = |i: &&Interval| i.cause.is_cpu() && !is_start(evidence, i);
    for interval in recording.intervals.iter().filter(works) {
        cpu[evidence.process(interval.thread).index()] += interval.duration;
    }
    (0..recording.processes.len())
        .map(ProcessId::from_index)
        .filter(|p| {
            let process = recording.process(*p);
            let root = recording.meta.root_process == Some(*p);
            process.recorded && !root && process.parent.is_some() && process.end.is_some()
        })
        .filter(|p| cpu[p.index()] <= SHORT_CPU)
        .collect()
}

/// True for time that a process or a thread costs rather than chooses.
pub(super) fn is_running_cost(cause: Cause) -> bool {
    cause.is_cpu()
        || cause == Cause::Runnable
        || matches!(cause, Cause::Fault | Cause::Disk | Cause::Memory)
}

/// True for what a process does in functions of its own program, after it was started and before it ends:
/// that is work, which other findings tell.
fn is_own_work(
    evidence: &Evidence<'_>,
    executed: &BTreeMap<ProcessId, Time>,
    interval: &Interval,
) -> bool {
    let own = evidence.chores.application(interval.stack);
    let is_named = own.is_some_and(|frame| evidence.chores.is_application(frame));
    // A stripped program works in functions without names, below what starts it. Before it is executed, the
    // stack is its parent's; an interpreter without names starts in such functions, too.
    let is_in_program = || {
        let begun = executed.get(&evidence.process(interval.thread));
        begun.is_some_and(|begun| interval.start >= *begun)
            && evidence.stacks.in_family(interval.stack, Family::Start)
            && !evidence.chores.is_interpreted(interval.stack)
    };
    (is_named || is_in_program()) && !is_start(evidence, interval)
}

/// True for what starts or ends a process, and for what makes its code ready to run, modules' own code included.
pub(super) fn is_start(evidence: &Evidence<'_>, interval: &Interval) -> bool {
    let parts = PARTS.iter().flat_map(|(_, families)| *families);
    evidence.chores.chore(interval.stack) == Some(Chore::Generate)
        || parts
            .chain(&[Family::Imports])
            .any(|part| evidence.stacks.in_family(interval.stack, *part))
}

fn is_forking(evidence: &Evidence<'_>, interval: &Interval) -> bool {
    interval.cause == Cause::CpuKernel && evidence.stacks.in_family(interval.stack, Family::Fork)
}

/// The parts of a process's life that are its cost, by the functions on the stack; the first that
/// holds.
const PARTS: [(&str, &[Family]); 4] = [
    ("in fork", &[Family::Fork]),
    ("in exec", &[Family::Exec]),
    ("in run-time linking", &[Family::Link]),
    ("at exit", &[Family::Exit]),
];

fn told(evidence: &Evidence<'_>, short: &BTreeSet<ProcessId>, segments: Vec<SegmentId>) -> Claim {
    let total = evidence.total(&segments);
    let each = Nanos(total.0 / short.len() as u64);
    let title = format!(
        "{} short processes take {COST} of {} to start and end: {each} each",
        short.len(),
        evidence.chain.whole
    );
    let mut parts = [Nanos::ZERO; PARTS.len()];
    let (mut own, mut modules) = (Nanos::ZERO, Nanos::ZERO);
    for segment in segments.iter().map(|s| evidence.chain.segment(*s)) {
        match part_of(evidence, segment) {
            Some(part) => parts[part] += segment.length,
            None if is_start(evidence, evidence.of_segment(segment)) => modules += segment.length,
            None => own += segment.length,
        }
    }
    let mut claim = Claim::new(&DOC, title, segments)
        .fact("short processes", short.len() as f64, "count")
        .time("mean time of one", each);
    for ((what, _), time) in PARTS.iter().zip(parts) {
        claim = claim.time(format!("spent {what}"), time);
    }
    let places = places(evidence, short, &claim.segments);
    claim
        .time("spent on loading modules and compiling code", modules)
        .time("spent before main, or in an interpreter without names", own)
        .pointing(places)
}

/// Where to look: first the functions that start the processes, then what these do.
fn places(
    evidence: &Evidence<'_>,
    short: &BTreeSet<ProcessId>,
    segments: &[SegmentId],
) -> Vec<(ThreadId, StackId)> {
    let is_short = |thread| short.contains(&evidence.process(thread));
    let starts = evidence.recording.intervals.iter().filter(|i| {
        let forks = evidence.stacks.in_family(i.stack, Family::Fork);
        forks && !is_short(i.thread) && evidence.stacks.user(i.stack).is_some()
    });
    let costs = segments.iter().map(|s| evidence.of_segment(evidence.chain.segment(*s)));
    let costs = costs.filter(|i| is_short(i.thread));
    let mut places = by_function(evidence, starts);
    places.truncate(STARTERS);
    places.extend(by_function(evidence, costs));
    places
}

/// One stack for each function at work in intervals, the costliest function first.
pub(super) fn by_function<'i>(
    evidence: &Evidence<'_>,
    intervals: impl Iterator<Item = &'i Interval>,
) -> Vec<(ThreadId, StackId)> {
    let mut functions: BTreeMap<Text, (Nanos, &Interval)> = BTreeMap::new();
    for interval in intervals.filter(|i| i.stack.is_some()) {
        let name = evidence.name(evidence.focus(interval));
        let (total, longest) = functions.entry(name).or_insert((Nanos::ZERO, interval));
        *total += interval.duration;
        if interval.duration > longest.duration {
            *longest = interval;
        }
    }
    let mut functions: Vec<_> = functions.into_values().collect();
    functions.sort_by_key(|(total, _)| std::cmp::Reverse(*total));
    functions.into_iter().filter_map(|(_, i)| Some((i.thread, i.stack?))).collect()
}

fn part_of(evidence: &Evidence<'_>, segment: &Segment) -> Option<usize> {
    let stack = evidence.of_segment(segment).stack;
    PARTS
        .iter()
        .position(|(_, families)| families.iter().any(|f| evidence.stacks.in_family(stack, *f)))
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, MS, Scene, first};
    use culprit_model::{Cause, Recording};

    fn spawned(children: u64, each_ms: u64) -> Recording {
        working(children, each_ms, "main;eval")
    }

    /// Children that work at this stack.
    fn working(children: u64, each_ms: u64, stack: &str) -> Recording {
        let mut scene = Scene::default();
        let shell = scene.program("sh", None, 0);
        for _ in 0..children {
            scene.run(
                shell,
                1,
                Cause::CpuKernel,
                "main;run_all;libc.so.6!fork;k:__x64_sys_clone;k:copy_process",
            );
            let born = scene.now_ms(shell);
            let child = scene.program("expr", Some(shell), born);
            scene.run(
                child,
                1,
                Cause::CpuKernel,
                "libc.so.6!execve;k:__x64_sys_execve;k:load_elf_binary",
            );
            scene.run(
                child,
                1,
                Cause::CpuUser,
                "ld-linux-x86-64.so.2!dl_main;ld-linux-x86-64.so.2!do_lookup_x",
            );
            scene.run(child, each_ms, Cause::CpuUser, stack);
            scene.executes(child);
            let wait = "main;libc.so.6!wait4;k:do_wait";
            scene.wait(shell, each_ms + 2, Cause::Child, wait, End::By(child));
        }
        scene.done()
    }

    #[test]
    fn many_short_children_are_told_with_what_starting_them_costs() {
        let found = first(&spawned(50, 2), "spawn-storm").expect("found");
        assert_eq!(found.cost.0, 150 * MS, "their own work is told elsewhere");
        assert!(found.title.contains("50 short processes take 150 ms"), "{}", found.title);
        let ms = |what: &str| {
            found.evidence.iter().find(|e| e.what.contains(what)).map(|e| (e.value / 1e6).round())
        };
        assert_eq!(ms("in fork"), Some(50.0));
        assert_eq!(ms("in exec"), Some(50.0));
        assert_eq!(ms("in run-time linking"), Some(50.0));
        assert_eq!((&*found.at[0].process, &*found.at[0].function), ("sh (100)", "run_all"));
        assert!(!found.at.iter().any(|at| &*at.function == "eval"), "{:?}", found.at);
    }

    #[test]
    fn a_stripped_program_works_below_what_starts_it() {
        let below = "expr!?;libc.so.6!__libc_start_main;expr!?;expr!?";
        let found = first(&working(50, 2, below), "spawn-storm").expect("found");
        assert_eq!(found.cost.0, 150 * MS, "its own work is told elsewhere");
        // Nothing tells whether the program has begun.
        let found = first(&working(50, 2, "expr!?;expr!?"), "spawn-storm").expect("found");
        assert_eq!(found.cost.0, 250 * MS);
    }

    #[test]
    fn a_few_children_or_children_that_work_are_no_storm() {
        assert!(first(&spawned(10, 2), "spawn-storm").is_none());
        assert!(first(&spawned(50, 100), "spawn-storm").is_none());
    }
}
