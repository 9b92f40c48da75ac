//! When enough rounds were run.
//!
//! Who looks after every round and stops at the first verdict finds differences that are not there:
//! each look is another chance. So the verdict is not looked at: rounds end when the interval is
//! narrow enough, wherever it lies, and that is looked at only after fixed numbers of rounds. How
//! often that still gives false alarms is simulated: docs/statistics.md.

use super::ratio::Ratio;

/// After so many rounds it is looked whether the interval is narrow enough: where the ranks of the
/// order-statistic interval are worth a step, then in steps of about a quarter.
const LOOKS: [u32; 14] = [9, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 130, 160, 200];
/// Beyond the list, every so many.
const LATE_LOOKS: u32 = 50;
/// An effect is known well enough when its interval is this share of it to either side: that x 4 is
/// really x 3.7 changes nothing that anyone would do.
const SHARE_OF_EFFECT: f64 = 0.1;

/// When rounds end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stopping {
    /// Never before so many rounds, but by the user's hand.
    pub least: u32,
    /// Never after more.
    pub most: u32,
    /// The half width of the intervals, as a natural logarithm, that is narrow enough.
    pub target: f64,
}

/// Why rounds ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Every interval is as narrow as was asked.
    Precise,
    /// All rounds that were allowed are done.
    Rounds,
    /// The time that was allowed is over.
    Time,
}

impl Stopping {
    /// Rounds at most, where nothing else is asked for.
    pub const MOST: u32 = 200;

    /// Between 9 rounds (the least that give a 95 % interval which leaves the extremes out) and
    /// `most`, to half of the band that a verdict is asked for.
    #[must_use]
    pub fn for_band(band: f64, most: u32) -> Self {
        Self { least: LOOKS[0], most, target: band.ln_1p() / 2.0 }
    }

    /// Whether it is time to look at the intervals.
    #[must_use]
    pub fn is_look(&self, done: u32) -> bool {
        let late = LOOKS[LOOKS.len() - 1];
        done >= self.least
            && (LOOKS.contains(&done) || (done > late && done.is_multiple_of(LATE_LOOKS)))
    }

    /// Whether to end after `done` rounds, and why. `ratios` are all comparisons whose precision
    /// counts, the identical arms among them; they are asked for at looks only.
    pub fn decide(
        &self,
        done: u32,
        out_of_time: bool,
        ratios: impl FnOnce() -> Vec<Ratio>,
    ) -> Option<Stop> {
        if done >= self.most {
            return Some(Stop::Rounds);
        }
        if done < self.least {
            return None;
        }
        if self.is_look(done) {
            let ratios = ratios();
            if !ratios.is_empty() && ratios.iter().all(|ratio| self.is_precise(ratio)) {
                return Some(Stop::Precise);
            }
        }
        out_of_time.then_some(Stop::Time)
    }

    /// Where the interval lies plays no part below an effect of a fifth or so. Rounds that were begun
    /// and do not count make nothing precise: the interval of a single one has no width.
    fn is_precise(&self, ratio: &Ratio) -> bool {
        let enough = u32::try_from(ratio.rounds).is_ok_and(|rounds| rounds >= self.least);
        enough && ratio.half_width() <= self.target.max(SHARE_OF_EFFECT * ratio.value.ln().abs())
    }
}

#[cfg(test)]
mod tests {
    use super::super::ratio::{Bands, compare_paired};
    use super::*;

    fn ratios(spread: f64, rounds: u32) -> Vec<Ratio> {
        let candidate: Vec<f64> =
            (0..rounds).map(|i| 1.0 + spread * f64::from(i % 3) - spread).collect();
        compare_paired(&vec![1.0; rounds as usize], &candidate, Bands::one(0.05))
            .into_iter()
            .collect()
    }

    #[test]
    fn rounds_end_when_the_interval_is_narrow_and_not_before_nine() {
        let rule = Stopping::for_band(0.05, 60);
        assert_eq!(rule.decide(8, true, || ratios(0.0, 8)), None);
        assert_eq!(rule.decide(9, false, || ratios(0.01, 9)), Some(Stop::Precise));
        assert_eq!(rule.decide(9, false, || ratios(0.2, 9)), None);
        assert_eq!(rule.decide(9, true, || ratios(0.2, 9)), Some(Stop::Time));
        assert_eq!(rule.decide(60, false, || ratios(0.2, 60)), Some(Stop::Rounds));
        assert_eq!(rule.decide(9, false, Vec::new), None);
        assert_eq!(rule.decide(9, false, || ratios(0.0, 1)), None, "eight rounds do not count");
    }

    #[test]
    fn intervals_are_looked_at_after_fixed_numbers_of_rounds() {
        let rule = Stopping::for_band(0.05, 1000);
        let looks: Vec<u32> = (0..320).filter(|done| rule.is_look(*done)).collect();
        assert_eq!(looks[..4], [9, 12, 15, 20]);
        assert_eq!(looks[looks.len() - 3..], [200, 250, 300]);
        assert_eq!(rule.decide(10, false, || panic!("no look here")), None);
    }

    #[test]
    fn large_effects_need_no_narrow_interval() {
        let rule = Stopping::for_band(0.05, 60);
        let times_four: Vec<Ratio> = ratios(0.1, 9)
            .into_iter()
            .map(|ratio| Ratio {
                value: ratio.value * 4.0,
                interval: super::super::order::Interval {
                    low: ratio.interval.low * 4.0,
                    high: ratio.interval.high * 4.0,
                    ..ratio.interval
                },
                ..ratio
            })
            .collect();
        assert_eq!(rule.decide(9, false, || times_four), Some(Stop::Precise));
    }
}
