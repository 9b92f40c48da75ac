//! The library that samples allocations in the programs that preload it: its file, the functions that it
//! calls when something happens, and what a sample stands for.
//!
//! ```text
//! program   malloc, free          the library's, and through it those of the C library
//! library   culprit_sampled       an allocation was sampled: address, size, mean, whether its end is followed,
//!                                 the function that the program called
//!           culprit_freed         a sampled one is about to be freed: address
//!           culprit_attached      a process has begun: the `malloc` that it reaches, some code of the library
//! recorder  a probe on each       registers are the arguments; `sampled` makes rows of them
//! ```
//!
//! Which allocations are sampled, `shim/allocations.c` says. Its arguments are numbers of another process:
//! any of them may be wrong.

use culprit_symbols::FunctionPlace;

use crate::probes::{Moment, Purpose, Site};

/// The library as it was built.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libculprit-alloc.so"));

/// In the library, the mean stands behind these words.
const MEAN_FOLLOWS: &[u8; 24] = b"culprit sampling mean: \0";

/// By how much the library counts each block as larger.
const OVERHEAD: u64 = 16;

/// The library never takes a larger mean.
const MOST_MEAN: u64 = 1 << 40;

/// A larger block is no block: sums over what a program claims must stay within what they are kept in.
pub(crate) const MOST_SIZE: u64 = 1 << 40;

/// What the library's file is called, in every place.
pub const SAMPLER_FILE_NAME: &str = culprit_place::LIBRARY;

/// Mean number of allocated bytes between two samples, where nobody asks for another: a program that
/// allocates 300 MB a second has some 600 samples a second, which cost it below a percent.
pub const DEFAULT_SAMPLING_BYTES: u64 = 512 << 10;

/// The library, for a file that a command preloads. `mean` is the mean number of allocated bytes between
/// two samples.
#[must_use]
pub fn sampler_library(mean: u64) -> Vec<u8> {
    let mut library = LIBRARY.to_vec();
    let found = library.windows(MEAN_FOLLOWS.len()).position(|words| words == MEAN_FOLLOWS);
    let mean_at = found.map(|at| at + MEAN_FOLLOWS.len());
    if let Some(bytes) = mean_at.and_then(|at| library.get_mut(at..at + size_of::<u64>())) {
        bytes.copy_from_slice(&mean.max(1).to_le_bytes());
    }
    library
}

/// What the library tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SamplerEvent {
    /// An allocation was sampled.
    Sampled,
    /// A sampled allocation is about to be freed.
    Freed,
    /// A process has loaded the library.
    Attached,
}

/// The functions that it calls.
const EVENTS: [(&str, SamplerEvent); 3] = [
    ("culprit_sampled", SamplerEvent::Sampled),
    ("culprit_freed", SamplerEvent::Freed),
    ("culprit_attached", SamplerEvent::Attached),
];

fn event(name: &str) -> Option<SamplerEvent> {
    EVENTS.iter().find(|(known, _)| *known == name).map(|(_, event)| *event)
}

/// Whether the library calls a function of this name to tell something.
pub(crate) fn is_event(name: &str) -> bool {
    event(name).is_some()
}

/// The sites among the library's functions.
pub(crate) fn sites(places: Vec<FunctionPlace>) -> Vec<Site> {
    let site = |place: FunctionPlace| {
        let purpose = Purpose::Sampler(event(&place.name)?);
        Some(Site { place, moment: Moment::Entry, listeners: None, purpose })
    };
    places.into_iter().filter_map(site).collect()
}

/// How many allocations like it a sampled one stands for, and the variance of that number.
///
/// A block of `size` bytes is sampled with probability p = 1 - exp(-(size + overhead) / mean). So 1 / p is an
/// unbiased estimate of one block (Horvitz and Thompson 1952), and 1 / p^2 - 1 / p one of its variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Weight {
    pub(crate) count: f64,
    pub(crate) variance: f64,
}

impl Weight {
    /// Of a block of this size, drawn with this mean.
    #[expect(
        clippy::cast_precision_loss,
        reason = "sizes are below 2^53, and a weight is an estimate"
    )]
    pub(crate) fn new(size: u64, mean: u64) -> Self {
        let bytes = size.min(MOST_SIZE).saturating_add(OVERHEAD) as f64;
        let probability = -(-bytes / mean.clamp(1, MOST_MEAN) as f64).exp_m1();
        let count = 1.0 / probability;
        Self { count, variance: count * count - count }
    }
}

#[cfg(test)]
mod tests {
    use culprit_model::standard_error;

    use super::*;

    #[test]
    fn the_library_is_given_its_mean() {
        let words = |library: &[u8]| {
            library.windows(MEAN_FOLLOWS.len()).filter(|words| *words == MEAN_FOLLOWS).count()
        };
        assert_eq!(words(LIBRARY), 1, "the words stand for one place");
        let library = sampler_library(0x0123_4567_89ab_cdef);
        let at =
            library.windows(8).position(|word| word == 0x0123_4567_89ab_cdef_u64.to_le_bytes());
        assert!(at.is_some_and(|at| library[..at].ends_with(MEAN_FOLLOWS)));
        assert_eq!(sampler_library(DEFAULT_SAMPLING_BYTES), LIBRARY, "the default is built in");
    }

    /// xorshift64*: the same numbers in every run.
    struct Random(u64);

    impl Random {
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        fn unit(&mut self) -> f64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
            (bits + 1) as f64 / (1_u64 << 53) as f64
        }
    }

    /// Estimated number and bytes of blocks of these sizes, and their variances.
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn sampled(sizes: impl Iterator<Item = u64>, mean: u64, random: &mut Random) -> [f64; 4] {
        let mut sums = [0.0; 4];
        let mut draw = || -random.unit().ln() * mean as f64;
        let mut left = draw();
        for size in sizes {
            left -= (size + OVERHEAD) as f64;
            if left >= 0.0 {
                continue;
            }
            left = draw();
            let (weight, size) = (Weight::new(size, mean), size as f64);
            sums[0] += weight.count;
            sums[1] += weight.count * size;
            sums[2] += weight.variance;
            sums[3] += weight.variance * size * size;
        }
        sums
    }

    /// Of estimates by at least one sample, the shares that are within one and two standard errors of the
    /// truth: for number and for bytes.
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn coverage(sizes: &[u64]) -> [[f64; 2]; 2] {
        let truth = [sizes.len() as f64, sizes.iter().sum::<u64>() as f64];
        let (mut random, mut within, mut rounds) = (Random(20_261_127), [[0.0; 2]; 2], 0.0);
        for _ in 0..2000 {
            let [count, bytes, of_count, of_bytes] =
                sampled(sizes.iter().copied(), 8192, &mut random);
            if count == 0.0 {
                continue;
            }
            rounds += 1.0;
            for (at, (value, variance)) in
                [(count, of_count), (bytes, of_bytes)].into_iter().enumerate()
            {
                let errors = (value - truth[at]).abs() / standard_error(value, variance);
                within[at][0] += f64::from(u8::from(errors <= 1.0));
                within[at][1] += f64::from(u8::from(errors <= 2.0));
            }
        }
        within.map(|shares| shares.map(|share| share / rounds))
    }

    /// A block of 16 bytes is sampled with probability 0.0039, one of 2048 with 0.22.
    #[test]
    fn errors_cover_the_truth_as_often_as_they_say_also_where_samples_are_few() {
        let small = |blocks: usize| vec![16_u64; blocks];
        let beside_large = |blocks: usize| {
            (0..blocks).flat_map(|at| if at % 8 == 0 { vec![16, 2048] } else { vec![16] }).collect()
        };
        let sites: [(&str, Vec<u64>); 5] = [
            ("5 samples of small blocks", small(1280)),
            ("7 samples of small blocks", small(1715)),
            ("25 samples of small blocks", small(6400)),
            ("3 samples of small blocks, 24 of large ones", beside_large(850)),
            ("7 samples of small blocks, 48 of large ones", beside_large(1715)),
        ];
        for (site, sizes) in sites {
            for [one, two] in coverage(&sizes) {
                assert!(one > 0.62 && two > 0.91, "{site}: {one} within one, {two} within two");
            }
        }
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn weighted_sums_are_unbiased_and_their_errors_are_as_stated() {
        let sizes = || (0..40_000_u64).map(|at| if at % 100 == 0 { 100_000 } else { at % 700 });
        let truth = [sizes().count() as f64, sizes().sum::<u64>() as f64];
        let (mut random, rounds) = (Random(20_261_127), 200);
        let mut scores = [[0.0; 2]; 2];
        for _ in 0..rounds {
            let [count, bytes, of_count, of_bytes] = sampled(sizes(), 65_536, &mut random);
            for (at, (value, variance)) in
                [(count, of_count), (bytes, of_bytes)].into_iter().enumerate()
            {
                let score = (value - truth[at]) / variance.sqrt();
                scores[at][0] += score;
                scores[at][1] += score * score;
            }
        }
        for [sum, squares] in scores {
            let (mean, square) = (sum / f64::from(rounds), squares / f64::from(rounds));
            // Of 200 scores that are normal, the mean is within 0.21 and the square within 0.3.
            assert!(mean.abs() < 0.25 && (0.6..1.5).contains(&square), "{mean} {square}");
        }
    }

    #[test]
    fn large_blocks_stand_for_themselves_and_hostile_numbers_for_no_more_than_they_can() {
        let large = Weight::new(1 << 30, DEFAULT_SAMPLING_BYTES);
        assert!((large.count - 1.0).abs() < 1e-9 && large.variance.abs() < 1e-9);
        for (size, mean) in [(0, u64::MAX), (u64::MAX, 0), (u64::MAX, u64::MAX), (0, 0)] {
            let weight = Weight::new(size, mean);
            assert!(weight.count.is_finite() && weight.count >= 1.0, "{weight:?}");
        }
    }
}
