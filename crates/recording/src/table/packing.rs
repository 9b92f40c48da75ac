//! Numbers to Parquet's encodings: the inverse of `values.rs`, and no more of them.
//!
//! Source: apache/parquet-format, Encodings.md.

/// Values of a bit-packed group.
const GROUP: usize = 8;
/// Equal values from which on a run is shorter than groups of one bit, with what its header costs.
const RUN: usize = 16;
/// Differences of a block, and of one of its parts, which have a width of their own.
const BLOCK: usize = 128;
const MINI: usize = 32;

/// Appends a number of seven bits a byte, lowest first.
pub(crate) fn put_unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Appends a signed number: the sign in the lowest bit.
fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_unsigned(out, (value << 1 ^ value >> 63).cast_unsigned());
}

/// Bits that a number needs.
pub(crate) fn width_of(most: u64) -> u32 {
    u64::BITS - most.leading_zeros()
}

/// Appends numbers of some bits each, lowest bits first.
struct Bits<'o> {
    out: &'o mut Vec<u8>,
    word: u64,
    used: u32,
}

impl<'o> Bits<'o> {
    fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out, word: 0, used: 0 }
    }

    /// Appends a number that has no more bits than `width`.
    #[inline]
    fn put(&mut self, value: u64, width: u32) {
        self.word |= value << self.used;
        self.used += width;
        if let Some(over) = self.used.checked_sub(u64::BITS) {
            self.out.extend_from_slice(&self.word.to_le_bytes());
            self.word = value.checked_shr(width - over).unwrap_or(0);
            self.used = over;
        }
    }

    /// Fills the last byte up.
    fn finish(self) {
        let bytes = self.used.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.word.to_le_bytes()[..bytes]);
    }
}

/// Appends numbers of at most `width` bits in runs and bit-packed groups.
pub(crate) fn put_hybrid<T: Copy + PartialEq + Into<u32>>(
    out: &mut Vec<u8>,
    width: u32,
    values: &[T],
) {
    let (mut at, mut packed) = (0, 0);
    while let Some(rest) = values.get(at..).filter(|rest| rest.len() >= RUN) {
        let first = rest[0];
        if rest[..RUN].iter().any(|value| *value != first) {
            at += GROUP;
            continue;
        }
        let run = rest.iter().take_while(|value| **value == first).count();
        put_groups(out, width, &values[packed..at]);
        put_unsigned(out, (run as u64) << 1);
        let value: u32 = first.into();
        out.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
        at += run;
        packed = at;
    }
    put_groups(out, width, &values[packed..]);
}

/// Appends bit-packed groups; the last one is filled up with zeros.
fn put_groups<T: Copy + Into<u32>>(out: &mut Vec<u8>, width: u32, values: &[T]) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(GROUP);
    put_unsigned(out, (groups as u64) << 1 | 1);
    let mut bits = Bits::new(out);
    for value in values {
        bits.put(u64::from((*value).into()), width);
    }
    for _ in values.len()..groups * GROUP {
        bits.put(0, width);
    }
    bits.finish();
}

/// Appends bits, eight a byte.
pub(crate) fn put_bools(out: &mut Vec<u8>, values: &[bool]) {
    let mut bits = Bits::new(out);
    for value in values {
        bits.put(u64::from(*value), 1);
    }
    bits.finish();
}

/// Appends numbers as packed differences.
pub(crate) fn put_delta(out: &mut Vec<u8>, values: &[i64]) {
    put_unsigned(out, BLOCK as u64);
    put_unsigned(out, (BLOCK / MINI) as u64);
    put_unsigned(out, values.len() as u64);
    put_signed(out, values.first().copied().unwrap_or(0));
    let mut before = values.first().copied().unwrap_or(0);
    let mut block = [0_i64; BLOCK];
    for values in values.get(1..).unwrap_or_default().chunks(BLOCK) {
        for (difference, value) in block.iter_mut().zip(values) {
            *difference = value.wrapping_sub(before);
            before = *value;
        }
        put_block(out, &mut block, values.len());
    }
}

/// Appends the first `count` differences of a block.
fn put_block(out: &mut Vec<u8>, block: &mut [i64; BLOCK], count: usize) {
    let least = block[..count].iter().copied().min().unwrap_or(0);
    put_signed(out, least);
    block[..count].iter_mut().for_each(|difference| *difference = difference.wrapping_sub(least));
    // The last part of a block is filled up; parts that are not needed are not there.
    block[count..].fill(0);
    let (minis, _) = block.as_chunks::<MINI>();
    let needed = count.div_ceil(MINI);
    let mut widths = [0; BLOCK / MINI];
    for (width, mini) in widths.iter_mut().zip(minis).take(needed) {
        *width = width_of(mini.iter().fold(0, |all, difference| all | difference.cast_unsigned()));
        out.push(width.to_le_bytes()[0]);
    }
    out.extend(std::iter::repeat_n(0, BLOCK / MINI - needed));
    for (width, mini) in widths.iter().zip(minis).take(needed) {
        let mut bits = Bits::new(out);
        mini.iter().for_each(|difference| bits.put(difference.cast_unsigned(), *width));
        bits.finish();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::values::{delta, hybrid};
    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back_from_runs_and_groups(
            runs in prop::collection::vec((0_u32..u32::MAX, 0_u32..32, 1_usize..40), 0..30),
        ) {
            let values: Vec<u32> = runs
                .iter()
                .flat_map(|(value, shift, count)| std::iter::repeat_n(value >> shift, *count))
                .collect();
            let width = width_of(values.iter().copied().max().unwrap_or(0).into());
            let mut bytes = Vec::new();
            put_hybrid(&mut bytes, width, &values);
            let mut found = Vec::new();
            hybrid(&bytes, width, values.len(), |value, n| {
                found.extend(std::iter::repeat_n(value, n));
            })
            .unwrap();
            prop_assert_eq!(found, values);
        }

        #[test]
        fn numbers_come_back_from_their_differences(
            numbers in prop::collection::vec((any::<i64>(), 0_u32..64), 0..400),
        ) {
            let values: Vec<i64> = numbers.iter().map(|(value, shift)| value >> shift).collect();
            let (mut bytes, mut found) = (Vec::new(), Vec::new());
            put_delta(&mut bytes, &values);
            delta(&bytes, values.len(), |value| found.push(value)).unwrap();
            prop_assert_eq!(found, values);
        }

        #[test]
        fn bits_are_in_order(values in prop::collection::vec(any::<bool>(), 0..200)) {
            let mut bytes = Vec::new();
            put_bools(&mut bytes, &values);
            let found: Vec<bool> = (0..values.len()).map(|at| bytes[at / 8] >> (at % 8) & 1 == 1).collect();
            prop_assert_eq!(found, values);
        }
    }
}
