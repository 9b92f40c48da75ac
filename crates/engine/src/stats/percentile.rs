//! Percentiles, where there are values enough to have them, and what a set of values is like.

use super::order::median;

/// How many values must lie beyond a percentile before it is told: with ten, the count beyond it
/// varies by a third from session to session; with one, the percentile is the largest value by
/// another name.
const BEYOND: f64 = 10.0;

/// The value that a share `q` of all values does not exceed: the smallest value whose rank reaches
/// `q n`. None with fewer than `10 / (1 - q)` values (p90: 100, p99: 1 000, p99.9: 10 000), and for
/// a `q` outside 0 to 1.
#[must_use]
pub fn percentile(values: &[f64], q: f64) -> Option<f64> {
    let n = values.len() as f64;
    // Shares of a tenth have no exact float: 100 values are enough for 0.9 all the same.
    if !(0.0..1.0).contains(&q) || n * (1.0 - q) < BEYOND - 1e-9 {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of values"
    )]
    let rank = ((q * n - 1e-9).ceil() as usize).max(1);
    sorted.get(rank - 1).copied()
}

/// A set of values in a few numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// How many.
    pub count: usize,
    /// Their sum divided by their number; what one disturbed run moves most.
    pub mean: f64,
    /// The standard deviation of what they were drawn from (divided by `count - 1`); 0 of one value.
    pub deviation: f64,
    /// The one in the middle.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl Summary {
    /// None of no values.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let median = median(values)?;
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self {
            count,
            mean,
            deviation: (squares / count.saturating_sub(1).max(1) as f64).sqrt(),
            median,
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_told_only_where_ten_values_lie_beyond() {
        let values: Vec<f64> = (1..=1000).map(f64::from).collect();
        assert_eq!(percentile(&values, 0.99), Some(990.0));
        assert_eq!(percentile(&values, 0.5), Some(500.0));
        assert_eq!(percentile(&values[..999], 0.99), None);
        assert_eq!(percentile(&values[..100], 0.9), Some(90.0));
        assert_eq!(percentile(&values[..99], 0.9), None);
        assert_eq!(percentile(&values, 1.0), None);
        assert_eq!(percentile(&[], 0.0), None);
    }

    #[test]
    fn a_summary_is_what_a_table_of_formulas_gives() {
        let summary = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).expect("values");
        assert_eq!((summary.count, summary.mean, summary.median), (8, 5.0, 4.5));
        assert_eq!((summary.least, summary.most), (2.0, 9.0));
        assert!((summary.deviation - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        let one = Summary::of(&[3.0]).expect("a value");
        assert!(one.deviation.abs() < 1e-12);
        assert_eq!(Summary::of(&[]), None);
    }
}
