//! `lock-contention`: threads wait for a lock that other threads hold.
//!
//! The holder is the thread that ended the wait: its release of the lock wakes the waiter. What the
//! holder did during the wait is the cost of the critical section.

use culprit_model::{FrameId, Nanos, ProcessId, StackId, Text};

use super::{kept_locks, task_locks};
use crate::evidence::{Evidence, IntervalId, Relation, SegmentId};
use crate::kernel_time::MIN_LOOKS;
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::tally;

/// The rule.
pub(crate) struct LockContention;

/// Mean wait from which a lock is held for longer than a handoff takes: two switches and a wakeup.
const MIN_MEAN_WAIT: Nanos = Nanos(20_000);

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "lock-contention",
    group: Group::Waiting,
    specificity: Specificity::Dependency,
    yields_to: &[],
    claim: "Threads wait for a lock that other threads hold for longer than a lock handoff takes.",
    signature: "A thread on the critical path waits for a lock: a mutex, a read-write lock, an \
                interpreter's lock, a kernel lock, or a semaphore or futex used as \
                one. The thread that ended the wait is the holder. What it did meanwhile \
                    is the critical section. For tasks of a runtime (Go): samples in \
                    the slow path of a lock, called by a function that rarely runs in two \
                    threads at once. Beside the path: a thread on it waits, and another one for \
                    its lock.",
    not_reported: &[
        "waits on condition variables, barriers and joins (`wait-on-thread`)",
        "time in which the preempted holder waits for a CPU (`run-queue`)",
    ],
    why: "Only one thread at a time makes progress, so more threads add waiting instead of speed. \
          Each handoff also costs two context switches. Unlike in `wait-on-thread`, the waiter \
          does not need the holder's result: another design would not wait at all.",
    fix: &[
        "Do less while holding the lock: move the work listed under \"meanwhile\" out of it.",
        "Split the lock by the data that it protects.",
        "Use per-thread data and merge it later.",
        "Use a read-write lock where most threads only read.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `lock-contention` in `culprit \
            findings fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "mean length of a wait",
            value: MIN_MEAN_WAIT.0 as f64,
            unit: "ns",
            reason: "A handoff takes two context switches (2.4 us each, up to 7 us while recorded) \
                     and a wakeup. Waits of that length are the price of the switch, not of a held \
                     lock.",
            source: "pipe ping-pong on one CPU, Linux 6.18",
        },
        Threshold {
            what: "samples in the slow path of a lock among tasks",
            value: MIN_LOOKS as f64,
            unit: "count",
            reason: "Each sample is taken while a task waits. Ten samples give their share to \
                     within a third; one or two can be two tasks that met by chance.",
            source: "Poisson distribution",
        },
        Threshold {
            what: "share of the time in the locking function in which no other thread works",
            value: task_locks::MIN_ALONE,
            unit: "share",
            reason: "If other threads keep the CPUs busy, the lock costs little. At half of this \
                     share, programs \
                     that rarely meet at a lock are reported; at 1, one sample of a garbage \
                     collector's thread hides the lock.",
            source: "definition",
        },
    ],
};

impl Rule for LockContention {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let mut segments = evidence.depending_on(Relation::Lock);
        // Time in which a preempted holder waits for a CPU belongs to `run-queue`.
        segments.retain(|s| !evidence.is_for_cpu(evidence.chain.segment(*s)));
        let process = |s: &_| {
            let wait = evidence.dependent_wait(s)?;
            Some(evidence.process(evidence.interval(wait).thread))
        };
        let threads = tally::by(evidence, &segments, process).into_iter();
        let threads =
            threads.filter_map(|t| told(evidence, t.key, &without_queue(evidence, t.segments)));
        threads.chain(task_locks::find(evidence)).chain(kept_locks::find(evidence)).collect()
    }
}

/// The segments without the waits for a CPU, if these are most of the time: then too many threads
/// are ready, and without the lock they would wait as long. A short wait for a CPU after each
/// handoff is a part of its price.
fn without_queue(evidence: &Evidence<'_>, mut segments: Vec<SegmentId>) -> Vec<SegmentId> {
    let is_queued =
        |id: &SegmentId| evidence.of_segment(evidence.chain.segment(*id)).cause.is_runnable();
    let queued: Vec<_> = segments.iter().copied().filter(is_queued).collect();
    if evidence.total(&queued).0 * 2 > evidence.total(&segments).0 {
        segments.retain(|id| !is_queued(id));
    }
    segments
}

fn told(evidence: &Evidence<'_>, process: ProcessId, segments: &[SegmentId]) -> Option<Claim> {
    let waits = waits(evidence, segments);
    let waited: Nanos = waits.iter().map(|w| evidence.interval(*w).duration).sum();
    let mean = Nanos(waited.0 / (waits.len() as u64).max(1));
    if mean < MIN_MEAN_WAIT {
        return None;
    }
    let mut waiters: Vec<_> = waits.iter().map(|w| evidence.interval(*w).thread).collect();
    waiters.sort_unstable();
    waiters.dedup();
    let holders: Vec<_> = waits
        .iter()
        .map(|w| evidence.interval(*w))
        .filter_map(|wait| Some((wait.waker?, wait.duration)))
        .collect();
    let known = holders.len() as f64 / waits.len() as f64;
    let whole = evidence.chain.whole;
    let title = format!(
        "{} waits {COST} of {whole} ({PERCENT}) for locks in `{}`, held by {}",
        evidence.recording.process_name(process),
        waiting_function(evidence, segments),
        tally::named_by_time(evidence, holders),
    );
    let (why, fix) = if is_pause(evidence, segments) { PAUSE } else { ("", "") };
    let mut claim = Claim::new(&DOC, title, segments.to_vec())
        .share_of(whole)
        .at(Site::WaitThenWork)
        .saying(why.to_owned(), fix.to_owned())
        .fact("waits for locks on the critical path", waits.len() as f64, "count")
        .time("mean length of a wait", mean)
        .time("total length of these waits, of which only a part delayed the run", waited)
        .fact("threads that waited", waiters.len() as f64, "count")
        .facts(tally::done(evidence, segments, 3));
    claim.confidence.lower("the lock holder is unknown for some of the waits", 0.7 + 0.3 * known);
    Some(claim)
}

/// The function in which threads wait longest for the locks.
fn waiting_function(evidence: &Evidence<'_>, segments: &[SegmentId]) -> Text {
    let functions = tally::by(evidence, segments, |s| {
        own_function(evidence, evidence.interval(evidence.dependent_wait(s)?).stack)
    });
    evidence.name(functions.first().map(|function| function.key))
}

/// The program's own function that a stack is in, else the one to look at for a wait.
pub(super) fn own_function(evidence: &Evidence<'_>, stack: Option<StackId>) -> Option<FrameId> {
    let own = evidence.chores.application(stack);
    let own = own.filter(|frame| evidence.chores.is_application(*frame));
    own.or_else(|| evidence.stacks.focus(stack))
}

/// Reason and fix for a lock whose holder sleeps.
const PAUSE: (&str, &str) = (
    "The lock holder slept for most of this time.",
    "Release the lock before the sleep, or remove the sleep.",
);

/// True when the holder sleeps for most of the time that others wait for the lock.
fn is_pause(evidence: &Evidence<'_>, segments: &[SegmentId]) -> bool {
    let sleeps = |id: &SegmentId| {
        evidence.of_segment(evidence.chain.segment(*id)).cause == culprit_model::Cause::Sleep
    };
    let slept: Vec<_> = segments.iter().copied().filter(sleeps).collect();
    evidence.total(&slept).0 * 2 > evidence.total(segments).0
}

/// The waits for locks, each once, without the waits for the waiting threads.
pub(super) fn waits(evidence: &Evidence<'_>, segments: &[SegmentId]) -> Vec<IntervalId> {
    let wait = |id: &SegmentId| evidence.dependent_wait(evidence.chain.segment(*id));
    let mut waits: Vec<IntervalId> = segments.iter().filter_map(wait).collect();
    waits.sort_unstable();
    waits.dedup();
    waits
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Cause, Recording};

    const LOCK: &str = "clone3;update;libc.so.6!__lll_lock_wait;k:futex_do_wait";
    const JOIN: &str = "main;libc.so.6!__pthread_clockjoin_ex;k:futex_do_wait";

    /// Two threads that take turns with one lock, each holding it for a while.
    fn convoy(hold_us: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        let (a, b) = (scene.thread(process, "a", 0), scene.thread(process, "b", 0));
        for _ in 0..100 {
            scene.spend(a, hold_us * 1000, Cause::CpuUser, "clone3;update;grow", End::Unknown);
            scene.spend(b, hold_us * 1000, Cause::Lock, LOCK, End::By(a));
            scene.spend(a, hold_us * 1000, Cause::Lock, LOCK, End::By(b));
            scene.spend(b, hold_us * 1000, Cause::CpuUser, "clone3;update;grow", End::Unknown);
        }
        scene.spend(main, 200 * hold_us * 1000, Cause::Lock, JOIN, End::By(b));
        scene.done()
    }

    #[test]
    fn threads_that_take_turns_wait_for_the_lock_and_the_holder_is_named() {
        let found = first(&convoy(1000), "lock-contention").expect("found");
        // The half of the run in which the joined thread holds the lock itself is its own work.
        assert_eq!(found.cost.0 / 1_000_000, 100);
        let title = "server (100) waits 100 ms of 200 ms (50 %) for locks in `program!update`, \
                     held by a (1001)";
        assert_eq!(found.title, title);
        assert_eq!(&*found.at[0].function, "update", "who waits comes first");
        assert_eq!(&*found.at[1].function, "grow", "then what the holder does");
    }

    #[test]
    fn where_the_queue_for_a_cpu_takes_most_the_lock_is_told_for_the_rest() {
        let cost = |queued_ms: u64| {
            let mut scene = Scene::default();
            let main = scene.program("server", None, 0);
            let process = scene.recording.thread(main).process;
            let (a, b) = (scene.thread(process, "a", 0), scene.thread(process, "b", 0));
            for _ in 0..50 {
                scene.run(a, 4, Cause::CpuUser, "clone3;update;grow");
                scene.wait(b, 4, Cause::Lock, LOCK, End::By(a));
                scene.wait(a, queued_ms, Cause::Sleep, "clone3;nap;k:do_nanosleep", End::Timer);
                scene.run(b, queued_ms, Cause::Runnable, LOCK);
            }
            scene.wait(main, 50 * (4 + queued_ms), Cause::Lock, JOIN, End::By(b));
            first(&scene.done(), "lock-contention").map(|found| found.cost.0 / 1_000_000)
        };
        assert_eq!(cost(8), Some(200));
        assert_eq!(cost(1), Some(250), "a short one is a part of handing over");
    }

    /// Three forked workers with one lock, of whom each sleeps or works while it has it.
    fn workers(wait: &str, held: (Cause, &str)) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let workers = [(); 3].map(|()| scene.program("server", Some(main), 0));
        for round in 0..60 {
            let holder = workers[round % 3];
            for worker in workers {
                match worker == holder {
                    true => scene.spend(worker, 2_000_000, held.0, held.1, End::Unknown),
                    false => scene.spend(worker, 2_000_000, Cause::Lock, wait, End::By(holder)),
                };
            }
        }
        let child = "main;libc.so.6!wait4;k:do_wait";
        scene.spend(main, 120_000_000, Cause::Child, child, End::By(workers[2]));
        scene.done()
    }

    #[test]
    fn a_lock_that_forked_processes_share_is_one() {
        let semaphore = "main;add;libc.so.6!sem_wait;k:futex_do_wait";
        let recording = workers(semaphore, (Cause::CpuUser, "main;add;fingerprint"));
        assert!(first(&recording, "lock-contention").is_some_and(|found| found.share > 0.5));
        assert!(first(&recording, "wait-on-thread").is_none());
    }

    #[test]
    fn a_sleep_under_a_file_lock_is_the_locks_matter() {
        const NAP: &str = "main;issue;libc.so.6!clock_nanosleep;k:do_nanosleep";
        let flock = "main;issue;libc.so.6!flock;k:locks_lock_inode_wait";
        let recording = workers(flock, (Cause::Sleep, NAP));
        assert!(first(&recording, "poll-sleep-loop").is_none());
        assert!(first(&recording, "lock-contention").is_some_and(|found| found.share > 0.5));
    }

    /// Two threads that sleep while they have the lock.
    #[test]
    fn a_sleep_in_the_critical_section_is_the_locks_matter_and_no_polling() {
        const NAP: &str = "clone3;update;libc.so.6!clock_nanosleep;k:do_nanosleep";
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        let (a, b) = (scene.thread(process, "a", 0), scene.thread(process, "b", 0));
        for _ in 0..50 {
            scene.spend(a, 2_000_000, Cause::Sleep, NAP, End::Unknown);
            scene.spend(b, 2_000_000, Cause::Lock, LOCK, End::By(a));
            scene.spend(a, 2_000_000, Cause::Lock, LOCK, End::By(b));
            scene.spend(b, 2_000_000, Cause::Sleep, NAP, End::Unknown);
        }
        scene.spend(main, 200_000_000, Cause::Lock, JOIN, End::By(b));
        let recording = scene.done();
        let found = first(&recording, "lock-contention").expect("found");
        assert!(first(&recording, "poll-sleep-loop").is_none());
        assert_eq!(&*found.at[0].function, "update", "not the join: {:?}", found.at);
        let waits = found.evidence.iter().find(|fact| fact.what.starts_with("waits for locks"));
        assert!(
            waits.is_some_and(|waits| (waits.value - 50.0).abs() < 0.5),
            "{:?}",
            found.evidence
        );
    }

    #[test]
    fn an_answer_that_is_waited_for_with_the_lock_in_hand_is_the_locks_matter() {
        const ASK: &str = "clone3;update;ask;libc.so.6!recv;k:tcp_recvmsg;k:sk_wait_data";
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        let (a, b) = (scene.thread(process, "a", 0), scene.thread(process, "b", 0));
        for _ in 0..50 {
            scene.spend(a, 2_000_000, Cause::Net, ASK, End::Network);
            scene.spend(b, 2_000_000, Cause::Lock, LOCK, End::By(a));
            scene.spend(a, 2_000_000, Cause::Lock, LOCK, End::By(b));
            scene.spend(b, 2_000_000, Cause::Net, ASK, End::Network);
        }
        scene.spend(main, 200_000_000, Cause::Lock, JOIN, End::By(b));
        let recording = scene.done();
        let held = first(&recording, "lock-contention").expect("found");
        assert_eq!(held.cost.0, 100_000_000, "what b waited for while a had the lock");
        assert_eq!(&*held.at[0].function, "update");
        let alone = first(&recording, "network-wait").expect("found");
        assert_eq!(alone.cost.0, 100_000_000, "b's own answers");
    }

    /// Whoever comes first gets it, so that only the last of many holders ends a wait.
    #[test]
    fn a_sleep_below_the_function_in_which_others_wait_is_the_locks_matter() {
        const NAP: &str = "clone3;update;libc.so.6!clock_nanosleep;k:do_nanosleep";
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        let (a, b) = (scene.thread(process, "a", 0), scene.thread(process, "b", 0));
        for _ in 0..10 {
            for _ in 0..8 {
                scene.spend(a, 2_000_000, Cause::Sleep, NAP, End::Timer);
            }
            scene.spend(b, 16_000_000, Cause::Lock, LOCK, End::By(a));
            scene.spend(a, 2_000_000, Cause::Lock, LOCK, End::By(b));
            scene.spend(b, 2_000_000, Cause::Sleep, NAP, End::Timer);
        }
        scene.spend(main, 180_000_000, Cause::Lock, JOIN, End::By(b));
        let recording = scene.done();
        assert!(first(&recording, "poll-sleep-loop").is_none());
        assert!(first(&recording, "lock-contention").is_some_and(|f| f.share > 0.8));
    }

    /// Threads that take turns at a place, each with something to do when it is its turn.
    fn turns(count: usize, stack: &str, cause: Cause, doing: &str) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        let threads: Vec<_> = (0..count).map(|_| scene.thread(process, "worker", 0)).collect();
        for (at, thread) in threads.iter().enumerate() {
            scene.spend(*thread, 2_000_000 * at as u64 + 1, Cause::Lock, stack, End::Unknown);
        }
        for _ in 0..30 {
            for (at, thread) in threads.iter().enumerate() {
                let before = threads[(at + count - 1) % count];
                let others = 2_000_000 * (count as u64 - 1);
                scene.spend(*thread, 2_000_000, cause, doing, End::Timer);
                scene.spend(*thread, others, Cause::Lock, stack, End::By(before));
            }
        }
        let whole = 2_000_000 * (31 * count as u64 - 1);
        scene.spend(main, whole, Cause::Lock, JOIN, End::By(threads[count - 1]));
        scene.done()
    }

    #[test]
    fn a_lock_that_goes_round_among_an_even_number_of_threads_is_no_queue() {
        let own = "clone3;update;own_lock;libc.so.6!syscall;k:futex_do_wait";
        let work = turns(4, own, Cause::CpuUser, "clone3;update;grow");
        assert!(first(&work, "lock-contention").is_some_and(|f| f.share > 0.5));
    }

    #[test]
    fn a_semaphore_and_a_bare_futex_that_threads_take_turns_with_are_locks() {
        const NAP: &str = "clone3;update;libc.so.6!clock_nanosleep;k:do_nanosleep";
        for stack in [
            "clone3;update;libc.so.6!__new_sem_wait_slow64;k:futex_do_wait",
            "clone3;update;own_lock;libc.so.6!syscall;k:futex_do_wait",
        ] {
            let work = turns(3, stack, Cause::CpuUser, "clone3;update;grow");
            assert!(first(&work, "lock-contention").is_some_and(|f| f.share > 0.5), "{stack}");
            let sleep = turns(3, stack, Cause::Sleep, NAP);
            assert!(first(&sleep, "lock-contention").is_some_and(|f| f.share > 0.5), "{stack}");
            assert!(first(&sleep, "poll-sleep-loop").is_none());
            let why = first(&sleep, "lock-contention").map(|f| f.why).unwrap_or_default();
            assert!(why.starts_with("The lock holder slept for most of this time."), "{why}");
        }
        let condition = "clone3;update;libc.so.6!pthread_cond_wait;k:futex_do_wait";
        let named = turns(3, condition, Cause::CpuUser, "clone3;update;grow");
        assert!(first(&named, "lock-contention").is_none(), "a condition is what its name says");
    }

    #[test]
    fn the_two_sides_of_a_queue_do_not_hold_a_lock() {
        const QUEUE: &str = "clone3;take;libc.so.6!__new_sem_wait_slow64;k:futex_do_wait";
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        let (a, b) = (scene.thread(process, "a", 0), scene.thread(process, "b", 0));
        for _ in 0..50 {
            scene.spend(a, 1_000_000, Cause::CpuUser, "clone3;make", End::Unknown);
            scene.spend(b, 1_000_000, Cause::Lock, QUEUE, End::By(a));
            scene.spend(a, 1_000_000, Cause::Lock, QUEUE, End::By(b));
            scene.spend(b, 1_000_000, Cause::CpuUser, "clone3;make", End::Unknown);
        }
        scene.spend(main, 100_000_000, Cause::Lock, JOIN, End::By(b));
        assert!(first(&scene.done(), "lock-contention").is_none());
    }

    #[test]
    fn waits_as_short_as_a_switch_are_not_told() {
        assert!(first(&convoy(10), "lock-contention").is_none());
    }

    #[test]
    fn an_interpreters_lock_and_a_lock_in_the_kernel_count_too() {
        for (cause, stack) in [
            (
                Cause::Lock,
                "clone3;python3.11!take_gil;libc.so.6!pthread_cond_timedwait;k:futex_do_wait",
            ),
            (
                Cause::Lock,
                "clone3;python3.11!_PyEval_EvalFrameDefault;python3.11!?;python3.11!?;\
                 libc.so.6!pthread_cond_timedwait;k:futex_do_wait",
            ),
            (
                Cause::Lock,
                "main;libc.so.6!write;k:__x64_sys_write;k:inode_lock;k:rwsem_down_write_slowpath",
            ),
            (
                Cause::Memory,
                "main;touch;k:asm_exc_page_fault;k:down_read;k:rwsem_down_read_slowpath",
            ),
        ] {
            let mut scene = Scene::default();
            let main = scene.program("program", None, 0);
            let process = scene.recording.thread(main).process;
            let holder = scene.thread(process, "holder", 0);
            scene.run(holder, 100, Cause::CpuUser, "clone3;hold");
            scene.wait(main, 100, cause, stack, End::By(holder));
            let found = first(&scene.done(), "lock-contention");
            assert_eq!(found.map(|f| f.cost.0 / 1_000_000), Some(100), "{stack}");
        }
    }
}
