//! What all shards would have, where some are missing: an estimate with its interval.
//!
//! ```text
//! visits a shard  there: 40 44 38 42    missing: ? ?
//! estimate        mean 41 x 6 shards = 246
//! interval        half of it: t x 6 x sqrt((1 - 4/6) x variance / 4)
//! ```
//!
//! Shards are chosen by a hash of the contact, so those that are there are as good as drawn at random.
//! Source: Cochran, Sampling Techniques, 3rd edition, 2.6 (a total, with the correction for a finite number).

use std::num::NonZero;

use crate::opened::{AuditError, AuditStore};
use crate::orphans::orphans;

/// An estimate for all shards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extrapolated {
    /// Visits of all shards, missing ones included.
    pub visits: f64,
    /// In 95 of 100 such cases, at least so many.
    pub low: f64,
    /// In 95 of 100 such cases, at most so many.
    pub high: f64,
}

/// Why nothing can be extrapolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoExtrapolation {
    /// All shards are there.
    Complete,
    /// One shard tells nothing about how much shards differ.
    OneShard,
    /// So many contacts are in several shards: visits of missing shards may be counted already.
    Overlapping(NonZero<u64>),
}

/// Quantiles of Student's t for 97.5 %, by degrees of freedom from 1 on.
const T: [f64; 12] =
    [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179];

/// The same for more degrees of freedom: the expansion by Cornish and Fisher is right to 0.002 there.
fn student(degrees: usize) -> f64 {
    let z = 1.959_964_f64;
    let expanded = || {
        let n = degrees as f64;
        z + (z.powi(3) + z) / (4.0 * n)
            + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
    };
    degrees.checked_sub(1).and_then(|at| T.get(at).copied()).unwrap_or_else(expanded)
}

/// Extrapolates from the visits of each shard that is there to all of them.
///
/// # Errors
/// When the store cannot be asked whether shards overlap.
pub(super) fn extrapolated(
    store: &AuditStore,
    per_shard: &[u64],
    missing: u64,
) -> Result<Result<Extrapolated, NoExtrapolation>, AuditError> {
    if missing == 0 {
        return Ok(Err(NoExtrapolation::Complete));
    }
    if per_shard.len() < 2 {
        return Ok(Err(NoExtrapolation::OneShard));
    }
    if let Some(contacts) = NonZero::new(orphans(store)?.in_several_shards) {
        return Ok(Err(NoExtrapolation::Overlapping(contacts)));
    }
    Ok(Ok(of_all(per_shard, missing)))
}

fn of_all(per_shard: &[u64], missing: u64) -> Extrapolated {
    let there = per_shard.len() as f64;
    let all = there + missing as f64;
    let counted = per_shard.iter().sum::<u64>() as f64;
    let mean = counted / there;
    let squares = per_shard.iter().map(|visits| (*visits as f64 - mean).powi(2)).sum::<f64>();
    let variance = squares / (there - 1.0);
    let error = all * ((1.0 - there / all) * variance / there).sqrt();
    let half = student(per_shard.len() - 1) * error;
    let visits = mean * all;
    Extrapolated { visits, low: (visits - half).max(counted), high: visits + half }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_that_are_alike_leave_little_doubt_and_others_much() {
        let alike = of_all(&[40, 44, 38, 42], 2);
        assert!((alike.visits - 246.0).abs() < 1e-9);
        assert!((alike.high - 260.2).abs() < 0.1 && (alike.low - 231.8).abs() < 0.1, "{alike:?}");
        let apart = of_all(&[10, 70], 1);
        assert!((apart.visits - 120.0).abs() < 1e-9);
        assert!(apart.low >= 80.0, "what was counted is there: {apart:?}");
        assert!(apart.high > 700.0, "{apart:?}");
    }

    #[test]
    fn quantiles_go_on_smoothly() {
        assert!((student(13) - 2.160).abs() < 0.003 && (student(1_000) - 1.962).abs() < 0.001);
        assert!(student(12) > student(13));
    }

    /// Shards drawn of known ones: the interval holds the truth as often as it says.
    #[test]
    fn the_interval_holds_the_truth_in_most_cases() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        };
        let all: Vec<u64> = (0..40).map(|_| 100 + random() % 61).collect();
        let truth = all.iter().sum::<u64>() as f64;
        let holds = (0..1_000).filter(|_| {
            let mut left = all.clone();
            let mut draw = || {
                let at = usize::try_from(random()).unwrap_or_default() % left.len();
                left.swap_remove(at)
            };
            let drawn: Vec<u64> = (0..8).map(|_| draw()).collect();
            let found = of_all(&drawn, 32);
            (found.low..=found.high).contains(&truth)
        });
        let held = holds.count();
        assert!((930..=970).contains(&held), "{held} of 1,000");
    }
}
