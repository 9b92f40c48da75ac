//! `thread-spawn-storm`: many short threads; starting and ending them takes much of the time.

use std::collections::BTreeMap;

use culprit_model::{Cause, Interval, Nanos, ProcessId, Thread, ThreadId};

use super::spawn_storm::{by_function, is_running_cost};
use crate::evidence::{Evidence, Family, Segment};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Specificity, Threshold};
use crate::tally::{self, Tally};

/// The rule.
pub(crate) struct ThreadSpawnStorm;

/// Short threads of a process from which they are a storm.
const MIN_THREADS: usize = 100;

/// CPU time in work of its own up to which a thread is short.
const SHORT_CPU: Nanos = Nanos(10_000_000);

/// Functions that start threads of which the places name as many.
const STARTERS: usize = 2;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "thread-spawn-storm",
    group: Group::Cpu,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "Many short threads are started. Starting and ending them takes a notable part of the \
            time.",
    signature: "Many threads of one process started and ended in the recording, and used little CPU \
                time for work of their own. Time on the critical path counts if these threads spend \
                it outside the program's functions: in the kernel, the C library or the runtime. So \
                does time in functions that start threads.",
    not_reported: &["what the threads do in the program's own functions"],
    why: "Each thread gets a stack, is entered in the tables of kernel and runtime, is scheduled, and \
          is removed again. That takes 26 us of CPU for a thread of the C library, and 100 to 130 us \
          for one of Python or the JVM. A pool hands over a task in 1 to 5 us.",
    fix: &[
        "Keep threads in a pool that takes tasks from a queue.",
        "Give each thread many items instead of one.",
        "Do small tasks in the thread that has them.",
        "Java 21: use virtual threads, if the tasks mostly wait.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the number of short threads in `culprit \
            findings fixed.culprit` must fall",
    thresholds: &[
        Threshold {
            what: "short threads of one process",
            value: MIN_THREADS as f64,
            unit: "count",
            reason: "Runtimes and pools start some dozens. A loop or a server starts one for each item. At \
                     half, parallel builds and test runners would come near; at double, 150 \
                     connections with a thread each would be left out.",
            source: "definition",
        },
        Threshold {
            what: "CPU time of a short thread in the program's own functions",
            value: SHORT_CPU.0 as f64,
            unit: "ns",
            reason: "A thread that works 10 ms costs less than a hundredth of that to start. At half or at \
                     double, only the count of threads changes.",
            source: "CPU time of an empty thread with its join: 26 us in C, 100 us in CPython 3.11, 130 us in \
                     OpenJDK 17, Linux 6.18, 2 CPUs",
        },
    ],
};

impl Rule for ThreadSpawnStorm {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let short = Short::of(evidence);
        if short.counts.is_empty() {
            return Vec::new();
        }
        let segments = evidence.segments(|_, i| short.is_cost(evidence, i));
        let process = |s: &Segment| Some(evidence.process(evidence.of_segment(s).thread));
        let processes = tally::by(evidence, &segments, process);
        processes.iter().map(|t| told(evidence, &short, t)).collect()
    }
}

/// Short threads, where a process has many of them.
struct Short {
    threads: Vec<bool>,
    counts: BTreeMap<ProcessId, usize>,
}

impl Short {
    fn of(evidence: &Evidence<'_>) -> Self {
        let recording = evidence.recording;
        let mut cpu = vec![Nanos::ZERO; recording.threads.len()];
        for row in recording.intervals.iter().filter(|row| row.cause.is_cpu()) {
            if is_own_work(evidence, row) {
                cpu[row.thread.index()] += row.duration;
            }
        }
        let came_and_went = |thread: &Thread| {
            let born = recording.process(thread.process).start;
            thread.recorded && thread.start > born && thread.end.is_some()
        };
        let lives = recording.threads.iter().zip(cpu);
        let mut threads: Vec<bool> =
            lives.map(|(thread, cpu)| came_and_went(thread) && cpu <= SHORT_CPU).collect();
        let mut counts = BTreeMap::new();
        for (thread, _) in recording.threads.iter().zip(&threads).filter(|(_, short)| **short) {
            *counts.entry(thread.process).or_default() += 1;
        }
        counts.retain(|_, count| *count >= MIN_THREADS);
        for (thread, short) in recording.threads.iter().zip(&mut threads) {
            *short &= counts.contains_key(&thread.process);
        }
        Self { threads, counts }
    }

    fn has(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()]
    }

    /// True for time that starting and ending threads costs.
    fn is_cost(&self, evidence: &Evidence<'_>, row: &Interval) -> bool {
        let starts = || {
            let of_process = self.counts.contains_key(&evidence.process(row.thread));
            of_process && evidence.stacks.in_family(row.stack, Family::StartsThread)
        };
        let lives =
            || self.has(row.thread) && is_running_cost(row.cause) && !is_own_work(evidence, row);
        lives() || starts()
    }
}

/// True for what a thread does in the program's own functions, but to start another one.
fn is_own_work(evidence: &Evidence<'_>, row: &Interval) -> bool {
    let own = evidence.chores.application(row.stack);
    own.is_some_and(|frame| evidence.chores.is_application(frame))
        && !evidence.stacks.in_family(row.stack, Family::StartsThread)
}

fn told(evidence: &Evidence<'_>, short: &Short, t: &Tally<ProcessId>) -> Claim {
    let count = short.counts.get(&t.key).copied().unwrap_or(1);
    let whole = evidence.chain.whole;
    let title = format!(
        "{}: {count} short threads take {COST} of {whole} ({PERCENT}) to start and end",
        evidence.recording.process_name(t.key)
    );
    let rows = || t.segments.iter().map(|s| evidence.of_segment(evidence.chain.segment(*s)));
    let starts = rows().filter(|row| evidence.stacks.in_family(row.stack, Family::StartsThread));
    let mut places = by_function(evidence, starts);
    places.truncate(STARTERS);
    let of = |wanted: &dyn Fn(&Interval) -> bool| -> Nanos {
        let segments = t.segments.iter().map(|s| evidence.chain.segment(*s));
        segments.filter(|s| wanted(evidence.of_segment(s))).map(|s| s.length).sum()
    };
    let starting = of(&|row| evidence.stacks.in_family(row.stack, Family::StartsThread));
    let ready = of(&|row| row.cause == Cause::Runnable);
    Claim::new(&DOC, title, t.segments.clone())
        .share_of(whole)
        .fact("short threads", count as f64, "count")
        .time("mean time of one", Nanos(t.total.0 / count as u64))
        .time("spent in functions that start threads", starting)
        .time("spent ready, without a CPU", ready)
        .pointing(places)
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Cause, Recording, Time};

    fn server(threads: u64, own_ms: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        for _ in 0..threads {
            let start = "main;serve;libc.so.6!pthread_create;libc.so.6!clone3;k:kernel_clone";
            scene.run(main, 1, Cause::CpuKernel, start);
            let born = scene.now_ms(main);
            let short = scene.thread(process, "request", born);
            scene.run(
                short,
                1,
                Cause::CpuKernel,
                "libc.so.6!clone3;k:ret_from_fork;k:schedule_tail",
            );
            scene.run(short, own_ms, Cause::CpuUser, "libc.so.6!clone3;answer");
            scene.run(short, 1, Cause::CpuKernel, "libc.so.6!start_thread;k:do_exit");
            let wait = "main;serve;libc.so.6!pthread_join;k:futex_do_wait";
            scene.wait(main, own_ms + 2, Cause::Lock, wait, End::By(short));
            scene.recording.threads[short.index()].end =
                Some(Time((born + own_ms + 2) * 1_000_000));
        }
        scene.done()
    }

    #[test]
    fn a_thread_for_each_request_is_reported_with_what_starts_and_ends_it() {
        let found = first(&server(200, 2), "thread-spawn-storm").expect("found");
        assert_eq!(found.cost.0, 600_000_000, "the answers are other findings' subject");
        assert!(found.title.contains("200 short threads take 600 ms"), "{}", found.title);
        assert_eq!(&*found.at[0].function, "serve");
    }

    #[test]
    fn a_pool_and_threads_that_work_are_not_reported() {
        assert!(first(&server(20, 2), "thread-spawn-storm").is_none());
        assert!(first(&server(200, 20), "thread-spawn-storm").is_none());
    }
}
