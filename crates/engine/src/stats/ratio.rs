//! Is the candidate slower than the baseline: the ratio of paired rounds and the verdict on it.

use std::fmt;

use super::order::{Interval, median, median_interval};

/// How sure an interval should be.
const CONFIDENCE: f64 = 0.95;
/// How sure the interval must be that lies wholly inside the band before two things are called the
/// same (two one-sided tests at 5 %).
const SAME_CONFIDENCE: f64 = 0.90;
/// An interval must be this sure to carry a verdict; the range of five rounds is.
const LEAST_COVERAGE: f64 = 0.90;
/// With fewer rounds only an effect of this size in every single one is believed. Identical runs on
/// a busy machine differ by up to a third.
const LARGE_EFFECT: f64 = 1.5;
/// Fewer rounds than this carry no verdict.
const LEAST_ROUNDS: usize = 3;

/// What paired rounds say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The candidate takes longer, by more than the band.
    Slower,
    /// Both take the same, within the band.
    Same,
    /// The candidate takes less, by more than the band.
    Faster,
    /// The rounds do not tell.
    Unclear,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Faster => "faster",
            Self::Unclear => "unclear",
        })
    }
}

/// How many times as long the candidate takes as the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    /// The median over the rounds.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
    /// How many rounds.
    pub rounds: usize,
    /// The verdict for the band that was asked for.
    pub verdict: Verdict,
    /// About how many more rounds would settle it; none when it is settled, or when no number of
    /// rounds would.
    pub more_rounds: Option<usize>,
}

/// Compares rounds in which both things were run: the n-th of one with the n-th of the other. Two
/// ratios within a factor `1 + band` count as the same. None without a round in which both took
/// time.
#[must_use]
pub fn compare_paired(baseline: &[f64], candidate: &[f64], band: f64) -> Option<Ratio> {
    let pairs = baseline.iter().zip(candidate).filter(|(a, b)| **a > 0.0 && **b > 0.0);
    let logs: Vec<f64> = pairs.map(|(a, b)| (b / a).ln()).collect();
    let interval = median_interval(&logs, CONFIDENCE)?;
    let edge = (1.0 + band).ln();
    let verdict = verdict(&logs, interval, edge);
    Some(Ratio {
        value: median(&logs)?.exp(),
        interval: Interval { low: interval.low.exp(), high: interval.high.exp(), ..interval },
        rounds: logs.len(),
        verdict,
        more_rounds: (verdict == Verdict::Unclear)
            .then(|| more_rounds(logs.len(), median(&logs)?, interval, edge))
            .flatten(),
    })
}

fn verdict(logs: &[f64], interval: Interval, edge: f64) -> Verdict {
    if logs.len() < LEAST_ROUNDS {
        return Verdict::Unclear;
    }
    let sure = interval.coverage >= LEAST_COVERAGE;
    let needed = if sure { edge } else { edge.max(LARGE_EFFECT.ln()) };
    if interval.low > needed {
        return Verdict::Slower;
    }
    if interval.high < -needed {
        return Verdict::Faster;
    }
    let inside = median_interval(logs, SAME_CONFIDENCE).filter(|inner| {
        inner.coverage >= SAME_CONFIDENCE && inner.low >= -edge && inner.high <= edge
    });
    if inside.is_some() { Verdict::Same } else { Verdict::Unclear }
}

/// An interval shrinks with the square root of the rounds: how many until it keeps clear of the
/// band's nearer edge.
fn more_rounds(rounds: usize, value: f64, interval: Interval, edge: f64) -> Option<usize> {
    let distance = (value.abs() - edge).abs();
    let half_width = ((interval.high - interval.low) / 2.0).max(edge / 10.0);
    #[expect(clippy::cast_precision_loss, reason = "counts of runs are small")]
    let wanted = (rounds as f64 * (half_width / distance).powi(2)).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive and at most 1000"
    )]
    let wanted = (distance > 0.0 && wanted <= 1000.0).then_some(wanted as usize)?;
    // Below six rounds no interval is sure at all.
    Some(wanted.max(6).saturating_sub(rounds).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(baseline: &[f64], candidate: &[f64], expected: Verdict) -> Ratio {
        let ratio = compare_paired(baseline, candidate, 0.05).expect("rounds");
        assert_eq!(ratio.verdict, expected, "{ratio:?}");
        ratio
    }

    #[test]
    fn a_clear_difference_is_told_from_five_rounds_on() {
        let ratio = check(&[1.0, 1.1, 0.9, 1.0, 1.0], &[1.9, 2.0, 1.8, 1.9, 2.1], Verdict::Slower);
        assert!(ratio.interval.low <= ratio.value && ratio.value <= ratio.interval.high);
        assert!((ratio.value - 1.9).abs() < 0.1);
        check(&[2.0; 6], &[1.0; 6], Verdict::Faster);
    }

    #[test]
    fn few_rounds_tell_only_large_effects() {
        check(&[1.0; 3], &[1.3, 1.3, 1.3], Verdict::Unclear);
        check(&[1.0; 3], &[20.0, 19.0, 21.0], Verdict::Slower);
        check(&[1.0; 2], &[20.0, 20.0], Verdict::Unclear);
    }

    #[test]
    fn sameness_is_claimed_only_where_it_was_shown() {
        check(&[1.0; 9], &[1.0, 1.01, 0.99, 1.02, 1.0, 0.98, 1.01, 1.0, 0.99], Verdict::Same);
        let ratio = check(&[1.0; 5], &[0.7, 1.3, 1.0, 1.2, 0.9], Verdict::Unclear);
        assert!(ratio.more_rounds.is_some_and(|more| more > 5));
    }
}
