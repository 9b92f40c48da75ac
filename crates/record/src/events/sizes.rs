//! Sizes of sampled blocks as the innermost frame of their stacks.
//!
//! ```text
//! [size]!24 B       all samples of this stack and class are of this size
//! [size]!17-32 B    they are of several sizes
//! libculprit-alloc.so!malloc
//! app!parse
//! ```
//!
//! In a chain of addresses such a frame is a word that is no address: a class, or one size. Only the first
//! word of a chain may be one.

/// Words from here on are a size: no machine has code there, and `managed` has what is above.
const FIRST_SIZE: u64 = 0x7ffd_0000_0000_0000;

/// Words from here on are a class.
const FIRST_CLASS: u64 = 0x7ffe_0000_0000_0000;

/// Behind the last class.
const BEHIND_CLASSES: u64 = FIRST_CLASS + 65;

/// The smallest class has blocks of up to 2^3 bytes: no allocator gives less.
const SMALLEST_CLASS: u32 = 3;

/// What is known of a block's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockSize {
    /// So many bytes.
    Exact(u64),
    /// Up to so many bytes, as a power of two, and more than half of them. The smallest class begins with 0.
    Class(u32),
}

impl BlockSize {
    /// The class of a size.
    pub(crate) fn class(bytes: u64) -> Self {
        let power = u64::BITS - bytes.saturating_sub(1).leading_zeros();
        Self::Class(power.max(SMALLEST_CLASS))
    }

    /// As a word of a chain. Sizes are below 2^48.
    pub(crate) const fn word(self) -> u64 {
        match self {
            Self::Exact(bytes) => FIRST_SIZE | (bytes & 0xffff_ffff_ffff),
            Self::Class(power) => FIRST_CLASS + power as u64,
        }
    }

    /// What a word of a chain says; none of an address.
    pub(crate) fn of_word(word: u64) -> Option<Self> {
        match word {
            FIRST_CLASS..BEHIND_CLASSES => u32::try_from(word - FIRST_CLASS).ok().map(Self::Class),
            FIRST_SIZE..FIRST_CLASS => Some(Self::Exact(word - FIRST_SIZE)),
            _ => None,
        }
    }

    /// The frame's name: `24 B`, `17-32 B`, `64-128 KiB`. A range holds its upper end.
    pub(crate) fn label(self) -> String {
        match self {
            Self::Exact(bytes) => format!("{bytes} B"),
            Self::Class(SMALLEST_CLASS) => "0-8 B".to_owned(),
            Self::Class(power) if power <= 10 => {
                format!("{}-{} B", (1_u64 << (power - 1)) + 1, 1_u64 << power)
            }
            Self::Class(power) => range(power),
        }
    }
}

/// From half of 2^power bytes to all of them; the unit of the lower end only where it is another.
fn range(power: u32) -> String {
    let (low, low_unit) = rounded(power - 1);
    let (high, unit) = rounded(power);
    match low_unit == unit {
        true => format!("{low}-{high} {unit}"),
        false => format!("{low} {low_unit}-{high} {unit}"),
    }
}

/// A power of two from 1 KiB on, in the largest unit that it has one of.
fn rounded(power: u32) -> (u64, &'static str) {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let unit = (power / 10).clamp(1, 4);
    (1 << (power - 10 * unit), UNITS[unit as usize - 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::sampler::MOST_SIZE;

    #[test]
    fn a_class_is_what_is_below_a_power_of_two() {
        let label = |bytes| BlockSize::class(bytes).label();
        let sizes =
            [0, 8, 9, 16, 17, 33, 64, 513, 1024, 1025, 3000, 600 << 10, 1 << 20, (1 << 20) + 1];
        assert_eq!(
            sizes.map(label),
            [
                "0-8 B",
                "0-8 B",
                "9-16 B",
                "9-16 B",
                "17-32 B",
                "33-64 B",
                "33-64 B",
                "513-1024 B",
                "513-1024 B",
                "1-2 KiB",
                "2-4 KiB",
                "512 KiB-1 MiB",
                "512 KiB-1 MiB",
                "1-2 MiB",
            ]
        );
        assert_eq!(label(MOST_SIZE), "512 GiB-1 TiB");
        assert_eq!(label(u64::MAX), "8388608-16777216 TiB");
    }

    #[test]
    fn a_word_is_a_size_a_class_or_an_address() {
        for size in [0, 24, MOST_SIZE].map(BlockSize::Exact) {
            assert_eq!(BlockSize::of_word(size.word()), Some(size));
        }
        for size in [0, 24, MOST_SIZE, u64::MAX].map(BlockSize::class) {
            assert_eq!(BlockSize::of_word(size.word()), Some(size));
        }
        for address in [0, 0x5555_5555_0000, 0x7fff_ffff_ffff, 0x7fff_0000_0000_0000, u64::MAX] {
            assert_eq!(BlockSize::of_word(address), None);
        }
    }
}
