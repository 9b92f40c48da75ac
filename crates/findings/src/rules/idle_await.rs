//! `idle-await`: the program waits for a timer while no recorded thread works.

use culprit_model::{Nanos, Severity, Text, Time};

use super::idle_service;
use crate::evidence::pacing::is_on_grid;
use crate::evidence::pauses::{PauseEnd, Pauses, nobody_works};
use crate::evidence::{Evidence, IntervalId, Relation, Segment, SegmentId, polling};
use crate::followed_files;
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::tally::{self, Tally};

/// The rule.
pub(crate) struct IdleAwait;

/// Share of the wall time from which a function that waits for timers is listed.
pub(super) const MIN_IDLE: f64 = 0.10;

/// Share of the wall time, or of a process's life, from which a program consists of pauses: whether they are wanted
/// cannot be seen.
const MOSTLY: f64 = 0.85;

/// Share of the time in pauses that must be in pauses of one length for them to be a fixed delay.
const ONE_LENGTH: f64 = 0.5;

/// Share of the pauses in which other threads work, below which it is not worth a word.
const ALONE: f64 = 0.02;

/// The same, from which the others' work is more than what a runtime does beside a program.
const BUSY: f64 = 0.20;

/// How far pauses may be from a length to be of it, as a share.
const ALIKE: f64 = 0.02;

/// Pauses from which it is told whether their lengths are one.
const MIN_PAUSES: usize = 8;

/// How much the confidence falls where nothing of what ended the waits was seen.
const UNSEEN_DOUBT: f64 = 0.4;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "idle-await",
    group: Group::Waiting,
    specificity: Specificity::Work,
    yields_to: &[],
    claim: "For much of the time the program sleeps, or pauses before it tries again, and no thread \
            works.",
    signature: "A wait on the critical path ended by a timer, and no recorded thread worked during \
                most of it. The finding names the function that pauses. Culprit cannot tell a wanted \
                pause from an unwanted one. These cases are listed only as `info`: an idle service, a \
                server that waits for requests, a thread that sets the pace for others, pauses on \
                a schedule, and a program that hardly does anything but pause.",
    not_reported: &[
        "rounds of a polling loop (reported as `poll-sleep-loop`)",
        "pauses inside a process while a client waits for its answer (reported as `network-wait`)",
    ],
    why: "A fixed pause lasts as long as the code says, even if what it waits for finished long ago.",
    fix: &[
        "Wait for the real event instead: data, a signal, the end of a process.",
        "If there is no such event, shorten the pause.",
        "Let the first pause before another try be short, and double it each time.",
        "Leave the pause if it is wanted: a rate limit, or a test's delay.",
        "If the program checks something between its pauses, follow `culprit explain \
         poll-sleep-loop`.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; `culprit findings fixed.culprit` must show \
            less idle time",
    thresholds: &[
        Threshold {
            what: "share of the wall time from which the pauses in one function are listed",
            value: MIN_IDLE,
            unit: "share",
            reason: "Short deliberate pauses are common at the start and end of programs. Below a \
                     tenth, removing them saves less than the usual difference between two runs.",
            source: "the limit of medium severity",
        },
        Threshold {
            what: "share of the wall time, or of their process's life, that pauses fill, from which they \
                   are `info` if no thread waits for them",
            value: MOSTLY,
            unit: "share",
            reason: "Schedules, senders at an agreed rate and daemons consist of pauses. So does a \
                     program that waits too long before it tries again. Only its author knows which \
                     pauses are wanted.",
            source: "a scheduler, a paced sender and a daemon of 4 s each: 0.93 to 1.0",
        },
        Threshold {
            what: "share of the pauses in which other threads work, from which the severity is low at most",
            value: BUSY,
            unit: "share",
            reason: "The first thread of a server often sleeps as long as the server is to run. Compilers \
                     and collectors of runtimes work less than this beside a program that pauses.",
            source: "definition",
        },
        Threshold {
            what: "share of the pause time in pauses of one length (within 2 %), below which they \
                   are `info`",
            value: ONE_LENGTH,
            unit: "share",
            reason: "A delay written in the code lasts the same each time, and timers of 1 ms and \
                     more keep to 2 %. Waits for the next entry of a schedule, or for whichever \
                     client asks next, vary in length. At half, schedules of three periods would be \
                     reported as delays.",
            source: "event loops with a fixed delay: 0.96 and 0.97; a schedule of three periods, a \
                     pool of four periodic jobs and five clients that ask at random: 0.31, 0.37 \
                     and 0.07",
        },
    ],
};

impl Rule for IdleAwait {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let pauses = Pauses::of(evidence);
        if !evidence.chain.one_shot {
            return idle_service::all_idle(evidence, &DOC).into_iter().collect();
        }
        let mut idle = evidence.doing(|d| d.cause.is_blocked());
        idle.retain(|s| {
            let segment = evidence.chain.segment(*s);
            let interval = evidence.of_segment(segment);
            // A peer's pause is how long its answer takes, which `network-wait` tells.
            evidence.relation(*s) != Relation::Peer
                && pauses.has(evidence, interval)
                && !evidence.polling.is_round(evidence, interval)
                && nobody_works(evidence, segment)
        });
        let (requests, idle) = idle_service::for_requests(evidence, &idle);
        let pauses = evidence.total(&idle).share_of(evidence.chain.wall);
        let by_function =
            tally::by(evidence, &idle, |s| Some(tally::waiting_function(evidence, s)));
        let claims = by_function.into_iter().map(|t| pause(evidence, t, pauses));
        claims.chain(idle_service::unasked(evidence, &DOC, requests)).collect()
    }
}

/// That nothing works but the timers which one function set; `pauses` is the share of the wall time that
/// all of them take.
fn pause(evidence: &Evidence<'_>, t: Tally<Text>, pauses: f64) -> Claim {
    let threads = t.segments.iter().map(|s| {
        let segment = evidence.chain.segment(*s);
        (evidence.of_segment(segment).thread, segment.length)
    });
    let who = tally::named_by_time(evidence, threads);
    let waits = evidence.waits(&t.segments).len();
    let whole = evidence.chain.whole;
    let worked = t
        .segments
        .iter()
        .map(|s| evidence.work.during(evidence.chain.segment(*s), 1))
        .sum::<Nanos>();
    let is_alone = worked.share_of(t.total) < ALONE;
    let title = title(&t.key, &who, (whole, worked), is_alone);
    let unseen = unseen_share(evidence, &t.segments);
    let awaited = polling::is_awaited(evidence, &t.segments);
    let wanted = why_wanted(evidence, &t.segments, (pauses, awaited));
    let (why, fix) = match wanted {
        Some(why) => (why.to_owned(), String::new()),
        None if awaited => followed_files::reason_and_fix(evidence),
        None => Default::default(),
    };
    let at_most = match wanted {
        Some(_) => Severity::Info,
        // They may be what the program is for, and the pause how long it is to run.
        None if worked.share_of(t.total) >= BUSY => Severity::Low,
        None => Severity::High,
    };
    let mut claim = Claim::new(&DOC, title, t.segments)
        .at(Site::Work)
        .saying(why, fix)
        .sure(0.9)
        .time(
            if is_alone {
                "time waiting for timers while no thread works"
            } else {
                "time waiting for timers"
            },
            t.total,
        )
        .fact("waits", waits as f64, "count");
    if !is_alone {
        claim = claim.time("of that, time in which other threads work", worked);
    }
    claim.confidence.lower(
        "the recording does not show what ended some waits: a timer, or something outside",
        1.0 - UNSEEN_DOUBT * unseen,
    );
    Claim { at_most, listed_from: MIN_IDLE, ..claim }
}

/// What passes in these waits, of the whole time; what other threads work in them.
fn title(function: &str, who: &str, (whole, worked): (Nanos, Nanos), is_alone: bool) -> String {
    match is_alone {
        true => format!(
            "idle for {COST} of {whole}: `{function}` in {who} waits for a timer; no other thread works"
        ),
        false => format!(
            "`{function}` in {who} waits for a timer for {COST} of {whole}; other threads work for {worked} \
             of that"
        ),
    }
}

/// The share of these waits of which nothing says what ended them.
fn unseen_share(evidence: &Evidence<'_>, segments: &[SegmentId]) -> f64 {
    let likely = |s: &SegmentId| {
        PauseEnd::of(evidence.of_segment(evidence.chain.segment(*s))) == PauseEnd::Likely
    };
    let unseen: Vec<_> = segments.iter().copied().filter(likely).collect();
    evidence.total(&unseen).share_of(evidence.total(segments))
}

/// Why these pauses may be wanted, if something says so. `pauses` is the share of the wall time that all of the
/// program's pauses take; `awaited` is true where another thread waits for what comes after these.
fn why_wanted(
    evidence: &Evidence<'_>,
    segments: &[SegmentId],
    (pauses, awaited): (f64, bool),
) -> Option<&'static str> {
    if paced_share(evidence, segments) > 0.5 {
        return Some(PACED_WHY);
    }
    if are_planned(evidence, segments) {
        return Some(PLANNED_WHY);
    }
    let is_most = pauses >= MOSTLY || fill_their_process(evidence, segments);
    (is_most && !awaited).then_some(MOSTLY_WHY)
}

/// True where one process pauses again and again, and hardly does anything else in its life.
fn fill_their_process(evidence: &Evidence<'_>, segments: &[SegmentId]) -> bool {
    let process = |s: &Segment| Some(evidence.process(evidence.of_segment(s).thread));
    let Some(most) = tally::by(evidence, segments, process).into_iter().next() else {
        return false;
    };
    let recording = evidence.recording;
    let row = recording.process(most.key);
    let life = row.end.unwrap_or(Time(recording.meta.wall.0)).since(row.start);
    let whole = most.total.share_of(evidence.total(segments)) >= MOSTLY;
    let many = evidence.waits(&most.segments).len() >= MIN_PAUSES;
    whole && many && most.total.share_of(life) >= MOSTLY
}

/// The share of these waits after which their thread brings something to others.
fn paced_share(evidence: &Evidence<'_>, segments: &[SegmentId]) -> f64 {
    let is_paced = |s: &&SegmentId| {
        let interval = evidence.of_segment(evidence.chain.segment(**s));
        evidence.loops.is_paced(interval)
    };
    let paced: Vec<_> = segments.iter().filter(is_paced).copied().collect();
    evidence.total(&paced).share_of(evidence.total(segments))
}

/// Whether these pauses last as long as a plan says: of ever other lengths, or until moments on a grid,
/// which takes a clock to keep.
fn are_planned(evidence: &Evidence<'_>, segments: &[SegmentId]) -> bool {
    let waits = evidence.waits(segments);
    if waits.len() < MIN_PAUSES {
        return false;
    }
    let length = |wait: &IntervalId| evidence.interval(*wait).duration;
    let total: Nanos = waits.iter().map(length).sum();
    let mut alike = of_one_length(evidence, &waits);
    let share = alike.iter().map(length).sum::<Nanos>().share_of(total);
    alike.sort_unstable_by_key(|wait| evidence.interval(*wait).start);
    share < ONE_LENGTH || is_on_grid(evidence.recording, &alike)
}

/// Those of the waits that are alike and take the most time together.
fn of_one_length(evidence: &Evidence<'_>, waits: &[IntervalId]) -> Vec<IntervalId> {
    let length = |wait: &IntervalId| evidence.interval(*wait).duration;
    let mut sorted = waits.to_vec();
    sorted.sort_unstable_by_key(length);
    // The end of those that are like the shortest one, and their sum, while both ends move on.
    let (mut end, mut sum) = (0, Nanos(0));
    let mut most = (Nanos(0), 0..0);
    for (first, shortest) in sorted.iter().map(length).enumerate() {
        let longest = shortest.0 as f64 * (1.0 + 2.0 * ALIKE);
        while let Some(next) = sorted.get(end).map(length).filter(|l| l.0 as f64 <= longest) {
            sum += next;
            end += 1;
        }
        if sum > most.0 {
            most = (sum, first..end);
        }
        sum = sum.saturating_sub(shortest);
    }
    sorted[most.1].to_vec()
}

/// What to think of a program that hardly does anything else.
const MOSTLY_WHY: &str = "The program hardly does anything else. Schedules, senders at an agreed \
                          rate and daemons consist of pauses, but a back-off that is too long \
                          looks the same. Only you can say whether these pauses are wanted.";

/// Why pauses of many lengths are as a rule wanted.
const PLANNED_WHY: &str = "These pauses follow a schedule, or end with the next of many clients: \
                           they vary in length, or end at regular times that only a clock keeps. A \
                           delay written in the code lasts the same each time.";

/// Why pauses of one who sets the pace of others are as a rule wanted.
const PACED_WHY: &str = "After most of these pauses the thread hands something to another thread. \
                         It sets the rate for others, as a job timer or a source of requests does.";

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first, told};
    use culprit_model::{Cause, Severity};

    const NAP: &str = "main;back_off;libc.so.6!clock_nanosleep;k:do_nanosleep";

    #[test]
    fn a_pause_that_is_built_of_a_condition_is_a_pause() {
        let nap = "java.lang.Thread.sleep;libjvm.so!JVM_Sleep;libjvm.so!os::PlatformEvent::park(long);\
                   libc.so.6!pthread_cond_timedwait;k:futex_do_wait";
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        scene.run(main, 500, Cause::CpuUser, "main;work");
        scene.wait(main, 400, Cause::Lock, nap, End::Timer);
        let recording = scene.done();
        assert_eq!(first(&recording, "idle-await").map(|f| f.cost.0), Some(400_000_000));
        assert!(first(&recording, "wait-on-thread").is_none());
    }

    fn pause(ms: u64) -> Scene {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        scene.run(main, 500, Cause::CpuUser, "main;work");
        scene.wait(main, ms, Cause::Sleep, NAP, End::Timer);
        scene
    }

    #[test]
    fn a_long_pause_with_nobody_working_is_told() {
        let found = first(&pause(1500).done(), "idle-await").expect("found");
        assert_eq!(found.cost.0, 1_500_000_000);
        assert!(
            found.title.contains("`program!back_off` in program (100) waits for a timer"),
            "{}",
            found.title
        );
    }

    #[test]
    fn a_pause_in_which_others_work_says_so() {
        let found = |step_ms: u64| {
            let mut scene = Scene::default();
            let main = scene.program("server", None, 0);
            scene.run(main, 500, Cause::CpuUser, "main;work");
            let process = scene.recording.thread(main).process;
            let worker = scene.thread(process, "pool", 500);
            for _ in 0..10 {
                scene.run(worker, step_ms, Cause::CpuUser, "serve;price");
                scene.wait(
                    worker,
                    100 - step_ms,
                    Cause::Lock,
                    "serve;k:futex_do_wait",
                    End::Unknown,
                );
            }
            scene.wait(main, 1000, Cause::Sleep, NAP, End::Timer);
            first(&scene.done(), "idle-await").expect("found")
        };
        let busy = found(30);
        let says = "waits for a timer for 1.00 s of 1.50 s; other threads work for 300 ms of that";
        assert!(busy.title.ends_with(says), "{}", busy.title);
        assert_eq!(busy.severity, Severity::Low);
        assert!(found(1).title.ends_with("no other thread works"));
    }

    #[test]
    fn an_end_that_was_not_seen_is_a_timers_where_nothing_else_ends_waits() {
        let poll = "main;back_off;libc.so.6!epoll_wait;k:ep_poll";
        let waiting = |ends: &[End]| {
            let mut scene = Scene::default();
            let main = scene.program("program", None, 0);
            for end in ends {
                scene.run(main, 10, Cause::CpuUser, "main;work");
                scene.wait(main, 400, Cause::Poll, poll, *end);
            }
            first(&scene.done(), "idle-await")
        };
        let seen = waiting(&[End::Timer; 3]).expect("found");
        let some = waiting(&[End::Timer, End::Interrupt, End::Timer]).expect("found");
        assert_eq!(some.cost, seen.cost);
        assert!(some.confidence < seen.confidence && some.confidence > 0.7, "{}", some.confidence);
        assert!(waiting(&[End::Interrupt; 3]).is_some_and(|found| found.confidence < 0.6));
        assert!(waiting(&[End::Network, End::Interrupt, End::Network]).is_none());
        let mut event_loop = Scene::default();
        let main = event_loop.program("program", None, 0);
        event_loop.wait(main, 10, Cause::Poll, poll, End::Network);
        event_loop.wait(main, 400, Cause::Poll, poll, End::Interrupt);
        assert_eq!(first(&event_loop.done(), "idle-await").expect("found").cost.0, 400_000_000);
        let sleep = |end| {
            let mut scene = Scene::default();
            let main = scene.program("program", None, 0);
            scene.wait(main, 400, Cause::Sleep, NAP, end);
            first(&scene.done(), "idle-await").expect("found").confidence
        };
        assert!((sleep(End::Interrupt) - sleep(End::Timer)).abs() < 1e-9);
    }

    /// A thread that hands a job to a worker after each pause, on a grid of 10 ms or after pauses of 9 ms.
    fn pacing(on_grid: bool) -> Scene {
        const TAKE: &str = "clone3;work;libc.so.6!pthread_cond_wait;k:futex_do_wait";
        let mut scene = Scene::default();
        let main = scene.program("source", None, 0);
        let process = scene.recording.thread(main).process;
        let worker = scene.thread(process, "worker", 0);
        for round in 0..100_u64 {
            let late = round * 7919 % 101 * 1000;
            let ready = round * 37 % 89 * 1000;
            let pause = if on_grid { 9_000_000 - ready } else { 9_000_000 };
            let pause = pause + late;
            scene.spend(main, ready, Cause::CpuUser, "main;prepare", End::Unknown);
            scene.spend(main, pause, Cause::Sleep, NAP, End::Timer);
            let last = 3_000_000;
            scene.spend(worker, last, Cause::CpuUser, "clone3;work", End::Unknown);
            scene.spend(worker, ready + pause - last, Cause::Lock, TAKE, End::By(main));
            let job = if on_grid { 1_000_000 - late } else { 1_000_000 };
            scene.spend(worker, job, Cause::CpuUser, "clone3;work", End::Unknown);
            scene.spend(main, job, Cause::CpuUser, "main;hand_over", End::Unknown);
        }
        scene
    }

    #[test]
    fn who_hands_over_on_a_grid_sets_a_pace_and_who_pauses_in_between_may_look() {
        let paced = pacing(true).done();
        let found = first(&paced, "idle-await").expect("found");
        assert_eq!(found.severity, Severity::Info);
        assert!(found.why.starts_with("After most of these pauses"), "{}", found.why);
        assert!(first(&paced, "poll-sleep-loop").is_none());
        assert!(first(&pacing(false).done(), "poll-sleep-loop").is_some());
    }

    #[test]
    fn pauses_that_a_program_consists_of_are_information() {
        assert_eq!(
            [200, 4000].map(|ms| first(&pause(ms).done(), "idle-await").map(|f| f.severity)),
            [Some(Severity::Medium), Some(Severity::Info)]
        );
    }

    #[test]
    fn a_client_that_consists_of_pauses_is_information_also_in_a_longer_run() {
        let severity = |rounds: u64| {
            let mut scene = Scene::default();
            let main = scene.program("run", None, 0);
            scene.run(main, 1_000, Cause::CpuUser, "main;prepare");
            let client = scene.program("client", Some(main), 1_000);
            for _ in 0..rounds {
                scene.run(client, 1, Cause::CpuUser, "main;ask");
                scene.wait(client, 4_000 / rounds - 1, Cause::Sleep, NAP, End::Timer);
            }
            scene.wait(main, 4_000, Cause::Child, "main;wait4;k:do_wait", End::By(client));
            scene.run(main, 100, Cause::CpuUser, "main;prepare");
            first(&scene.done(), "idle-await").map(|f| f.severity)
        };
        assert_eq!(severity(40), Some(Severity::Info));
        assert_eq!(severity(2), Some(Severity::High), "two pauses are no schedule");
    }

    #[test]
    fn pauses_of_ever_other_lengths_are_a_plan() {
        let severity = |length: fn(u64) -> u64| {
            let mut scene = Scene::default();
            let main = scene.program("program", None, 0);
            for round in 0..40 {
                scene.run(main, 15, Cause::CpuUser, "main;work");
                scene.wait(main, length(round), Cause::Sleep, NAP, End::Timer);
            }
            first(&scene.done(), "idle-await").map(|f| f.severity)
        };
        assert_eq!(severity(|round| 3 + round * 37 % 50), Some(Severity::Info));
        // Two delays by turns, of which the longer one takes most.
        assert_eq!(severity(|round| if round % 2 == 0 { 40 } else { 11 }), Some(Severity::High));
    }

    #[test]
    fn a_short_pause_or_one_in_which_others_work_is_not() {
        assert!(first(&pause(50).done(), "idle-await").is_none());
        let mut scene = pause(1500);
        let process = culprit_model::ProcessId(0);
        let other = scene.thread(process, "other", 500);
        scene.run(other, 1500, Cause::CpuUser, "clone3;work");
        let recording = scene.done();
        assert!(first(&recording, "idle-await").is_none());
        let found = told(&recording);
        assert!(
            found.contains(&"hot-function 2000".to_owned()),
            "what passes is the work: {found:?}"
        );
        assert!(first(&recording, "wait-on-thread").is_none(), "nobody waits for it");
    }
}
