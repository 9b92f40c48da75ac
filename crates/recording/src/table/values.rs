//! Parquet's encodings of numbers, from untrusted bytes to vectors.
//!
//! Only the encodings that our writer uses: plain (in `decode.rs`, by type), runs and bit-packed
//! groups for levels and dictionary positions, packed differences for times. Source:
//! apache/parquet-format, Encodings.md.

use crate::table::thrift::{Malformed, Thrift};

type Result<T> = std::result::Result<T, Malformed>;

/// Bits of a dictionary position at most.
const POSITION_BITS: u32 = 32;
/// Values in a block of differences at most; ours have 128 or 256.
const BLOCK_MAX: u64 = 1 << 16;

/// The 64 bits from bit `at` on, zeros after the end; `at` in bits.
fn word(bytes: &[u8], at: usize) -> u64 {
    let (byte, shift) = (at / 8, at % 8);
    match bytes.get(byte..).and_then(<[u8]>::first_chunk::<8>) {
        Some(chunk) => u64::from_le_bytes(*chunk) >> shift,
        None => {
            let mut chunk = [0; 8];
            let rest = bytes.get(byte..).unwrap_or_default();
            chunk[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(chunk) >> shift
        }
    }
}

/// Calls `take` with `count` values of `width` bits each, lowest bits first.
fn unpack(bytes: &[u8], width: u32, count: usize, mut take: impl FnMut(u64)) {
    /// A word that starts anywhere in a byte has this many bits for sure.
    const WHOLE_BITS: u32 = 57;
    let step = width as usize;
    let mask = u64::MAX.checked_shr(u64::BITS - width).unwrap_or(0);
    if width <= WHOLE_BITS {
        (0..count).for_each(|i| take(word(bytes, i * step) & mask));
    } else {
        (0..count).for_each(|i| {
            let low = word(bytes, i * step) & u64::from(u32::MAX);
            let high = word(bytes, i * step + 32);
            take((low | high << 32) & mask);
        });
    }
}

/// Reads `count` values of `width` bits in runs and bit-packed groups; calls `run` with the value
/// and length of each run, and with length 1 for a value of a group.
pub(crate) fn hybrid(
    bytes: &[u8],
    width: u32,
    count: usize,
    mut take: impl FnMut(u32, usize),
) -> Result<()> {
    if width > POSITION_BITS {
        return Err(Malformed);
    }
    let mut input = Thrift(bytes);
    let mut left = count;
    while left > 0 {
        let head = input.unsigned()?;
        let size = usize::try_from(head >> 1).map_err(|_| Malformed)?;
        if size == 0 {
            return Err(Malformed);
        }
        if head & 1 == 0 {
            let bytes = input.0.split_at_checked(width.div_ceil(8) as usize).ok_or(Malformed)?;
            input.0 = bytes.1;
            let run = size.min(left);
            take(low32(word(bytes.0, 0)), run);
            left -= run;
        } else {
            let length = size.checked_mul(width as usize).ok_or(Malformed)?;
            // Writers may leave out the padding of the last group.
            let (packed, rest) = input.0.split_at(length.min(input.0.len()));
            input.0 = rest;
            let values = size.saturating_mul(8).min(left);
            if packed.len() * 8 < values * width as usize {
                return Err(Malformed);
            }
            unpack(packed, width, values, |value| take(low32(value), 1));
            left -= values;
        }
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "values of at most 32 bits")]
fn low32(value: u64) -> u32 {
    value as u32
}

/// Reads `count` numbers that are stored as packed differences, and calls `take` with each.
pub(crate) fn delta(bytes: &[u8], count: usize, mut take: impl FnMut(i64)) -> Result<()> {
    let mut input = Thrift(bytes);
    let block = input.unsigned()?;
    let minis = input.unsigned()?;
    let stored = input.unsigned()?;
    let mut value = input.signed()?;
    let fits = (1..=BLOCK_MAX).contains(&block) && minis > 0 && block.is_multiple_of(minis);
    let mini = usize::try_from(block / minis.max(1)).map_err(|_| Malformed)?;
    if !fits || !mini.is_multiple_of(8) || stored != count as u64 {
        return Err(Malformed);
    }
    if count == 0 {
        return Ok(());
    }
    take(value);
    let mut left = count - 1;
    while left > 0 {
        let least = input.signed()?;
        let minis = usize::try_from(minis).map_err(|_| Malformed)?;
        let (widths, rest) = input.0.split_at_checked(minis).ok_or(Malformed)?;
        input.0 = rest;
        for width in widths.iter().map(|width| u32::from(*width)) {
            if left == 0 {
                break;
            }
            if width > u64::BITS {
                return Err(Malformed);
            }
            let length = mini / 8 * width as usize;
            let (packed, rest) = input.0.split_at_checked(length).ok_or(Malformed)?;
            input.0 = rest;
            let values = mini.min(left);
            unpack(packed, width, values, |difference| {
                value = value.wrapping_add(least).wrapping_add(difference.cast_signed());
                take(value);
            });
            left -= values;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_from_0_to_64_are_unpacked() {
        for width in 0..=64u32 {
            let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
            let values: Vec<u64> =
                (1..=40u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask).collect();
            let mut bits = vec![];
            for value in &values {
                bits.extend((0..width).map(|bit| value >> bit & 1 == 1));
            }
            let bytes: Vec<u8> = bits
                .chunks(8)
                .map(|c| c.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit)))
                .collect();
            let mut found = vec![];
            unpack(&bytes, width, values.len(), |value| found.push(value));
            assert_eq!(found, values, "{width} bits");
        }
    }

    #[test]
    fn runs_and_groups_alternate() {
        // A run of five 3s, then one group of eight values of two bits.
        let bytes = [5 << 1, 3, 1 << 1 | 1, 0b11_10_01_00, 0b00_01_10_11];
        let mut found = vec![];
        hybrid(&bytes, 2, 13, |value, n| found.extend(std::iter::repeat_n(value, n))).unwrap();
        assert_eq!(found, [3, 3, 3, 3, 3, 0, 1, 2, 3, 3, 2, 1, 0]);
        assert_eq!(hybrid(&bytes, 2, 14, |_, _| {}), Err(Malformed), "one more than there are");
    }
}
