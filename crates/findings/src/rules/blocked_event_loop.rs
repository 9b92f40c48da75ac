//! `blocked-event-loop`: a callback of an event loop waits, and everybody else of that loop with it.
//!
//! ```text
//! loop      |epoll|callback a: recv ~~~~~~~~~ backend ~~~~~~~~~|b|c|epoll
//! client b        |request ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~| could have been answered at once
//! ```

use std::collections::BTreeSet;

use culprit_model::{Cause, Interval, Nanos, ProcessId, Text};

use crate::evidence::{Evidence, Family, IntervalId, Segment, SegmentId};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::tally::{self, Tally};

/// The rule.
pub(crate) struct BlockedEventLoop;

/// The shortest wait that counts.
const MIN_WAIT: Nanos = Nanos(1_000_000);

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "blocked-event-loop",
    group: Group::Waiting,
    specificity: Specificity::Mechanism,
    yields_to: &["name-lookup-wait"],
    claim: "A callback of a server's event loop waits. Everything else that this loop serves waits with it.",
    signature: "In a process that listens on a socket, a wait on the critical path lies below the function in \
                which an event loop runs callbacks: asyncio, libuv and Node.js, libevent, libev, Netty.",
    not_reported: &["the loop's own wait for events", "a program that serves nobody"],
    why: "An event loop does one thing at a time. While a callback waits for a peer, a child, a lock or a \
          sleep, no other request is read or answered, however many connections there are.",
    fix: &[
        "Call what does not block: `await` an asynchronous client, `asyncio.sleep`, `execFile` instead of \
         `execFileSync`.",
        "Where there is only a blocking call, run it in a thread: `asyncio.to_thread`, `run_in_executor`, a \
         worker thread.",
        "Start independent requests together, instead of one after the other.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; `blocked-event-loop` in `culprit findings fixed.culprit` \
            must be gone",
    thresholds: &[Threshold {
        what: "length of a wait",
        value: MIN_WAIT.0 as f64,
        unit: "ns",
        reason: "Locks that are handed over, and files in memory, take some microseconds. At half or at double, \
                 only blocking calls of about a millisecond change sides.",
        source: "a request over loopback to a local server: 50 to 300 us, Linux 6.18, 2 CPUs",
    }],
};

impl Rule for BlockedEventLoop {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        if evidence.serving.is_nobody() {
            return Vec::new();
        }
        let all: Vec<_> = evidence.chain.iter().map(|(id, _)| id).collect();
        let places = tally::by(evidence, &all, |segment| {
            let wait = evidence.interval(blocks(evidence, segment)?);
            let function = evidence.name(evidence.stacks.focus(wait.stack));
            Some((evidence.process(wait.thread), function))
        });
        places.into_iter().map(|place| told(evidence, place)).collect()
    }
}

/// The wait of a callback that a segment fills, or is.
fn blocks(evidence: &Evidence<'_>, segment: &Segment) -> Option<IntervalId> {
    let links = evidence.chain.links(segment).map(|link| link.wait);
    let mut waits = [segment.interval].into_iter().chain(links);
    waits.find(|wait| is_blocking(evidence, evidence.interval(*wait)))
}

fn is_blocking(evidence: &Evidence<'_>, wait: &Interval) -> bool {
    let waits = matches!(
        wait.cause,
        Cause::Net
            | Cause::Ipc
            | Cause::Pipe
            | Cause::Poll
            | Cause::Sleep
            | Cause::Child
            | Cause::Lock
    );
    waits
        && wait.duration >= MIN_WAIT
        && evidence.stacks.in_family(wait.stack, Family::EventCallback)
        && evidence.serving.listens(evidence.process(wait.thread))
}

fn told(evidence: &Evidence<'_>, place: Tally<(ProcessId, Text)>) -> Claim {
    let Tally { key: (process, function), segments, .. } = place;
    let segment = |id: &SegmentId| evidence.chain.segment(*id);
    let waits = segments.iter().filter_map(|id| blocks(evidence, segment(id)));
    let waits: BTreeSet<IntervalId> = waits.collect();
    let longest = waits.iter().map(|id| evidence.interval(*id)).max_by_key(|wait| wait.duration);
    let whole = evidence.chain.whole;
    let title = format!(
        "{}: `{function}` blocks the event loop for {COST} of {whole} ({PERCENT}), {} times: it serves nobody \
         else meanwhile",
        evidence.recording.process_name(process),
        waits.len(),
    );
    let place = longest.and_then(|wait| Some((wait.thread, wait.stack?)));
    let longest = longest.map(|wait| wait.duration).unwrap_or_default();
    Claim::new(&DOC, title, segments)
        .share_of(whole)
        .at(Site::WaitThenWork)
        .pointing(place.into_iter().collect())
        .sure(0.9)
        .time("longest wait of a callback", longest)
}

#[cfg(test)]
mod tests {
    use culprit_model::{Cause, Mark, MarkKind, Recording, Time};

    use crate::scene::{End, Scene, first, told};

    const CALLBACK: &str = "main;run;uv_run;node!node::InternalMakeCallback(a);handle;libc.so.6!recv;k:tcp_recvmsg;\
                            k:sk_wait_data";
    const EVENTS: &str = "main;run;uv_run;libc.so.6!epoll_wait;k:ep_poll";
    const RECEIVE: &str = "main;ask;libc.so.6!recv;k:tcp_recvmsg;k:sk_wait_data";

    /// A client asks; the server waits for a backend where `stack` says.
    fn desk(stack: &str, listens: bool) -> Recording {
        let mut scene = Scene::default();
        let client = scene.program("client", None, 0);
        let server = scene.program("server", Some(client), 0);
        let backend = scene.program("backend", Some(client), 0);
        for _ in 0..20 {
            scene.wait(server, 2, Cause::Poll, EVENTS, End::By(client));
            scene.wait(
                backend,
                30,
                Cause::Sleep,
                "main;look;libc.so.6!nanosleep;k:do_nanosleep",
                End::Timer,
            );
            scene.wait(server, 28, Cause::Net, stack, End::By(backend));
            scene.wait(client, 30, Cause::Net, RECEIVE, End::By(server));
        }
        let process = scene.recording.thread(server).process;
        let mut recording = scene.done();
        if listens {
            let (time, kind, text) = (Time(1), MarkKind::Listen, "127.0.0.1:80".into());
            recording.marks.push(Mark { time, kind, process, thread: Some(server), text });
        }
        recording
    }

    #[test]
    fn a_callback_that_waits_for_a_backend_is_reported() {
        let recording = desk(CALLBACK, true);
        let found = first(&recording, "blocked-event-loop");
        let found = found.unwrap_or_else(|| panic!("{:?}", told(&recording)));
        assert!(
            found.title.contains("server (101): `program!handle` blocks the event loop"),
            "{}",
            found.title
        );
        assert!(found.title.contains("20 times"), "{}", found.title);
    }

    #[test]
    fn a_thread_for_each_connection_and_a_program_that_serves_nobody_are_not() {
        assert!(first(&desk(RECEIVE, true), "blocked-event-loop").is_none());
        assert!(first(&desk(CALLBACK, false), "blocked-event-loop").is_none());
    }
}
