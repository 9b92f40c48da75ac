//! Sums of the chain's time by some key, the largest first: who did it, where, for whom.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use culprit_model::{Cause, Evidence as Fact, FrameId, Nanos, Text, ThreadId};

use crate::evidence::{Doing, Evidence, Segment, SegmentId};
use crate::naming::Aim;
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
    // In the order of their keys. Neighbours mostly have the same one, which is looked up once.
    let (mut tallies, mut last): (Vec<Tally<K>>, usize) = (Vec::new(), 0);
    for &id in segments {
        let segment = evidence.chain.segment(id);
        let Some(key) = key(segment) else { continue };
        if tallies.get(last).is_none_or(|tally| tally.key != key) {
            last = tallies.binary_search_by(|tally| tally.key.cmp(&key)).unwrap_or_else(|at| {
                tallies.insert(at, Tally { key, segments: Vec::new(), total: Nanos::ZERO });
                at
            });
        }
        tallies[last].segments.push(id);
        tallies[last].total += segment.length;
    }
    // The sort is stable, so equal totals stay in the order of their keys.
    tallies.sort_by_key(|t| std::cmp::Reverse(t.total));
    tallies
}

/// What was done in a set of segments: the `limit` costliest threads and functions as facts.
pub(crate) fn done(evidence: &Evidence<'_>, segments: &[SegmentId], limit: usize) -> Vec<Fact> {
    // By handles first: segments are many, and names are long to compare.
    let mut handles: FxHashMap<(ThreadId, usize), Nanos> = FxHashMap::default();
    for id in segments {
        let segment = evidence.chain.segment(*id);
        let thread = evidence.of_segment(segment).thread;
        *handles.entry((thread, evidence.doings.kind(*id))).or_default() += segment.length;
    }
    let mut handles: Vec<_> = handles.into_iter().collect();
    handles.sort_unstable_by_key(|(handle, _)| *handle);
    let mut names: BTreeMap<(Text, Text, Cause), Nanos> = BTreeMap::new();
    for ((thread, kind), time) in handles {
        let doing = evidence.doings.of_kind(kind);
        let thread = evidence.recording.thread(thread).name.clone();
        let frame = Aim::Own.frame(evidence, doing.stack, evidence.function(doing));
        let function = Aim::Own.name(evidence, frame);
        *names.entry((thread, function, doing.cause)).or_default() += time;
    }
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    names
        .into_iter()
        .take(limit)
        .map(|((thread, function, cause), time)| {
            fact(format!("meanwhile: {thread} in {function} ({cause})"), time.0 as f64, "ns")
        })
        .collect()
}

/// Groups segments by the name of a function that their cause and stack tell, as [`by`] does by a key.
pub(crate) fn by_name(
    evidence: &Evidence<'_>,
    segments: &[SegmentId],
    function: impl Fn(&Doing) -> Option<FrameId>,
) -> Vec<Tally<Text>> {
    let mut tallies: Vec<Tally<Text>> = Vec::new();
    let mut known: BTreeMap<Text, usize> = BTreeMap::new();
    // Names are long to compare, and segments are many: each kind is looked up once.
    let of_kind = evidence.doings.each(|doing| {
        let key = evidence.name(Some(function(doing)?));
        Some(*known.entry(key.clone()).or_insert_with(|| {
            tallies.push(Tally { key, segments: Vec::new(), total: Nanos::ZERO });
            tallies.len() - 1
        }))
    });
    for id in segments {
        if let Some(tally) = of_kind[evidence.doings.kind(*id)] {
            tallies[tally].segments.push(*id);
            tallies[tally].total += evidence.chain.segment(*id).length;
        }
    }
    tallies.retain(|tally| !tally.segments.is_empty());
    tallies.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.key.cmp(&b.key)));
    tallies
}

/// The function that waits in a segment: in the wait above it, or in its own where it waits itself.
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

/// The share of all time below which a thread is not worth its name.
const NAMED_FROM: f64 = 0.05;

/// Names of threads by the time that each stands for, the longest first; those of next to none are
/// left out.
pub(crate) fn named_by_time(
    evidence: &Evidence<'_>,
    times: impl IntoIterator<Item = (ThreadId, Nanos)>,
) -> String {
    let mut sums: BTreeMap<ThreadId, Nanos> = BTreeMap::new();
    times.into_iter().for_each(|(thread, time)| *sums.entry(thread).or_default() += time);
    let all: Nanos = sums.values().copied().sum();
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    let named = sums.into_iter().filter(|(_, time)| time.share_of(all) >= NAMED_FROM);
    self::named(named.map(|(thread, _)| evidence.recording.thread_name(thread)).collect())
}

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
