//! Numbers out of bytes, in the order of bytes of the machine that recorded.
//!
//! Nothing here fails loudly: what is not there is none, and its caller says what that means.

/// Bytes that are read from the front.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a> {
    bytes: &'a [u8],
    little: bool,
}

impl<'a> Words<'a> {
    pub(super) fn new(bytes: &'a [u8], little: bool) -> Self {
        Self { bytes, little }
    }

    /// What is left.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    #[inline]
    pub(super) fn u16(&mut self) -> Option<u16> {
        let bytes = self.chunk()?;
        Some(if self.little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Option<u32> {
        let bytes = self.chunk()?;
        Some(if self.little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    #[inline]
    pub(super) fn i32(&mut self) -> Option<i32> {
        self.u32().map(u32::cast_signed)
    }

    #[inline]
    pub(super) fn u64(&mut self) -> Option<u64> {
        let bytes = self.chunk()?;
        Some(if self.little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
    }

    /// The next `length` bytes.
    #[inline]
    pub(super) fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(usize::try_from(length).ok()?)?;
        self.bytes = rest;
        Some(taken)
    }

    /// As [`Words::take`], to be read as numbers of 64 bits.
    #[inline]
    pub(super) fn list(&mut self, count: u64) -> Option<List<'a>> {
        let little = self.little;
        Some(List { bytes: self.take(count.checked_mul(8)?)?, little })
    }

    /// All whole numbers of 64 bits that are left.
    pub(super) fn all(&mut self) -> Vec<u64> {
        self.list(self.bytes.len() as u64 / 8).map_or_else(Vec::new, |list| list.iter().collect())
    }

    /// The text up to the first NUL or the end of `bytes`.
    pub(super) fn text(bytes: &[u8]) -> String {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }

    /// The rest as text, up to its first NUL.
    pub(super) fn name(&self) -> String {
        Self::text(self.bytes)
    }

    /// A text behind its length in 32 bits, as in the sections behind the records.
    pub(super) fn string(&mut self) -> Option<String> {
        let length = self.u32()?;
        self.take(u64::from(length)).map(Self::text)
    }

    #[inline]
    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*bytes)
    }
}

/// Numbers of 64 bits, one behind the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct List<'a> {
    bytes: &'a [u8],
    little: bool,
}

impl<'a> List<'a> {
    #[inline]
    pub(super) fn iter(self) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator + 'a {
        let little = self.little;
        let (words, _) = self.bytes.as_chunks();
        words.iter().map(
            move |word| {
                if little { u64::from_le_bytes(*word) } else { u64::from_be_bytes(*word) }
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_either_order_and_never_past_the_end() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        let mut little = Words::new(&bytes, true);
        assert_eq!((little.u16(), little.u32()), (Some(0x0201), Some(0x0605_0403)));
        assert_eq!((little.u32(), little.take(2)), (None, Some(&[7, 8][..])));
        assert_eq!(little.rest(), [9]);
        let mut big = Words::new(&bytes, false);
        assert_eq!(big.u64(), Some(0x0102_0304_0506_0708));
        assert!(big.take(u64::MAX).is_none() && big.list(u64::MAX).is_none());
        let list = Words::new(&bytes, true).list(1).expect("one");
        assert_eq!(list.iter().collect::<Vec<_>>(), [0x0807_0605_0403_0201]);
    }
}
