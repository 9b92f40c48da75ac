//! `delayed-ack`: small writes wait for the acknowledgement that the other side delays.
//!
//! Nagle's algorithm holds a small segment back while an earlier one is not acknowledged. The receiver
//! delays its acknowledgement by 40 ms, because an answer might carry it. So a message that is sent in two
//! small writes takes 40 ms, in which both sides wait and neither works:
//!
//! ```text
//! server  write(head) write(body)|~~~~ 40 ms ~~~~|                 body is held back
//! client  recv(head)             |~~ recv(body) ~~| goes on         its kernel delays the acknowledgement
//! ```

use culprit_model::{Cause, Interval, Nanos, ThreadId, WakeSource};

use crate::evidence::pauses::nobody_works;
use crate::evidence::{Evidence, Family, Segment, SegmentId};
use crate::rule::{COST, Claim, Group, PERCENT, Rule, RuleDoc, Site, Specificity, Threshold};
use crate::tally::{self, Tally};

/// The rule.
pub(crate) struct DelayedAck;

/// The kernel's least delay of an acknowledgement, and how much later its timer and the way back may be.
const DELAY: Nanos = Nanos(40_000_000);
const LATER: Nanos = Nanos(8_000_000);
/// Timers of 250 Hz end up to a tick early.
const EARLIER: Nanos = Nanos(1_000_000);

/// Waits of that length from which they are a pattern.
const MIN_WAITS: usize = 5;

/// Share of the time in a thread's waits for the network that must be in waits of that length.
const MIN_ALIKE: f64 = 0.5;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "delayed-ack",
    group: Group::Network,
    specificity: Specificity::Mechanism,
    yields_to: &[],
    claim: "Messages that are sent in several small writes wait 40 ms for an acknowledgement that the \
            other side's kernel delays.",
    signature: "Waits for data of a TCP connection last 40 to 48 ms, again and again, and end with a packet. \
                They make up most of the thread's waiting for the network. No recorded thread works or \
                sleeps meanwhile. The small writes themselves are inferred.",
    not_reported: &[
        "a peer that is recorded and sleeps or works meanwhile",
        "waits that a timer of the waiter's own ends",
    ],
    why: "Nagle's algorithm holds a small segment back while an earlier one is not acknowledged. The \
          receiver's kernel delays that acknowledgement by 40 ms, because an answer might carry it. So \
          the second small write of a message leaves 40 ms late, although both sides are idle.",
    fix: &[
        "Send each message with one write: a buffer, `writev`, or `MSG_MORE` for all parts but the last.",
        "Set `TCP_NODELAY` on the side that sends in several writes.",
        "If only the receiving side can be changed, set `TCP_QUICKACK` there after each receive.",
    ],
    check: "culprit record -o fixed.culprit -- CMD; `delayed-ack` in `culprit findings fixed.culprit` \
            must be gone",
    thresholds: &[
        Threshold {
            what: "waits of 40 to 48 ms",
            value: MIN_WAITS as f64,
            unit: "count",
            reason: "A peer may take that long by chance now and then.",
            source: "definition",
        },
        Threshold {
            what: "least length of such a wait",
            value: DELAY.0 as f64,
            unit: "ns",
            reason: "The kernel's least delay. On top come its timer's tick and the way back.",
            source: "Linux include/net/tcp.h: TCP_DELACK_MIN, HZ / 25",
        },
        Threshold {
            what: "share of the thread's waiting for the network in such waits",
            value: MIN_ALIKE,
            unit: "share",
            reason: "Answers that take time to compute differ in length. At half, a slow peer would be \
                     reported; at double, connections that also wait for something else are missed.",
            source: "definition",
        },
    ],
};

impl Rule for DelayedAck {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let receives = evidence.doing(|doing| {
            let within = |family| evidence.stacks.in_family(doing.stack, family);
            let waits = matches!(doing.cause, Cause::Net | Cause::Poll);
            waits && !within(Family::Accept) && !within(Family::Connect)
        });
        let by_thread =
            tally::by(evidence, &receives, |s| Some(evidence.of_segment(s).thread)).into_iter();
        by_thread.filter_map(|t| claim(evidence, &t)).collect()
    }
}

/// True for a wait as long as a delayed acknowledgement, in which nobody of the recording does anything
/// that takes as long.
fn is_delayed(evidence: &Evidence<'_>, segment: &Segment) -> bool {
    let wait = evidence.of_segment(segment);
    let length = wait.duration;
    let fits = length.0 + EARLIER.0 >= DELAY.0 && length.0 <= DELAY.0 + LATER.0;
    // A timer of the waiter's own, such as that of an event loop, may last as long.
    let may_be_packet = wait.waker.is_none() && wait.woken_by != Some(WakeSource::Timer);
    fits && may_be_packet && nobody_works(evidence, segment) && !anyone_pauses(evidence, wait)
}

/// Whether packets ended these waits. What waits for any event may wait for a timer of its own, and some
/// virtual CPUs do not say which interrupt ended a wait: there, some must be known.
fn brought_by_packets(evidence: &Evidence<'_>, segments: &[SegmentId]) -> bool {
    let mut waits = segments.iter().map(|s| evidence.of_segment(evidence.chain.segment(*s)));
    waits.any(|wait| wait.cause == Cause::Net || wait.woken_by == Some(WakeSource::Network))
}

/// True where another thread sleeps for as long as a wait lasts, and wakes as it ends.
fn anyone_pauses(evidence: &Evidence<'_>, wait: &Interval) -> bool {
    let end = wait.start + wait.duration;
    let pauses = |row: &&Interval| {
        let near = (row.start + row.duration).0.abs_diff(end.0) <= EARLIER.0;
        row.cause == Cause::Sleep && near && row.thread != wait.thread
    };
    let threads = (0..evidence.recording.threads.len()).map(ThreadId::from_index);
    threads.into_iter().any(|thread| {
        let rows = &evidence.recording.intervals[evidence.lives.rows(thread)];
        let first = rows.partition_point(|row| row.start + row.duration < wait.start);
        rows[first..].iter().take_while(|row| row.start <= end).any(|row| pauses(&row))
    })
}

fn claim(evidence: &Evidence<'_>, t: &Tally<ThreadId>) -> Option<Claim> {
    let delayed = |id: &&SegmentId| is_delayed(evidence, evidence.chain.segment(**id));
    let segments: Vec<SegmentId> = t.segments.iter().filter(delayed).copied().collect();
    let waits = evidence.waits(&segments).len();
    let total = evidence.total(&segments);
    let is_pattern = waits >= MIN_WAITS && total.share_of(t.total) >= MIN_ALIKE;
    if !is_pattern || !brought_by_packets(evidence, &segments) {
        return None;
    }
    let function = tally::by(evidence, &segments, |s| {
        Some(evidence.name(evidence.stacks.focus(evidence.of_segment(s).stack)))
    });
    let function = function.into_iter().next()?.key;
    let whole = evidence.chain.whole;
    let title = format!(
        "`{function}` in {} waits {waits} times 40 ms for an acknowledgement that the peer delays \
         ({COST} of {whole}, {PERCENT})",
        evidence.recording.thread_name(t.key),
    );
    let mean = Nanos(total.0 / waits as u64);
    let claim = Claim::new(&DOC, title, Vec::new())
        .share_of(whole)
        .at(Site::Entry)
        .sure(0.8)
        .fact("waits of 40 to 48 ms", waits as f64, "count")
        .time("mean length of such a wait", mean)
        .fact("share of the thread's waiting for the network", total.share_of(t.total), "share");
    Some(Claim { segments, ..claim })
}

#[cfg(test)]
mod tests {
    use crate::scene::{End, Scene, first};
    use culprit_model::{Cause, Recording};

    const RECEIVE: &str =
        "main;fetch;libc.so.6!recv;k:__x64_sys_recvfrom;k:tcp_recvmsg;k:sk_wait_data";

    fn waiter(ms: u64, end: End, (cause, stack): (Cause, &str)) -> Recording {
        let mut scene = Scene::default();
        let main = scene.program("client", None, 0);
        for _ in 0..20 {
            scene.run(main, 1, Cause::CpuUser, "main;fetch");
            scene.wait(main, ms, cause, stack, end);
        }
        scene.done()
    }

    fn client(ms: u64, end: End) -> Recording {
        waiter(ms, end, (Cause::Net, RECEIVE))
    }

    #[test]
    fn waits_of_forty_milliseconds_in_which_nobody_works_are_found() {
        for end in [End::Network, End::Interrupt] {
            let found = first(&client(41, end), "delayed-ack").expect("found");
            assert_eq!(found.cost.0, 820_000_000);
            assert!(
                found.title.contains("`program!fetch` in client (100) waits 20"),
                "{}",
                found.title
            );
        }
    }

    #[test]
    fn a_timer_of_the_waiters_own_is_no_acknowledgement() {
        const LOOP: &str = "main;libc.so.6!epoll_wait;k:ep_poll";
        let found = |end| first(&waiter(40, end, (Cause::Poll, LOOP)), "delayed-ack").is_some();
        assert!(found(End::Network));
        assert!(!found(End::Timer));
        assert!(!found(End::Interrupt), "it is not known whether a packet or a timer came");
        assert!(first(&client(40, End::Timer), "delayed-ack").is_none());
    }

    #[test]
    fn other_lengths_are_not() {
        assert!(first(&client(30, End::Network), "delayed-ack").is_none());
        assert!(first(&client(60, End::Network), "delayed-ack").is_none());
    }

    #[test]
    fn a_server_that_sleeps_or_works_as_long_is_the_reason_itself() {
        for (cause, stack) in [
            (Cause::Sleep, "main;answer;libc.so.6!clock_nanosleep;k:do_nanosleep"),
            (Cause::CpuUser, "main;answer"),
        ] {
            let mut scene = Scene::default();
            let main = scene.program("client", None, 0);
            let server = scene.program("server", Some(main), 0);
            for _ in 0..20 {
                scene.wait(main, 41, Cause::Net, RECEIVE, End::Network);
                scene.run(main, 1, Cause::CpuUser, "main;fetch");
                scene.wait(server, 41, cause, stack, End::Timer);
                scene.wait(server, 1, Cause::Net, RECEIVE, End::Network);
            }
            assert!(first(&scene.done(), "delayed-ack").is_none(), "{cause}");
        }
    }
}
