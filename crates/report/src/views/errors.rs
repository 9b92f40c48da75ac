//! Standard errors of values that were estimated from samples.
//!
//! Samples are independent, so variances add up as values do. A tree of the same rows, with variances in
//! the place of values, has the variance of each value at the same function:
//!
//! ```text
//! rows     value 9362   variance 87 M     value 9362   variance 87 M
//! sum      value 18,724 variance 174 M    standard error 16,156: 86 % (as of three samples)
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use culprit_engine::calls::{CallTree, Index, Query};
use culprit_model::{CostColumns, IntervalColumns, Metric, Recording, Root, standard_error};

use super::{Function, functions};

/// The variances of a metric's rows.
#[derive(Debug)]
pub struct Variances {
    index: Arc<Index>,
    /// Variances were divided by two so often, so that their sum has room.
    shift: u32,
}

/// Standard errors of the values of a tree.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StandardErrors {
    /// The variance of the sum of all values.
    whole: f64,
    /// By function: the variances of the own value and of the total.
    by_name: BTreeMap<String, (f64, f64)>,
}

impl Variances {
    /// Those of a metric; none where none of its values was estimated.
    #[must_use]
    pub fn of(
        recording: &Recording,
        costs: &CostColumns,
        (metric, root): (Metric, Root),
    ) -> Option<Self> {
        let rows = 0..costs.len();
        let estimated: Vec<usize> = rows
            .filter(|at| costs.metric[*at] == metric && costs.variance.get(*at).is_some())
            .collect();
        if estimated.is_empty() {
            return None;
        }
        let variance = |at: usize| costs.variance.get(at).unwrap_or_default();
        let sum: u128 = estimated.iter().map(|at| u128::from(variance(*at))).sum();
        let shift = (u128::BITS - sum.leading_zeros()).saturating_sub(u64::BITS - 1);
        let rows = estimated.into_iter().map(|at| culprit_model::Cost {
            thread: costs.thread.get(at),
            time: costs.time[at],
            duration: costs.duration[at],
            stack: costs.stack.get(at),
            metric,
            cause: costs.cause.get(at),
            value: variance(at) >> shift,
            count: costs.count[at],
            variance: None,
        });
        let rows = CostColumns::of(&rows.collect::<Vec<_>>());
        let index = Index::of_columns(recording, IntervalColumns::of(&[]), rows, root);
        Some(Self { index, shift })
    }

    /// The standard errors of what a query keeps.
    #[must_use]
    pub fn errors(&self, query: &Query) -> StandardErrors {
        let tree: CallTree = self.index.tree(query);
        let rows = functions(&tree).into_iter();
        let variances = |row: &Function| (self.unshifted(row.own), self.unshifted(row.total));
        let by_name = rows.map(|row| (row.name.clone(), variances(&row))).collect();
        StandardErrors { whole: self.unshifted(tree.total()), by_name }
    }

    #[expect(clippy::cast_precision_loss, reason = "a figure of two digits")]
    fn unshifted(&self, variance: u64) -> f64 {
        variance as f64 * 2_f64.powi(self.shift.cast_signed())
    }
}

impl StandardErrors {
    /// Of the sum of all values.
    #[must_use]
    pub fn whole(&self, value: u64) -> f64 {
        error(value, self.whole)
    }

    /// Of a function's own value.
    #[must_use]
    pub fn own(&self, name: &str, value: u64) -> Option<f64> {
        self.by_name.get(name).map(|(own, _)| error(value, *own))
    }

    /// Of a function's total.
    #[must_use]
    pub fn total(&self, name: &str, value: u64) -> Option<f64> {
        self.by_name.get(name).map(|(_, total)| error(value, *total))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure of two digits")]
fn error(value: u64, variance: f64) -> f64 {
    standard_error(value as f64, variance)
}

#[cfg(test)]
mod tests {
    use culprit_model::{Cost, Filter, Nanos, StackId, ThreadId, Time};

    use super::*;
    use crate::{filters, testing};

    #[test]
    fn variances_add_up_along_stacks() {
        let mut recording = testing::recording();
        let stack = recording.intervals.iter().find_map(|row| row.stack).unwrap();
        let row = |variance: Option<u64>, stack: Option<StackId>| Cost {
            thread: Some(ThreadId(0)),
            time: Time(0),
            duration: Nanos(0),
            stack,
            metric: Metric::Allocs,
            cause: None,
            value: 100,
            count: 1,
            variance,
        };
        recording.costs =
            vec![row(Some(400), Some(stack)), row(Some(500), Some(stack)), row(Some(1600), None)];
        let filter = Filter { metric: Metric::Allocs, ..Filter::default() };
        let query = filters::query(&filter).unwrap();
        let costs = CostColumns::of(&recording.costs);
        let of = |metric| Variances::of(&recording, &costs, (metric, filter.root));
        let errors = of(Metric::Allocs).unwrap().errors(&query);
        let near = |error: f64, square: f64| (error * error - square).abs() < 1e-6;
        assert!(near(errors.whole(300), 2500.0 + (2500.0_f64 / 300.0).powi(2)), "{errors:?}");
        let leaf = recording.frame_name(recording.stacks[stack.index()].frame);
        let (own, total) = (errors.own(&leaf, 200).unwrap(), errors.total(&leaf, 200).unwrap());
        assert!(near(own, 900.0 + 4.5_f64.powi(2)) && near(total, own * own), "{errors:?}");
        assert_eq!(errors.own("nobody", 200), None);
        assert!(of(Metric::IoBytes).is_none());
        // Sums beyond 64 bits.
        recording.costs = vec![row(Some(u64::MAX), Some(stack)); 5];
        let costs = CostColumns::of(&recording.costs);
        let large = Variances::of(&recording, &costs, (Metric::Allocs, filter.root)).unwrap();
        let variance = large.errors(&query).whole;
        assert!((variance / (5.0 * 2_f64.powi(64)) - 1.0).abs() < 1e-6, "{variance}");
    }
}
