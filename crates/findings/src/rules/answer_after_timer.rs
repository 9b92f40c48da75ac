//! `answer-after-timer`: who serves a request waits for something else until a time limit runs out.
//!
//! ```text
//! client  recv |~~~~~~~~~~~~~~~~~~~~~~~| answer
//! server  poll |~~ dead node, 1 s ~~|t| another node, answer
//! ```

use std::collections::BTreeMap;

use culprit_model::{Cause, Interval, Nanos, ProcessId, StackId, ThreadId};

use crate::evidence::feeds::Feeds;
use crate::evidence::pauses::Pauses;
use crate::evidence::{Evidence, IntervalId, Relation, Segment};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::tally::{self, Tally};

/// The rule.
pub(crate) struct AnswerAfterTimer;

/// The shortest wait that a time limit explains. Shorter timers are mostly meant.
const MIN_WAIT: Nanos = Nanos(900_000_000);

/// The shortest wait of the server that counts: what lies between two of them is work on answers.
const MIN_LIMIT: Nanos = Nanos(100_000_000);

/// Share of the client's wait that the server must spend so.
const MOST: f64 = 0.5;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "answer-after-timer",
    group: Group::Network,
    specificity: Specificity::Mechanism,
    yields_to: &["name-lookup-wait", "syn-retransmission", "poll-sleep-loop"],
    claim: "A client waits while the thread that answers it waits for something else, until a time limit \
            ends that wait.",
    signature: "A wait of at least 0.9 s for a peer, which a recorded thread ended. For most of it that thread \
                polled or received, and its own timer ended these waits, the last one too. No event did.",
    not_reported: &[
        "a server that sleeps before it answers (`network-wait`)",
        "a thread that sets the pace for others with its timer",
        "a peer that gets no requests, and sends when its own timers end",
    ],
    why: "What the server waits for does not come: a dead node, or the next request of a client that keeps its \
          connection open. Only the time limit lets the server go on, and the client waits that long.",
    fix: &[
        "Find out what does not answer, and take it out: health checks find dead nodes before requests do.",
        "Shorten the time limit: the keep-alive, connect or read time-out of the server.",
        "Serve more connections at once: more workers, or an event loop that no idle connection holds up.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; `answer-after-timer` in `culprit findings fixed.culprit` \
            must be gone",
    thresholds: &[
        Threshold {
            what: "length of the client's wait",
            value: MIN_WAIT.0 as f64,
            unit: "ns",
            reason: "Time limits are seconds as a rule. At half, deliberate delays would count; at double, \
                     limits of one second are missed.",
            source: "defaults: HAProxy timeout connect 5 s, Apache KeepAliveTimeout 5 s, nginx 60 s",
        },
        Threshold {
            what: "share of it in which the server waits for its timers",
            value: MOST,
            unit: "share",
            reason: "The rest is the answer itself, and other clients' turns.",
            source: "definition",
        },
    ],
};

impl Rule for AnswerAfterTimer {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let pauses = Pauses::of(evidence);
        let mut known: BTreeMap<IntervalId, Option<Held>> = BTreeMap::new();
        let waiting = evidence.depending_on(Relation::Peer);
        for segment in &waiting {
            if let Some(id) = evidence.dependent_wait(evidence.chain.segment(*segment)) {
                known.entry(id).or_insert_with(|| held(evidence, &pauses, evidence.interval(id)));
            }
        }
        let held = |s: &Segment| known.get(&evidence.dependent_wait(s)?).copied().flatten();
        let places = tally::by(evidence, &waiting, |s| {
            let held = held(s)?;
            Some((evidence.process(held.client), evidence.process(held.server)))
        });
        if places.is_empty() {
            return Vec::new();
        }
        let feeds = Feeds::of(evidence);
        places.into_iter().filter_map(|place| claim(evidence, &feeds, &known, place)).collect()
    }
}

/// Who waits for whom, and where that one waits.
#[derive(Debug, Clone, Copy)]
struct Held {
    client: ThreadId,
    server: ThreadId,
    stack: Option<StackId>,
    longest: Nanos,
}

/// Whether the thread that ended a wait waited for its own timers meanwhile.
fn held(evidence: &Evidence<'_>, pauses: &Pauses, wait: &Interval) -> Option<Held> {
    let server =
        wait.waker.filter(|server| evidence.process(*server) != evidence.process(wait.thread))?;
    if wait.duration < MIN_WAIT || !matches!(wait.cause, Cause::Net | Cause::Poll) {
        return None;
    }
    let end = wait.start + wait.duration;
    let rows = &evidence.recording.intervals[evidence.lives.rows(server)];
    let first = rows.partition_point(|row| row.start + row.duration <= wait.start);
    let meanwhile = rows[first..].iter().take_while(|row| row.start < end);
    let waits = meanwhile.filter(|row| row.cause.is_blocked() && row.duration >= MIN_LIMIT);
    let waits: Vec<&Interval> = waits.collect();
    let by_timer = |row: &&Interval| {
        let paces = evidence.loops.is_paced(row);
        matches!(row.cause, Cause::Net | Cause::Poll) && !paces && pauses.has(evidence, row)
    };
    waits.last().filter(|last| by_timer(last))?;
    let limits: Vec<&Interval> = waits.into_iter().filter(by_timer).collect();
    let within =
        |row: &&Interval| (row.start + row.duration).min(end).since(row.start.max(wait.start));
    let held: Nanos = limits.iter().map(within).sum();
    let longest = limits.into_iter().max_by_key(|row| row.duration)?;
    let (stack, length) = (longest.stack, longest.duration);
    let is_most = held.share_of(wait.duration) >= MOST;
    is_most.then_some(Held { client: wait.thread, server, stack, longest: length })
}

fn claim(
    evidence: &Evidence<'_>,
    feeds: &Feeds,
    known: &BTreeMap<IntervalId, Option<Held>>,
    place: Tally<(ProcessId, ProcessId)>,
) -> Option<Claim> {
    let Tally { key: (client, server), segments, .. } = place;
    let of_place = |held: &&Held| {
        (evidence.process(held.client), evidence.process(held.server)) == (client, server)
    };
    let all: Vec<Held> = known.values().flatten().filter(of_place).copied().collect();
    if feeds.is_feed(server, client, all.len()) {
        return None;
    }
    let whole = evidence.chain.whole;
    let longest = all.iter().max_by_key(|held| held.longest)?;
    let name = |process| evidence.recording.process_name(process);
    let title = format!(
        "{} waits {COST} of {whole} ({PERCENT}) for {}, which waits until a time limit of its own ends: {}",
        name(client),
        name(server),
        longest.longest,
    );
    let stack = longest.stack.map(|stack| (longest.server, stack));
    let claim = Claim::new(&DOC, title, segments)
        .share_of(whole)
        .at(Site::WaitThenWork)
        .pointing(stack.into_iter().collect())
        .sure(0.85)
        .fact("waits for an answer that a time limit held up", all.len() as f64, "count")
        .time("longest time limit seen", longest.longest);
    Some(claim)
}

#[cfg(test)]
mod tests {
    use culprit_model::{Cause, Recording};

    use crate::scene::{End, Scene, first};

    const RECEIVE: &str =
        "main;ask;libc.so.6!recv;k:__x64_sys_recvfrom;k:tcp_recvmsg;k:sk_wait_data";
    const POLL: &str = "main;process;libc.so.6!epoll_wait;k:ep_poll";

    /// A client that asks; its server polls for so long, ended so, before each of three answers.
    fn served(ms: u64, cause: Cause, end: End) -> Recording {
        asked(true, ms, cause, end)
    }

    fn asked(asks: bool, ms: u64, cause: Cause, end: End) -> Recording {
        let mut scene = Scene::default();
        let client = scene.program("client", None, 0);
        let server = scene.program("proxy", Some(client), 0);
        for _ in 0..3 {
            let request = if asks { End::By(client) } else { End::Timer };
            scene.wait(server, 2, Cause::Poll, POLL, request);
            scene.wait(server, ms, cause, POLL, end);
            scene.run(server, 5, Cause::CpuUser, "main;process;answer");
            scene.wait(client, ms + 7, Cause::Net, RECEIVE, End::By(server));
            scene.run(client, 5, Cause::CpuUser, "main;ask");
            scene.run(server, 5, Cause::CpuUser, "main;process;log");
        }
        scene.done()
    }

    #[test]
    fn answers_behind_a_time_limit_are_told_with_whose_it_is() {
        let found = first(&served(1_001, Cause::Poll, End::Timer), "answer-after-timer");
        let found = found.expect("found");
        assert!(found.title.contains("for proxy (101), which waits until"), "{}", found.title);
        assert!(found.cost.0 >= 3_000_000_000, "{}", found.cost);
    }

    #[test]
    fn a_feed_that_sends_once_a_second_is_not() {
        let feed = asked(false, 1_001, Cause::Poll, End::Timer);
        assert!(first(&feed, "answer-after-timer").is_none());
    }

    #[test]
    fn what_an_event_ends_or_is_short_or_sleeps_is_not() {
        for (ms, cause, end) in [
            (1_001, Cause::Poll, End::Network),
            (400, Cause::Poll, End::Timer),
            (1_001, Cause::Sleep, End::Timer),
        ] {
            let recording = served(ms, cause, end);
            assert!(first(&recording, "answer-after-timer").is_none(), "{ms} {cause} {end:?}");
        }
    }
}
