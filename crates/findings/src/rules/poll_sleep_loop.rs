//! `poll-sleep-loop`: a thread checks again and again for the progress of another thread, and
//! sleeps between two checks.
//!
//! [`Loops`](crate::evidence::Loops) finds them: the same wait, ended by its own timer at a
//! near-constant interval. Only the part of the sleep in which no thread worked counts: while the
//! awaited work runs, that work is the reason; after it, the sleep is.

use culprit_model::{Cause, LossKind, Nanos, WakeSource};

use crate::evidence::loops::{MAX_SPREAD, MAX_WORK, MIN_ROUNDS};
use crate::evidence::pacing::MIN_GIVES;
use crate::evidence::{Evidence, IntervalId, Loop, SegmentId, distrusted, polling};
use crate::followed_files;
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Specificity, Threshold};

/// The rule.
pub(crate) struct PollSleepLoop;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "poll-sleep-loop",
    group: Group::Waiting,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "A thread sleeps a fixed time between checks for the progress of other threads.",
    signature: "The same function sleeps, or waits until its timeout, again and again at a \
                near-constant interval with little work between. Either another thread waits for \
                    the sleeper, or the work of other threads ends the loop. Sleep that overlaps \
                    other threads' work is not counted.",
    not_reported: &[
        "a sleep while holding a lock (`lock-contention`)",
        "a server that sleeps before it answers",
        "a client that sends requests to a server at a fixed rate, where nobody waits for what it finds",
        "threads of a server that each pause once for a request",
        "a producer that delivers on a fixed schedule: it wakes at exact multiples of a period",
        "a shell that only writes into a pipe between two sleeps",
        "a server that receives no requests",
        "a poll that an event ended at least once, such as an accept loop with a timeout",
    ],
    why: "An event right after a check is noticed only at the next check: half an interval late on \
          average. If the next event starts only after the last one was noticed, each event is a whole interval late. Such a loop handles one event per interval, however fast the work \
          is.",
    fix: &[
        "Wait for the event itself: a blocking read, a condition variable, a future or a \
         file-change notification.",
        "Replace a followed file by a FIFO that `cat` reads.",
        "If the loop must poll, shorten the interval: the delay falls and the CPU time rises in \
         proportion.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the time of `poll-sleep-loop` in `culprit \
            findings fixed.culprit` must be gone or shorter",
    thresholds: &[
        Threshold {
            what: "rounds of the loop",
            value: MIN_ROUNDS as f64,
            unit: "count",
            reason: "With fewer rounds, a constant interval can be chance, such as two equal \
                     timeouts at the start. If it were 10, loops of one second would be missed in runs under 10 \
                     s.",
            source: "poll intervals of tail (1 s), watchdog (1 s) and chokidar (100 ms) in runs of \
                     some seconds",
        },
        Threshold {
            what: "spread of the waits (interquartile range divided by the median)",
            value: MAX_SPREAD,
            unit: "share",
            reason: "A wait ends when its timer fires. The run queue after it does not count, so \
                     the spread is small on busy machines too. At half, loops whose waits vary are \
                     missed; at double, waits of different lengths are reported.",
            source: "40 sleeps each: 0.02 % at 100 ms, 0.2 % at 10 ms, 0.8 % at 1 ms, Linux 6.18",
        },
        Threshold {
            what: "share of a round that the thread works",
            value: MAX_WORK,
            unit: "share",
            reason: "A thread that works longer than it sleeps does paced work; it does not poll.",
            source: "definition",
        },
        Threshold {
            what: "share of the rounds after which the thread delivers something to another thread",
            value: MIN_GIVES,
            unit: "share",
            reason: "A poller delivers in some rounds. A thread that sets the pace delivers in \
                     nearly all. A loop above this share is not reported if it also sends \
                     requests, keeps a fixed schedule, or starts a process per sleep.",
            source: "definition",
        },
    ],
};

impl Rule for PollSleepLoop {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let polling = evidence.polling.loops(&evidence.loops);
        polling.map(|(found, segments)| told(evidence, found, segments.to_vec())).collect()
    }
}

fn told(evidence: &Evidence<'_>, found: &Loop, segments: Vec<SegmentId>) -> Claim {
    let somebody = polling::is_awaited(evidence, &segments);
    let rounds = found.rounds.len();
    let first = evidence.interval(found.rounds[0]);
    let who = match found.by_processes {
        true => format!("{} processes", evidence.recording.thread(first.thread).name),
        false => evidence.recording.thread_name(first.thread),
    };
    let place = evidence.chores.application(first.stack);
    let place = place.filter(|frame| evidence.chores.is_application(*frame));
    let place = place.map(|frame| format!(" in `{}`", evidence.name(Some(frame))));
    let polls = match found.by_processes {
        true => "poll: they".to_owned(),
        false => format!("polls{}: it", place.unwrap_or_default()),
    };
    let verb = match (found.cause == Cause::Sleep, found.by_processes) {
        (true, false) => "sleeps",
        (true, true) => "sleep",
        (false, false) => "waits for a timeout of",
        (false, true) => "wait for a timeout of",
    };
    let whole = evidence.chain.whole;
    let title = format!(
        "{who} {polls} {verb} {} between checks, {rounds} times ({COST} of {whole})",
        found.wait
    );
    let (why, fix) = followed_files::reason_and_fix(evidence);
    let mut claim = Claim::new(&DOC, title, segments)
        .saying(why, fix)
        .sure(if somebody { 0.95 } else { 0.8 })
        .time("median length of one wait", found.wait)
        .time("poll interval: median time from one wait to the next", found.period)
        .fact("rounds", rounds as f64, "count")
        .fact("spread of the waits (quartile distance by median)", found.spread, "share")
        .fact("share of a round spent working", found.work, "share")
        .fact("rounds per second", rate(found.period), "1/s");
    if let Some(fs) = distrusted(evidence.recording) {
        let number = u64::from_str_radix(fs.magic.trim_start_matches("0x"), 16).unwrap_or(0);
        claim = claim.fact(
            format!(
                "file system type of the place's {} folder: {} ({})",
                fs.part, fs.kind, fs.magic
            ),
            number as f64,
            "magic",
        );
    }
    if rounds < 2 * MIN_ROUNDS {
        claim.confidence.lower(format!("only {rounds} rounds were seen"), 0.95);
    }
    let unknown = |id: &IntervalId| evidence.interval(*id).woken_by == Some(WakeSource::Interrupt);
    if found.rounds.iter().all(unknown) {
        let why = "that a timer ended the waits is inferred from their even lengths";
        // What is polled may be a device that sends as evenly.
        claim.confidence.lower(why, 0.75);
    }
    if evidence.recording.losses.iter().any(|l| l.kind == LossKind::WakersMissing) {
        claim.confidence.lower("that a timer ended each wait is inferred from its cause", 0.9);
    }
    claim
}

fn rate(period: Nanos) -> f64 {
    if period == Nanos::ZERO { 0.0 } else { 1.0 / period.seconds() }
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first, told};
    use culprit_model::{Cause, Finding, Recording, ThreadId};

    const NAP: &str = "main;follow;libc.so.6!clock_nanosleep;k:do_nanosleep";
    const READ: &str = "main;next_row;libc.so.6!read;k:anon_pipe_read";

    /// A driver that reads rows from a pipe, and a follower that checks once a second.
    fn closed_loop(rounds: u64) -> Scene {
        let mut scene = Scene::default();
        let driver = scene.program("driver", None, 0);
        let follower = scene.program("follower", Some(driver), 0);
        for _ in 0..rounds {
            scene.run(driver, 50, Cause::CpuUser, "main;think");
            scene.wait(driver, 950, Cause::Pipe, READ, End::By(follower));
            scene.wait(follower, 999, Cause::Sleep, NAP, End::Timer);
            scene.run(follower, 1, Cause::CpuKernel, "main;look;k:__x64_sys_newfstatat");
        }
        scene
    }

    #[test]
    fn a_reader_that_waits_for_a_sleeping_follower_tells_its_period() {
        let recording = closed_loop(8).done();
        let found = first(&recording, "poll-sleep-loop").expect("the loop is found");
        // The think time and the look are not the sleep's cost.
        assert_eq!(found.cost.0 / 1_000_000, 8 * 949);
        let title = "follower (101) polls in `program!follow`: it sleeps 999 ms between checks, \
                     8 times (7.59 s of 8.00 s)";
        assert_eq!(found.title, title);
        assert_eq!((&*found.at[0].function, &*found.at[0].thread), ("follow", "follower (101)"));
        assert!(
            found
                .evidence
                .iter()
                .any(|e| e.what.contains("driver (100) waited for this in blocked.pipe"))
        );
        assert!(found.confidence > 0.85, "{:?}", found.evidence);
    }

    #[test]
    fn a_distrusted_file_system_explains_why_the_reader_polls() {
        let mut recording = closed_loop(8).done();
        let plain = first(&recording, "poll-sleep-loop").expect("found");
        assert!(!plain.why.contains("overlay"));
        recording.meta.place_facts = vec![("work.fs".into(), "overlay 0x794c7630".into())];
        let found = first(&recording, "poll-sleep-loop").expect("found");
        assert!(
            found.why.starts_with("The work folder of this place lies on overlay"),
            "{}",
            found.why
        );
        assert!(found.fix[0].contains("FIFO with `cat`"), "{:?}", found.fix);
        assert!(found.evidence.iter().any(|e| (e.value - f64::from(0x794c_7630_u32)).abs() < 0.5));
    }

    /// A server that checks every half second whether it must end; sometimes a client calls.
    #[test]
    fn an_accept_loop_with_a_time_limit_is_no_polling() {
        const ACCEPT: &str = "main;serve;libc.so.6!poll;k:do_sys_poll";
        let served = |calls: bool| {
            let mut scene = Scene::default();
            let server = scene.program("server", None, 0);
            let caller = scene.program("caller", None, 0);
            for round in 0..12 {
                let end = if calls && round == 7 { End::By(caller) } else { End::Timer };
                match round {
                    // Somebody works during the last round.
                    11 => scene.run(caller, 501, Cause::CpuUser, "main;work"),
                    _ => scene.wait(caller, 501, Cause::Sleep, NAP, End::Unknown),
                };
                scene.wait(server, 500, Cause::Poll, ACCEPT, end);
                scene.run(server, 1, Cause::CpuUser, "main;serve");
            }
            first(&scene.done(), "poll-sleep-loop").is_some()
        };
        assert!(served(false), "nothing ever came: only the timer ends it");
        assert!(!served(true));
    }

    #[test]
    fn few_sleeps_of_one_length_are_a_loop_where_each_is_awaited() {
        assert!(first(&closed_loop(3).done(), "poll-sleep-loop").is_none());
        assert!(first(&closed_loop(4).done(), "poll-sleep-loop").is_some());
        let nobody_waits = |rounds: u64| {
            let mut scene = Scene::default();
            let main = scene.program("program", None, 0);
            let other = scene.program("other", Some(main), 0);
            scene.run(other, 1000 * rounds, Cause::CpuUser, "main;work");
            for _ in 0..rounds {
                scene.wait(main, 1001, Cause::Sleep, NAP, End::Timer);
            }
            first(&scene.done(), "poll-sleep-loop").is_some()
        };
        assert!(!nobody_waits(4));
    }

    /// Workers that pause in each of their jobs, and a thread that waits until all jobs are done.
    #[test]
    fn pauses_that_somebody_waits_through_once_are_no_polling() {
        const DONE: &str = "main;block_on;libc.so.6!syscall;k:futex_do_wait";
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        let process = scene.recording.thread(main).process;
        let worker = scene.thread(process, "worker", 0);
        for _ in 0..50 {
            scene.wait(worker, 20, Cause::Sleep, NAP, End::Timer);
        }
        scene.wait(main, 1000, Cause::Lock, DONE, End::By(worker));
        assert_eq!(told(&scene.done()), ["idle-await 1000"]);

        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        let process = scene.recording.thread(main).process;
        let workers = [scene.thread(process, "a", 0), scene.thread(process, "b", 0)];
        scene.run(workers[0], 10, Cause::CpuUser, "clone3;start");
        for worker in (0..50).flat_map(|_| workers) {
            scene.wait(worker, 20, Cause::Sleep, NAP, End::Timer);
            scene.run(worker, 1, Cause::CpuUser, "clone3;answer");
        }
        scene.wait(main, 1060, Cause::Lock, DONE, End::By(workers[0]));
        assert!(
            first(&scene.done(), "poll-sleep-loop").is_none(),
            "they do not wait for each other"
        );
    }

    #[test]
    fn while_the_awaited_work_is_done_the_work_is_the_reason() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        let process = scene.recording.thread(main).process;
        let worker = scene.thread(process, "worker", 0);
        scene.run(worker, 1010, Cause::CpuUser, "clone3;compute");
        for _ in 0..11 {
            scene.wait(main, 99, Cause::Sleep, NAP, End::Timer);
            scene.run(main, 1, Cause::CpuUser, "main;done");
        }
        // 1010 ms of work, less the looks themselves, then 89 ms until the last look notices.
        assert_eq!(told(&scene.done()), ["wait-on-thread 1000", "poll-sleep-loop 89"]);
    }

    #[test]
    fn a_shell_that_sleeps_until_a_job_is_done_polls_with_processes() {
        let mut scene = Scene::default();
        let shell = scene.program("sh", None, 0);
        let job = scene.program("job", Some(shell), 0);
        scene.run(job, 530, Cause::Disk, "main;copy;k:filemap_read");
        for round in 0..6 {
            let nap = scene.program("sleep", Some(shell), round * 100);
            scene.wait(nap, 99, Cause::Sleep, NAP, End::Timer);
            scene.run(nap, 1, Cause::CpuKernel, "main;k:do_exit");
            scene.wait(
                shell,
                100,
                Cause::Child,
                "main;wait_for;libc.so.6!wait4;k:do_wait",
                End::By(nap),
            );
        }
        let recording = scene.done();
        let found = first(&recording, "poll-sleep-loop").expect("found");
        assert_eq!(found.cost.0 / 1_000_000, 69, "only after the job's end");
        let title = "sleep processes poll: they sleep 99.0 ms between checks, 6 times (69.0 ms of ";
        assert!(found.title.starts_with(title), "{}", found.title);
    }

    /// A server that polls for requests, and a client that waits for its answers.
    fn polling(wait_ms: impl Fn(u64) -> u64, end: impl Fn(u64) -> End) -> Recording {
        let mut scene = Scene::default();
        let client = scene.program("client", None, 0);
        let server = scene.program("server", Some(client), 0);
        for round in 0..12 {
            scene.run(client, 1, Cause::CpuUser, "main;ask");
            scene.wait(client, wait_ms(round), Cause::Pipe, READ, End::By(server));
            scene.wait(server, wait_ms(round), Cause::Poll, "main;serve;k:do_select", end(round));
            scene.run(server, 1, Cause::CpuUser, "main;answer");
        }
        scene.done()
    }

    #[test]
    fn even_waits_that_unknown_interrupts_ended_are_a_timers() {
        let found = |recording: &Recording| first(recording, "poll-sleep-loop");
        // Without the cost.
        let title = |found: &Finding| found.title.rsplit_once(" (").map(|(t, _)| t.to_owned());
        let seen = found(&polling(|_| 500, |_| End::Timer)).expect("found");
        let unseen = found(&polling(|_| 500, |_| End::Interrupt)).expect("found");
        assert_eq!(title(&seen), title(&unseen));
        assert!(unseen.confidence < seen.confidence, "{:?}", unseen.evidence);
        let half = |round: u64| if round < 6 { End::Interrupt } else { End::Timer };
        assert_eq!(title(&found(&polling(|_| 500, half)).expect("found")), title(&seen));
        // Requests that a device brings do not come evenly.
        assert!(found(&polling(|round| 400 + 20 * round, |_| End::Interrupt)).is_none());
    }

    fn paced(wait_ms: impl Fn(u64) -> u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        for round in 0..20 {
            scene.run(main, 10, Cause::CpuUser, "main;step");
            scene.wait(main, wait_ms(round), Cause::Sleep, NAP, End::Timer);
        }
        scene.done()
    }

    #[test]
    fn deliberate_pauses_and_uneven_sleeps_are_no_polling() {
        assert_eq!(told(&paced(|_| 100)), ["idle-await 2000", "hot-function 200"]);
        assert!(first(&paced(|round| 10 + round * round), "poll-sleep-loop").is_none());
    }

    #[test]
    fn a_follower_that_is_notified_is_healthy() {
        let mut scene = Scene::default();
        let driver = scene.program("driver", None, 0);
        let follower = ThreadId(1);
        scene.program("follower", Some(driver), 0);
        for _ in 0..8 {
            scene.run(driver, 50, Cause::CpuUser, "main;think");
            scene.wait(driver, 1, Cause::Pipe, READ, End::By(follower));
            scene.wait(follower, 50, Cause::Poll, "main;follow;k:do_sys_poll", End::By(driver));
            scene.run(follower, 1, Cause::CpuUser, "main;print");
        }
        assert!(first(&scene.done(), "poll-sleep-loop").is_none());
    }

    /// Stages that each look for work at a queue's server every 100 ms, and a desk that waits for the last one.
    fn stages(pushes: bool) -> Recording {
        const ASK: &str =
            "main;pop;libc.so.6!recv;k:__x64_sys_recvfrom;k:tcp_recvmsg;k:sk_wait_data";
        const LOOP: &str = "main;event_loop;libc.so.6!epoll_wait;k:do_epoll_wait;k:ep_poll";
        let mut scene = Scene::default();
        let desk = scene.program("desk", None, 0);
        let queue = scene.program("queue", Some(desk), 0);
        let stage = scene.program("stage", Some(desk), 0);
        for round in 0..24 {
            scene.wait(stage, 98, Cause::Sleep, NAP, End::Timer);
            scene.run(stage, 1, Cause::CpuUser, "main;pop");
            scene.wait(queue, 99, Cause::Poll, LOOP, End::By(stage));
            scene.run(queue, 1, Cause::CpuUser, "main;event_loop;answer");
            scene.wait(stage, 1, Cause::Net, ASK, End::By(queue));
            // It finds work each third time, or brings some each time.
            if pushes || round % 3 == 2 {
                let waited = if pushes { 100 } else { 300 };
                scene.wait(desk, waited, Cause::Net, ASK, End::By(queue));
            }
        }
        let mut recording = scene.done();
        let process = recording.thread(queue).process;
        recording.marks.push(culprit_model::Mark {
            time: culprit_model::Time::START,
            process,
            thread: None,
            kind: culprit_model::MarkKind::Listen,
            text: "127.0.0.1:6379".into(),
        });
        recording
    }

    #[test]
    fn who_asks_a_server_for_work_polls_if_others_wait_for_what_it_finds() {
        let found = first(&stages(false), "poll-sleep-loop").expect("found");
        assert!(found.title.starts_with("stage (102) polls"), "{}", found.title);
        assert!(found.share > 0.9, "{}", found.share);
        assert!(first(&stages(true), "poll-sleep-loop").is_none(), "it sets the pace");
    }

    /// A server with a thread for each request, which sleeps before it answers.
    #[test]
    fn threads_that_each_pause_once_are_no_loop() {
        let mut scene = Scene::default();
        let client = scene.program("client", None, 0);
        let server = scene.program("server", Some(client), 0);
        let process = scene.recording.thread(server).process;
        for round in 0..20 {
            let thread = scene.thread(process, "answers", round * 60);
            scene.wait(
                thread,
                59,
                Cause::Sleep,
                "clone3;answer;libc.so.6!clock_nanosleep;k:do_nanosleep",
                End::Timer,
            );
            scene.run(thread, 1, Cause::CpuUser, "clone3;answer");
            scene.wait(
                client,
                60,
                Cause::Net,
                "main;ask;libc.so.6!recv;k:tcp_recvmsg;k:sk_wait_data",
                End::By(thread),
            );
        }
        assert!(first(&scene.done(), "poll-sleep-loop").is_none());
    }
}
