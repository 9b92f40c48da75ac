//! `blocked-thread-pool`: every thread of a pool waits in its job, and all other jobs wait behind them.
//!
//! ```text
//! pool 1    |open ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~|read a|open ~~~~
//! pool 2    |open ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~|read b|open
//! main       hands over read a, read b, and waits for them
//! ```
//!
//! A pool is known by its idle place: the function in which several threads wait until another thread of their
//! process hands them something.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{Cause, FrameId, Interval, Nanos, ProcessId, Text, ThreadId, Time};

use super::lock_contention::own_function;
use crate::evidence::stacks::WaitKind;
use crate::evidence::{Evidence, Family, Segment};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};

/// The rule.
pub(crate) struct BlockedThreadPool;

/// Share of the pool's time, from the first moment in which all wait to the last, up to which its threads may have
/// no job.
const MAX_IDLE: f64 = 0.2;

/// Jobs that were handed to a thread from which it belongs to a pool.
const MIN_JOBS: usize = 3;

/// Share of the measured time from which it is listed.
const MIN_SHARE: f64 = 0.05;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "blocked-thread-pool",
    group: Group::Waiting,
    specificity: Specificity::Mechanism,
    yields_to: &["name-lookup-wait", "lock-across-requests"],
    claim: "All threads of a pool wait in their jobs at once. Other jobs wait until one of them has ended.",
    signature: "Two or more threads wait in one function until another thread of their process hands them jobs. \
                For some of the time all of them wait inside of jobs: for a peer, a pipe, a child or a sleep. \
                They hardly ever wait for a job meanwhile, and a thread outside of the pool waits for them.",
    not_reported: &[
        "jobs that compute, or wait for a disk or a lock: these have findings of their own",
        "a pool whose threads are often idle",
        "threads that nobody hands jobs, such as the connections of a load generator",
    ],
    why: "A pool runs as many jobs at once as it has threads. A job that waits keeps its thread, and every job \
          behind it waits as long, however short it is (head-of-line blocking).",
    fix: &[
        "Let the waiting jobs not block: non-blocking opens and asynchronous clients, each with a time limit.",
        "Give the waiting jobs a pool of their own, so that short ones do not stand behind them.",
        "Give the pool as many threads as jobs wait at once: `UV_THREADPOOL_SIZE` (Node.js), \
         `max_workers` (Python), an executor of your own instead of `parallelStream()` or the common pool (JVM).",
    ],
    check: "culprit record -o fixed.culprit -- CMD; `blocked-thread-pool` in `culprit findings fixed.culprit` \
            must be gone",
    thresholds: &[
        Threshold {
            what: "share of the pool's time in which its threads have no job",
            value: MAX_IDLE,
            unit: "share",
            reason: "While threads are free, no job waits for one. At half, a pool whose jobs come in bunches \
                     would be left out; at double, one that is full for a moment would be reported.",
            source: "a pool of 4 with blocking opens: 0.004, Node.js 20",
        },
        Threshold {
            what: "jobs that each thread was handed",
            value: MIN_JOBS as f64,
            unit: "count",
            reason: "A thread that is started and joined waits once or twice for its maker. At double, pools in \
                     short runs would be missed.",
            source: "definition",
        },
        Threshold {
            what: "share of the measured time from which it is listed",
            value: MIN_SHARE,
            unit: "share",
            reason: "A pool that is full for a moment delays little. At double, 150 ms of 1.5 s would be left out.",
            source: "definition",
        },
    ],
};

impl Rule for BlockedThreadPool {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        pools(evidence).iter().filter_map(|pool| claim(evidence, pool)).collect()
    }
}

/// Threads that are handed jobs in one place.
struct Pool {
    process: ProcessId,
    idle_place: Text,
    threads: BTreeSet<ThreadId>,
}

/// What a thread was handed in one place.
#[derive(Default)]
struct Handed {
    jobs: usize,
    by: BTreeSet<ThreadId>,
}

/// The pools of all processes. Linear in intervals.
fn pools(evidence: &Evidence<'_>) -> Vec<Pool> {
    let mut places: BTreeMap<(ProcessId, Text), BTreeMap<ThreadId, Handed>> = BTreeMap::new();
    for row in &evidence.recording.intervals {
        let Some(place) = idle_place(evidence, row) else { continue };
        let process = evidence.process(row.thread);
        let by = row.waker.filter(|by| *by != row.thread && evidence.process(*by) == process);
        if let Some(by) = by {
            let handed = places.entry((process, place)).or_default().entry(row.thread).or_default();
            handed.jobs += 1;
            handed.by.insert(by);
        }
    }
    let places = places.into_iter();
    places.filter_map(|((process, place), handed)| Pool::of(process, place, handed)).collect()
}

/// The function in which a thread waits to be handed something by another one; none for other waits.
fn idle_place(evidence: &Evidence<'_>, row: &Interval) -> Option<Text> {
    let kind = evidence.stacks.wait_kind(row.stack);
    let may_be = row.cause == Cause::Lock
        && matches!(kind, None | Some(WaitKind::Condition | WaitKind::Park | WaitKind::Semaphore))
        && !evidence.locks.is_lock(evidence.recording, &evidence.stacks, row)
        && !evidence.stacks.in_family(row.stack, Family::Scheduler);
    let frame = may_be.then(|| evidence.stacks.focus(row.stack)).flatten()?;
    Some(evidence.recording.frame(frame).function.clone())
}

/// True for a wait inside of a job that no finding of a device or a lock is about.
fn is_blocked_job(row: &Interval) -> bool {
    let waits = matches!(
        row.cause,
        Cause::Net | Cause::Ipc | Cause::Pipe | Cause::Poll | Cause::Child | Cause::Sleep
    );
    waits && row.duration > Nanos::ZERO
}

/// A stretch of time.
type Stretch = (Time, Time);

/// The time that two lists of stretches have in common; both are in order.
fn common(a: &[Stretch], b: &[Stretch]) -> Vec<Stretch> {
    let (mut at, mut with, mut found) = (0, 0, Vec::new());
    while let (Some(one), Some(other)) = (a.get(at), b.get(with)) {
        let (from, to) = (one.0.max(other.0), one.1.min(other.1));
        if from < to {
            found.push((from, to));
        }
        if one.1 <= other.1 {
            at += 1;
        } else {
            with += 1;
        }
    }
    found
}

impl Pool {
    /// None where a place is no pool's: who takes turns with its like is handed no job.
    fn of(
        process: ProcessId,
        idle_place: Text,
        mut handed: BTreeMap<ThreadId, Handed>,
    ) -> Option<Self> {
        handed.retain(|_, handed| handed.jobs >= MIN_JOBS);
        let threads: BTreeSet<ThreadId> = handed.keys().copied().collect();
        let from_outside = |handed: &Handed| handed.by.iter().any(|by| !threads.contains(by));
        let is_pool = threads.len() >= 2 && handed.values().all(from_outside);
        is_pool.then_some(Self { process, idle_place, threads })
    }

    fn rows<'a>(&self, evidence: &Evidence<'a>) -> impl Iterator<Item = &'a Interval> {
        let threads = self.threads.iter();
        threads.flat_map(|thread| &evidence.recording.intervals[evidence.lives.rows(*thread)])
    }

    /// When all of its threads wait inside of jobs.
    fn full(&self, evidence: &Evidence<'_>) -> Vec<Stretch> {
        let blocked = |thread: &ThreadId| -> Vec<Stretch> {
            let rows = &evidence.recording.intervals[evidence.lives.rows(*thread)];
            let rows = rows.iter().filter(|row| is_blocked_job(row));
            rows.map(|row| (row.start, row.start + row.duration)).collect()
        };
        let lists = self.threads.iter().map(blocked);
        lists.reduce(|all, one| common(&all, &one)).unwrap_or_default()
    }

    /// The share of the threads' time in these stretches and between them in which they have no job.
    fn idle_share(&self, evidence: &Evidence<'_>, (from, to): Stretch) -> f64 {
        let idle = self
            .rows(evidence)
            .filter(|row| idle_place(evidence, row).is_some_and(|place| place == self.idle_place));
        let within = |row: &Interval| (row.start + row.duration).min(to).since(row.start.max(from));
        let idle: Nanos = idle.map(within).sum();
        idle.seconds() / (to.since(from).seconds() * self.threads.len() as f64)
    }

    /// Where its threads wait longest while all wait.
    fn place(&self, evidence: &Evidence<'_>, full: &[Stretch]) -> Option<(FrameId, ThreadId)> {
        let mut places: BTreeMap<(FrameId, ThreadId), Nanos> = BTreeMap::new();
        for row in self.rows(evidence).filter(|row| is_blocked_job(row)) {
            let Some(function) = own_function(evidence, row.stack) else { continue };
            *places.entry((function, row.thread)).or_default() +=
                in_any(full, row.start, row.start + row.duration);
        }
        places.into_iter().max_by_key(|(_, time)| *time).map(|(place, _)| place)
    }

    /// True for time in which a thread outside of the pool waits for one of its threads.
    fn is_awaited(&self, evidence: &Evidence<'_>, segment: &Segment) -> bool {
        evidence.waits_around(segment).any(|wait| {
            evidence.process(wait.waiter) == self.process
                && !self.threads.contains(&wait.waiter)
                && self.threads.contains(&wait.by)
        })
    }
}

/// How much of a time lies in these stretches.
fn in_any(stretches: &[Stretch], from: Time, to: Time) -> Nanos {
    let first = stretches.partition_point(|stretch| stretch.1 <= from);
    let within = stretches[first..].iter().take_while(|stretch| stretch.0 < to);
    within.map(|stretch| stretch.1.min(to).since(stretch.0.max(from))).sum()
}

fn claim(evidence: &Evidence<'_>, pool: &Pool) -> Option<Claim> {
    let full = pool.full(evidence);
    let span = (full.first()?.0, full.last()?.1);
    let idle = pool.idle_share(evidence, span);
    if idle > MAX_IDLE {
        return None;
    }
    let segments = evidence.segments(|segment, _| {
        let end = segment.start + segment.length;
        in_any(&full, segment.start, end).0 * 2 >= segment.length.0
            && pool.is_awaited(evidence, segment)
    });
    let (whole, total) = (evidence.chain.whole, evidence.total(&segments));
    if total.share_of(whole) < MIN_SHARE {
        return None;
    }
    let (function, thread) = pool.place(evidence, &full)?;
    let title = format!(
        "all {} threads of a pool in {} wait at once, mostly in `{}`: other jobs wait behind them for {COST} of \
         {whole} ({PERCENT})",
        pool.threads.len(),
        evidence.recording.process_name(pool.process),
        evidence.name(Some(function)),
    );
    let all_wait: Nanos = full.iter().map(|(from, to)| to.since(*from)).sum();
    let rows = pool.rows(evidence).filter(|row| row.thread == thread && is_blocked_job(row));
    let longest = rows
        .filter(|row| own_function(evidence, row.stack) == Some(function))
        .max_by_key(|row| row.duration);
    let place = longest.and_then(|row| Some((row.thread, row.stack?)));
    let claim = Claim::new(&DOC, title, segments)
        .share_of(whole)
        .at(Site::Entry)
        .pointing(place.into_iter().collect())
        .sure(0.8)
        .fact("threads of the pool", pool.threads.len() as f64, "count")
        .time("time in which all of them wait inside of jobs", all_wait)
        .fact("share of their time without a job meanwhile", idle, "share");
    Some(Claim { listed_from: MIN_SHARE, ..claim })
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first, told};
    use culprit_model::{Cause, Recording};

    const JOB: &str = "clone3;worker;libc.so.6!pthread_cond_wait;k:futex_do_wait";
    const OPEN: &str = "clone3;worker;open_device;libc.so.6!open;k:__x64_sys_openat;k:fifo_open";
    const LOOP: &str = "main;event_loop;libc.so.6!epoll_wait;k:do_epoll_wait;k:ep_poll";

    /// A pool of two threads that open devices for `open_ms`, then are idle for `idle_ms`; the loop waits for them.
    fn pool(open_ms: u64, idle_ms: u64, cause: Cause) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("hub", None, 0);
        let process = scene.recording.thread(main).process;
        let device = scene.program("device", Some(main), 0);
        let pool = [scene.thread(process, "pool", 0), scene.thread(process, "pool", 0)];
        for _ in 0..10 {
            for thread in pool {
                if cause.is_cpu() {
                    scene.run(thread, open_ms, cause, "clone3;worker;compute");
                } else {
                    scene.wait(thread, open_ms, cause, OPEN, End::By(device));
                }
                scene.run(thread, 1, Cause::CpuUser, "clone3;worker;read_sheet");
            }
            scene.wait(
                device,
                open_ms,
                Cause::Sleep,
                "main;libc.so.6!clock_nanosleep;k:do_nanosleep",
                End::Timer,
            );
            scene.run(device, 1, Cause::CpuUser, "main;answer");
            scene.wait(main, open_ms + 1, Cause::Poll, LOOP, End::By(pool[0]));
            scene.run(main, idle_ms, Cause::CpuUser, "main;event_loop;hand_over");
            for thread in pool {
                scene.wait(thread, idle_ms, Cause::Lock, JOB, End::By(main));
            }
            scene.run(device, idle_ms, Cause::CpuUser, "main;answer");
        }
        scene.done()
    }

    #[test]
    fn a_pool_whose_threads_all_wait_in_jobs_is_told() {
        let recording = pool(100, 2, Cause::Pipe);
        let found = first(&recording, "blocked-thread-pool").expect("found");
        assert!(
            found.title.starts_with(
                "all 2 threads of a pool in hub (100) wait at once, mostly in `hub!open_device`"
            ) || found.title.contains("mostly in `program!open_device`"),
            "{}",
            found.title
        );
        assert!(found.share > 0.8, "{} {:?}", found.share, told(&recording));
    }

    #[test]
    fn pools_that_compute_or_are_often_idle_are_not() {
        for recording in [pool(100, 2, Cause::CpuUser), pool(100, 60, Cause::Pipe)] {
            assert!(first(&recording, "blocked-thread-pool").is_none(), "{:?}", told(&recording));
        }
    }

    /// Threads of a load generator: each asks and waits, and nobody hands them anything.
    #[test]
    fn threads_that_nobody_hands_jobs_are_no_pool() {
        let mut scene = Scene::default();
        let main = scene.program("load", None, 0);
        let process = scene.recording.thread(main).process;
        let server = scene.program("server", Some(main), 0);
        let threads = [scene.thread(process, "a", 0), scene.thread(process, "b", 0)];
        let recv = "clone3;ask;libc.so.6!recv;k:tcp_recvmsg;k:sk_wait_data";
        for _ in 0..20 {
            scene.run(server, 20, Cause::CpuUser, "main;answer");
            for thread in threads {
                scene.wait(thread, 20, Cause::Net, recv, End::By(server));
            }
        }
        let join = "main;libc.so.6!pthread_join;libc.so.6!__pthread_clockjoin_ex;k:futex_do_wait";
        scene.wait(main, 400, Cause::Lock, join, End::By(threads[0]));
        assert!(first(&scene.done(), "blocked-thread-pool").is_none());
    }
}
