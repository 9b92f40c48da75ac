//! Time in the kernel on the chain by what the kernel does there: whose it is, and who called.
//!
//! ```text
//! main;find;open;do_syscall_64                     entering: whose call it is, only `open` tells
//! main;find;open;do_syscall_64;path_openat;...     in the family
//! main;find;open                                   the C library's part of the call
//! ```
//!
//! A sample at the kernel's entry does not say which call it was. The library function that entered
//! does where nearly all else that it does in the kernel is of one family.

use std::collections::BTreeMap;

use culprit_model::{Basis, Cause, Evidence as Fact, FrameId, Interval, Nanos, ProcessId, Text};

use crate::evidence::{Evidence, Family, Segment, SegmentId};
use crate::rule::fact;
use crate::tally::{self, Tally};

/// Clock samples and waits below which a family's time says nothing: the same as for functions,
/// ten are known to a third.
pub(crate) const MIN_LOOKS: usize = 10;

/// How many times as long as anything else a function's calls must be in the family for its entries
/// into the kernel to be the family's.
const MOSTLY: u64 = 4;

/// How many callers or calls are listed.
const LISTED: usize = 3;

/// True for time in which the kernel works for a thread, or makes it wait for a device, its locks or
/// its memory; waits for other threads, timers and the outside world are another story.
pub(crate) const fn is_kernel_work(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::CpuKernel
            | Cause::Disk
            | Cause::Fsync
            | Cause::Memory
            | Cause::Lock
            | Cause::Net
            | Cause::Other
    )
}

/// Adds the time in which the functions that enter the kernel for `inside` did so. Two walks over the
/// chain.
pub(crate) fn with_entries(evidence: &Evidence<'_>, mut inside: Vec<SegmentId>) -> Vec<SegmentId> {
    let mut member = vec![false; evidence.chain.segments.len()];
    for id in &inside {
        member[id.index()] = true;
    }
    let stacks = &evidence.stacks;
    // One entry a frame: kernel time in the family, and in anything else.
    let mut sums = vec![(Nanos::ZERO, Nanos::ZERO); evidence.recording.frames.len()];
    for (id, segment) in evidence.chain.iter() {
        let interval = evidence.of_segment(segment);
        let kernel = interval.cause == Cause::CpuKernel;
        let Some(function) = stacks.code(interval.stack).filter(|_| kernel) else { continue };
        let sum = &mut sums[function.index()];
        if member[id.index()] {
            sum.0 += segment.length;
        } else if !stacks.at_gate(interval.stack) {
            sum.1 += segment.length;
        }
    }
    let mostly =
        |(own, other): (Nanos, Nanos)| own > Nanos::ZERO && own.0 >= MOSTLY.saturating_mul(other.0);
    inside.extend(evidence.chain.iter().filter_map(|(id, segment)| {
        let interval = evidence.of_segment(segment);
        let enters = match interval.cause {
            Cause::CpuKernel => stacks.at_gate(interval.stack),
            Cause::CpuUser => stacks.in_family(interval.stack, Family::Wrapper),
            _ => false,
        };
        let function = stacks.code(interval.stack).filter(|_| enters && !member[id.index()])?;
        mostly(sums[function.index()]).then_some(id)
    }));
    inside.sort_unstable();
    inside
}

/// The segments by program, the costliest first, by the name of the process or of all processes of
/// the program; those with too few samples and waits are left out.
pub(crate) fn by_program(evidence: &Evidence<'_>, segments: &[SegmentId]) -> Vec<Tally<Program>> {
    let key = |s: &Segment| Some(evidence.process(evidence.of_segment(s).thread));
    // By handles first: segments are many, and names are long to compare.
    let mut programs: BTreeMap<Text, Vec<Tally<ProcessId>>> = BTreeMap::new();
    for part in tally::by(evidence, segments, key) {
        let name = evidence.recording.process(part.key).name.clone();
        programs.entry(name).or_default().push(part);
    }
    let mut all: Vec<_> =
        programs.into_iter().map(|(name, parts)| joined(evidence, &name, parts)).collect();
    all.retain(|t| looks(evidence, &t.segments) >= MIN_LOOKS);
    all.sort_by_key(|t| std::cmp::Reverse(t.total));
    all
}

/// The processes of one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// How findings call them: the process's name and number, or how many there are.
    pub(crate) name: String,
    /// Each of them.
    pub(crate) processes: Vec<ProcessId>,
}

fn joined(evidence: &Evidence<'_>, name: &str, parts: Vec<Tally<ProcessId>>) -> Tally<Program> {
    let processes: Vec<_> = parts.iter().map(|part| part.key).collect();
    let name = match processes[..] {
        [one] => evidence.recording.process_name(one),
        _ => format!("{} processes of {name}", processes.len()),
    };
    let total = parts.iter().map(|part| part.total).sum();
    let mut segments: Vec<_> = parts.into_iter().flat_map(|part| part.segments).collect();
    segments.sort_unstable();
    Tally { key: Program { name, processes }, segments, total }
}

/// How often a set of segments was seen: clock samples and waits.
pub(crate) fn looks(evidence: &Evidence<'_>, segments: &[SegmentId]) -> usize {
    let seen = |i: &Interval| i.basis == Basis::Sample || i.cause.is_blocked();
    segments.iter().filter(|s| seen(evidence.of_segment(evidence.chain.segment(**s)))).count()
}

/// The time of those segments that threads wait in.
pub(crate) fn waited(evidence: &Evidence<'_>, segments: &[SegmentId]) -> Nanos {
    let segments = segments.iter().map(|s| evidence.chain.segment(*s));
    let waits = segments.filter(|s| evidence.of_segment(s).cause.is_blocked());
    waits.map(|s| s.length).sum()
}

/// The time of those segments whose stacks are in a family.
pub(crate) fn in_family(evidence: &Evidence<'_>, segments: &[SegmentId], family: Family) -> Nanos {
    let own = evidence.doings.among(segments, |d| evidence.stacks.in_family(d.stack, family));
    evidence.total(&own)
}

/// As [`by_program`], of programs of whose CPU time on the chain the segments are at least `share`,
/// each with that share.
pub(crate) fn by_busy_program(
    evidence: &Evidence<'_>,
    segments: &[SegmentId],
    share: f64,
) -> Vec<(Tally<Program>, f64)> {
    let cpu = cpu_by_process(evidence);
    let with_share = |t: Tally<Program>| {
        let cpu: Nanos = t.key.processes.iter().map(|p| cpu[p.index()]).sum();
        let of_cpu = t.total.share_of(cpu);
        (t, of_cpu)
    };
    let programs = by_program(evidence, segments).into_iter().map(with_share);
    programs.filter(|(_, of_cpu)| *of_cpu >= share).collect()
}

/// The CPU time on the chain, one entry a process.
fn cpu_by_process(evidence: &Evidence<'_>) -> Vec<Nanos> {
    let mut cpu = vec![Nanos::ZERO; evidence.recording.processes.len()];
    for segment in &evidence.chain.segments {
        let interval = evidence.of_segment(segment);
        if interval.cause.is_cpu() {
            cpu[evidence.process(interval.thread).index()] += segment.length;
        }
    }
    cpu
}

/// The program's function that called for most of the segments.
pub(crate) fn caller(evidence: &Evidence<'_>, segments: &[SegmentId]) -> Text {
    let functions = callers(evidence, segments);
    functions.into_iter().next().map_or_else(|| Text::from("?"), |(name, _)| name)
}

fn callers(evidence: &Evidence<'_>, segments: &[SegmentId]) -> Vec<(Text, Nanos)> {
    by_function(evidence, segments, |i| evidence.stacks.focus(i.stack))
}

/// Sums by the name of a function of each segment, the largest first. By frames first: segments are
/// many, and names are long to compare.
fn by_function(
    evidence: &Evidence<'_>,
    segments: &[SegmentId],
    pick: impl Fn(&Interval) -> Option<FrameId>,
) -> Vec<(Text, Nanos)> {
    let mut frames: BTreeMap<FrameId, Nanos> = BTreeMap::new();
    for segment in segments.iter().map(|s| evidence.chain.segment(*s)) {
        if let Some(frame) = pick(evidence.of_segment(segment)) {
            *frames.entry(frame).or_default() += segment.length;
        }
    }
    let mut names: BTreeMap<Text, Nanos> = BTreeMap::new();
    for (frame, time) in frames {
        *names.entry(evidence.name(Some(frame))).or_default() += time;
    }
    let mut names: Vec<_> = names.into_iter().collect();
    // The sort is stable, so equal times stay in the order of their names.
    names.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    names
}

/// The costliest callers, and the kernel's functions that they called, as facts.
pub(crate) fn facts(evidence: &Evidence<'_>, segments: &[SegmentId]) -> Vec<Fact> {
    let calls = by_function(evidence, segments, |i| {
        evidence.stacks.entry(i.stack).filter(|_| !evidence.stacks.at_gate(i.stack))
    });
    let listed = |word: &'static str, all: Vec<(Text, Nanos)>| {
        let all = all.into_iter().take(LISTED);
        all.map(move |(name, time)| fact(format!("{word} {name}"), time.0 as f64, "ns"))
    };
    listed("called from", callers(evidence, segments)).chain(listed("in", calls)).collect()
}
