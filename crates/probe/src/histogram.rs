//! Latencies in buckets: 64 to the octave, so that no value is off by more than 1/128.
//!
//! Below 64 ns each nanosecond has its own bucket. Above, bucket `64 (e - 5) + m` holds values whose
//! highest bit is bit `e` and whose next six bits are `m`. The layout of fio's `plat` bins
//! (`stat.h`, FIO_IO_U_PLAT_BITS 6), so that both round alike.

use serde::{Deserialize, Serialize};

const SUB: u32 = 6;
const SUBS: u64 = 1 << SUB;

/// How often each latency was seen, in ns.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Histogram {
    /// Counts by bucket; as long as the highest bucket used.
    counts: Vec<u64>,
    count: u64,
    least: u64,
    most: u64,
    sum: u128,
}

impl Histogram {
    /// One with room for a minute, so that recording does not allocate.
    #[must_use]
    pub fn with_room() -> Self {
        Self { counts: Vec::with_capacity(bucket(60_000_000_000) + 1), ..Self::default() }
    }

    /// A latency was seen.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        let at = bucket(ns);
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
        self.least = if self.count == 0 { ns } else { self.least.min(ns) };
        self.most = self.most.max(ns);
        self.count += 1;
        self.sum += u128::from(ns);
    }

    /// Adds what another has seen.
    pub fn add(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.least = if self.count == 0 { other.least } else { self.least.min(other.least) };
        self.most = self.most.max(other.most);
        self.count += other.count;
        self.sum += other.sum;
    }

    /// How many were seen.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The longest, exactly.
    #[must_use]
    pub const fn most(&self) -> u64 {
        self.most
    }

    /// The shortest, exactly.
    #[must_use]
    pub const fn least(&self) -> u64 {
        self.least
    }

    /// The mean, exactly; 0 of none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The latency that a share `q` does not exceed, as the middle of its bucket; none with fewer
    /// than `10 / (1 - q)` values, where it would be the largest one by another name.
    #[must_use]
    pub fn percentile(&self, q: f64) -> Option<u64> {
        let enough = self.count as f64 * (1.0 - q) >= 10.0 - 1e-9;
        if enough { self.quantile(q) } else { None }
    }

    /// As [`Histogram::percentile`], however few there are; none of none.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 1 and the number of values"
        )]
        let rank = ((self.count as f64 * q - 1e-9).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        let at = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        (self.count > 0).then(|| middle(at).clamp(self.least, self.most))
    }

    /// The buckets that are not empty: the middle of each, ns, and its count. For curves.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let used = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        used.map(|(at, count)| (middle(at), *count))
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "at most 64 * 59")]
const fn bucket(ns: u64) -> usize {
    if ns < SUBS {
        return ns as usize;
    }
    let exponent = 63 - ns.leading_zeros();
    let shift = exponent - SUB;
    ((shift as u64 * SUBS) + (ns >> shift)) as usize
}

const fn middle(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < SUBS {
        return bucket;
    }
    let shift = bucket / SUBS - 1;
    let low = (bucket - shift * SUBS) << shift;
    low + ((1_u64 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_off_by_less_than_a_hundredth() {
        let mut value = 1_u64;
        while value < 1 << 50 {
            let told = middle(bucket(value));
            assert!(told.abs_diff(value) as f64 <= value as f64 / 127.0, "{value} told as {told}");
            value = value * 9 / 8 + 1;
        }
        assert_eq!(bucket(63) + 1, bucket(64), "no gap between the two parts");
        assert_eq!(bucket(127) + 1, bucket(128));
    }

    #[test]
    fn percentiles_need_values_beyond_them() {
        let mut seen = Histogram::with_room();
        (1..=999).for_each(|value| seen.record(value * 1000));
        assert_eq!(seen.percentile(0.99), None);
        let (mut other, p50) = (Histogram::default(), seen.percentile(0.5).unwrap());
        assert!(p50.abs_diff(500_000) < 5_000);
        other.record(1_000_000);
        seen.add(&other);
        assert!(seen.percentile(0.99).unwrap().abs_diff(990_000) < 9_000);
        assert_eq!((seen.count(), seen.least(), seen.most()), (1000, 1000, 1_000_000));
        assert!((seen.mean() - 500_500.0).abs() < 1.0);
        assert_eq!(Histogram::default().quantile(0.5), None);
        assert_eq!(seen.buckets().map(|(_, count)| count).sum::<u64>(), 1000);
    }
}
