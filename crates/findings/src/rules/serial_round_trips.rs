//! `serial-round-trips`: many small requests to a peer, one after the other.
//!
//! Each round trip is cheap, so no single wait stands out. Together the kernel's network path, the
//! context switches and the waits fill the run. The time in which the peer computes its answer does
//! not count.

use culprit_model::{Cause, Interval, Nanos, Severity, ThreadId};

use crate::evidence::{Evidence, Family, Relation, Segment, SegmentId};
use crate::rule::{COST, Claim, Group, Rule, RuleDoc, Specificity, Threshold};
use crate::tally;

/// The rule.
pub(crate) struct SerialRoundTrips;

/// Waits for a peer from which they are a series.
const MIN_TRIPS: usize = 200;

/// Mean length of a wait up to which the trip, not the peer's work, is the cost.
const MAX_MEAN: Nanos = Nanos(2_000_000);

/// Share of the round trips' time in which a second recorded thread may work.
const MAX_BESIDE: f64 = 0.5;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "serial-round-trips",
    group: Group::Waiting,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "A thread sends many small requests, each after the answer to the last one. The way to the \
            other side and back takes the time.",
    signature: "A thread on the critical path waits many times, for a short time each, for data \
                from a socket. The finding names the thread and the function. The cost is the way through the network, waiting for a CPU, and \
                time in which the other side is idle. Two cases are listed only as `info`: other \
                threads work meanwhile, or the server is recorded too and waits for these requests. \
                Then the client may only generate load.",
    not_reported: &[
        "requests whose answer has already arrived: the thread does not wait",
        "time in which the other side computes its answer, if it is recorded too",
        "waits of more than 2 ms on average: see `network-wait`",
    ],
    why: "Each round trip costs two passes through the network stack and two context switches, \
          however few bytes it moves. That takes 20 to 40 us on one machine. Between machines, add \
          the network's round-trip time.",
    fix: &[
        "Batch: put several requests into one message, for example one `SELECT ... WHERE id IN \
         (...)` instead of 500 `SELECT`s.",
        "Pipeline: send the next request before the last answer arrives.",
        "Send independent requests in parallel.",
        "Cache answers that do not change.",
        "Move the loop to the other side, so that one request returns everything.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the time in round trips in `culprit findings \
            fixed.culprit` must be smaller than before",
    thresholds: &[
        Threshold {
            what: "waits for the other side",
            value: MIN_TRIPS as f64,
            unit: "count",
            reason: "200 round trips on one machine take about 6 ms. Fewer save little \
                     there.",
            source: "ping_pong.c: 32 us a round trip, Linux 6.18",
        },
        Threshold {
            what: "mean length of a wait",
            value: MAX_MEAN.0 as f64,
            unit: "ns",
            reason: "A round trip within a data centre is shorter. Longer waits come from distance \
                     or from the other side's work: see `network-wait`.",
            source: "definition",
        },
        Threshold {
            what: "share of the round trips' time in which a second recorded thread works, above which \
                   the finding is `info`",
            value: MAX_BESIDE,
            unit: "share",
            reason: "With one request at a time, client and server take turns. If both work, \
                     several requests are in flight. One more request would only wait at the server.",
            source: "one request at a time over loopback: 0.03 to 0.44",
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
    let peers = evidence.waits_around(segment).filter(|wait| wait.relation == Relation::Peer);
    peers.last().map_or(evidence.of_segment(segment).thread, |wait| wait.waiter)
}

/// True for a wait for a peer, the run queue after it, the kernel's own network path, and a pause
/// of the peer before its answer: no thread works in it, and fewer round trips have less of it.
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
        "{} makes at least {} round trips one after the other in `{}`: {each} each, {COST} of {}",
        evidence.recording.thread_name(thread),
        waits.len(),
        evidence.name(function),
        evidence.chain.whole,
    );
    let beside = segments.iter().map(|s| evidence.work.during(evidence.chain.segment(*s), 2));
    let beside = beside.sum::<Nanos>().share_of(total);
    // Where others work in parallel, several requests are in flight. A client of a server whose own
    // time is measured may only generate load.
    let several = beside > MAX_BESIDE || fills_servers_wait(evidence, &segments);
    let at_most = if several { Severity::Info } else { Severity::High };
    let claim = Claim::new(&DOC, title, segments)
        .sure(0.9)
        .fact("round trips in which the thread waited", waits.len() as f64, "count")
        .time("mean length of a wait", mean)
        .time("mean time of a round trip without the peer's work", each)
        .fact("share of this time in which another thread works too", beside, "share");
    Some(Claim { at_most, ..claim })
}

/// True where most of these segments fill a recorded server's wait for requests.
fn fills_servers_wait(evidence: &Evidence<'_>, segments: &[SegmentId]) -> bool {
    let is_asked = |s: &&SegmentId| {
        let mut waits = evidence.waits_around(evidence.chain.segment(**s));
        waits.any(|wait| wait.for_requests)
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
            found.title.contains(
                "at least 1000 round trips one after the other in `program!ask`: 70.0 us each"
            ),
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
