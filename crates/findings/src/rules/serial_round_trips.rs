//! `serial-round-trips`: many small exchanges with a peer, one after the other.
//!
//! Each exchange is cheap, so no single wait shows up; together, the kernel's network path, the
//! switches and the waits are the run. What a peer computes for an answer is not part of it.

use culprit_model::{Cause, Interval, Nanos, Severity, ThreadId};

use crate::evidence::{Evidence, Family, Relation, Segment, SegmentId};
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity, Threshold};
use crate::tally;

/// The rule.
pub(crate) struct SerialRoundTrips;

/// Waits for a peer from which they are a series.
const MIN_TRIPS: usize = 200;

/// Mean length of a wait up to which the trip, not the peer's work, is the cost.
const MAX_MEAN: Nanos = Nanos(2_000_000);

/// Share of the exchanges' time in which a second recorded thread may work.
const MAX_BESIDE: f64 = 0.5;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "serial-round-trips",
    group: Group::Waiting,
    specificity: Specificity::Mechanism,
    claim: "A thread makes many small exchanges with a peer, one after the other, and the trips \
            themselves take the time.",
    signature: "Many short waits for data from a socket on the measured thing's path; counted are the \
                kernel's time in the network path, the hand-overs, the peer's pauses and the waits \
                that no peer's work fills. Exchanges whose answer was there at once are not seen. Where \
                a recorded server waits for them, which is what is measured, they are information: \
                who asks may be there to load it.",
    why: "Each exchange costs two passes through the network stack and two switches on this machine \
          (some 20 to 40 us over loopback), a round trip on any other network, however little is said.",
    fix: "Say more per exchange: batch requests, pipeline them (send the next before the last answer \
          is there), ask in parallel, keep what does not change, or move the loop to the other side.",
    check: "culprit record -o fixed.culprit -- CMD; the waits for the peer in `culprit findings fixed.culprit` must shrink",
    thresholds: &[
        Threshold {
            what: "waits for a peer",
            value: MIN_TRIPS as f64,
            unit: "count",
            reason: "200 trips over loopback take 5 ms or so; fewer cannot matter but in the shortest \
                     runs.",
            source: "ping_pong.c: 32 us a trip, Linux 6.18",
        },
        Threshold {
            what: "mean length of a wait",
            value: MAX_MEAN.0 as f64,
            unit: "ns",
            reason: "A trip within a data centre stays below; longer waits are the distance or the \
                     peer's work, which `network-wait` tells.",
            source: "definition",
        },
        Threshold {
            what: "share of this time in which a second recorded thread works, above which it is information",
            value: MAX_BESIDE,
            unit: "share",
            reason: "Who waits for one answer at a time takes turns with its peer. Where both work, \
                     several requests are under way: one more would only wait at the server.",
            source: "one at a time over loopback: 0.03 to 0.44",
        },
    ],
};

impl Rule for SerialRoundTrips {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let all = evidence.chain.iter().map(|(id, _)| id);
        let trips: Vec<_> = all.filter(|s| is_trip(evidence, *s)).collect();
        tally::by(evidence, &trips, |s| Some(measured(evidence, s)))
            .into_iter()
            .filter_map(|t| told(evidence, t.key, t.segments, t.total))
            .collect()
    }
}

/// The outermost thread that waits for a peer around a segment; the segment's own where none does.
fn measured(evidence: &Evidence<'_>, segment: &Segment) -> ThreadId {
    let mut by = evidence.of_segment(segment).thread;
    let mut outermost = by;
    for link in evidence.chain.links(segment) {
        let wait = evidence.interval(link.wait);
        if Relation::of(evidence, wait, Some(by), link.inferred) == Relation::Peer {
            outermost = wait.thread;
        }
        by = wait.thread;
    }
    outermost
}

/// True for a wait for a peer, the queue after one, the kernel's own network path, and a pause of the
/// peer before its answer: nobody works in it, and fewer exchanges have fewer of it.
fn is_trip(evidence: &Evidence<'_>, segment: SegmentId) -> bool {
    let interval = evidence.of_segment(evidence.chain.segment(segment));
    let talks = evidence.stacks.in_family(interval.stack, Family::Net)
        || evidence.stacks.in_family(interval.stack, Family::UnixSocket);
    match interval.cause {
        Cause::CpuKernel | Cause::Runnable => talks,
        // A polling loop's rounds are a pause of its own making.
        Cause::Sleep if evidence.loops.is_round(interval) => false,
        Cause::Net | Cause::Ipc | Cause::Poll | Cause::Sleep => {
            evidence.relation(segment) == Relation::Peer
        }
        _ => false,
    }
}

fn told(
    evidence: &Evidence<'_>,
    thread: ThreadId,
    segments: Vec<SegmentId>,
    total: Nanos,
) -> Option<Claim> {
    let waits: Vec<&Interval> = waits_of(evidence, thread, &segments);
    let waited: Nanos = waits.iter().map(|i| i.duration).sum();
    let mean = Nanos(waited.0 / (waits.len() as u64).max(1));
    if waits.len() < MIN_TRIPS || mean > MAX_MEAN {
        return None;
    }
    let each = Nanos(total.0 / waits.len() as u64);
    let function = waits.first().and_then(|i| evidence.stacks.focus(i.stack));
    let title = format!(
        "{} makes at least {} exchanges one after the other in `{}`: {each} of network each",
        evidence.recording.thread_name(thread),
        waits.len(),
        evidence.name(function),
    );
    let beside = segments.iter().map(|s| evidence.work.during(evidence.chain.segment(*s), 2));
    let beside = beside.sum::<Nanos>().share_of(total);
    // Where others work meanwhile, several are under way; and whoever asks a server whose own time is
    // measured may be there to load it.
    let several = beside > MAX_BESIDE || fills_servers_wait(evidence, &segments);
    let at_most = if several { Severity::Info } else { Severity::High };
    let claim =
        Claim::new(&DOC, title, segments)
            .sure(0.9)
            .fact("exchanges that the thread had to wait in; those that found the answer there are not seen", waits.len() as f64, "count")
            .time("mean length of a wait", mean)
            .time("network path, hand-overs and waits of one exchange", each)
            .fact("share of this time in which another thread works as well", beside, "share");
    Some(Claim { at_most, ..claim })
}

/// True where most of these segments fill a recorded server's wait for requests.
fn fills_servers_wait(evidence: &Evidence<'_>, segments: &[SegmentId]) -> bool {
    let is_asked = |s: &&SegmentId| {
        let mut links = evidence.chain.links(evidence.chain.segment(**s));
        links.any(|link| evidence.for_requests(evidence.interval(link.wait)).is_some())
    };
    let asking: Vec<_> = segments.iter().filter(is_asked).copied().collect();
    evidence.total(&asking).share_of(evidence.total(segments)) > 0.5
}

/// The waits of a thread for its peer: its own in the segments, and those above them.
fn waits_of<'a>(
    evidence: &Evidence<'a>,
    thread: ThreadId,
    segments: &[SegmentId],
) -> Vec<&'a Interval> {
    let mut waits: Vec<_> = segments
        .iter()
        .map(|s| evidence.chain.segment(*s))
        .flat_map(|s| evidence.chain.links(s).map(|l| l.wait).chain([s.interval]))
        .filter(|w| {
            let interval = evidence.interval(*w);
            interval.thread == thread
                && matches!(interval.cause, Cause::Net | Cause::Ipc | Cause::Poll)
        })
        .collect();
    waits.sort_unstable();
    waits.dedup();
    waits.into_iter().map(|w| evidence.interval(w)).collect()
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Cause, Recording, Severity};

    const RECEIVE: &str =
        "main;ask;libc.so.6!recv;k:__x64_sys_recvfrom;k:tcp_recvmsg;k:sk_wait_data";
    const SEND: &str = "main;ask;libc.so.6!send;k:__x64_sys_sendto;k:tcp_sendmsg";

    fn chat(trips: u64, wait_us: u64) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("client", None, 0);
        for _ in 0..trips {
            scene.spend(main, 10_000, Cause::CpuUser, "main;ask", End::Unknown);
            scene.spend(main, 20_000, Cause::CpuKernel, SEND, End::Unknown);
            scene.spend(main, wait_us * 1000, Cause::Net, RECEIVE, End::Network);
        }
        scene.done()
    }

    #[test]
    fn many_short_exchanges_are_told_with_what_one_costs() {
        let found = first(&chat(1000, 50), "serial-round-trips").expect("found");
        assert_eq!(found.cost.0, 70_000_000);
        assert!(
            found
                .title
                .contains("at least 1000 exchanges one after the other in `program!ask`: 70.0 us"),
            "{}",
            found.title
        );
    }

    #[test]
    fn a_pause_of_the_server_before_its_answer_is_part_of_the_trip_and_no_polling() {
        const NAP: &str = "main;serve;libc.so.6!clock_nanosleep;k:do_nanosleep";
        const TAKE: &str = "main;serve;libc.so.6!recv;k:__x64_sys_recvfrom;k:sk_wait_data";
        let mut scene = Scene::default();
        let client = scene.program("client", None, 0);
        let server = scene.program("server", Some(client), 0);
        for _ in 0..500 {
            scene.spend(client, 20_000, Cause::CpuKernel, SEND, End::Unknown);
            scene.spend(server, 20_000, Cause::Net, TAKE, End::Network);
            scene.spend(client, 180_000, Cause::Net, RECEIVE, End::Network);
            scene.spend(server, 160_000, Cause::Sleep, NAP, End::Timer);
            scene.spend(server, 20_000, Cause::CpuKernel, SEND, End::Unknown);
        }
        let recording = scene.done();
        let found = first(&recording, "serial-round-trips").expect("found");
        assert!(first(&recording, "poll-sleep-loop").is_none());
        assert!(found.share > 0.9, "{}", found.share);
    }

    #[test]
    fn exchanges_beside_which_others_work_are_information() {
        let severity = |beside: bool| {
            let mut scene = Scene::default();
            let main = scene.program("client", None, 0);
            let process = scene.recording.thread(main).process;
            let other = scene.thread(process, "other", 0);
            for _ in 0..1000 {
                scene.spend(main, 20_000, Cause::CpuKernel, SEND, End::Unknown);
                scene.spend(main, 50_000, Cause::Net, RECEIVE, End::Network);
                scene.spend(main, 50_000, Cause::CpuKernel, SEND, End::Unknown);
            }
            if beside {
                scene.run(other, 120, Cause::CpuUser, "clone3;answer");
            }
            first(&scene.done(), "serial-round-trips").map(|found| found.severity)
        };
        assert_eq!(severity(false), Some(Severity::High));
        assert_eq!(severity(true), Some(Severity::Info));
    }

    #[test]
    fn a_few_exchanges_or_long_waits_are_not() {
        assert!(first(&chat(20, 50), "serial-round-trips").is_none());
        assert!(first(&chat(300, 20_000), "serial-round-trips").is_none());
    }
}
