//! `network-wait`: a thread is blocked in receive, send or connect towards a peer.

use culprit_model::{Evidence as Fact, Interval, Nanos, ProcessId, Severity, Text, ThreadId, Time};

use crate::evidence::feeds::Feeds;
use crate::evidence::{Evidence, Family, Relation, Segment};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, fact};
use crate::tally::{self, Tally};

/// The rule.
pub(crate) struct NetworkWait;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "network-wait",
    group: Group::Waiting,
    specificity: Specificity::Relation,
    yields_to: &[],
    claim: "A thread waits for a peer to answer, to take data, or to accept a connection.",
    signature: "A thread on the critical path is blocked in a socket's receive, send or connect. A \
                poll counts if a socket's data ended it. A peer on this machine is the process \
                that ended the wait; its work meanwhile fills the time. If an interrupt ended it, no \
                record names the peer.",
    not_reported: &[
        "a server that waits for connections or requests",
        "more than `info`: a peer that gets no requests, and sends when its own timers end",
        "more than `low`: time in which a recorded peer works on a CPU, or is ready to",
    ],
    why: "The caller does nothing else until the answer arrives. Each exchange costs a round trip \
          and the peer's own time.",
    fix: &[
        "Send requests together or before their answers are needed: pipeline, batch, or open \
         parallel connections.",
        "Cache answers that do not change.",
        "Keep the connection open between requests.",
        "If waits last about 40 ms, send each message with one write, or set TCP_NODELAY. Otherwise \
         the kernel holds the second write back until the peer acknowledges the first.",
        "If the peer runs on this machine, make its work faster: it is listed under \"meanwhile\".",
    ],
    check: "culprit record -o fixed.culprit -- CMD; the cost of `network-wait` in `culprit \
            findings fixed.culprit` must be smaller than before",
    thresholds: &[],
};

/// How many waits are listed one by one.
const LISTED: usize = 3;

/// Share of the total waiting time that the listed waits must make up: three of many equal waits
/// say nothing.
const MOST: f64 = 0.5;

/// What to think of waits for a feed.
const FEED_WHY: &str = "Nothing that the waiter sends ends a wait of the peer: that one sends when its own timers \
                           say so, as a feed does. Such waits are idle time.";

/// Who the peer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Peer {
    /// A recorded process of this machine.
    Local(ProcessId),
    /// A process of this machine that was not recorded.
    Neighbour(ThreadId),
    /// No record names it: it may be beyond the machine, or on it.
    Unknown,
}

impl Rule for NetworkWait {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let waiting = evidence.depending_on(Relation::Peer);
        if waiting.is_empty() {
            return Vec::new();
        }
        let key = |s: &Segment| {
            let works = is_peers_work(evidence, s);
            Some((waiter(evidence, wait_of(evidence, s)), peer(evidence, s), works))
        };
        let feeds = Feeds::of(evidence);
        let waits = tally::by(evidence, &waiting, key).into_iter();
        waits.map(|t| told(evidence, &feeds, &t)).collect()
    }
}

/// True for time in which a recorded peer uses a CPU for the answer, or is ready to: what it does there is the
/// reason, and that somebody waits for it says something only where nothing tells what that is.
fn is_peers_work(evidence: &Evidence<'_>, segment: &Segment) -> bool {
    let interval = evidence.of_segment(segment);
    !interval.cause.is_blocked() && interval.thread != wait_of(evidence, segment).thread
}

/// The waits of a thread for a peer, in which that one works or does not.
type Waits = Tally<(ThreadId, Peer, bool)>;

/// The wait for the peer that a segment fills, or is.
fn wait_of<'a>(evidence: &Evidence<'a>, segment: &Segment) -> &'a Interval {
    let own = evidence.of_segment(segment);
    let own_relation = Relation::of(evidence, own, own.waker, false);
    match evidence.chain.links(segment).next() {
        Some(link) if own_relation != Relation::Peer => evidence.interval(link.wait),
        _ => own,
    }
}

/// The thread whose wait it is. In a runtime whose threads wait for the network for all tasks of
/// the process, the process's first thread stands for all of them.
fn waiter(evidence: &Evidence<'_>, wait: &Interval) -> ThreadId {
    if !evidence.stacks.in_family(wait.stack, Family::Scheduler) {
        return wait.thread;
    }
    let process = evidence.process(wait.thread);
    let first = evidence.recording.threads.iter().position(|thread| thread.process == process);
    first.map_or(wait.thread, ThreadId::from_index)
}

fn peer(evidence: &Evidence<'_>, segment: &Segment) -> Peer {
    let wait = wait_of(evidence, segment);
    let by = evidence.of_segment(segment).thread;
    if by != wait.thread {
        return Peer::Local(evidence.process(by));
    }
    match wait.waker {
        Some(thread) if evidence.recording.thread(thread).recorded => {
            Peer::Local(evidence.process(thread))
        }
        Some(thread) => Peer::Neighbour(thread),
        None => Peer::Unknown,
    }
}

fn told(evidence: &Evidence<'_>, feeds: &Feeds, t: &Waits) -> Claim {
    let (waiter, peer, works) = t.key;
    let functions = tally::by(evidence, &t.segments, |s| {
        Some(evidence.name(evidence.stacks.focus(wait_of(evidence, s).stack)))
    });
    let function = functions.into_iter().next().map_or_else(|| Text::from("?"), |f| f.key);
    let whom = match peer {
        Peer::Local(process) if process == evidence.process(waiter) => {
            format!("another thread of {}", evidence.recording.process_name(process))
        }
        Peer::Local(process) => evidence.recording.process_name(process),
        Peer::Neighbour(thread) => evidence.recording.process_name(evidence.process(thread)),
        Peer::Unknown => "a peer that no record names".to_owned(),
    };
    let waits = evidence.waits(&t.segments);
    let connects = waits
        .iter()
        .filter(|w| evidence.stacks.in_family(evidence.interval(**w).stack, Family::Connect))
        .count();
    let whole = evidence.chain.whole;
    let title = format!(
        "{} waits {COST} of {whole} ({PERCENT}) in `{function}` for {whom}, {}",
        evidence.recording.thread_name(waiter),
        match waits.len() {
            1 => "once".to_owned(),
            many => format!("{many} times"),
        }
    );
    let each = Nanos(t.total.0 / (waits.len() as u64).max(1));
    let claim = Claim::new(&DOC, title, t.segments.clone())
        .share_of(whole)
        .at(Site::WaitThenWork)
        .sure(0.9)
        .fact("waits for the peer", waits.len() as f64, "count")
        .fact("of these, while connecting", connects as f64, "count")
        .time("mean length of a wait", each)
        .facts(one_by_one(evidence, t));
    let claim = if works {
        // What the peer does is its own matter, whether or not another finding tells which function it is in.
        Claim { specificity: Specificity::Statement, at_most: Severity::Low, ..claim }
    } else {
        claim
    };
    match peer {
        Peer::Local(process) if feeds.is_feed(process, evidence.process(waiter), waits.len()) => {
            let claim = Claim { at_most: Severity::Info, ..claim };
            claim.saying(FEED_WHY.to_owned(), String::new())
        }
        Peer::Local(_) => claim.facts(tally::done(evidence, &t.segments, 3)),
        _ => claim,
    }
}

/// The waits one by one: the most that sending all requests at once could save, and the longest
/// waits where few make up most of the time.
fn one_by_one(evidence: &Evidence<'_>, t: &Waits) -> Vec<Fact> {
    let key = |s: &Segment| {
        let wait = wait_of(evidence, s);
        let function = evidence.chores.application(wait.stack);
        let function = function.or_else(|| evidence.stacks.focus(wait.stack));
        Some((wait.start, evidence.name(function)))
    };
    let waits: Vec<Tally<(Time, Text)>> = tally::by(evidence, &t.segments, key);
    let Some(longest) = waits.first().filter(|_| waits.len() > 1) else { return Vec::new() };
    let spared = t.total.saturating_sub(longest.total);
    let mut facts =
        vec![fact("most that sending all requests at once could save", spared.0 as f64, "ns")];
    let listed = &waits[..waits.len().min(LISTED)];
    if listed.iter().map(|w| w.total).sum::<Nanos>().share_of(t.total) >= MOST {
        facts.extend(listed.iter().map(|w| {
            let (from, function) = &w.key;
            fact(format!("wait that starts at {from}, in {function}"), w.total.0 as f64, "ns")
        }));
    }
    facts
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first, told};
    use culprit_model::{Cause, Severity};

    const RECEIVE: &str =
        "main;ask;libc.so.6!recv;k:__x64_sys_recvfrom;k:tcp_recvmsg;k:sk_wait_data";

    #[test]
    fn one_tasks_waits_are_told_once_whichever_thread_watches_the_network() {
        let watch =
            "runtime.mcall;runtime.schedule;runtime.findRunnable;runtime.netpoll;k:do_epoll_wait";
        let task = "runtime.goexit;main.ask";
        let mut scene = Scene::default();
        let main = scene.program("client", None, 0);
        let process = scene.recording.thread(main).process;
        let other = scene.thread(process, "client", 0);
        for _ in 0..10 {
            for (watches, works) in [(main, other), (other, main)] {
                scene.wait(watches, 50, Cause::Poll, watch, End::Network);
                scene.run(watches, 1, Cause::CpuUser, task);
                let parked = "runtime.mcall;runtime.schedule;runtime.stopm;k:futex_do_wait";
                scene.wait(works, 51, Cause::Lock, parked, End::By(watches));
            }
        }
        let found = told(&scene.done());
        let waits: Vec<_> = found.iter().filter(|f| f.starts_with("network-wait")).collect();
        assert_eq!(waits.len(), 1, "{found:?}");
    }

    #[test]
    fn a_feed_that_sends_by_its_own_timer_is_information() {
        let severity = |asks: bool| {
            let mut scene = Scene::default();
            let client = scene.program("client", None, 0);
            let feed = scene.program("feed", Some(client), 0);
            for round in 0..40 {
                // Not a polling loop: ever other lengths.
                let ms = 10 + round * 37 % 41;
                let end = if asks { End::By(client) } else { End::Timer };
                scene.wait(feed, ms, Cause::Poll, "main;tick;libc.so.6!epoll_wait;k:ep_poll", end);
                scene.run(feed, 1, Cause::CpuUser, "main;tick;publish");
                scene.wait(client, ms + 1, Cause::Net, RECEIVE, End::By(feed));
                scene.spend(client, 100_000, Cause::CpuUser, "main;ask", End::Unknown);
                scene.spend(feed, 100_000, Cause::CpuUser, "main;tick", End::Unknown);
            }
            first(&scene.done(), "network-wait").map(|f| f.severity)
        };
        assert_eq!(severity(false), Some(Severity::Info));
        assert_eq!(severity(true), Some(Severity::High));
    }

    #[test]
    fn a_remote_peer_costs_its_waits() {
        let mut scene = Scene::default();
        let main = scene.program("client", None, 0);
        for _ in 0..20 {
            scene.run(main, 1, Cause::CpuUser, "main;ask");
            scene.wait(main, 30, Cause::Net, RECEIVE, End::Network);
        }
        let found = first(&scene.done(), "network-wait").expect("found");
        assert_eq!(found.cost.0, 600_000_000);
        assert!(
            found.title.contains("in `program!ask` for a peer that no record names, 20 times"),
            "{}",
            found.title
        );
    }

    #[test]
    fn a_few_long_waits_are_ranked_with_what_asking_at_once_would_spare() {
        let mut scene = Scene::default();
        let main = scene.program("client", None, 0);
        for (function, ms) in [("licence", 300), ("analytics", 570), ("device", 100)] {
            let stack = RECEIVE.replace("ask", function);
            scene.wait(main, ms, Cause::Net, &stack, End::Network);
            scene.run(main, 10, Cause::CpuUser, "main;ask");
        }
        let found = first(&scene.done(), "network-wait").expect("found");
        let told: Vec<_> =
            found.evidence.iter().map(|e| (e.what.as_str(), e.value / 1e6)).collect();
        for fact in [
            ("most that sending all requests at once could save", 400.0),
            ("wait that starts at 310 ms, in program!analytics", 570.0),
            ("wait that starts at 0 ns, in program!licence", 300.0),
        ] {
            assert!(told.contains(&fact), "{told:?}");
        }
    }

    #[test]
    fn a_local_peer_is_named_with_what_it_did() {
        let mut scene = Scene::default();
        let client = scene.program("client", None, 0);
        let server = scene.program("server", Some(client), 0);
        for _ in 0..10 {
            for step in 0..10 {
                scene.run(server, 1, Cause::CpuUser, &format!("main;answer{step}"));
            }
            scene.wait(client, 10, Cause::Net, RECEIVE, End::By(server));
        }
        let found = first(&scene.done(), "network-wait").expect("found");
        assert_eq!(found.cost.0, 100_000_000);
        assert!(found.title.contains("for server (101), 10 times"), "{}", found.title);
    }

    /// A client over loopback: the kernel's receive path wakes it, and names nobody.
    fn over_loopback(rounds: u64) -> Vec<String> {
        let mut scene = Scene::default();
        let client = scene.program("client", None, 0);
        let server = scene.program("server", Some(client), 0);
        for _ in 0..rounds {
            for step in 0..10 {
                scene.run(server, 1, Cause::CpuUser, &format!("main;answer{step}"));
            }
            scene.wait(server, 1, Cause::Net, RECEIVE, End::Network);
            scene.spend(client, 9_900_000, Cause::Net, RECEIVE, End::Network);
            scene.spend(client, 1_100_000, Cause::CpuUser, "main;ask", End::Unknown);
        }
        let report = crate::find(&scene.done(), &crate::Options::default());
        report.findings.into_iter().filter(|f| f.id == "network-wait").map(|f| f.title).collect()
    }

    #[test]
    fn a_peer_over_loopback_is_inferred_from_who_ran_at_each_end() {
        let titles = over_loopback(20);
        assert!(
            titles[0].contains(
                "waits 198 ms of 220 ms (90 %) in `program!ask` for server (101), 20 times"
            ),
            "{titles:?}"
        );
        let chance = over_loopback(3);
        assert!(chance[0].contains("for a peer that no record names"), "{chance:?}");
    }

    #[test]
    fn a_sender_that_leaves_its_cpu_to_whom_it_woke_is_the_peer() {
        let mut scene = Scene::default();
        let client = scene.program("client", None, 0);
        let server = scene.program("server", Some(client), 0);
        for _ in 0..6 {
            scene.wait(server, 500, Cause::Sleep, "main;pause;k:do_nanosleep", End::Timer);
            scene.run(server, 1, Cause::CpuKernel, "main;answer;k:tcp_sendmsg");
            scene.run(server, 2, Cause::Runnable, "main;answer;k:tcp_sendmsg");
            scene.wait(server, 1, Cause::Net, RECEIVE, End::Network);
            scene.wait(client, 501, Cause::Net, RECEIVE, End::Network);
            scene.run(client, 3, Cause::CpuUser, "main;ask");
        }
        let report = crate::find(&scene.done(), &crate::Options::default());
        let titles: Vec<_> = report.findings.iter().map(|f| &f.title).collect();
        assert!(!titles.iter().any(|t| t.contains("no record names")), "{titles:?}");
    }

    #[test]
    fn a_peer_in_the_same_process_is_another_thread_of_it() {
        let mut scene = Scene::default();
        let main = scene.program("service", None, 0);
        let process = scene.recording.thread(main).process;
        let handler = scene.thread(process, "handler", 0);
        for _ in 0..10 {
            // The handler answers at the start, and is off the CPU for the rest of the wait.
            scene.run(handler, 1, Cause::CpuUser, "clone3;answer");
            scene.wait(handler, 30, Cause::Net, &RECEIVE.replace("main", "clone3"), End::Network);
            scene.wait(main, 30, Cause::Net, RECEIVE, End::By(handler));
            scene.run(main, 1, Cause::CpuUser, "main;ask");
        }
        let report = crate::find(&scene.done(), &crate::Options::default());
        let titles: Vec<_> = report.findings.iter().map(|f| &f.title).collect();
        assert!(
            titles.iter().any(|t| t.contains("for another thread of service (100)")),
            "{titles:?}"
        );
    }

    #[test]
    fn a_poll_that_another_process_ended_is_a_wait_for_a_peer() {
        const POLL: &str = "main;result;libc.so.6!poll;k:do_sys_poll";
        let mut scene = Scene::default();
        let client = scene.program("client", None, 0);
        let server = scene.program("server", None, 0);
        for _ in 0..10 {
            scene.wait(client, 10, Cause::Poll, POLL, End::By(server));
            scene.run(client, 1, Cause::CpuUser, "main;ask");
            for step in 0..11 {
                scene.run(server, 1, Cause::CpuUser, &format!("main;answer{step}"));
            }
        }
        let found = first(&scene.done(), "network-wait").expect("found");
        assert!(found.title.contains("in `program!result` for server (101)"), "{}", found.title);
    }

    #[test]
    fn a_listener_without_callers_is_healthy() {
        let mut scene = Scene::default();
        let main = scene.program("server", None, 0);
        let accept = "main;serve;libc.so.6!accept;k:__x64_sys_accept;k:inet_csk_accept";
        scene.wait(main, 5000, Cause::Net, accept, End::Unknown);
        assert_eq!(told(&scene.running()), ["idle-await 0"], "said to idle");
    }
}
