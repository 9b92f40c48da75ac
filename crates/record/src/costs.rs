//! What stacks cost besides time, summed up: allocations and their bytes.
//!
//! A program may allocate a million times a second, so hits are no rows: those of one thread, stack
//! and hundredth of a second are. Views cut rows to a time range in proportion, so their sums are
//! exact but for the hundredths at the range's ends.

use culprit_model::{Cost, Metric, StackId, ThreadId, Time};
use rustc_hash::FxHashMap;

use crate::stacks::RawStack;

/// Events of one row are less than this apart, ns: a thousandth of what one looks at when one looks
/// at ten seconds. Half would be up to twice the rows.
const TOGETHER: u64 = 10_000_000;

/// When, whose, where.
pub(crate) type Spot = (Time, ThreadId, Option<RawStack>);

/// Rows of the costs table before their stacks are named.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    sums: FxHashMap<(u64, Metric, ThreadId, Option<RawStack>), Sum>,
}

#[derive(Debug, Clone, Copy)]
struct Sum {
    from: Time,
    to: Time,
    value: u64,
    count: u64,
}

impl Costs {
    /// One more event of this value.
    pub(crate) fn add(&mut self, metric: Metric, (time, thread, stack): Spot, value: u64) {
        let key = (time.0 / TOGETHER, metric, thread, stack);
        let sum = self.sums.entry(key).or_insert(Sum { from: time, to: time, value: 0, count: 0 });
        sum.from = sum.from.min(time);
        sum.to = sum.to.max(time);
        sum.value = sum.value.saturating_add(value);
        sum.count += 1;
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
        let row = |((_, metric, thread, stack), sum): (_, Sum)| Cost {
            time: sum.from,
            duration: sum.to.since(sum.from),
            thread: Some(thread),
            stack: named(stack),
            metric,
            cause: None,
            value: sum.value,
            count: sum.count,
        };
        sums.into_iter().map(row).collect()
    }
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
}
