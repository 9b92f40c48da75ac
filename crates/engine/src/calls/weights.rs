//! How much each distinct stack weighs: many rows become few before any tree is built.

use culprit_model::{Cause, Metric, Nanos, Recording, StackId, ThreadId, Time};
use rustc_hash::FxHashMap;

use super::query::Query;
use super::when::{Spread, When};
use crate::accounting::clipped;

/// All rows of one thread at one stack for one cause, added up.
#[derive(Debug, Clone, PartialEq)]
pub struct Weight {
    /// Which thread.
    pub thread: ThreadId,
    /// At which stack; none where that was lost.
    pub stack: Option<StackId>,
    /// Why the time passed; none for metrics that are no time.
    pub cause: Option<Cause>,
    /// How much, in the metric's unit.
    pub value: u64,
    /// How many rows.
    pub count: u64,
    /// When the first row begins.
    pub first: Time,
    /// When the last row ends.
    pub last: Time,
    /// How the value is spread over the query's time range.
    pub when: When,
}

/// Adds up the rows that a query's metric, time range and thread patterns keep; one entry a
/// distinct (thread, stack, cause), ordered by first use. Linear in rows.
#[must_use]
pub fn weights(recording: &Recording, query: &Query) -> Vec<Weight> {
    let mut sums = Sums::new(recording, query);
    let kept = query.threads(recording);
    let keeps = |thread: ThreadId| kept.get(thread.index()).copied().unwrap_or(false);
    let (from, to) = query.range(recording);
    if query.metric() == Metric::Faults {
        let inside = |time: Time| time >= from && time <= to;
        for row in recording.faults.iter().filter(|r| keeps(r.thread) && inside(r.time)) {
            sums.add((row.thread, row.stack, None), row.count, row.time, Nanos::ZERO);
        }
        return sums.weights;
    }
    for row in recording.intervals.iter().filter(|row| keeps(row.thread)) {
        let length = clipped(row.start, row.duration, from, to);
        if length.0 > 0 && counts(query.metric(), row.cause) {
            let key = (row.thread, row.stack, Some(row.cause));
            sums.add(key, length.0, row.start.max(from), length);
        }
    }
    sums.weights
}

fn counts(metric: Metric, cause: Cause) -> bool {
    match metric {
        Metric::Wall => true,
        Metric::Cpu => cause.is_cpu(),
        Metric::Blocked => cause.is_blocked(),
        Metric::Runnable => cause.is_runnable(),
        Metric::Faults => false,
    }
}

type Key = (ThreadId, Option<StackId>, Option<Cause>);

struct Sums {
    weights: Vec<Weight>,
    known: FxHashMap<Key, usize>,
    spread: Spread,
}

impl Sums {
    fn new(recording: &Recording, query: &Query) -> Self {
        let (from, to) = query.range(recording);
        Self { weights: Vec::new(), known: FxHashMap::default(), spread: Spread::over(from, to) }
    }

    fn add(&mut self, key: Key, value: u64, start: Time, length: Nanos) {
        let weights = &mut self.weights;
        let at = *self.known.entry(key).or_insert_with(|| {
            let (thread, stack, cause) = key;
            weights.push(Weight {
                thread,
                stack,
                cause,
                value: 0,
                count: 0,
                first: start,
                last: start,
                when: When::default(),
            });
            weights.len() - 1
        });
        let weight = &mut self.weights[at];
        weight.value += value;
        weight.count += 1;
        weight.first = weight.first.min(start);
        weight.last = weight.last.max(start + length);
        self.spread.add(&mut weight.when, start, length, value);
    }
}
