//! How much each distinct stack weighs: many rows become few before any tree is built.

use culprit_model::{Cause, Cost, Metric, Nanos, Recording, StackId, ThreadId, Time};
use rustc_hash::FxHashMap;

use super::query::Query;
use super::when::{Spread, When};
use crate::accounting::clipped;

/// All rows of one thread at one stack for one cause, added up.
#[derive(Debug, Clone, PartialEq)]
pub struct Weight {
    /// Which thread; none where process and thread are frames of the stack.
    pub thread: Option<ThreadId>,
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
            sums.add((Some(row.thread), row.stack, None), (row.count, 1), row.time, Nanos::ZERO);
        }
    }
    for row in recording.intervals.iter().filter(|row| keeps(row.thread)) {
        let length = clipped(row.start, row.duration, from, to);
        if length.0 > 0 && counts(query.metric(), row.cause) {
            let key = (Some(row.thread), row.stack, Some(row.cause));
            sums.add(key, (length.0, 1), row.start.max(from), length);
        }
    }
    // A pattern on threads cannot fit what has none.
    let all = query.keeps_all_threads();
    for row in recording.costs.iter().filter(|row| row.thread.map_or(all, keeps)) {
        if let Some((value, start, length)) = cost(row, query.metric(), from, to) {
            let key = (row.thread, row.stack, row.cause);
            sums.add(key, (value, row.count), start, length);
        }
    }
    sums.weights
}

/// What a time range leaves of a cost, from when and how long; none when that is nothing, or when
/// the metric is another.
fn cost(row: &Cost, metric: Metric, from: Time, to: Time) -> Option<(u64, Time, Nanos)> {
    if !counted(row, metric) {
        return None;
    }
    if row.duration == Nanos::ZERO {
        let inside = row.time >= from && row.time <= to;
        return inside.then_some((row.value, row.time, Nanos::ZERO));
    }
    let length = clipped(row.time, row.duration, from, to);
    let value = u128::from(row.value) * u128::from(length.0) / u128::from(row.duration.0);
    let value = u64::try_from(value).unwrap_or(u64::MAX);
    (length > Nanos::ZERO).then_some((value, row.time.max(from), length))
}

/// Whether a metric counts a cost: its own metric, or wall-clock time of the right cause.
fn counted(row: &Cost, metric: Metric) -> bool {
    let of_cause = || row.cause.is_some_and(|cause| counts(metric, cause));
    row.metric == metric || (row.metric == Metric::Wall && of_cause())
}

fn counts(metric: Metric, cause: Cause) -> bool {
    match metric {
        Metric::Wall => true,
        Metric::Cpu => cause.is_cpu(),
        Metric::Blocked => cause.is_blocked(),
        Metric::Runnable => cause.is_runnable(),
        _ => false,
    }
}

type Key = (Option<ThreadId>, Option<StackId>, Option<Cause>);

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

    /// Adds a value that stands for a number of rows.
    fn add(&mut self, key: Key, (value, count): (u64, u64), start: Time, length: Nanos) {
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
        weight.value = weight.value.saturating_add(value);
        weight.count = weight.count.saturating_add(count);
        weight.first = weight.first.min(start);
        weight.last = weight.last.max(start + length);
        self.spread.add(&mut weight.when, start, length, value);
    }
}
