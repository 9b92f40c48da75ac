//! Numbers that look random and are the same every time.
//!
//! What is resampled or shuffled must give the same bytes for the same input, so the seed is part
//! of the input. The generator is SplitMix64: one addition and three mixes a number, any seed is as
//! good as another. Source: G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number
//! generators, OOPSLA 2014.

/// A generator of 64-bit numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The generator of this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number, any of all 64-bit numbers.
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next number, 0 and up to but not 1, in steps of 2^-53.
    pub const fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The next number below `end`, each as likely as the other to within `end` in 2^64; 0 below
    /// an `end` of 0.
    #[expect(clippy::cast_possible_truncation, reason = "the product's upper half is below `end`")]
    pub const fn below(&mut self, end: usize) -> usize {
        ((self.bits() as u128 * end as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_published_numbers() {
        // The first outputs of SplitMix64 for seed 0, as in its reference implementation.
        let mut random = Random::new(0);
        assert_eq!(random.bits(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.bits(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn numbers_keep_to_their_range_and_fill_it() {
        let mut random = Random::new(7);
        let mut seen = [0; 6];
        for _ in 0..6000 {
            seen[random.below(6)] += 1;
            assert!((0.0..1.0).contains(&random.share()));
        }
        assert!(seen.iter().all(|count| (800..1200).contains(count)), "{seen:?}");
        assert_eq!(random.below(0), 0);
    }
}
