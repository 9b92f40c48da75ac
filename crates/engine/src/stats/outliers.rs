//! Values that lie far from the others: counted, named, never dropped.
//!
//! A disturbed run is part of what the machine does to the command, and medians bear it. What is
//! worth telling is that there were some: many of them mean that two things are measured at once.
//! Source: J. W. Tukey, Exploratory Data Analysis, 1977: fences at 1.5 and 3 times the distance of
//! the quartiles.

/// With fewer values quartiles say nothing.
const LEAST_VALUES: usize = 5;
/// Beyond the quartile by this many times the distance between the quartiles: an outlier.
const MILD: f64 = 1.5;
/// A severe one.
const SEVERE: f64 = 3.0;

/// How many values lie far from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outliers {
    /// Below the lower fences.
    pub low: usize,
    /// Above the upper fence, and not above the next.
    pub high: usize,
    /// Above the far upper fence.
    pub far: usize,
    /// The first value lies above the upper fence of the others: what it found cold was warm for
    /// the rest.
    pub first: bool,
}

impl Outliers {
    /// Classifies values, given in the order in which they were measured. Fewer than five have no
    /// outliers.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let Some(fences) = Fences::of(values) else { return Self::default() };
        let rest = Fences::of(values.get(1..).unwrap_or_default());
        let first = values.first().zip(rest);
        let count = |wanted: &dyn Fn(f64) -> bool| values.iter().filter(|v| wanted(**v)).count();
        Self {
            low: count(&|value| value < fences.low),
            high: count(&|value| value > fences.high && value <= fences.far),
            far: count(&|value| value > fences.far),
            first: first.is_some_and(|(value, fences)| *value > fences.high),
        }
    }

    /// All of them.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.low + self.high + self.far
    }
}

#[derive(Debug, Clone, Copy)]
struct Fences {
    low: f64,
    high: f64,
    far: f64,
}

impl Fences {
    fn of(values: &[f64]) -> Option<Self> {
        if values.len() < LEAST_VALUES {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (lower, upper) = (quartile(&sorted, 0.25)?, quartile(&sorted, 0.75)?);
        let width = upper - lower;
        Some(Self {
            low: lower - MILD * width,
            high: upper + MILD * width,
            far: upper + SEVERE * width,
        })
    }
}

/// The value at a share of the way through sorted values, between two in proportion.
fn quartile(sorted: &[f64], share: f64) -> Option<f64> {
    let at = share * sorted.len().checked_sub(1)? as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the last index"
    )]
    let below = at.floor() as usize;
    let (low, high) = (sorted.get(below)?, sorted.get(below + 1).or_else(|| sorted.get(below))?);
    Some(low + (high - low) * (at - at.floor()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_values_are_counted_by_how_far_they_lie() {
        let outliers = Outliers::of(&[10.0, 11.0, 12.0, 11.0, 10.0, 13.5, 99.0, 1.0, 11.0]);
        assert_eq!((outliers.low, outliers.high, outliers.far), (1, 0, 1));
        let mild = Outliers::of(&[10.0, 11.0, 12.0, 11.0, 10.0, 13.8, 11.0, 10.0, 12.0]);
        assert_eq!((mild.low, mild.high, mild.far, mild.first), (0, 0, 0, false));
        let mild = Outliers::of(&[10.0, 11.0, 12.0, 11.0, 10.0, 15.5, 11.0, 10.0, 12.0]);
        assert_eq!((mild.high, mild.count()), (1, 1));
    }

    #[test]
    fn a_cold_first_run_is_told_apart() {
        let cold = [30.0, 11.0, 12.0, 11.0, 10.0, 11.0];
        assert!(Outliers::of(&cold).first);
        let mut later = cold;
        later.rotate_left(1);
        assert!(!Outliers::of(&later).first);
    }

    #[test]
    fn few_or_equal_values_have_none() {
        assert_eq!(Outliers::of(&[1.0, 1.0, 1.0, 99.0]), Outliers::default());
        assert_eq!(Outliers::of(&[2.0; 9]), Outliers::default());
    }
}
