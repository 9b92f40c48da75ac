//! Two sets of rounds that were not run side by side: another day, another version of the tool.
//!
//! Every value of one set is divided by every value of the other; the effect is the median of these
//! ratios (Hodges and Lehmann), and its interval is made of two of them by rank, as often as the
//! Mann-Whitney statistic would lie between those ranks by chance. That holds if the sets differ in
//! scale alone. What drifted between the sets cannot be told from a change: whoever shows such a ratio
//! says so. Sources: J. L. Hodges, E. L. Lehmann, Estimates of location based on rank tests, Annals of
//! Mathematical Statistics 34, 1963; H. B. Mann, D. R. Whitney, the same 18, 1947.

use super::order::{Interval, median};
use super::ratio::{Bands, LEAST_ROUNDS, Ratio, Verdict};
use super::significance::holm;

const CONFIDENCE: f64 = 0.95;
const SAME_CONFIDENCE: f64 = 0.90;
/// More values than this of each are thinned to so many, in equal steps of their order: the counts of
/// the statistic grow with the product.
const MOST: usize = 60;

/// How many times as large values of the second set are.
#[derive(Debug, Clone, PartialEq)]
pub struct UnpairedRatio {
    /// The Hodges-Lehmann estimate.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
    /// What it says.
    pub verdict: Verdict,
    /// Values of each.
    pub counts: (usize, usize),
    /// The chance of so lopsided an order of the values where nothing differs (Mann-Whitney, both
    /// sides).
    pub p: f64,
}

/// Compares two sets of times; values of 0 are left out. None when nothing is left of either.
#[must_use]
pub fn compare_unpaired(before: &[f64], after: &[f64], bands: Bands) -> Option<UnpairedRatio> {
    let count = |values: &[f64]| values.iter().filter(|value| **value > 0.0).count();
    let counts = (count(before), count(after));
    let (before, after) = (logs(before), logs(after));
    let mut ratios: Vec<f64> =
        after.iter().flat_map(|after| before.iter().map(move |before| after - before)).collect();
    ratios.sort_by(f64::total_cmp);
    let value = median(&ratios)?;
    let chances = chances(before.len(), after.len());
    let outer = interval(&ratios, &chances, CONFIDENCE)?;
    let inner = interval(&ratios, &chances, SAME_CONFIDENCE)?;
    let verdict = verdict(outer, inner, bands);
    let p = p_value(&ratios, &chances);
    let interval = Interval { low: outer.low.exp(), high: outer.high.exp(), ..outer };
    Some(UnpairedRatio { value: value.exp(), interval, verdict, counts, p })
}

impl UnpairedRatio {
    /// The same as the ratio of rounds. Too few values to be sure of any order of theirs carry a
    /// verdict where all of them differ by more than identical runs ever do.
    #[must_use]
    pub fn into_ratio(self, bands: Bands) -> Ratio {
        let ratio = Ratio {
            value: self.value,
            interval: self.interval,
            rounds: self.counts.1,
            bands,
            p: self.p,
            verdict: self.verdict,
            more_rounds: None,
        };
        let verdict = match ratio.verdict {
            Verdict::Unclear if ratio.is_large() && self.counts.1 >= LEAST_ROUNDS => {
                if ratio.value > 1.0 { Verdict::Slower } else { Verdict::Faster }
            }
            told => told,
        };
        Ratio { verdict, ..ratio }
    }
}

/// Settles a family of comparisons that one report makes, as `settle_family` does for paired ones:
/// what is not as surprising as the family's size asks, becomes unclear (Holm). The raised p-values.
pub fn settle_unpaired(family: &mut [&mut UnpairedRatio]) -> Vec<f64> {
    let raised = holm(&family.iter().map(|ratio| ratio.p).collect::<Vec<_>>());
    for (ratio, p) in family.iter_mut().zip(&raised) {
        if *p > 1.0 - CONFIDENCE && matches!(ratio.verdict, Verdict::Slower | Verdict::Faster) {
            ratio.verdict = Verdict::Unclear;
        }
    }
    raised
}

/// Ties count half, towards the middle.
fn p_value(ratios: &[f64], chances: &[f64]) -> f64 {
    let above = ratios.iter().filter(|ratio| **ratio > 0.0).count();
    let below = ratios.iter().filter(|ratio| **ratio < 0.0).count();
    let ties = ratios.len() - above - below;
    let fewer = above.min(below) + ties.div_ceil(2);
    let tail: f64 = chances.iter().take(fewer + 1).sum();
    (2.0 * tail).min(1.0)
}

fn logs(values: &[f64]) -> Vec<f64> {
    let mut logs: Vec<f64> = values.iter().filter(|v| **v > 0.0).map(|v| v.ln()).collect();
    logs.sort_by(f64::total_cmp);
    if logs.len() <= MOST {
        return logs;
    }
    (0..MOST).map(|at| logs[(2 * at + 1) * logs.len() / (2 * MOST)]).collect()
}

/// The probability of each value of the Mann-Whitney statistic of `n` and `m` values that do not
/// differ, counted out.
fn chances(n: usize, m: usize) -> Vec<f64> {
    // ways[j][u]: of i + j values drawn so far, those with u pairs in the wrong order, as a share.
    let mut ways = vec![vec![0.0; n * m + 1]; m + 1];
    for row in &mut ways {
        row[0] = 1.0;
    }
    for i in 1..=n {
        for j in 1..=m {
            let (left, right) = (i as f64 / (i + j) as f64, j as f64 / (i + j) as f64);
            for u in (0..=i * j).rev() {
                // The largest is of the first set and beats all j of the second, or is of the second.
                let first = u.checked_sub(j).map_or(0.0, |u| ways[j][u]);
                ways[j][u] = left * first + right * ways[j - 1][u];
            }
        }
    }
    ways.pop().unwrap_or_default()
}

/// The innermost pair of ranks that is so sure; the whole range where none is.
fn interval(ratios: &[f64], chances: &[f64], confidence: f64) -> Option<Interval> {
    let (mut below, mut found) = (0.0, (0, 0.0));
    for (k, chance) in chances.iter().enumerate().take(ratios.len().div_ceil(2)) {
        below += chance;
        let coverage = (1.0 - 2.0 * below).max(0.0);
        if k > 0 && coverage < confidence {
            break;
        }
        found = (k, coverage);
    }
    let (k, coverage) = found;
    Some(Interval {
        low: *ratios.get(k)?,
        high: *ratios.get(ratios.len().checked_sub(k + 1)?)?,
        coverage,
    })
}

fn verdict(outer: Interval, inner: Interval, bands: Bands) -> Verdict {
    let (same, different) = (bands.same.ln_1p(), bands.different.max(bands.same).ln_1p());
    if outer.coverage < SAME_CONFIDENCE {
        Verdict::Unclear
    } else if outer.low > different {
        Verdict::Slower
    } else if outer.high < -different {
        Verdict::Faster
    } else if inner.coverage >= SAME_CONFIDENCE && inner.low >= -same && inner.high <= same {
        Verdict::Same
    } else {
        Verdict::Unclear
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    #[test]
    fn the_statistic_is_counted_as_its_tables_have_it() {
        // Of 4 and 4 values 70 orders are possible; U = 0 is one of them, U = 8 eight.
        let chances = chances(4, 4);
        assert!((chances[0] * 70.0 - 1.0).abs() < 1e-9 && (chances[8] * 70.0 - 8.0).abs() < 1e-9);
        assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        // Critical value of U at 5 %, two sides, for 10 and 10: 23.
        let below: f64 = super::chances(10, 10)[..=23].iter().sum();
        let next: f64 = super::chances(10, 10)[..=24].iter().sum();
        assert!(2.0 * below <= 0.05 && 2.0 * next > 0.05, "{below} {next}");
    }

    /// Noise of a few percent around a middle value.
    fn values(random: &mut Random, middle: f64, count: usize) -> Vec<f64> {
        (0..count).map(|_| middle * (1.0 + 0.06 * (random.share() - 0.5))).collect()
    }

    #[test]
    fn sets_that_differ_in_nothing_are_seldom_told_to_differ() {
        let (mut random, bands) = (Random::new(1), Bands::one(0.0));
        let mut wrong = 0;
        for _ in 0..400 {
            let (a, b) = (values(&mut random, 100.0, 12), values(&mut random, 100.0, 12));
            let ratio = compare_unpaired(&a, &b, bands).unwrap();
            wrong += usize::from(!(ratio.interval.low..=ratio.interval.high).contains(&1.0));
        }
        // Expected at most 5 % of 400; 34 is three deviations more.
        assert!(wrong <= 34, "{wrong}");
    }

    #[test]
    fn a_change_of_the_scale_is_found_and_none_is_the_same() {
        let (mut random, bands) = (Random::new(2), Bands::one(0.05));
        let (a, b) = (values(&mut random, 100.0, 12), values(&mut random, 130.0, 15));
        let slower = compare_unpaired(&a, &b, bands).unwrap();
        assert_eq!((slower.verdict, slower.counts), (Verdict::Slower, (12, 15)));
        assert!((slower.value - 1.3).abs() < 0.03 && slower.p < 1e-6, "{slower:?}");
        assert_eq!(compare_unpaired(&b, &a, bands).unwrap().verdict, Verdict::Faster);
        let c = values(&mut random, 100.0, 200);
        assert_eq!(compare_unpaired(&a, &c, bands).unwrap().verdict, Verdict::Same);
        assert_eq!(compare_unpaired(&a[..2], &c[..2], bands).unwrap().verdict, Verdict::Unclear);
        assert!(compare_unpaired(&a, &[0.0], bands).is_none());
        assert!(compare_unpaired(&[5.0; 9], &[5.0; 9], bands).is_some_and(|equal| equal.p > 0.99));
    }

    #[test]
    fn one_difference_among_many_comparisons_has_to_be_surer() {
        let one = |p| UnpairedRatio {
            value: 1.2,
            interval: Interval { low: 1.1, high: 1.3, coverage: 0.95 },
            verdict: Verdict::Slower,
            counts: (9, 9),
            p,
        };
        let mut family = [one(0.001), one(0.04), one(0.03)];
        let raised = settle_unpaired(&mut family.iter_mut().collect::<Vec<_>>());
        assert!((raised[0] - 0.003).abs() < 1e-12 && raised[1] > 0.05, "{raised:?}");
        let verdicts = family.map(|ratio| ratio.verdict);
        assert_eq!(verdicts, [Verdict::Slower, Verdict::Unclear, Verdict::Unclear]);
    }
}
