//! Which loops poll for the work of other threads.
//!
//! A loop that sleeps between two rounds may set a pace, wait for requests, or do its own work at
//! intervals. It polls where another thread waits for its result, or where the work of others ends it.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{Cause, Interval, Nanos, ThreadId};

use super::chain::is_pause;
use super::loops::{Loop, Loops, MIN_ROUNDS};
use super::pacing::Pace;
use super::stacks::WaitKind;
use super::{Evidence, IntervalId, Relation, Segment, SegmentId};

/// Share of a loop's waits that others must wait for: an occasional handoff of an interpreter's
/// lock does not count.
const MIN_AWAITED: f64 = 0.1;

/// The loops that poll.
#[derive(Debug, Default)]
pub(crate) struct Polling {
    /// The segments of each loop that polls, in the order of the loops; none for another loop.
    rounds: Vec<Option<Vec<SegmentId>>>,
}

impl Polling {
    /// Linear in segments, and in loops times their rounds.
    pub(crate) fn of(evidence: &Evidence<'_>) -> Self {
        let loops = evidence.loops.loops.iter().zip(rounds(evidence));
        let polls = |(found, segments): (&Loop, Vec<SegmentId>)| {
            polls(evidence, found, &segments).then_some(segments)
        };
        Self { rounds: loops.map(polls).collect() }
    }

    /// The loops that poll, each with its segments.
    pub(crate) fn loops<'l>(
        &'l self,
        loops: &'l Loops,
    ) -> impl Iterator<Item = (&'l Loop, &'l [SegmentId])> {
        let all = loops.loops.iter().zip(&self.rounds);
        all.filter_map(|(found, rounds)| Some((found, rounds.as_deref()?)))
    }

    /// True for a round of a loop that polls.
    pub(crate) fn is_round(&self, evidence: &Evidence<'_>, wait: &Interval) -> bool {
        let found = evidence.loops.loop_of(wait).and_then(|at| self.rounds.get(at));
        found.is_some_and(Option::is_some)
    }
}

/// The segments in which each loop waits while no thread works.
fn rounds(evidence: &Evidence<'_>) -> Vec<Vec<SegmentId>> {
    let mut rounds = vec![Vec::new(); evidence.loops.loops.len()];
    for (id, segment) in evidence.chain.iter() {
        if let Some(at) = evidence.loops.loop_of(evidence.of_segment(segment)) {
            rounds[at].push(id);
        }
    }
    rounds
}

fn polls(evidence: &Evidence<'_>, found: &Loop, segments: &[SegmentId]) -> bool {
    let many = found.rounds.len() >= MIN_ROUNDS;
    let may_end = || many && !is_expected(evidence, found) && others_end_it(evidence, found);
    let looks = match found.pace {
        Pace::Unknown => is_awaited(evidence, segments) || may_end(),
        // Whoever waits for it waits for the answer that it looks for.
        Pace::Asks => is_awaited(evidence, segments),
        Pace::Sets => false,
    };
    looks && !segments.is_empty()
}

/// True for a loop that waits for requests while no thread waits for it.
fn is_expected(evidence: &Evidence<'_>, found: &Loop) -> bool {
    let first = evidence.interval(found.rounds[0]);
    let unasked = evidence.unasked().is_some_and(|(since, _)| since <= first.start);
    unasked || evidence.for_requests(first).is_some()
}

/// True when another thread waits for a result of the loop, not for its end. A shell that waits for
/// its child, or a thread that joins another, would wait for a deliberate pause too, and so would a
/// thread that waits once until another thread is done.
pub(crate) fn is_awaited(evidence: &Evidence<'_>, segments: &[SegmentId]) -> bool {
    let mut awaited = Nanos::ZERO;
    let mut by_threads: BTreeMap<ThreadId, (BTreeSet<IntervalId>, Nanos)> = BTreeMap::new();
    for segment in segments.iter().map(|s| evidence.chain.segment(*s)) {
        match awaiting(evidence, segment) {
            Some(Awaiting::Outcome) => awaited += segment.length,
            Some(Awaiting::Thread(wait)) => {
                let thread = evidence.interval(wait).thread;
                let (waits, time) = by_threads.entry(thread).or_default();
                waits.insert(wait);
                *time += segment.length;
            }
            None => {}
        }
    }
    let again = by_threads.values().filter(|(waits, _)| waits.len() > 1);
    awaited += again.map(|(_, time)| *time).sum::<Nanos>();
    awaited > Nanos::ZERO && awaited.share_of(evidence.total(segments)) >= MIN_AWAITED
}

/// What another thread waits for in a segment.
enum Awaiting {
    /// For a result.
    Outcome,
    /// In this wait for a thread, which is for a result if its waiter waits again and again.
    Thread(IntervalId),
}

fn awaiting(evidence: &Evidence<'_>, segment: &Segment) -> Option<Awaiting> {
    let mut in_thread = None;
    for wait in evidence.waits_around(segment) {
        let interval = evidence.interval(wait.interval);
        match wait.relation {
            Relation::Child => {}
            _ if evidence.stacks.wait_kind(interval.stack) == Some(WaitKind::Join) => {}
            // A wait for events of any kind is not for one thread, and a pause is for no thread.
            Relation::Thread if interval.cause == Cause::Poll => {}
            Relation::Other if is_pause(interval) || wait.for_requests => {}
            Relation::Thread => in_thread = in_thread.or(Some(Awaiting::Thread(wait.interval))),
            _ => return Some(Awaiting::Outcome),
        }
    }
    in_thread
}

/// True when other threads worked during the last round: their progress ended the loop. Threads
/// that pause at the same place are loops of the same kind and do not count.
fn others_end_it(evidence: &Evidence<'_>, found: &Loop) -> bool {
    let name = evidence.name(found.function);
    let alike = evidence
        .loops
        .loops
        .iter()
        .filter(|other| other.cause == found.cause && evidence.name(other.function) == name);
    let rounds = alike.flat_map(|other| &other.rounds);
    let same: BTreeSet<ThreadId> = rounds.map(|r| evidence.interval(*r).thread).collect();
    evidence.work.between(found.last, found.end).any(|piece| !same.contains(&piece.thread))
}
