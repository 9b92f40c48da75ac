//! The normal distribution: how much of it lies below a value, and the value that so much lies below.

/// The share of a standard normal distribution below `z`, to within 1e-7. Source: M. Abramowitz,
/// I. A. Stegun, Handbook of Mathematical Functions, 26.2.17.
pub(super) fn below(z: f64) -> f64 {
    const P: f64 = 0.231_641_9;
    const B: [f64; 5] =
        [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let t = 1.0 / (1.0 + P * z.abs());
    let polynomial = B.iter().rev().fold(0.0, |sum, b| (sum + b) * t);
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let tail = density * polynomial;
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// The value that a share `p` of the distribution lies below; the inverse of [`below`]. Infinite at
/// 0 and 1. Halving an interval needs no table of coefficients, and nobody waits for it.
pub(super) fn quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if below(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_tables() {
        for (z, p) in [(0.0, 0.5), (1.0, 0.841_345), (-1.96, 0.024_998), (3.0, 0.998_650)] {
            assert!((below(z) - p).abs() < 1e-6, "{z}: {}", below(z));
            assert!((quantile(p) - z).abs() < 1e-3, "{p}: {}", quantile(p));
        }
        assert!(quantile(0.0).is_infinite() && quantile(1.0).is_infinite());
    }
}
