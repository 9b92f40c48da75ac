//! How surprising rounds would be if nothing were different: p-values, as an extra to intervals.
//!
//! A verdict never comes from a p-value alone; these are for families of comparisons, in which each
//! one has its chance of a false alarm. Sources: W. J. Conover, Practical Nonparametric Statistics,
//! 3rd edition, sections 3.4 (sign test) and 5.7 (signed ranks); S. Holm, A simple sequentially
//! rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979.

use super::coins::at_least;

/// Up to this many differences the distribution of rank sums is counted out; beyond, it is normal
/// to four digits.
const EXACT_RANKS: usize = 60;

/// The two-sided p-value of "the median of these lies within `edge` of 0": how often so many of them
/// would lie beyond one edge if it did. 1 of no values.
#[must_use]
pub fn sign_test(values: &[f64], edge: f64) -> f64 {
    let above = values.iter().filter(|value| **value > edge).count();
    let below = values.iter().filter(|value| **value < -edge).count();
    (2.0 * at_least(values.len(), above.max(below))).min(1.0)
}

/// The two-sided p-value of Wilcoxon's signed ranks: whether paired differences lie evenly around 0.
/// It sees more than the sign test, and assumes more: that the differences are symmetric. Equal
/// sizes share their ranks; differences of 0 are left out. None when nothing is left.
#[must_use]
pub fn signed_ranks(differences: &[f64]) -> Option<f64> {
    let mut sizes: Vec<f64> = differences.iter().copied().filter(|d| d.abs() > 0.0).collect();
    if sizes.is_empty() {
        return None;
    }
    sizes.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    // Twice the ranks, so that shared ones are whole too.
    let mut ranks = vec![0_usize; sizes.len()];
    let mut from = 0;
    while from < sizes.len() {
        let same = |size: &&f64| size.abs().total_cmp(&sizes[from].abs()).is_eq();
        let to = from + sizes[from..].iter().take_while(same).count();
        ranks[from..to].fill(from + 1 + to);
        from = to;
    }
    let whole: usize = ranks.iter().sum();
    let positive: usize =
        ranks.iter().zip(&sizes).filter(|(_, d)| **d > 0.0).map(|(rank, _)| rank).sum();
    let smaller = positive.min(whole - positive);
    let exactly = ranks.len() <= EXACT_RANKS;
    let below = if exactly { exact(&ranks, smaller) } else { normal_form(&ranks, smaller) };
    Some((2.0 * below).min(1.0))
}

/// How often a sum of these ranks, each taken or not as a coin falls, is at most `limit`.
fn exact(ranks: &[usize], limit: usize) -> f64 {
    let mut ways = vec![0.0; limit + 1];
    ways[0] = 1.0;
    for rank in ranks {
        for sum in (0..=limit).rev() {
            let with = sum.checked_sub(*rank).map_or(0.0, |rest| ways[rest]);
            ways[sum] = (ways[sum] + with) / 2.0;
        }
    }
    ways.iter().sum()
}

/// The same, where the sum is taken for normal.
fn normal_form(ranks: &[usize], limit: usize) -> f64 {
    let whole: usize = ranks.iter().sum();
    let squares: f64 = ranks.iter().map(|rank| (*rank as f64).powi(2)).sum();
    // Sums are whole ranks apart: half a rank, here one, belongs to the limit.
    super::normal::below((limit as f64 + 1.0 - whole as f64 / 2.0) / (squares / 4.0).sqrt())
}

/// The p-values of a family as they count in the family (Holm): each is raised so that the chance of
/// any false alarm among all stays what it is for one. In the order of the input; at most 1.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut by_size: Vec<usize> = (0..p.len()).collect();
    by_size.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut raised = vec![0.0; p.len()];
    let mut least = 0.0_f64;
    for (done, at) in by_size.into_iter().enumerate() {
        least = least.max((p.len() - done) as f64 * p[at]).min(1.0);
        raised[at] = least;
    }
    raised
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    }

    #[test]
    fn many_signs_surprise_only_when_they_lie_to_one_side() {
        for n in [1000_usize, 2000, 100_000] {
            let mut values = vec![1.0; n];
            values[..n / 2].fill(-1.0);
            assert!(sign_test(&values, 0.0) > 0.99, "{n}");
            // Two standard deviations more on one side: 4.6 %.
            let more = n.isqrt();
            values[..more].fill(1.0);
            let p = sign_test(&values, 0.0);
            assert!((0.03..0.06).contains(&p), "{n}: {p}");
        }
    }

    #[test]
    fn signs_are_counted_beyond_the_edge() {
        close(sign_test(&[0.1; 9], 0.0), 2.0 / 512.0);
        let mut one_against = [0.1; 9];
        one_against[4] = -0.1;
        close(sign_test(&one_against, 0.0), 20.0 / 512.0);
        close(sign_test(&one_against, 0.2), 1.0);
        close(sign_test(&[], 0.0), 1.0);
    }

    #[test]
    fn signed_ranks_are_those_of_the_tables() {
        // n = 8, smaller sum 3: P(W <= 3) = 5 / 256.
        let differences = [1.0, 2.0, -3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        close(signed_ranks(&differences).unwrap(), 10.0 / 256.0);
        close(signed_ranks(&[1.0, 1.0, 1.0, 0.0]).unwrap(), 0.25);
        assert_eq!(signed_ranks(&[0.0, 0.0]), None);
    }

    #[test]
    fn the_normal_form_continues_the_exact_one() {
        let ranks: Vec<usize> = (1..=EXACT_RANKS).map(|rank| 2 * rank).collect();
        for limit in [1000, 1200, 1400, 1800] {
            let (exact, normal) = (exact(&ranks, limit), normal_form(&ranks, limit));
            assert!((exact - normal).abs() < 0.001, "{limit}: {exact} {normal}");
        }
        let many: Vec<f64> = (1..=99).map(|i| f64::from(if i % 2 == 0 { i } else { -i })).collect();
        assert!(signed_ranks(&many).is_some_and(|p| p > 0.9));
    }

    #[test]
    fn a_family_raises_its_p_values_in_step() {
        let raised = holm(&[0.01, 0.04, 0.03]);
        for (raised, expected) in raised.iter().zip([0.03, 0.06, 0.06]) {
            close(*raised, expected);
        }
        assert!(holm(&[]).is_empty());
        close(holm(&[0.9, 0.8])[0], 1.0);
    }
}
