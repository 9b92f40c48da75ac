//! Numbers that only look random: the same seed gives the same sample.
//!
//! SplitMix64 (Steele, Lea, Flood 2014) from a state that mixes the seed with what is drawn for: a
//! contact's attributes are drawn from its number, so that they need not be kept.

/// A generator.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

/// Spreads all bits of a number over all bits of another.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// The generator for the thing with number `number` of one kind.
    pub(crate) fn new(seed: u64, kind: u64, number: u64) -> Self {
        Self(mix(mix(seed ^ kind.wrapping_mul(0x9e37_79b9_7f4a_7c15)) ^ number))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`; 0 when `end` is 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // The high half of the product, which has no bias worth a loop at these sizes.
        u64::try_from((u128::from(self.next()) * u128::from(end)) >> 64).unwrap_or(0)
    }

    /// An index of a list of `length` entries; 0 when there is none.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// True `parts` times out of a thousand.
    pub(crate) fn chance(&mut self, parts: u64) -> bool {
        self.below(1000) < parts
    }

    /// The position of one of these weights, each as often as it weighs.
    pub(crate) fn weighted(&mut self, weights: impl Iterator<Item = u64> + Clone) -> usize {
        let mut at = self.below(weights.clone().sum());
        for (position, weight) in weights.enumerate() {
            if at < weight {
                return position;
            }
            at -= weight;
        }
        0
    }

    /// A length of time that is often short and sometimes long: the product of two uniform ones.
    pub(crate) fn skewed(&mut self, most: u64) -> u64 {
        let once = self.below(most);
        self.below(once + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_kept() {
        let mut random = Random::new(1, 2, 3);
        let mut counts = [0_u32; 3];
        for _ in 0..100_000 {
            counts[random.weighted([1, 0, 3].into_iter())] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((74_000..76_000).contains(&counts[2]), "{counts:?}");
    }
}
