//! Sums of the chain's time by some key, the largest first: who did it, where, for whom.

use std::collections::BTreeMap;

use culprit_model::{Evidence as Fact, Nanos, Text, ThreadId};

use crate::evidence::{Evidence, Segment, SegmentId};
use crate::rule::fact;

/// The segments of one key, and their time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tally<K> {
    /// The key.
    pub(crate) key: K,
    /// Its segments, in order.
    pub(crate) segments: Vec<SegmentId>,
    /// Their time.
    pub(crate) total: Nanos,
}

/// Groups segments by a key; segments without one are left out. The largest first, then by key.
pub(crate) fn by<K: Ord>(
    evidence: &Evidence<'_>,
    segments: &[SegmentId],
    key: impl Fn(&Segment) -> Option<K>,
) -> Vec<Tally<K>> {
    let mut groups: BTreeMap<K, (Vec<SegmentId>, Nanos)> = BTreeMap::new();
    for &id in segments {
        let segment = evidence.chain.segment(id);
        if let Some(key) = key(segment) {
            let group = groups.entry(key).or_default();
            group.0.push(id);
            group.1 += segment.length;
        }
    }
    let mut tallies: Vec<_> =
        groups.into_iter().map(|(key, (segments, total))| Tally { key, segments, total }).collect();
    // The sort is stable, so equal totals stay in the order of their keys.
    tallies.sort_by_key(|t| std::cmp::Reverse(t.total));
    tallies
}

/// What was done in a set of segments: the `limit` costliest threads and functions as facts.
pub(crate) fn done(evidence: &Evidence<'_>, segments: &[SegmentId], limit: usize) -> Vec<Fact> {
    let key = |s: &Segment| {
        let interval = evidence.of_segment(s);
        let function = evidence.name(evidence.function(interval));
        Some((evidence.recording.thread(interval.thread).name.clone(), function, interval.cause))
    };
    by(evidence, segments, key)
        .into_iter()
        .take(limit)
        .map(|t| {
            let (thread, function, cause) = t.key;
            fact(format!("meanwhile: {thread} in {function} ({cause})"), t.total.0 as f64, "ns")
        })
        .collect()
}

/// The thread that waits in a segment: the one above it, or its own when it waits itself.
pub(crate) fn waiter(evidence: &Evidence<'_>, segment: &Segment) -> ThreadId {
    let interval = evidence.of_segment(segment);
    let above = evidence.chain.links(segment).next();
    match above {
        Some(link) if !interval.cause.is_blocked() => evidence.interval(link.wait).thread,
        _ => interval.thread,
    }
}

/// The function that waits in a segment, as [`waiter`] picks the thread.
pub(crate) fn waiting_function(evidence: &Evidence<'_>, segment: &Segment) -> Text {
    let interval = evidence.of_segment(segment);
    let above = evidence.chain.links(segment).next();
    let wait = match above {
        Some(link) if !interval.cause.is_blocked() => evidence.interval(link.wait),
        _ => interval,
    };
    evidence.name(evidence.stacks.focus(wait.stack))
}

/// What stands for threads that no record names.
pub(crate) const UNKNOWN: &str = "a thread that no record names";

/// Names of threads, each once, in order: `a, b and 3 more`.
pub(crate) fn named(mut names: Vec<String>) -> String {
    const SHOWN: usize = 2;
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|n| seen.insert(n.clone()));
    match names.len() {
        0 => UNKNOWN.to_owned(),
        1..=SHOWN => names.join(" and "),
        more => format!("{} and {} more", names[..SHOWN].join(", "), more - SHOWN),
    }
}
