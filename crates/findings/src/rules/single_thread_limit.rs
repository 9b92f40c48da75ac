//! `single-thread-limit`: one thread computes nearly all the time, and no other thread works.
//!
//! A finding without cost: other findings explain what the thread does in that time.

use culprit_model::{Interval, Nanos, Severity, ThreadId, Time};

use crate::evidence::Evidence;
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct SingleThreadLimit;

/// Share of the wall time that the thread is on a CPU.
const MIN_BUSY: f64 = 0.80;

/// Share of the wall time in which a second thread may work or want to.
const MAX_BESIDE: f64 = 0.20;

/// Share of the wall time in which another thread waits for it, from which the severity is low.
const MIN_WAITED: f64 = 0.50;

/// Share of the wall time that a thread must work itself for its wait to count.
const MIN_OWN_WORK: f64 = 0.05;

/// Runs below this are not worth another thread.
const MIN_WALL: Nanos = Nanos(2_000_000_000);

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "single-thread-limit",
    group: Group::Cpu,
    specificity: Specificity::Statement,
    yields_to: &[],
    claim: "One thread computes nearly all the time and no other thread of the program works: more \
            CPUs would not help.",
    signature: "One thread is on a CPU for most of the wall time, on a machine with several CPUs. \
                Hardly ever does a second thread run or wait for a CPU. Culprit assumes that the \
                other CPUs are idle: it cannot see programs that it did not record. The severity is \
                low if other threads wait for this one, else `info`.",
    not_reported: &[
        "services: Culprit judges only commands that ran to their end",
        "a thread that often waits for a CPU: more threads would only queue",
        "a thread that a CPU quota stops: more threads would only queue",
        "runs shorter than 2 s",
    ],
    why: "A run cannot be shorter than the work of its busiest thread. It is a problem only if \
          other threads wait for this one, or if you can divide the work. Else ignore this finding.",
    fix: &[
        "Reduce the thread's work: Culprit lists its most expensive functions as separate findings.",
        "Divide the work over several threads.",
        "Move work whose result is not needed at once to another thread.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the run must take less wall time than before",
    thresholds: &[
        Threshold {
            what: "share of the wall time in which the thread is on a CPU",
            value: MIN_BUSY,
            unit: "share",
            reason: "At 0.8 a perfect division over two threads would save 40 % of the wall time. \
                     A thread that waits for more than a fifth of the wall time has another limit.",
            source: "Amdahl's law",
        },
        Threshold {
            what: "share of the wall time in which a second thread works or is ready",
            value: MAX_BESIDE,
            unit: "share",
            reason: "Above it the program is parallel in part, and other findings explain what \
                     limits it.",
            source: "definition",
        },
        Threshold {
            what: "share of the wall time in which another thread waits for it",
            value: MIN_WAITED,
            unit: "share",
            reason: "At this share and above the severity is low, below it `info`. Waits at the start \
                     and the end of a thread pool are shorter.",
            source: "definition",
        },
        Threshold {
            what: "share of the wall time that a waiting thread must work itself to count",
            value: MIN_OWN_WORK,
            unit: "share",
            reason: "Helper threads of a runtime and launchers wait for the program because that \
                     is their purpose.",
            source: "compiler threads of V8 and the launcher of the JVM: below 0.03",
        },
        Threshold {
            what: "wall time",
            value: MIN_WALL.0 as f64,
            unit: "ns",
            reason: "Below 2 s, dividing the work is seldom worth the effort.",
            source: "definition",
        },
    ],
};

impl Rule for SingleThreadLimit {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let wall = evidence.chain.wall;
        let from = evidence.chain.segments.first().map(|s| s.start);
        let Some(from) = from.filter(|_| evidence.chain.one_shot && wall >= MIN_WALL) else {
            return Vec::new();
        };
        let beside = evidence.work.with_at_least(2, from, from + wall);
        if evidence.recording.meta.cpus < 2 || beside.share_of(wall) > MAX_BESIDE {
            return Vec::new();
        }
        let busiest = busiest(evidence, from);
        let busiest = busiest.filter(|(_, computed)| computed.share_of(wall) >= MIN_BUSY);
        let told = busiest.map(|(thread, computed)| told(evidence, thread, computed, (from, wall)));
        told.into_iter().collect()
    }
}

/// The thread that was on a CPU for most of the measured wall time.
fn busiest(evidence: &Evidence<'_>, from: Time) -> Option<(ThreadId, Nanos)> {
    let end = from + evidence.chain.wall;
    let mut computed = vec![Nanos::ZERO; evidence.recording.threads.len()];
    for interval in evidence.recording.intervals.iter().filter(|i| i.cause.is_cpu()) {
        let shared = (interval.start + interval.duration).min(end);
        computed[interval.thread.index()] += shared.since(interval.start.max(from).min(shared));
    }
    let all = computed.into_iter().enumerate().map(|(at, time)| (ThreadId::from_index(at), time));
    all.max_by_key(|(thread, time)| (*time, std::cmp::Reverse(*thread)))
}

/// The longest that another thread of its process, which has work of its own, waited for a thread.
fn waited_for(evidence: &Evidence<'_>, thread: ThreadId) -> Nanos {
    let process = evidence.process(thread);
    let mut waits = vec![Nanos::ZERO; evidence.recording.threads.len()];
    let mut worked = waits.clone();
    for own in evidence.recording.intervals.iter().filter(|i| i.cause.is_cpu()) {
        worked[own.thread.index()] += own.duration;
    }
    let ended = |i: &&Interval| {
        i.cause.is_blocked() && i.waker == Some(thread) && evidence.process(i.thread) == process
    };
    for wait in evidence.recording.intervals.iter().filter(ended) {
        waits[wait.thread.index()] += wait.duration;
    }
    // A runtime's helpers and a launcher wait for the program because that is their purpose.
    let wall = evidence.chain.wall;
    let works = worked.into_iter().map(|worked| worked.share_of(wall) >= MIN_OWN_WORK);
    let of_workers = waits.into_iter().zip(works).filter(|(_, works)| *works);
    of_workers.map(|(waited, _)| waited).max().unwrap_or_default()
}

fn told(
    evidence: &Evidence<'_>,
    thread: ThreadId,
    computed: Nanos,
    (from, wall): (Time, Nanos),
) -> Claim {
    let waited = waited_for(evidence, thread);
    let is_waited_for = waited.share_of(wall) >= MIN_WAITED;
    let severity = if is_waited_for { Severity::Low } else { Severity::Info };
    let whom = if is_waited_for { ", and another thread waits for it" } else { "" };
    let cpus = evidence.recording.meta.cpus;
    let title = format!(
        "{} computes for {computed} of {wall}{whom}: the program uses 1 of {cpus} CPUs",
        evidence.recording.thread_name(thread)
    );
    Claim::statement(&DOC, title, severity)
        .sure(0.8)
        .time(format!("CPU time of {}", evidence.recording.thread_name(thread)), computed)
        .time("longest total wait of another thread of the process for it", waited)
        .time(
            "time in which two threads worked or were ready",
            evidence.work.with_at_least(2, from, from + wall),
        )
        .fact("CPUs", f64::from(cpus), "count")
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Cause, Recording, Severity};

    fn solver(helper: Option<Cause>) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("solver", None, 0);
        scene.run(main, 3000, Cause::CpuUser, "main;solve");
        if let Some(cause) = helper {
            let process = scene.recording.thread(main).process;
            let thread = scene.thread(process, "helper", 0);
            if !cause.is_cpu() {
                scene.run(thread, 300, Cause::CpuUser, "clone3;help");
            }
            let end = if cause.is_cpu() { End::Unknown } else { End::By(main) };
            scene.wait(thread, 2700, cause, "clone3;help;k:futex_do_wait", end);
        }
        scene.done()
    }

    #[test]
    fn a_solver_is_told_as_information_and_one_that_others_wait_for_as_low() {
        let alone = first(&solver(None), "single-thread-limit").expect("found");
        assert_eq!((alone.severity, alone.cost.0), (Severity::Info, 0));
        assert!(
            alone.title.contains("3.00 s of 3.00 s: the program uses 1 of 2"),
            "{}",
            alone.title
        );
        let waited = first(&solver(Some(Cause::Lock)), "single-thread-limit").expect("found");
        assert_eq!(waited.severity, Severity::Low);
    }

    #[test]
    fn a_thread_that_is_held_back_does_not_compute() {
        for cause in [Cause::Runnable, Cause::RunnableQuota] {
            let mut scene = Scene::default();
            let main = scene.program("solver", None, 0);
            for _ in 0..10 {
                scene.run(main, 100, Cause::CpuUser, "main;solve");
                scene.run(main, 200, cause, "main;solve;k:irqentry_exit_to_user_mode");
            }
            assert!(first(&scene.done(), "single-thread-limit").is_none(), "{cause}");
        }
    }

    #[test]
    fn two_threads_that_work_are_not() {
        assert!(first(&solver(Some(Cause::CpuUser)), "single-thread-limit").is_none());
    }
}
