//! How many of so many fair coins fall heads: the binomial distribution of one half.

/// Up to this many coins every probability is a number of its own; 2^-1075 is none any more.
const MOST_DIRECT: usize = 1000;

/// The probabilities that 0, 1, 2 ... `n` of `n` coins fall heads, to six digits for 100 000 coins.
pub(super) fn heads(n: usize) -> impl Iterator<Item = f64> {
    // P(i + 1) = P(i) (n - i) / (i + 1), from P(0) = 2^-n; beyond, the same in logarithms.
    let direct = n <= MOST_DIRECT;
    let none = n as f64 * 0.5_f64.ln();
    let first = if direct { 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX)) } else { none };
    let next = move |at: usize, each: f64| {
        let step = (n - at) as f64 / (at + 1) as f64;
        if direct { each * step } else { each + step.ln() }
    };
    (0..=n)
        .scan(first, move |each, at| {
            let this = *each;
            *each = next(at, this);
            Some(this)
        })
        .map(move |each| if direct { each } else { each.exp() })
}

/// How often at least `k` of `n` coins fall heads.
pub(super) fn at_least(n: usize, k: usize) -> f64 {
    heads(n).skip(k).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::super::normal;
    use super::*;

    #[test]
    fn all_cases_together_are_certain() {
        for n in [0, 1, 5, 1000, 1001, 2000, 100_000] {
            assert!((heads(n).sum::<f64>() - 1.0).abs() < 1e-6, "{n}");
            assert_eq!(heads(n).count(), n + 1);
        }
        assert_eq!(heads(3).collect::<Vec<_>>(), [0.125, 0.375, 0.375, 0.125]);
    }

    #[test]
    fn many_coins_are_nearly_normal() {
        for n in [1000, 2000, 100_000] {
            let (middle, deviation) = (n as f64 / 2.0, (n as f64).sqrt() / 2.0);
            for more in [0.0, 1.0, 2.0, 3.0] {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a number of coins"
                )]
                let k = (middle + more * deviation) as usize;
                let expected = normal::below(-(k as f64 - 0.5 - middle) / deviation);
                let found = at_least(n, k);
                assert!((found - expected).abs() < 1e-4, "{k} of {n}: {found} {expected}");
            }
            assert!((at_least(n, 0) - 1.0).abs() < 1e-6);
        }
    }
}
