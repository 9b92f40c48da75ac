//! How far a sum over samples may be from the truth.

/// The standard error of a sum over weighted samples, of its value and its variance.
///
/// A sample that was taken with probability `p` stands for `1 / p` events, with a variance of `(1 - p) / p^2`
/// (Horvitz and Thompson 1952). Samples are independent, so the variances of a sum's samples add up. Where
/// few samples came, that sum is itself a guess: one sample less would have been a smaller sum and a smaller
/// error, as if both had been sure. So the samples' mean weight, `variance / value`, is added as that of one
/// sample more. Of `n` samples of one weight `w` the error is `w * sqrt(n + 1)`, the usual one for counts
/// (Gehrels 1986). Blocks that are always sampled have no variance and no error.
#[must_use]
pub fn standard_error(value: f64, variance: f64) -> f64 {
    let weight = if value > 0.0 { variance / value } else { 0.0 };
    (variance + weight * weight).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_samples_have_the_error_of_one_more() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b.abs().max(1.0);
        // Three samples that stand for 100 each, and one hundred.
        assert!(near(standard_error(300.0, 30_000.0), 200.0));
        assert!(near(standard_error(1e4, 1e6), 100.0 * 101_f64.sqrt()));
        // What is sampled always, and what nobody sampled.
        assert!(near(standard_error(500.0, 0.0), 0.0));
        assert!(near(standard_error(0.0, 0.0), 0.0));
    }
}
