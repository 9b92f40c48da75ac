//! The median and its exact interval from the order of the values.
//!
//! The k-th smallest and the k-th largest of n values enclose the median of what they were drawn
//! from with probability `1 - 2 P(X < k)`, X binomial(n, 1/2), whatever the distribution. Source:
//! H. A. David, H. N. Nagaraja, Order Statistics, 3rd edition, section 7.1.

/// Two values that enclose a median, and how sure that is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability that the median is enclosed, 0 to 1.
    pub coverage: f64,
}

/// The middle value, or the mean of the two middle ones; none of no values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let upper = sorted.get(sorted.len() / 2)?;
    let lower = sorted.get(sorted.len().checked_sub(1)? / 2)?;
    Some(f64::midpoint(*lower, *upper))
}

/// The narrowest order-statistic interval that encloses the median with at least this probability.
/// Where so few values cannot give it, their whole range with the probability that it has: 94 % of
/// five values, 75 % of three. None of no values.
#[must_use]
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let sorted = sorted(values);
    let n = sorted.len();
    let wide_enough = |k: &usize| coverage(n, *k) >= confidence;
    let k = (1..=n.div_ceil(2)).take_while(wide_enough).last().unwrap_or(1);
    Some(Interval {
        low: *sorted.get(k - 1)?,
        high: *sorted.get(n.checked_sub(k)?)?,
        coverage: coverage(n, k),
    })
}

/// How sure the k-th smallest and the k-th largest of n values enclose the median.
fn coverage(n: usize, k: usize) -> f64 {
    // P(X = i + 1) = P(X = i) (n - i) / (i + 1), from P(X = 0) = 2^-n.
    let mut each = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut below = 0.0;
    for i in 0..k {
        below += each;
        #[expect(clippy::cast_precision_loss, reason = "counts of runs are small")]
        let step = (n - i) as f64 / (i + 1) as f64;
        each *= step;
    }
    (1.0 - 2.0 * below).max(0.0)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_coverage_are_those_of_the_tables() {
        for (n, rank, cover) in [(6, 1, 0.969), (9, 2, 0.961), (12, 3, 0.961), (15, 4, 0.965)] {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let interval = median_interval(&values, 0.95).expect("values");
            assert_eq!((interval.low, interval.high), (f64::from(rank), f64::from(n + 1 - rank)));
            assert!((interval.coverage - cover).abs() < 0.001, "{n}: {}", interval.coverage);
        }
    }

    #[test]
    fn too_few_values_give_their_range_and_say_how_sure_that_is() {
        let interval = median_interval(&[3.0, 1.0, 2.0], 0.95).expect("values");
        assert_eq!((interval.low, interval.high, interval.coverage), (1.0, 3.0, 0.75));
        assert_eq!(median_interval(&[], 0.95), None);
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[2.0, 1.0]), Some(1.5));
        assert_eq!(median(&[2.0, 9.0, 1.0]), Some(2.0));
        assert_eq!(median(&[]), None);
    }
}
