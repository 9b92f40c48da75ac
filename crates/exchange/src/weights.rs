//! Weights as a file writes them: with fractions, and below zero.
//!
//! A recording's values are whole numbers without a sign. A fraction is no reason to round each
//! row: ten rows of 0.4 would be nothing. Where the unit is the file's own, all values are
//! multiplied by the same power of ten; where it is nanoseconds or bytes, sums are rounded and not
//! rows. Values below zero are left out, counted and added up. Each of these is told.

use culprit_model::{LossKind, Metric, Nanos};

use crate::builder::{Amount, Builder};
use crate::decimal::Decimal;

/// Digits behind the point that values are multiplied for.
const MOST_PLACES: u32 = 6;

/// Digits below the unit that sums are kept with.
const MOST_KEPT: u32 = 12;

/// The largest sum of values.
const LARGEST: i128 = 1 << 62;

/// What values are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// The metric's own unit, of which the file's is ten to this power.
    Metric(i32),
    /// Whatever the file counts.
    Free,
}

/// Rows whose values are known once all of them are.
#[derive(Debug)]
pub(crate) struct Weights {
    unit: Unit,
    rows: Vec<(Amount, Decimal)>,
    places: u32,
    negative: Negative,
}

/// What was left out because it is below zero.
#[derive(Debug, Default)]
struct Negative {
    rows: Vec<Decimal>,
    metric: Option<Metric>,
}

impl Weights {
    pub(crate) fn new(unit: Unit) -> Self {
        Self { unit, rows: Vec::new(), places: 0, negative: Negative::default() }
    }

    /// Adds a row, whose value is ignored. One that stands for 0 samples stands for as many as it
    /// weighs.
    pub(crate) fn push(&mut self, amount: Amount, weight: Decimal) {
        if weight.is_negative() {
            self.negative.metric = Some(amount.metric);
            self.negative.rows.push(weight.abs());
            return;
        }
        self.places = self.places.max(weight.places());
        self.rows.push((amount, weight));
    }

    /// Hands on the rows with their values, those of zero too, and tells what was done to them.
    pub(crate) fn finish(self, builder: &mut Builder, mut add: impl FnMut(&mut Builder, Amount)) {
        self.lose_negative(builder);
        let free = self.free_places();
        let power = match self.unit {
            Unit::Metric(power) => power,
            Unit::Free => i32::try_from(free).unwrap_or(0),
        };
        let mut values = Carry::new(power, self.places);
        let mut counts = Carry::new(0, self.places);
        let (mut odd, mut finer) = (0, 0);
        for (mut amount, weight) in self.rows {
            let (Some((value, exact)), Some((count, _))) =
                (values.next(weight), counts.next(weight))
            else {
                odd += 1;
                continue;
            };
            finer += u64::from(!exact);
            if free > 0 && amount.metric == Metric::Samples {
                amount.metric = Metric::Amount;
            }
            if amount.count == 0 {
                amount.count = count;
            }
            add(builder, Amount { value, ..amount });
        }
        if free > 0 {
            let sum = decimal(values.emitted, free);
            let what = format!(
                "the weights have fractions: each value is {} times the file's, whose sum is {sum}",
                10_u64.pow(free)
            );
            builder.lose(LossKind::MetricGuessed, 1, &what);
        }
        if finer > 0 {
            let what = "weights with more digits than a value can hold: the sums are rounded, not \
                        each weight";
            builder.lose(LossKind::DetailLeftOut, finer, what);
        }
        if odd > 0 {
            builder.lose(LossKind::RecordsMalformed, odd, "weights that are too large");
        }
    }

    /// How many digits behind the point all values are multiplied for.
    fn free_places(&self) -> u32 {
        if self.unit != Unit::Free {
            return 0;
        }
        let sum = |places: u32| {
            let power = i32::try_from(places).ok()?;
            let mut scaled = self.rows.iter().map(|(_, weight)| weight.scaled(power));
            scaled.try_fold(0_i128, |sum, weight| sum.checked_add(weight?))
        };
        let fits = |places: &u32| sum(*places).is_some_and(|sum| sum < LARGEST);
        (1..=self.places.min(MOST_PLACES)).rev().find(fits).unwrap_or(0)
    }

    fn lose_negative(&self, builder: &mut Builder) {
        let places = self.negative.rows.iter().map(|weight| weight.places()).max().unwrap_or(0);
        let (metric, places) = (self.negative.metric, places.min(MOST_KEPT));
        let power = match self.unit {
            Unit::Metric(power) => power,
            Unit::Free => i32::try_from(places).unwrap_or(0),
        };
        let scaled = self.negative.rows.iter().filter_map(|weight| weight.scaled(power));
        let sum = scaled.fold(0_i128, i128::saturating_add);
        let is_time = metric.is_some_and(Metric::is_time) && self.unit != Unit::Free;
        let sum = match u64::try_from(sum) {
            Ok(sum) if is_time => Nanos(sum).to_string(),
            Ok(sum) if self.unit == Unit::Free => decimal(i128::from(sum), places),
            _ => sum.to_string(),
        };
        lose_negative(builder, self.negative.rows.len() as u64, &sum);
    }
}

/// Notes values below zero that were left out, and what they add up to without the sign.
pub(crate) fn lose_negative(builder: &mut Builder, count: u64, sum: &str) {
    if count > 0 {
        let what = format!(
            "negative values, together -{sum}: the file is a difference of two profiles, which a \
             recording cannot contain"
        );
        builder.lose(LossKind::ValuesNegative, count, &what);
    }
}

/// Rounds so that what was handed on is the rounded sum of what came.
#[derive(Debug)]
struct Carry {
    power: i32,
    /// Digits kept below the unit, as a power of ten.
    unit: i128,
    exact: i128,
    emitted: i128,
}

impl Carry {
    /// For numbers with so many digits behind the point, to be multiplied by a power of ten.
    fn new(power: i32, places: u32) -> Self {
        let below = i64::from(places) - i64::from(power);
        let below = u32::try_from(below.clamp(0, i64::from(MOST_KEPT))).unwrap_or(0);
        let power = power.saturating_add(i32::try_from(below).unwrap_or(0));
        Self { power, unit: 10_i128.pow(below), exact: 0, emitted: 0 }
    }

    /// The value of the next number, and whether it is the number itself.
    fn next(&mut self, weight: Decimal) -> Option<(u64, bool)> {
        let scaled = weight.scaled(self.power)?;
        let exact = self.exact.checked_add(scaled).filter(|sum| *sum / self.unit < LARGEST)?;
        let whole = (exact + self.unit / 2) / self.unit;
        let value = u64::try_from(whole - self.emitted).ok()?;
        (self.exact, self.emitted) = (exact, whole);
        Some((value, i128::from(value) * self.unit == scaled))
    }
}

/// A number that stands so many decimal places below its unit.
fn decimal(value: i128, places: u32) -> String {
    let unit = 10_i128.pow(places);
    let width = places as usize;
    let text = format!("{}.{:0width$}", value / unit, value % unit);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values, the metric, and the losses of weights.
    fn finish(unit: Unit, weights: &[&str]) -> (Vec<u64>, u64, Vec<(LossKind, u64, String)>) {
        let mut all = Weights::new(unit);
        for weight in weights {
            let amount = Amount { count: 0, ..Amount::at(None, Metric::Samples, 0) };
            all.push(amount, Decimal::parse(weight).unwrap());
        }
        let mut builder = Builder::default();
        all.finish(&mut builder, |builder, amount| builder.add(amount));
        let recording = builder.recording();
        let losses = recording.losses.iter();
        let losses = losses.map(|row| (row.kind, row.count, row.detail.to_string())).collect();
        let count = recording.costs.iter().map(|row| row.count).sum();
        (recording.costs.iter().map(|row| row.value).collect(), count, losses)
    }

    #[test]
    fn fractions_of_a_free_unit_are_kept_by_a_power_of_ten() {
        let (values, count, losses) = finish(Unit::Free, &["0.4", "0.4", "2.0"]);
        assert_eq!((values, count), (vec![4, 4, 20], 3));
        assert_eq!((losses[0].0, losses.len()), (LossKind::MetricGuessed, 1));
        assert!(losses[0].2.contains("10 times the file's, whose sum is 2.8"), "{losses:?}");
        assert_eq!(finish(Unit::Free, &["3", "4.00"]), (vec![3, 4], 7, vec![]));
        // More digits than are kept: the sum is right, and it is told.
        let (values, _, losses) = finish(Unit::Free, &["0.0000004"; 10]);
        assert_eq!(values.iter().sum::<u64>(), 4);
        assert!(losses.iter().any(|loss| (loss.0, loss.1) == (LossKind::DetailLeftOut, 10)));
    }

    #[test]
    fn sums_and_not_rows_are_rounded_where_the_unit_is_fixed() {
        let (values, _, losses) = finish(Unit::Metric(0), &["0.4"; 10]);
        assert_eq!(values.iter().sum::<u64>(), 4);
        assert_eq!((losses[0].0, losses[0].1), (LossKind::DetailLeftOut, 10));
        assert_eq!(finish(Unit::Metric(9), &["0.5"]), (vec![500_000_000], 1, vec![]));
    }

    #[test]
    fn what_is_below_zero_is_counted_and_added_up() {
        let (values, _, losses) = finish(Unit::Free, &["5", "-3", "-0.5"]);
        assert_eq!(values, [5]);
        assert_eq!((losses[0].0, losses[0].1), (LossKind::ValuesNegative, 2));
        assert!(losses[0].2.contains("together -3.5:"), "{losses:?}");
    }
}
