//! The JVM's compressed numbers (`UNSIGNED5` in HotSpot's `unsigned5.hpp` and `compressedStream.hpp`).
//!
//! A number takes one to five bytes. A byte below 192 ends it; each one gives six more bits. From JDK 20 on
//! no byte of a number is zero: each is one more than before.

/// Bytes of a number at most.
const MOST_BYTES: u32 = 5;
/// Bytes below this end a number.
const LAST: u32 = 192;
/// Bits that each further byte is worth.
const BITS: u32 = 6;

/// Reads compressed numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompressedNumbers<'b> {
    bytes: &'b [u8],
    /// What each byte is greater by: 0, from JDK 20 on 1.
    excess: u32,
}

impl<'b> CompressedNumbers<'b> {
    pub(super) fn new(bytes: &'b [u8], excess: u32) -> Self {
        Self { bytes, excess }
    }

    /// The next byte as it is.
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    /// The next number; none at the end, or where a number of this release cannot be.
    pub(super) fn number(&mut self) -> Option<u32> {
        let mut sum = 0_u32;
        for place in 0..MOST_BYTES {
            let byte = u32::from(self.byte()?);
            let digit = byte.checked_sub(self.excess)?;
            sum = sum.wrapping_add(digit << (place * BITS));
            if byte < LAST {
                break;
            }
        }
        Some(sum)
    }

    /// The next number with a sign: its lowest bit says which.
    pub(super) fn signed(&mut self) -> Option<i32> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(bytes: &[u8], excess: u32) -> Vec<u32> {
        let mut stream = CompressedNumbers::new(bytes, excess);
        std::iter::from_fn(|| stream.number()).collect()
    }

    #[test]
    fn numbers_before_jdk_20() {
        assert_eq!(numbers(&[0, 191, 192, 0, 193, 1], 0), [0, 191, 192, 193 + 64]);
        let most = (255_u32 << 24).wrapping_add(255 * (1 + 64 + 4096 + 262_144));
        assert_eq!(numbers(&[255, 255, 255, 255, 255], 0), [most]);
    }

    #[test]
    fn numbers_from_jdk_20_on() {
        assert_eq!(numbers(&[1, 191, 192, 1, 193, 2], 1), [0, 190, 191, 192 + 64]);
        assert_eq!(numbers(&[5, 0, 7], 1), [4], "no byte of a number is zero");
    }

    #[test]
    fn numbers_with_a_sign() {
        let mut stream = CompressedNumbers::new(&[0, 1, 2, 3, 4], 0);
        let signed: Vec<i32> = std::iter::from_fn(|| stream.signed()).collect();
        assert_eq!(signed, [0, -1, 1, -2, 2]);
    }

    #[test]
    fn a_number_that_is_cut_off_is_none() {
        assert_eq!(numbers(&[200], 0), []);
    }
}
