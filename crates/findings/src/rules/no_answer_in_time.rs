//! `no-answer-in-time`: a thread waits for an answer until its own time limit ends.

use culprit_model::counter_names::DATAGRAM_DROPS;
use culprit_model::{Cause, Interval, Nanos, ProcessId, Text, Time};

use crate::evidence::pauses::{Pauses, nobody_works};
use crate::evidence::talks::Talks;
use crate::evidence::{Evidence, Family, SegmentId};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::tally::{self, Tally};

/// The rule.
pub(crate) struct NoAnswerInTime;

/// The shortest wait that counts as a time limit.
const MIN_LIMIT: Nanos = Nanos(20_000_000);

/// Dropped datagrams are counted five times a second.
const COUNTED_WITHIN: Nanos = Nanos(250_000_000);

/// Share of the waits that timers ended in one function which must be for an answer.
const MOST: f64 = 0.8;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "no-answer-in-time",
    group: Group::Network,
    specificity: Specificity::Mechanism,
    yields_to: &["name-lookup-wait", "syn-retransmission", "poll-sleep-loop"],
    claim: "A thread waits for an answer that does not come. Only its own time limit lets it go on.",
    signature: "Waits on the critical path that their own timer ended while no recorded thread worked. Most of \
                them are inside a function that receives. Or they begin after a request to a peer that has not \
                answered by then, and answers at other times. Or the kernel dropped datagrams for a recorded \
                process meanwhile.",
    not_reported: &[
        "pauses of a client between an answer and its next request (`idle-await`)",
        "a server that waits for requests",
        "rounds of a polling loop (`poll-sleep-loop`)",
    ],
    why: "The time limit is meant for what seldom happens. Here the answer is lost, or the peer does not know \
          that one is expected, so the limit is the speed of the program.",
    fix: &[
        "Find out why no answer comes. Datagrams are lost if the receiver's buffer is too small (`SO_RCVBUF`, \
         `nstat UdpRcvbufErrors`).",
        "HTTP uploads: answer `100 Continue` at once, or do not ask for it (`curl -H 'Expect:'`).",
        "Let the protocol say that something is missing, instead of waiting for it.",
        "Shorten the time limit to a few times the usual round trip.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; `no-answer-in-time` in `culprit findings fixed.culprit` must \
            be gone",
    thresholds: &[
        Threshold {
            what: "length of a wait",
            value: MIN_LIMIT.0 as f64,
            unit: "ns",
            reason: "Shorter timers pace what a program sends. At half, delayed acknowledgements of 40 ms are \
                     no nearer; at double, protocols with limits of 30 ms are left out.",
            source: "RFC 6298: retransmission after 200 ms and more on Linux",
        },
        Threshold {
            what: "share of the waits in one function, by time, that must be for an answer",
            value: MOST,
            unit: "share",
            reason: "A client that pauses between its requests now and then begins a pause before the last \
                     answer is seen. At half, such pauses could be most of it.",
            source: "definition",
        },
    ],
};

impl Rule for NoAnswerInTime {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let pauses = Pauses::of(evidence);
        let mut timed = evidence.doing(|d| matches!(d.cause, Cause::Net | Cause::Poll));
        timed.retain(|id| {
            let segment = evidence.chain.segment(*id);
            let wait = evidence.of_segment(segment);
            wait.duration >= MIN_LIMIT
                && pauses.has(evidence, wait)
                && evidence.for_requests(wait).is_none()
                && !evidence.polling.is_round(evidence, wait)
                && !evidence.loops.is_paced(wait)
                && nobody_works(evidence, segment)
        });
        if timed.is_empty() {
            return Vec::new();
        }
        let peers = Peers { talks: Talks::of(evidence), drops: Drops::of(evidence) };
        let places = tally::by(evidence, &timed, |s| Some(tally::waiting_function(evidence, s)));
        places.iter().filter_map(|place| claim(evidence, &peers, place)).collect()
    }
}

/// What is known of those that do not answer.
struct Peers {
    talks: Talks,
    drops: Drops,
}

impl Peers {
    /// Whom a wait is for, where it is known to be for an answer.
    fn awaited(&self, evidence: &Evidence<'_>, wait: &Interval) -> Option<Option<ProcessId>> {
        let peer = self.talks.unanswered(wait);
        let receives =
            wait.cause == Cause::Net || evidence.stacks.in_family(wait.stack, Family::Receives);
        (peer.is_some() || receives || self.drops.around(wait)).then_some(peer)
    }
}

/// Datagrams that were dropped because the socket of a recorded process was full.
struct Drops {
    /// When they were counted, in order.
    counted: Vec<Time>,
    /// Whose sockets dropped most, and how many.
    most: Option<(ProcessId, u64)>,
}

impl Drops {
    fn of(evidence: &Evidence<'_>) -> Self {
        let recording = evidence.recording;
        let rows = recording.counters.iter().filter(|row| *row.name == *DATAGRAM_DROPS);
        let mut counted: Vec<Time> = rows.filter(|row| row.value > 0).map(|row| row.time).collect();
        counted.sort_unstable();
        let processes = (0..recording.processes.len()).map(ProcessId::from_index);
        let drops = processes.filter_map(|id| {
            let growth = evidence.counters.growth(Some(id), DATAGRAM_DROPS)?;
            (growth.value > 0).then_some((id, growth.value))
        });
        Self { counted, most: drops.max_by_key(|(_, drops)| *drops) }
    }

    /// Whether some were dropped in a wait or shortly before: they are counted after that.
    fn around(&self, wait: &Interval) -> bool {
        let first = self.counted.partition_point(|time| *time < wait.start);
        let until = wait.start + wait.duration + COUNTED_WITHIN;
        self.counted.get(first).is_some_and(|time| *time <= until)
    }
}

fn claim(evidence: &Evidence<'_>, peers: &Peers, place: &Tally<Text>) -> Option<Claim> {
    let row = |id: &SegmentId| evidence.of_segment(evidence.chain.segment(*id));
    let is_awaited = |id: &SegmentId| peers.awaited(evidence, row(id)).is_some();
    let segments: Vec<SegmentId> = place.segments.iter().copied().filter(is_awaited).collect();
    let total = evidence.total(&segments);
    if segments.is_empty() || total.share_of(place.total) < MOST {
        return None;
    }
    let threads = segments.iter().map(|id| (row(id).thread, evidence.chain.segment(*id).length));
    let who = tally::named_by_time(evidence, threads);
    let peer = segments.iter().find_map(|id| peers.awaited(evidence, row(id)).flatten());
    let whom =
        peer.map_or_else(|| "a peer".to_owned(), |peer| evidence.recording.process_name(peer));
    let whole = evidence.chain.whole;
    let waits = evidence.waits(&segments).len();
    let longest = segments.iter().map(|id| row(id).duration).max().unwrap_or_default();
    let title = format!(
        "{who} waits {COST} of {whole} ({PERCENT}) in `{}` for an answer of {whom} until a time limit of its \
         own ends: {longest}",
        place.key
    );
    let claim = Claim::new(&DOC, title, segments)
        .share_of(whole)
        .at(Site::Work)
        .sure(0.85)
        .fact("waits that a time limit ended", waits as f64, "count")
        .time("longest time limit seen", longest);
    let lost = peers.drops.most.filter(|(_, drops)| *drops >= waits as u64);
    Some(match lost {
        Some((process, drops)) => {
            with_drops(claim, &evidence.recording.process_name(process), drops)
        }
        None => claim,
    })
}

/// As many datagrams or more were lost on this machine as answers did not come: that is why.
fn with_drops(claim: Claim, name: &str, drops: u64) -> Claim {
    let why =
        format!("The kernel dropped {drops} datagrams for {name}, whose socket's buffer was full.");
    let fix = format!(
        "Give {name} a larger receive buffer (`SO_RCVBUF`, up to `net.core.rmem_max`), or read from it \
         faster."
    );
    claim.saying(why, fix).sure(0.95).fact("datagrams dropped for it", drops as f64, "count")
}

#[cfg(test)]
mod tests {
    use culprit_model::{Cause, Recording};

    use crate::scene::{End, Scene, first};

    const POLL: &str = "main;transfer;libc.so.6!poll;k:do_sys_poll";
    const SERVE: &str = "main;serve;libc.so.6!recv;k:tcp_recvmsg;k:sk_wait_data";

    /// A client that asks three times, waits for its timer before or after the answer, and goes on.
    fn uploads(answer_first: bool) -> Recording {
        let mut scene = Scene::default();
        let client = scene.program("client", None, 0);
        let server = scene.program("server", Some(client), 0);
        for _ in 0..6 {
            scene.run(client, 1, Cause::CpuUser, "main;send");
            scene.wait(server, 1, Cause::Net, SERVE, End::By(client));
            if answer_first {
                scene.run(server, 3, Cause::CpuUser, "main;serve;store");
                scene.wait(client, 3, Cause::Poll, POLL, End::By(server));
                scene.wait(client, 1_000, Cause::Poll, POLL, End::Timer);
                scene.wait(server, 1_000, Cause::Net, SERVE, End::By(client));
            } else {
                scene.wait(client, 1_000, Cause::Poll, POLL, End::Timer);
                scene.wait(server, 1_000, Cause::Net, SERVE, End::By(client));
                scene.run(server, 3, Cause::CpuUser, "main;serve;store");
                scene.wait(client, 3, Cause::Poll, POLL, End::By(server));
            }
        }
        scene.done()
    }

    #[test]
    fn a_request_without_an_answer_is_reported_with_the_limit() {
        let found = first(&uploads(false), "no-answer-in-time").expect("found");
        assert!(found.title.contains("for an answer of server (101)"), "{}", found.title);
        assert!(found.title.contains("ends: 1.00 s"), "{}", found.title);
        assert!(found.cost.0 >= 5_000_000_000, "{}", found.cost);
    }

    #[test]
    fn a_pause_after_the_answer_is_not() {
        assert!(first(&uploads(true), "no-answer-in-time").is_none());
    }

    /// A client that gets no answers to four messages, while datagrams for another process are dropped.
    fn unanswered(drops: u64) -> Recording {
        let mut scene = Scene::default();
        let client = scene.program("client", None, 0);
        let server = scene.program("server", Some(client), 0);
        for step in 0..4 {
            scene.run(client, 1, Cause::CpuUser, "main;send");
            let receive = "main;upload;libc.so.6!recv;k:udp_recvmsg";
            scene.wait(client, 150 + step * 30, Cause::Net, receive, End::Timer);
        }
        scene.counter(Some(server), culprit_model::counter_names::DATAGRAM_DROPS, drops);
        scene.done()
    }

    #[test]
    fn a_receive_with_a_time_limit_is_reported_whoever_the_peer_is() {
        let found = first(&unanswered(0), "no-answer-in-time").expect("found");
        assert!(found.title.contains("for an answer of a peer"), "{}", found.title);
        assert!(!found.why.contains("dropped"), "{}", found.why);
    }

    #[test]
    fn datagrams_that_a_full_socket_lost_are_the_reason() {
        let found = first(&unanswered(17), "no-answer-in-time").expect("found");
        assert!(found.why.contains("dropped 17 datagrams for server (101)"), "{}", found.why);
        let few = first(&unanswered(2), "no-answer-in-time").expect("found");
        assert!(!few.why.contains("dropped"), "fewer than waits: {}", few.why);
    }
}
