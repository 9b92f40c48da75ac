//! `neighbour-cpu`: another program of the recording used the CPU that a ready thread waited for.

use std::collections::BTreeMap;

use culprit_engine::wakers::is_descendant;
use culprit_model::{Cause, Nanos, ProcessId, Text, Time};

use crate::evidence::{Evidence, Segment, SegmentId};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Specificity, Threshold};
use crate::tally;

/// The rule.
pub(crate) struct NeighbourCpu;

/// Share of a wait for a CPU in which a neighbour must have had it.
const MIN_HAD: f64 = 0.5;

/// Share of the counted time from which it is listed, as for `run-queue`.
const MIN_QUEUED: f64 = 0.05;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "neighbour-cpu",
    group: Group::Cpu,
    specificity: Specificity::Pattern,
    yields_to: &[],
    claim: "Another program on this machine or in this container used the CPU that ready threads \
            waited for.",
    signature: "A thread was ready but not running, while another recorded program ran on the CPU \
                that the thread had left. Neither program started the other.",
    not_reported: &[
        "a program outside the recording (`run-queue`)",
        "another process of the same program, or one that either program started (`run-queue`)",
        "recordings of one command's whole life (`culprit record -- CMD`)",
    ],
    why: "The scheduler divides a CPU among all ready threads, by weight. A neighbour of the same \
          weight takes half.",
    fix: &[
        "Move the neighbour to other CPUs (`taskset`, a cpuset) or to another machine.",
        "Lower the neighbour's weight: `nice` or `cpu.weight`.",
        "Limit the neighbour's CPU time: `cpu.max`.",
        "Run the neighbour at another time.",
    ],
    check: "culprit record --all --duration 10 -o fixed.culprit; with the neighbour moved or \
            stopped, `neighbour-cpu` must be gone from `culprit findings fixed.culprit`",
    thresholds: &[
        Threshold {
            what: "share of a wait in which the neighbour had the CPU",
            value: MIN_HAD,
            unit: "share",
            reason: "A waiting thread may be moved to another CPU. The program that ran for more \
                     than half of the wait on the CPU that the thread left is the likely reason.",
            source: "definition",
        },
        Threshold {
            what: "share of the counted time from which it is listed",
            value: MIN_QUEUED,
            unit: "share",
            reason: "Each wakeup costs some microseconds of run queue, on an idle machine too.",
            source: "definition",
        },
    ],
};

/// The processes that ran on each CPU, in order of time.
type Cpus = BTreeMap<u32, Vec<(Time, Time, ProcessId)>>;

impl Rule for NeighbourCpu {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        // Processes that a command started are not its neighbours, and nothing else was recorded.
        if evidence.chain.one_shot {
            return Vec::new();
        }
        let queued = evidence.doing(|d| d.cause == Cause::Runnable);
        if queued.is_empty() {
            return Vec::new();
        }
        let cpus = cpus(evidence);
        let had = tally::by(evidence, &queued, |s| neighbour(evidence, &cpus, s));
        had.into_iter().map(|t| told(evidence, &t.key, t.segments, t.total)).collect()
    }
}

fn cpus(evidence: &Evidence<'_>) -> Cpus {
    let mut cpus = Cpus::new();
    for interval in evidence.recording.intervals.iter().filter(|i| i.cause.is_cpu()) {
        if let Some(cpu) = interval.cpu {
            let end = interval.start + interval.duration;
            let run = (interval.start, end, evidence.process(interval.thread));
            cpus.entry(cpu).or_default().push(run);
        }
    }
    cpus.values_mut().for_each(|runs| runs.sort_unstable());
    cpus
}

/// The program that had the CPU for most of a wait and is not related to the waiting one.
fn neighbour(evidence: &Evidence<'_>, cpus: &Cpus, segment: &Segment) -> Option<Text> {
    let interval = evidence.of_segment(segment);
    let (from, to) = (segment.start, segment.start + segment.length);
    let runs = cpus.get(&interval.cpu?)?;
    let own = evidence.process(interval.thread);
    let mut had: BTreeMap<ProcessId, Nanos> = BTreeMap::new();
    let first = runs.partition_point(|run| run.1 <= from);
    for &(start, end, process) in runs[first..].iter().take_while(|run| run.0 < to) {
        *had.entry(process).or_default() += end.min(to).since(start.max(from));
    }
    let (process, time) = had.into_iter().max_by_key(|(p, time)| (*time, std::cmp::Reverse(*p)))?;
    let most = time.share_of(segment.length) >= MIN_HAD;
    (most && !is_related(evidence, own, process))
        .then(|| evidence.recording.process(process).name.clone())
}

/// True for processes of one program, and for those of which one started the other.
fn is_related(evidence: &Evidence<'_>, one: ProcessId, other: ProcessId) -> bool {
    let exe = |process| &evidence.recording.process(process).exe;
    one == other
        || exe(one) == exe(other)
        || is_descendant(evidence.recording, one, other)
        || is_descendant(evidence.recording, other, one)
}

fn told(evidence: &Evidence<'_>, name: &str, segments: Vec<SegmentId>, total: Nanos) -> Claim {
    let waiting =
        tally::by(evidence, &segments, |s| Some(evidence.process(evidence.of_segment(s).thread)));
    let whom: Vec<_> = waiting.iter().map(|t| evidence.recording.process_name(t.key)).collect();
    let whole = evidence.chain.whole;
    let title = format!(
        "{} waits {COST} of {whole} ({PERCENT}) for a CPU on which {name} runs",
        tally::named(whom)
    );
    let claim = Claim::new(&DOC, title, segments)
        .share_of(whole)
        .sure(0.85)
        .time(format!("time ready but not running while {name} had the CPU"), total)
        .fact("CPUs of the machine", f64::from(evidence.recording.meta.cpus), "count");
    Claim { listed_from: MIN_QUEUED, ..claim }
}

#[cfg(test)]
mod tests {
    use crate::scene::{Scene, first, told};
    use culprit_model::{Cause, Recording};

    fn shared(other: &str) -> Recording {
        let mut scene = Scene::default();
        let server = scene.program("server", None, 0);
        let other = scene.program(other, None, 0);
        for _ in 0..20 {
            scene.run(server, 30, Cause::CpuUser, "main;serve");
            scene.run(server, 20, Cause::Runnable, "main;serve;k:irqentry_exit_to_user_mode");
            scene.run(other, 30, Cause::Runnable, "main;batch;k:irqentry_exit_to_user_mode");
            scene.run(other, 20, Cause::CpuUser, "main;batch");
        }
        scene.running()
    }

    #[test]
    fn the_program_that_had_the_cpu_is_named() {
        let recording = shared("batch");
        let told = told(&recording);
        assert!(told.contains(&"neighbour-cpu 600".to_owned()), "{told:?}");
        assert!(told.contains(&"neighbour-cpu 400".to_owned()), "{told:?}");
        assert!(!told.iter().any(|t| t.starts_with("run-queue")), "{told:?}");
        let found = first(&recording, "neighbour-cpu").expect("found");
        let title = &found.title;
        assert!(title.starts_with("batch (101) waits 600 ms of "), "{title}");
        assert!(title.ends_with(" for a CPU on which server runs"), "{title}");
    }

    #[test]
    fn workers_of_one_program_are_no_neighbours() {
        assert!(first(&shared("server"), "neighbour-cpu").is_none());
        assert!(first(&shared("server"), "run-queue").is_some());
    }
}
