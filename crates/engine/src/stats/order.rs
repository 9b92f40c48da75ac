//! The median and its exact interval from the order of the values.
//!
//! The k-th smallest and the k-th largest of n values enclose the median of what they were drawn
//! from with probability `1 - 2 P(X < k)`, X binomial(n, 1/2), whatever the distribution. Source:
//! H. A. David, H. N. Nagaraja, Order Statistics, 3rd edition, section 7.1.

use super::coins::heads;

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
    let (k, coverage) = rank(n, confidence);
    Some(Interval { low: *sorted.get(k - 1)?, high: *sorted.get(n.checked_sub(k)?)?, coverage })
}

/// The innermost rank whose interval encloses the median of `n` values so surely, and how surely it
/// does; the outermost where none does.
fn rank(n: usize, confidence: f64) -> (usize, f64) {
    let mut found = (1, 0.0);
    let mut below = 0.0;
    for (k, each) in (1..=n.div_ceil(2)).zip(heads(n)) {
        below += each;
        let coverage = (1.0 - 2.0 * below).max(0.0);
        if k > 1 && coverage < confidence {
            break;
        }
        found = (k, coverage);
    }
    found
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
    fn many_values_have_a_narrow_interval_that_is_as_sure_as_was_asked() {
        for n in [1000_u32, 1074, 1075, 2000, 100_000] {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let interval = median_interval(&values, 0.95).expect("values");
            // One rank less at both ends would be 0.7 % at 1000 values.
            assert!((0.95..0.958).contains(&interval.coverage), "{n}: {interval:?}");
            // 1.96 standard deviations to either side, of coins that fall heads.
            let width = 1.96 * f64::from(n).sqrt();
            assert!((interval.high - interval.low - width).abs() < 3.0, "{n}: {interval:?}");
        }
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[2.0, 1.0]), Some(1.5));
        assert_eq!(median(&[2.0, 9.0, 1.0]), Some(2.0));
        assert_eq!(median(&[]), None);
    }
}
