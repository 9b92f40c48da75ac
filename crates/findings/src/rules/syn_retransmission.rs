//! `syn-retransmission`: a request to connect is not answered, and the kernel sends it again.
//!
//! ```text
//! client  connect |~~ 1 s ~~|~~ 1 s or 2 s ~~| connected
//!         SYN ----X         SYN ---X         SYN ---> SYN-ACK
//! server  its queue of connections is full   | accept
//! ```

use std::collections::BTreeSet;

use culprit_model::{Cause, MarkKind, Nanos, ProcessId, Text};

use crate::evidence::{Evidence, Family, IntervalId, Segment};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::tally::{self, Tally};

/// The rule.
pub(crate) struct SynRetransmission;

/// When the kernel first repeats a request to connect, and how much earlier a timer's tick may be.
const FIRST_REPEAT: Nanos = Nanos(1_000_000_000);
const TICK: Nanos = Nanos(10_000_000);

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "syn-retransmission",
    group: Group::Network,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "Connections are made late because the first request for them gets no answer, and the kernel \
            repeats it only after a second.",
    signature: "A thread waits for at least one second in `connect`, or polls in a library's connect. A kernel \
                answers such a request at once, so one that takes that long was lost or dropped. If a recorded \
                process listens on the port that the client connects to, its full queue is the reason; that \
                its queue is full is inferred.",
    not_reported: &[
        "clients that poll several sockets from an event loop: no stack says that they connect",
    ],
    why: "A kernel drops requests for a program whose queue of connections is full, and firewalls drop those \
          that they do not allow. Neither sends an answer. The client's kernel repeats the request after \
          1 s; later pauses are as long or longer.",
    fix: &[
        "Let the server accept connections at once and serve them elsewhere: a thread that does nothing but \
         accept.",
        "Give `listen` a longer queue, and raise `net.core.somaxconn` if it is lower.",
        "Keep connections open, or make fewer at once.",
        "If the server is not on this machine, look for a firewall's rule that drops packets, and for an address \
         where nobody is.",
    ],
    check: "`nstat -az TcpExtListenOverflows TcpRetransSegs TcpExtTCPSynRetrans` must not grow during the run; \
            `syn-retransmission` in `culprit findings fixed.culprit` must be gone",
    thresholds: &[Threshold {
        what: "length of a wait for a connection",
        value: FIRST_REPEAT.0 as f64,
        unit: "ns",
        reason: "The kernel's first pause. At half, slow ways around the world would count; at double, what \
                 the first repetition reaches is missed.",
        source: "Linux include/net/tcp.h: TCP_TIMEOUT_INIT; RFC 6298 section 2",
    }],
};

impl Rule for SynRetransmission {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let all = &evidence.recording.intervals;
        let waits: BTreeSet<IntervalId> = (0_u32..)
            .map(IntervalId)
            .take(all.len())
            .filter(|id| is_repeated(evidence, *id))
            .collect();
        if waits.is_empty() {
            return Vec::new();
        }
        let late = evidence.segments(|segment, _| wait_of(evidence, &waits, segment).is_some());
        let key = |s: &Segment| {
            let wait = evidence.interval(wait_of(evidence, &waits, s)?);
            Some((evidence.process(wait.thread), evidence.name(evidence.stacks.focus(wait.stack))))
        };
        let places = tally::by(evidence, &late, key);
        places.into_iter().map(|place| claim(evidence, &waits, place)).collect()
    }
}

/// True for a wait for a connection that lasts until its request is repeated.
fn is_repeated(evidence: &Evidence<'_>, id: IntervalId) -> bool {
    let wait = evidence.interval(id);
    let long = wait.duration.0 + TICK.0 >= FIRST_REPEAT.0;
    let within = |family| evidence.stacks.in_family(wait.stack, family);
    let waits = matches!(wait.cause, Cause::Net | Cause::Poll);
    long && waits && within(Family::Connect) && !within(Family::Resolver)
}

/// The wait for a connection that a segment is, or fills: nobody's work ends it but the kernel's.
fn wait_of(
    evidence: &Evidence<'_>,
    waits: &BTreeSet<IntervalId>,
    segment: &Segment,
) -> Option<IntervalId> {
    let around = evidence.waits_around(segment).map(|wait| wait.interval);
    std::iter::once(segment.interval).chain(around).find(|id| waits.contains(id))
}

fn claim(
    evidence: &Evidence<'_>,
    waits: &BTreeSet<IntervalId>,
    place: Tally<(ProcessId, Text)>,
) -> Claim {
    let Tally { key: (process, function), segments, .. } = place;
    let own: BTreeSet<IntervalId> = segments
        .iter()
        .filter_map(|s| wait_of(evidence, waits, evidence.chain.segment(*s)))
        .collect();
    let whole = evidence.chain.whole;
    let server = server(evidence, process);
    let whose = server.as_ref().map_or_else(String::new, |(name, address)| {
        format!(" to {name}, which listens at {address}")
    });
    let title = format!(
        "`{function}` in {} waits {} for connections{whose}: the first request gets no answer ({COST} of \
         {whole}, {PERCENT})",
        evidence.recording.process_name(process),
        match own.len() {
            1 => "once".to_owned(),
            many => format!("{many} times"),
        },
    );
    let longest = own.iter().map(|id| evidence.interval(*id).duration).max().unwrap_or_default();
    let (why, fix) = match &server {
        Some((name, _)) => (
            format!("{name} takes connections later than clients make them, so its queue is full."),
            format!("Start with {name}: accept at once, and give `listen` a longer queue."),
        ),
        None => Default::default(),
    };
    Claim::new(&DOC, title, segments)
        .share_of(whole)
        .at(Site::WaitThenWork)
        .saying(why, fix)
        .fact("waits of one second or more for a connection", own.len() as f64, "count")
        .time("longest of them", longest)
}

/// The recorded process that listens on the port to which another one connects, and where.
fn server(evidence: &Evidence<'_>, client: ProcessId) -> Option<(String, Text)> {
    let marks = &evidence.recording.marks;
    let port = |text: &Text| text.rsplit(':').next().map(str::to_owned);
    let asked = marks.iter().filter(|m| m.kind == MarkKind::Connect && m.process == client);
    let asked: Vec<_> = asked.map(|mark| port(&mark.text)).collect();
    let listens = |m: &&culprit_model::Mark| {
        m.kind == MarkKind::Listen && m.process != client && asked.contains(&port(&m.text))
    };
    let mark = marks.iter().find(listens)?;
    Some((evidence.recording.process_name(mark.process), mark.text.clone()))
}

#[cfg(test)]
mod tests {
    use culprit_model::{Cause, Mark, MarkKind, Recording, Time};

    use crate::scene::{End, Scene, first};

    const CONNECT: &str =
        "main;order;libc.so.6!connect;k:__x64_sys_connect;k:inet_wait_for_connect";
    const POLL: &str = "python3!main;py::create_connection:/usr/lib/python3.11/socket.py;libc.so.6!poll;\
                        k:__x64_sys_poll;k:do_sys_poll";

    fn client(ms: u64, stack: &str, cause: Cause, end: End) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("client", None, 0);
        for _ in 0..3 {
            scene.run(main, 5, Cause::CpuUser, "main;order");
            scene.wait(main, ms, cause, stack, end);
        }
        scene.done()
    }

    #[test]
    fn waits_for_connections_of_a_second_or_more_are_found() {
        for (stack, cause) in [(CONNECT, Cause::Net), (POLL, Cause::Poll)] {
            for end in [End::Network, End::Timer, End::Unknown] {
                let found = first(&client(1_020, stack, cause, end), "syn-retransmission");
                let found = found.unwrap_or_else(|| panic!("{stack}, {end:?}"));
                assert_eq!(found.cost.0, 3_060_000_000);
                assert!(found.title.contains("waits 3 times"), "{}", found.title);
            }
        }
    }

    #[test]
    fn shorter_ones_and_other_waits_are_not() {
        let slow_way = client(600, CONNECT, Cause::Net, End::Network);
        assert!(first(&slow_way, "syn-retransmission").is_none());
        let receive = "main;order;libc.so.6!recv;k:__x64_sys_recvfrom;k:tcp_recvmsg;k:sk_wait_data";
        let slow_answer = client(1_020, receive, Cause::Net, End::Network);
        assert!(first(&slow_answer, "syn-retransmission").is_none());
    }

    #[test]
    fn a_recorded_server_on_that_port_is_named_although_it_works_meanwhile() {
        let mut scene = Scene::default();
        let main = scene.program("client", None, 0);
        let server = scene.program("desk", Some(main), 0);
        for _ in 0..6 {
            scene.run(server, 1_019, Cause::CpuUser, "main;serve");
            scene.wait(server, 6, Cause::Net, "main;k:inet_csk_accept", End::Network);
            scene.wait(main, 1_020, Cause::Net, CONNECT, End::Network);
            scene.run(main, 5, Cause::CpuUser, "main;order");
        }
        for (thread, kind, text) in
            [(server, MarkKind::Listen, "0.0.0.0:80"), (main, MarkKind::Connect, "127.0.0.1:80")]
        {
            let process = scene.recording.thread(thread).process;
            let (time, thread) = (Time(1), Some(thread));
            scene.recording.marks.push(Mark { time, kind, process, thread, text: text.into() });
        }
        let found = first(&scene.done(), "syn-retransmission").expect("found");
        assert!(
            found.title.contains("to desk (101), which listens at 0.0.0.0:80"),
            "{}",
            found.title
        );
    }
}
