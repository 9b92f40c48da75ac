//! `run-queue`: threads are ready to run, but no CPU is free.

mod few_cpus;

use std::collections::BTreeMap;

use culprit_model::{Cause, Nanos, ProcessId, Severity};

use crate::doubt::MOST_APART;
use crate::evidence::{Evidence, SegmentId, Work};
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Specificity, Threshold, fact};
use crate::settle::severity_of;
use crate::tally;

/// The rule.
pub(crate) struct RunQueue;

/// Share of the measured time from which waiting for a CPU is listed.
const MIN_QUEUED: f64 = 0.05;

/// Share of the CPUs that recorded threads must use for the program itself to be why others of its threads wait.
/// At half, as much of the wait is for others' programs.
const OWN_CPUS: f64 = 0.5;

/// How many users of the CPUs are listed.
const MAX_USERS: usize = 3;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "run-queue",
    group: Group::Cpu,
    specificity: Specificity::Work,
    yields_to: &[],
    claim: "Threads are ready to run but wait for a CPU, because other threads use those that they may use.",
    signature: "A thread on the critical path is ready and not running. If the program's own threads \
                have the CPU meanwhile, what they do there counts, and this finding only states how \
                long it is. Where its processes may use only some of the CPUs while others are free, that \
                is the finding.",
    not_reported: &[
        "the run queue right after a lock was released: see `lock-contention`",
        "time in which a CPU quota stops the thread: see `cpu-quota-throttling`",
        "a recorded run-queue time that differs from the kernel's by more than half",
    ],
    why: "More threads want to run than there are CPUs, in this program or in others on the \
          machine. Each waits for the others' time slices (about 3 ms each).",
    fix: &["Measure again with free CPUs before you judge other findings."],
    check: "culprit record -o fixed.culprit -- CMD; on a quiet machine the time waiting for a \
            CPU must be smaller than before",
    thresholds: &[
        Threshold {
            what: "share of the measured time from which it is listed",
            value: MIN_QUEUED,
            unit: "share",
            reason: "Every wakeup costs some us of run queue, on an idle machine too. A program \
                     that switches often collects a few per cent.",
            source: "definition",
        },
        Threshold {
            what: "share of the CPUs that recorded threads use meanwhile, below which other programs are named",
            value: OWN_CPUS,
            unit: "share",
            reason: "Threads that are ready use no CPU. Below half, most of the wait is for programs outside the \
                     recording, and fewer threads would wait as long.",
            source: "definition",
        },
        Threshold {
            what: "free CPU time, as a share of the wait of processes that may use only some CPUs",
            value: few_cpus::MIN_FREE,
            unit: "share",
            reason: "With less, a wider mask saves little. At double, a recorder or a housekeeper that uses the \
                     other CPU for a moment hides the finding.",
            source: "definition",
        },
        Threshold {
            what: "difference between the recorded run-queue time and the kernel's",
            value: MOST_APART,
            unit: "share",
            reason: "A difference of 30 % lowers the confidence by 30 %. Above half, the finding \
                     is not reported.",
            source: "/proc/PID/task/TID/schedstat, read while recording",
        },
    ],
};

impl Rule for RunQueue {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        if evidence.sums_apart.run_queue > MOST_APART {
            return Vec::new();
        }
        let own = evidence.segments(|segment, _| evidence.fills_queue(segment));
        let confined = |segment: &SegmentId| few_cpus::confined(evidence, *segment).is_some();
        let (confined, free): (Vec<_>, Vec<_>) = own.iter().copied().partition(confined);
        let confined = few_cpus::of_confined(evidence, confined);
        let own = if confined.is_some() { free } else { own };
        let queued = evidence.doing(|d| d.cause == Cause::Runnable);
        let claims = [confined, of_own_threads(evidence, &own), of_others(evidence, queued)];
        claims.into_iter().flatten().collect()
    }
}

/// That the program's own threads take the CPUs from each other. What they do there is told by its own
/// findings: this is how they come to meet.
fn of_own_threads(evidence: &Evidence<'_>, segments: &[SegmentId]) -> Option<Claim> {
    let (total, whole) = (evidence.total(segments), evidence.chain.whole);
    let share = total.share_of(whole);
    if share < MIN_QUEUED {
        return None;
    }
    let (cpus, working) = (evidence.recording.meta.cpus, working(evidence, segments));
    let title = format!(
        "threads wait {total} of {whole} for a CPU that the program's own threads use: on average \
         {working:.1} threads want to run on {cpus} CPUs"
    );
    let severity = severity_of(share).min(Severity::Low);
    let claim = Claim::statement(&DOC, title, severity)
        .saying(OWN_WHY.to_owned(), OWN_FIX.to_owned())
        .time("time ready while own threads had the CPU", total)
        .fact("mean number of threads that wanted to run", working, "count")
        .fact("CPUs", f64::from(cpus), "count")
        .facts(users(evidence));
    let places = tally::by(evidence, segments, |segment| {
        let interval = evidence.of_segment(segment);
        interval.stack.map(|stack| (interval.thread, stack))
    });
    let claim = claim.pointing(places.into_iter().map(|place| place.key).collect());
    Some(Claim { specificity: Specificity::Statement, ..claim })
}

/// What to think of a program whose own threads wait for each other's CPU.
const OWN_WHY: &str = "The program's own threads fill the CPUs. The other findings say with what: that \
                       work, and not the waiting, decides how long the run takes.";
const OWN_FIX: &str = "Reduce the work that the other findings name. More CPUs help as long as more \
                       threads want to run than there are CPUs; fewer threads save only the switches.";

/// That other programs use the CPUs.
fn of_others(evidence: &Evidence<'_>, segments: Vec<SegmentId>) -> Option<Claim> {
    if evidence.total(&segments) == Nanos::ZERO {
        return None;
    }
    let (cpus, whole) = (evidence.recording.meta.cpus, evidence.chain.whole);
    let working = working(evidence, &segments);
    let running = mean_count(evidence, &Work::on_cpus(evidence.recording), &segments);
    // Threads that are ready as well use no CPU: whoever runs meanwhile does.
    let own = working > f64::from(cpus) && running >= OWN_CPUS * f64::from(cpus);
    let claim = if own {
        let title = format!(
            "threads wait {COST} of {whole} for a CPU: on average {working:.1} threads want to run on \
             {cpus} CPUs"
        );
        let fix = "Run fewer threads at once, or give the program more CPUs.".to_owned();
        Claim::new(&DOC, title, segments).saying(String::new(), fix).facts(users(evidence))
    } else {
        not_for_own(evidence, (segments, whole), (working, running))
    };
    let claim = claim
        .sure(0.9)
        .fact("mean number of threads that wanted to run", working, "count")
        .fact("mean number of CPUs that ran recorded threads", running, "count")
        .fact("CPUs", f64::from(cpus), "count");
    Some(Claim { listed_from: MIN_QUEUED, ..claim })
}

/// That recorded threads wait although they do not fill the CPUs. Programs outside the recording are named only where
/// they used as much CPU time as that.
fn not_for_own(
    evidence: &Evidence<'_>,
    (segments, whole): (Vec<SegmentId>, Nanos),
    (working, running): (f64, f64),
) -> Claim {
    let cpus = evidence.recording.meta.cpus;
    let outside = evidence.machine_use().map(|machine| machine.outside);
    let others = outside.is_some_and(|used| used >= evidence.total(&segments));
    let wanting = if working > f64::from(cpus) {
        format!(
            "On average {working:.1} recorded threads want to run, and {running:.1} of {cpus} CPUs run them."
        )
    } else {
        format!(
            "On average {working:.1} recorded threads want to run: too few to fill {cpus} CPUs."
        )
    };
    let (title, why, fix) = if others {
        (
            format!(
                "threads wait {COST} of {whole} for a CPU that programs outside the recording use"
            ),
            format!("{wanting} Other programs on this machine use the CPUs."),
            OTHERS_FIX,
        )
    } else {
        (
            format!("threads wait {COST} of {whole} for a CPU, and the program does not fill them"),
            format!("{wanting} {}", if outside.is_some() { FEW_OTHERS } else { OTHERS_UNKNOWN }),
            UNKNOWN_FIX,
        )
    };
    let claim = Claim::new(&DOC, title, segments).saying(why, fix.to_owned());
    match outside {
        Some(outside) => claim.time("CPU time that other programs used", outside),
        None => claim,
    }
}

const OTHERS_FIX: &str = "Find the other programs with `culprit record --all` (or `--cgroup`). Move them, or give \
                          this program a higher weight (nice, cpu.weight) or CPUs of its own: this slowness is not \
                          in your code.";
const FEW_OTHERS: &str = "Programs outside the recording used less CPU time than that. The rest is the delay of each \
                          wakeup, a mask or cpuset, or a hypervisor.";
const OTHERS_UNKNOWN: &str = "What other programs used is not in the recording: they may have the CPUs, or this \
                              program may not use all of them.";
const UNKNOWN_FIX: &str = "Look for other programs with `culprit record --all`, and for a mask with `taskset -p PID` \
                           and `cpuset.cpus`.";

/// How many recorded threads worked or wanted to, on average over the segments.
fn working(evidence: &Evidence<'_>, segments: &[SegmentId]) -> f64 {
    mean_count(evidence, &evidence.work, segments)
}

/// How many threads a work counts, on average over the segments. Segments of several threads can be of the same
/// time, which then counts for each.
fn mean_count(evidence: &Evidence<'_>, work: &Work, segments: &[SegmentId]) -> f64 {
    let mut weighted = 0.0;
    for segment in segments.iter().map(|s| evidence.chain.segment(*s)) {
        let end = segment.start + segment.length;
        for piece in work.between(segment.start, end) {
            let shared = piece.to.min(end).since(piece.from.max(segment.start));
            weighted += shared.seconds() * f64::from(piece.count);
        }
    }
    let total = evidence.total(segments).seconds();
    if total > 0.0 { weighted / total } else { 0.0 }
}

/// The recorded processes that used most CPU time.
fn users(evidence: &Evidence<'_>) -> Vec<culprit_model::Evidence> {
    let mut cpu: BTreeMap<ProcessId, Nanos> = BTreeMap::new();
    for interval in evidence.recording.intervals.iter().filter(|i| i.cause.is_cpu()) {
        *cpu.entry(evidence.process(interval.thread)).or_default() += interval.duration;
    }
    let mut cpu: Vec<_> = cpu.into_iter().collect();
    cpu.sort_by_key(|(process, time)| (std::cmp::Reverse(*time), *process));
    cpu.into_iter()
        .take(MAX_USERS)
        .map(|(process, time)| {
            let what = format!("CPU time of {}", evidence.recording.process_name(process));
            fact(what, time.0 as f64, "ns")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::scene::{MS, Scene, first};
    use culprit_model::{Cause, Loss, LossKind, Nanos, Recording, Severity, Time, counter_names};

    fn crowd(queued_ms: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        for at in 0..3 {
            let other = scene.program(&format!("other{at}"), Some(main), 0);
            scene.run(other, 1000, Cause::CpuUser, "main;spin");
        }
        scene.run(main, 1000 - queued_ms, Cause::CpuUser, "main;work");
        scene.run(main, queued_ms, Cause::Runnable, "main;work;k:irqentry_exit_to_user_mode");
        scene.done()
    }

    #[test]
    fn a_crowded_machine_is_told_with_who_used_it() {
        let found = first(&crowd(600), "run-queue").expect("found");
        assert_eq!((found.cost, found.severity), (Nanos(0), Severity::Low));
        assert!(
            found
                .title
                .starts_with("threads wait 600 ms of 1.00 s for a CPU that the program's own")
                && found.title.ends_with("4.0 threads want to run on 2 CPUs"),
            "{}",
            found.title
        );
        let work = first(&crowd(600), "hot-function").expect("what they do there is found");
        assert!(work.title.contains("`program!spin`"), "{}", work.title);
        assert!(found.evidence.iter().any(|e| e.what.contains("CPU time of other0")));
    }

    /// A program that waits for a CPU which nobody of the recording has.
    fn pushed_off() -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        scene.run(main, 400, Cause::CpuUser, "main;work");
        scene.run(main, 600, Cause::Runnable, "main;work;k:irqentry_exit_to_user_mode");
        scene.done()
    }

    /// The same with the kernel's own account of the thread's time on run queues.
    fn accounted(kernels_ms: u64) -> Recording {
        let mut recording = pushed_off();
        let main = &mut recording.threads[0];
        (main.sched_from, main.sched_to) = (Some(Time(0)), Some(Time(1000 * MS)));
        (main.sched_cpu, main.sched_wait) = (Some(Nanos(400 * MS)), Some(Nanos(kernels_ms * MS)));
        recording.losses.push(Loss {
            kind: LossKind::AccountingDiffers,
            count: 1,
            from: None,
            to: None,
            detail: "".into(),
        });
        recording
    }

    #[test]
    fn what_the_kernel_counts_otherwise_is_less_sure_or_not_told() {
        let sure = first(&pushed_off(), "run-queue").expect("found").confidence;
        let less = first(&accounted(400), "run-queue").expect("found");
        assert!((less.confidence / sure - 2.0 / 3.0).abs() < 0.01, "{}", less.confidence);
        assert!(less.evidence.iter().any(|e| e.what.contains("kernel's own sum")));
        assert!(first(&accounted(200), "run-queue").is_none());
        let told = first(&accounted(200), "recording-lost").expect("told");
        assert!(told.title.contains("differs from the kernel's"), "{}", told.title);
    }

    #[test]
    fn a_program_that_does_not_fill_the_cpus_is_told_that_others_do() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        scene.run(main, 400, Cause::CpuUser, "main;work");
        scene.run(main, 600, Cause::Runnable, "main;work;k:irqentry_exit_to_user_mode");
        scene.counter(None, counter_names::MACHINE_CPU_NS, 1900 * MS);
        let found = first(&scene.done(), "run-queue").expect("found");
        assert!(found.title.ends_with("that programs outside the recording use"), "{found:?}");
        let fix = found.fix.join(" ");
        assert!(fix.contains("--all") && !fix.contains("fewer threads"), "{found:?}");
        assert!(!found.evidence.iter().any(|e| e.what.contains("CPU time of")), "{found:?}");
        let crowd = first(&crowd(600), "run-queue").expect("found");
        let fix = crowd.fix.join(" ");
        assert!(fix.contains("fewer threads") && !fix.contains("--all"), "{crowd:?}");
    }

    #[test]
    fn others_are_named_only_where_they_used_the_cpus() {
        for busy_ms in [None, Some(900)] {
            let mut scene = Scene::default();
            let main = scene.program("program", None, 0);
            scene.run(main, 400, Cause::CpuUser, "main;work");
            scene.run(main, 600, Cause::Runnable, "main;work;k:irqentry_exit_to_user_mode");
            if let Some(ms) = busy_ms {
                scene.counter(None, counter_names::MACHINE_CPU_NS, ms * MS);
            }
            let found = first(&scene.done(), "run-queue").expect("found");
            assert!(found.title.ends_with("and the program does not fill them"), "{found:?}");
            let known = found.why.contains("used less CPU time than that");
            assert_eq!(known, busy_ms.is_some(), "{found:?}");
        }
    }

    #[test]
    fn many_ready_threads_on_a_machine_that_others_fill_are_not_told_to_be_fewer() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        let process = scene.recording.thread(main).process;
        for nth in 0..4 {
            let other = scene.thread(process, &format!("worker{nth}"), 0);
            scene.run(other, 40, Cause::CpuUser, "clone3;work");
            scene.run(other, 960, Cause::Runnable, "clone3;work;k:irqentry_exit_to_user_mode");
        }
        scene.run(main, 40, Cause::CpuUser, "main;work");
        scene.run(main, 960, Cause::Runnable, "main;work;k:irqentry_exit_to_user_mode");
        scene.counter(None, counter_names::MACHINE_CPU_NS, 2000 * MS);
        let found = first(&scene.done(), "run-queue").expect("found");
        assert!(found.title.ends_with("that programs outside the recording use"), "{found:?}");
        assert!(found.why.starts_with("On average 5.0 recorded threads want to run"), "{found:?}");
        assert!(!found.fix.join(" ").contains("fewer threads"), "{found:?}");
    }

    #[test]
    fn the_queue_of_ordinary_wakeups_is_not() {
        assert!(first(&crowd(30), "run-queue").is_none());
    }
}
