//! Is the candidate slower than the baseline: the ratio of paired rounds and the verdict on it.

use std::fmt;

use super::order::{Interval, median, median_interval};
use super::significance::{holm, sign_test};

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
pub(super) const LEAST_ROUNDS: usize = 3;
/// How often a family of comparisons may have a false alarm.
const FAMILY_ALPHA: f64 = 0.05;

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

/// How near to 1 a ratio counts as nothing, as a share: 0.05 is within a factor of 1.05.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bands {
    /// Two things are the same when their ratio was shown to lie within this.
    pub same: f64,
    /// They differ when it was shown to lie outside this. Never narrower; wider where identical runs
    /// differ so much that a ratio beyond `same` says nothing.
    pub different: f64,
}

impl Bands {
    /// One band for both.
    #[must_use]
    pub const fn one(band: f64) -> Self {
        Self { same: band, different: band }
    }

    /// The edges, as natural logarithms.
    fn edges(self) -> (f64, f64) {
        (self.same.ln_1p(), self.different.max(self.same).ln_1p())
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
    /// The bands that the verdict is about.
    pub bands: Bands,
    /// How often so many rounds would lie beyond one edge of [`Bands::different`] if the median did not
    /// (two-sided sign test). An extra: the verdict comes from the interval.
    pub p: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// About how many more rounds would settle it; none when it is settled, or when no number of
    /// rounds would.
    pub more_rounds: Option<usize>,
}

/// Compares rounds in which both things were run: the n-th of one with the n-th of the other. None
/// without a round in which both took time.
#[must_use]
pub fn compare_paired(baseline: &[f64], candidate: &[f64], bands: Bands) -> Option<Ratio> {
    let pairs = baseline.iter().zip(candidate).filter(|(a, b)| **a > 0.0 && **b > 0.0);
    let logs: Vec<f64> = pairs.map(|(a, b)| (b / a).ln()).collect();
    let (value, interval) = (median(&logs)?, median_interval(&logs, CONFIDENCE)?);
    let verdict = verdict(&logs, interval, bands);
    Some(Ratio {
        value: value.exp(),
        interval: Interval { low: interval.low.exp(), high: interval.high.exp(), ..interval },
        rounds: logs.len(),
        bands,
        p: sign_test(&logs, bands.edges().1),
        verdict,
        more_rounds: (verdict == Verdict::Unclear)
            .then(|| more_rounds(logs.len(), value, interval, bands))
            .flatten(),
    })
}

impl Ratio {
    /// Half the width of the interval, as a natural logarithm: 0.02 is about 2 % to either side.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.interval.high.ln() - self.interval.low.ln()) / 2.0
    }

    /// Whether the whole interval is beyond what identical runs ever differ by.
    pub(super) fn is_large(&self) -> bool {
        self.interval.low > LARGE_EFFECT || self.interval.high < 1.0 / LARGE_EFFECT
    }
}

/// Settles a family of comparisons that one report makes: each has its chance of a false alarm, so a
/// difference counts only if it is as surprising as the family's size asks (Holm, over the sign
/// tests). What does not, becomes unclear, but for large effects: a sign test of few rounds cannot be
/// that sure of anything, and identical runs do not differ so much. Returns the raised p-values, in the order of the input; a
/// family of one stays as it is.
pub fn settle_family(family: &mut [&mut Ratio]) -> Vec<f64> {
    let raised = holm(&family.iter().map(|ratio| ratio.p).collect::<Vec<_>>());
    if family.len() > 1 {
        for (ratio, p) in family.iter_mut().zip(&raised) {
            let differs = matches!(ratio.verdict, Verdict::Slower | Verdict::Faster);
            if *p > FAMILY_ALPHA && differs && !ratio.is_large() {
                ratio.verdict = Verdict::Unclear;
                ratio.more_rounds =
                    Some(rounds_for(*p / ratio.p.max(f64::MIN_POSITIVE), ratio.rounds));
            }
        }
    }
    raised
}

/// How many rounds more, all on the same side, make a sign test `times` as sure as a family asks.
fn rounds_for(times: f64, rounds: usize) -> usize {
    // 2 / 2^n <= alpha / times.
    let wanted = (2.0 * times / FAMILY_ALPHA).log2().ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the logarithm of a number of comparisons"
    )]
    let wanted = wanted.clamp(1.0, 100.0) as usize;
    wanted.saturating_sub(rounds).max(1)
}

fn verdict(logs: &[f64], interval: Interval, bands: Bands) -> Verdict {
    if logs.len() < LEAST_ROUNDS {
        return Verdict::Unclear;
    }
    let (same, different) = bands.edges();
    let sure = interval.coverage >= LEAST_COVERAGE;
    let needed = if sure { different } else { different.max(LARGE_EFFECT.ln()) };
    if interval.low > needed {
        return Verdict::Slower;
    }
    if interval.high < -needed {
        return Verdict::Faster;
    }
    let inside = median_interval(logs, SAME_CONFIDENCE).filter(|inner| {
        inner.coverage >= SAME_CONFIDENCE && inner.low >= -same && inner.high <= same
    });
    if inside.is_some() { Verdict::Same } else { Verdict::Unclear }
}

/// An interval shrinks with the square root of the rounds, and what identical runs differ by with
/// it: how many until the interval keeps clear of the nearer edge of its band.
fn more_rounds(rounds: usize, value: f64, interval: Interval, bands: Bands) -> Option<usize> {
    let (same, different) = bands.edges();
    let half_width = ((interval.high - interval.low) / 2.0).max(same / 10.0);
    let value = value.abs();
    let mut narrower = half_width / (value - same).abs();
    if value > same && different > same {
        // The noise must shrink too, until it and the interval leave the value alone.
        narrower = narrower.max((half_width + different) / value);
    }
    let wanted = (rounds as f64 * narrower.powi(2)).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive and at most 1000"
    )]
    let wanted = (wanted <= 1000.0).then_some(wanted as usize)?;
    // Six rounds are the fewest whose range is as sure as an interval should be.
    Some(wanted.max(6).saturating_sub(rounds).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(baseline: &[f64], candidate: &[f64], expected: Verdict) -> Ratio {
        let ratio = compare_paired(baseline, candidate, Bands::one(0.05)).expect("rounds");
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

    #[test]
    fn a_difference_must_be_surer_in_a_large_family() {
        let one_against = [1.2, 1.2, 1.2, 1.2, 1.0, 1.2, 1.2, 1.2, 1.2];
        let slower = || check(&[1.0; 9], &one_against, Verdict::Slower);
        let (mut alone, mut a, mut b) = (slower(), slower(), slower());
        settle_family(&mut [&mut alone]);
        assert_eq!(alone.verdict, Verdict::Slower);
        let raised = settle_family(&mut [&mut a, &mut b]);
        assert_eq!((a.verdict, b.verdict), (Verdict::Unclear, Verdict::Unclear));
        assert!(raised.iter().all(|p| (p - 0.078).abs() < 0.001), "{raised:?}");
        assert!(a.more_rounds.is_some());
        let mut sure = check(&[1.0; 9], &[1.2; 9], Verdict::Slower);
        settle_family(&mut [&mut sure, &mut b]);
        assert_eq!(sure.verdict, Verdict::Slower);
    }

    #[test]
    fn noise_keeps_from_a_difference_and_lends_itself_to_no_sameness() {
        let bands = Bands { same: 0.05, different: 0.3 };
        let verdict = |factor| {
            let ratio = compare_paired(&[1.0; 9], &[factor; 9], bands).expect("rounds");
            (ratio.verdict, ratio.more_rounds)
        };
        assert_eq!(verdict(1.4), (Verdict::Slower, None));
        let (unclear, more) = verdict(1.2);
        assert_eq!(unclear, Verdict::Unclear);
        assert!(more.is_some_and(|more| more > 9), "the noise must be half as much: {more:?}");
        assert_eq!(verdict(1.01), (Verdict::Same, None));
    }
}
