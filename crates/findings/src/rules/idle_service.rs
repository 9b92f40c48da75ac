//! What `idle-await` reports about services: that they are idle, and that they wait for requests.
//!
//! Both cost nothing by themselves: no recorded thread waits for them.

use culprit_model::{Nanos, Severity};

use super::idle_await::MIN_IDLE;
use crate::evidence::{Chain, Evidence, Relation, SegmentId};
use crate::rule::{COST, Claim, RuleDoc, Site, Specificity};
use crate::settle::MIN_SHARE;

/// The waits for requests that others may make, and the rest of what is idle. Where a program that
/// listens is asked nothing, all that is idle is a wait for requests.
pub(super) fn for_requests(
    evidence: &Evidence<'_>,
    idle: &[SegmentId],
) -> (Vec<SegmentId>, Vec<SegmentId>) {
    if evidence.serving.is_nobody() {
        return (Vec::new(), idle.to_vec());
    }
    let unasked = evidence.unasked().map(|(since, _)| since);
    let mut requests = evidence.segments(|_, i| evidence.for_requests(i).is_some());
    // While a client waits for its answer there is a request.
    requests.retain(|id| evidence.relation(*id) != Relation::Peer);
    let (waits, rest): (Vec<SegmentId>, Vec<_>) = idle.iter().partition(|s| {
        let segment = evidence.chain.segment(**s);
        unasked.is_some_and(|since| since <= segment.start)
            || evidence.for_requests(evidence.of_segment(segment)).is_some()
    });
    requests.extend(waits);
    requests.sort_unstable();
    requests.dedup();
    (requests, rest)
}

/// That a server waited for requests: what it is there for.
pub(super) fn unasked(
    evidence: &Evidence<'_>,
    doc: &'static RuleDoc,
    requests: Vec<SegmentId>,
) -> Option<Claim> {
    let longest = requests.iter().max_by_key(|s| evidence.chain.segment(**s).length)?;
    let interval = evidence.of_segment(evidence.chain.segment(*longest));
    let unasked = evidence.unasked().map(|(_, address)| address);
    let address = evidence.for_requests(interval).or(unasked)?;
    let who = evidence.recording.process_name(evidence.process(interval.thread));
    let whole = evidence.chain.whole;
    let title = format!("{who} waits for requests at {address} for {COST} of {whole}");
    let claim = Claim::new(doc, title, requests)
        .at(Site::Work)
        .sure(0.8)
        .saying(IDLE_WHY.to_owned(), IDLE_FIX.to_owned());
    Some(Claim { at_most: Severity::Info, listed_from: MIN_IDLE, ..claim })
}

/// What to say of a service of which next to nothing counts: that it idled, where, and how often a
/// timer woke it to look.
pub(super) fn all_idle(evidence: &Evidence<'_>, doc: &'static RuleDoc) -> Option<Claim> {
    let Chain { segments, wall, .. } = &evidence.chain;
    let counted: Nanos = segments.iter().map(|s| s.length).sum();
    let longest = evidence.recording.intervals.iter().filter(|i| i.cause.is_blocked());
    let longest = longest.max_by_key(|i| (i.duration, std::cmp::Reverse(i.thread)))?;
    if counted.share_of(*wall) >= MIN_SHARE {
        return None;
    }
    let who = evidence.recording.thread_name(longest.thread);
    let function = evidence.name(evidence.function(longest));
    let title = format!(
        "idle: no recorded thread works or makes others wait; {who} waits in `{function}` ({})",
        longest.cause
    );
    let mut claim = Claim::statement(doc, title, Severity::Info)
        .saying(IDLE_WHY.to_owned(), IDLE_FIX.to_owned())
        .time("thread time that counts", counted)
        .time("recorded time", *wall);
    for found in &evidence.loops.loops {
        let thread = evidence.interval(found.rounds[0]).thread;
        let what = format!(
            "waits of {} in a loop by {}",
            found.wait,
            evidence.recording.thread_name(thread)
        );
        claim = claim.fact(what, found.rounds.len() as f64, "count");
    }
    Some(Claim { specificity: Specificity::Statement, ..claim })
}

/// Why idling costs nothing by itself.
const IDLE_WHY: &str = "A thread that waits for work costs nothing while no other thread waits for \
                        it. If a program outside the recording waits for it, that wait and its \
                        cost are not visible here.";

/// What to record to see more.
const IDLE_FIX: &str = "Record it while it has work, together with the programs that wait for it \
                        (several `--pid`, `--container`, or `--all`).";

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Cause, Mark, MarkKind, Recording, ThreadId, Time};

    const NAP: &str = "main;back_off;libc.so.6!clock_nanosleep;k:do_nanosleep";
    const POLL: &str = "main;serve;libc.so.6!poll;k:do_sys_poll";

    #[test]
    fn a_service_that_only_idles_is_said_to_and_costs_nothing() {
        let mut scene = Scene::default();
        let main = scene.program("follower", None, 0);
        for _ in 0..6 {
            scene.wait(main, 1000, Cause::Sleep, NAP, End::Timer);
        }
        let found = first(&scene.running(), "idle-await").expect("told");
        assert_eq!((found.cost.0, found.severity), (0, culprit_model::Severity::Info));
        assert!(
            found.title.contains("follower (100) waits in `program!back_off` (blocked.sleep)"),
            "{}",
            found.title
        );
        assert!(found.evidence.iter().any(|e| e.what.starts_with("waits of 1.00 s in a loop by")));
    }

    /// A program that listens, or connects, and pauses in one thread while another one stands by.
    fn offering(mark: MarkKind, thread: ThreadId) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let process = scene.recording.thread(main).process;
        let standing = scene.thread(process, "accept", 0);
        scene.run(main, 100, Cause::CpuUser, "main;start");
        scene.wait(main, 3900, Cause::Sleep, NAP, End::Timer);
        scene.wait(standing, 4000, Cause::Net, "clone3;serve;k:inet_csk_accept", End::Unknown);
        let text = "127.0.0.1:8080".into();
        let marks = [(MarkKind::Listen, main), (mark, thread)];
        let mark =
            |(kind, thread)| Mark { time: Time(1), kind, process, thread: Some(thread), text };
        let mut recording = scene.done();
        recording.marks.extend(marks.map(|m| mark.clone()(m)));
        recording
    }

    #[test]
    fn a_server_that_nobody_asks_is_no_pause() {
        let idle = first(&offering(MarkKind::Listen, ThreadId(0)), "idle-await").expect("told");
        assert_eq!(idle.severity, culprit_model::Severity::Info);
        assert!(idle.title.contains("waits for requests at 127.0.0.1:8080 for "), "{}", idle.title);
        let asking = first(&offering(MarkKind::Connect, ThreadId(0)), "idle-await").expect("told");
        assert!(
            asking.title.contains("waits for a timer; no other thread works"),
            "{}",
            asking.title
        );
    }

    #[test]
    fn a_wait_for_requests_is_for_nobody_unless_its_thread_asks_others() {
        let serving = |asks: bool| {
            let mut scene = Scene::default();
            let main = scene.program("server", None, 0);
            let process = scene.recording.thread(main).process;
            for _ in 0..20 {
                scene.wait(main, 100, Cause::Poll, POLL, End::Network);
                scene.run(main, 10, Cause::CpuUser, "main;serve;answer");
            }
            let mut recording = scene.done();
            let kinds = [Some(MarkKind::Listen), asks.then_some(MarkKind::Connect)];
            recording.marks.extend(kinds.into_iter().flatten().map(|kind| Mark {
                time: Time(0),
                kind,
                process,
                thread: Some(main),
                text: "127.0.0.1:80".into(),
            }));
            first(&recording, "network-wait").is_some()
        };
        assert!(!serving(false));
        assert!(serving(true));
    }

    #[test]
    fn a_thread_that_polls_only_connections_of_its_process_waits_for_answers() {
        let polling = |kinds: &[MarkKind]| {
            let mut scene = Scene::default();
            let main = scene.program("service", None, 0);
            let process = scene.recording.thread(main).process;
            let selector = scene.thread(process, "selector", 0);
            for _ in 0..20 {
                scene.wait(
                    selector,
                    60,
                    Cause::Poll,
                    "clone3;select;k:do_epoll_wait",
                    End::Network,
                );
                scene.run(selector, 1, Cause::CpuUser, "clone3;select");
                scene.wait(main, 61, Cause::Lock, "main;get;k:futex_do_wait", End::By(selector));
                scene.run(main, 1, Cause::CpuUser, "main;get");
                scene.wait(
                    selector,
                    1,
                    Cause::Poll,
                    "clone3;select;k:do_epoll_wait",
                    End::By(main),
                );
            }
            let mut recording = scene.done();
            let mark = |thread, kind| Mark {
                time: Time(0),
                kind,
                process,
                thread: Some(thread),
                text: "127.0.0.1:80".into(),
            };
            recording.marks.extend([MarkKind::Listen, MarkKind::Connect].map(|k| mark(main, k)));
            recording.marks.extend(kinds.iter().map(|kind| mark(selector, *kind)));
            first(&recording, "network-wait").map(|found| found.title)
        };
        let asks = polling(&[MarkKind::PollAnswers]).expect("found");
        assert!(asks.contains("in `program!select`"), "{asks}");
        assert_eq!(polling(&[]), None);
        assert_eq!(polling(&[MarkKind::PollRequests]), None);
        let both = [MarkKind::PollAnswers, MarkKind::PollRequests];
        assert_eq!(polling(&both), None, "it may wait for either");
    }
}
