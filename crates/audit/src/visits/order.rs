//! Exact medians and quantiles from counts of values.

use std::collections::BTreeMap;

/// How often each value occurs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Histogram {
    counts: BTreeMap<u64, u64>,
    all: u64,
}

impl Histogram {
    /// Adds `count` values.
    pub(crate) fn add(&mut self, value: u64, count: u64) {
        *self.counts.entry(value).or_default() += count;
        self.all += count;
    }

    /// How many values there are.
    pub(crate) fn count(&self) -> u64 {
        self.all
    }

    /// The values in rising order, each with its count.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter().map(|(value, count)| (*value, *count))
    }

    /// The value at a place in order, counted from 1.
    fn at(&self, place: u64) -> u64 {
        let mut before = 0;
        for (value, count) in &self.counts {
            before += count;
            if before >= place {
                return *value;
            }
        }
        self.counts.last_key_value().map_or(0, |(value, _)| *value)
    }

    /// The middle value, or the mean of both; 0 without values.
    pub(crate) fn median(&self) -> f64 {
        use crate::robots::formulas::float;
        let (low, high) = (self.at(self.all.div_ceil(2)), self.at(self.all / 2 + 1));
        f64::midpoint(float(low), float(high))
    }

    /// The smallest value that at least this share of all values does not exceed.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count is a count"
    )]
    pub(crate) fn at_share(&self, share: f64) -> u64 {
        let place = (share * crate::robots::formulas::float(self.all)).ceil() as u64;
        self.at(place.max(1))
    }

    /// The largest value; 0 without values.
    pub(crate) fn max(&self) -> u64 {
        self.counts.last_key_value().map_or(0, |(value, _)| *value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_values(mut values in prop::collection::vec(0u64..50, 1..60)) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|value| histogram.add(*value, 1));
            values.sort_unstable();
            let n = values.len();
            let median = f64::midpoint(values[(n - 1) / 2] as f64, values[n / 2] as f64);
            prop_assert!((histogram.median() - median).abs() < 1e-9, "{median}");
            prop_assert_eq!(histogram.at_share(0.9), values[(n * 9).div_ceil(10) - 1]);
            prop_assert_eq!(histogram.max(), values[n - 1]);
        }
    }

    #[test]
    fn without_values_all_is_zero() {
        let none = Histogram::default();
        assert_eq!((none.median(), none.at_share(0.9), none.max(), none.count()), (0.0, 0, 0, 0));
    }
}
