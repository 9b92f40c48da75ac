//! What stacks cost besides time, summed up: allocations and their bytes.
//!
//! A program may allocate a million times a second, so hits are no rows: those of one thread, stack
//! and hundredth of a second are. Views cut rows to a time range in proportion, so their sums are
//! exact but for the hundredths at the range's ends.

use culprit_model::{Cost, Metric, StackId, ThreadId, Time};
use rustc_hash::FxHashMap;

use crate::events::stacks::RawStack;

/// Events of one row are less than this apart, ns: a thousandth of what one looks at when one looks
/// at ten seconds. Half would be up to twice the rows.
const TOGETHER: u64 = 10_000_000;

/// When, whose, where.
pub(crate) type Spot = (Time, ThreadId, Option<RawStack>);

/// Rows of the costs table before their stacks are named.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    sums: FxHashMap<(u64, Metric, ThreadId, Option<RawStack>), Sum>,
    /// What rounding has left of each metric's estimates.
    rests: FxHashMap<Metric, f64>,
}

#[derive(Debug, Clone, Copy)]
struct Sum {
    from: Time,
    to: Time,
    value: u64,
    count: u64,
    /// What was estimated, and the variance of that; not in `value`.
    estimate: Option<(f64, f64)>,
}

impl Costs {
    /// One more event of this value.
    pub(crate) fn add(&mut self, metric: Metric, spot: Spot, value: u64) {
        let sum = self.sum(metric, spot);
        sum.value = sum.value.saturating_add(value);
    }

    /// One more sample, which stands for this value with this variance.
    pub(crate) fn add_estimate(
        &mut self,
        metric: Metric,
        spot: Spot,
        (value, variance): (f64, f64),
    ) {
        let sum = self.sum(metric, spot);
        let (values, variances) = sum.estimate.unwrap_or_default();
        sum.estimate = Some((values + value, variances + variance));
    }

    fn sum(&mut self, metric: Metric, (time, thread, stack): Spot) -> &mut Sum {
        let key = (time.0 / TOGETHER, metric, thread, stack);
        let none = Sum { from: time, to: time, value: 0, count: 0, estimate: None };
        let sum = self.sums.entry(key).or_insert(none);
        sum.from = sum.from.min(time);
        sum.to = sum.to.max(time);
        sum.count += 1;
        sum
    }

    /// Rows so far.
    pub(crate) fn len(&self) -> usize {
        self.sums.len()
    }

    /// The rows, in the order of their table; `named` gives a stack its row.
    pub(crate) fn take(
        &mut self,
        named: &dyn Fn(Option<RawStack>) -> Option<StackId>,
    ) -> Vec<Cost> {
        let mut sums: Vec<_> = self.sums.drain().collect();
        sums.sort_unstable_by_key(|((_, metric, thread, stack), sum)| {
            (*thread, sum.from, *stack, *metric)
        });
        let mut row = |((_, metric, thread, stack), sum): (_, Sum)| Cost {
            time: sum.from,
            duration: sum.to.since(sum.from),
            thread: Some(thread),
            stack: named(stack),
            metric,
            cause: None,
            value: sum.value.saturating_add(self.rounded(metric, sum.estimate)),
            count: sum.count,
            variance: sum.estimate.map(|(_, variance)| whole(variance)),
        };
        sums.into_iter().map(&mut row).collect()
    }

    /// An estimate in whole units. What rounding takes from a row goes to the metric's next one: many rows are
    /// of one sample that stands for one and a half allocations.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53, or an estimate")]
    fn rounded(&mut self, metric: Metric, estimate: Option<(f64, f64)>) -> u64 {
        let Some((value, _)) = estimate else { return 0 };
        let rest = self.rests.entry(metric).or_default();
        let exact = value + *rest;
        let rounded = whole(exact);
        *rest = (exact - rounded as f64).clamp(-1.0, 1.0);
        rounded
    }
}

/// The nearest whole number; zero below, the largest above what there is.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion from floats saturates, and NaN becomes 0"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use culprit_model::Nanos;

    use super::*;

    #[test]
    fn events_of_one_stack_that_are_close_are_one_row() {
        let mut costs = Costs::default();
        let spot = |ms: u64, stack| (Time(ms * 1_000_000), ThreadId(0), Some(RawStack(stack)));
        for (ms, stack, bytes) in [(1, 7, 10), (4, 7, 20), (5, 8, 1), (31, 7, 5)] {
            costs.add(Metric::AllocBytes, spot(ms, stack), bytes);
        }
        assert_eq!(costs.len(), 3);
        let rows = costs.take(&|stack| stack.map(|stack| StackId(stack.0)));
        let told: Vec<_> =
            rows.iter().map(|row| (row.stack.map(|s| s.0), row.value, row.count)).collect();
        assert_eq!(told, [(Some(7), 30, 2), (Some(8), 1, 1), (Some(7), 5, 1)]);
        assert_eq!((rows[0].time, rows[0].duration), (Time(1_000_000), Nanos(3_000_000)));
        assert_eq!(costs.len(), 0);
    }

    #[test]
    fn rows_of_estimates_add_up_to_the_whole_and_have_a_variance() {
        let mut costs = Costs::default();
        for ms in 0..10 {
            let spot = (Time(ms * 20_000_000), ThreadId(0), Some(RawStack(7)));
            costs.add_estimate(Metric::Allocs, spot, (1.4, 0.56));
        }
        costs.add(Metric::IoBytes, (Time(0), ThreadId(0), None), 3);
        let rows = costs.take(&|stack| stack.map(|stack| StackId(stack.0)));
        let (estimated, exact): (Vec<_>, Vec<_>) =
            rows.iter().partition(|row| row.metric == Metric::Allocs);
        assert_eq!(estimated.len(), 10);
        assert_eq!(estimated.iter().map(|row| row.value).sum::<u64>(), 14);
        assert!(estimated.iter().all(|row| row.variance == Some(1) && row.count == 1));
        assert_eq!((exact[0].value, exact[0].variance), (3, None));
    }
}
