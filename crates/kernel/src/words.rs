//! Numbers out of bytes, in the order of bytes of the machine that recorded.
//!
//! Nothing here fails loudly: what is not there is none, and its caller says what that means.

/// The order of a number's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The lowest byte first.
    #[default]
    Little,
    /// The highest byte first.
    Big,
}

impl Order {
    /// That of this machine, which its rings have.
    pub const NATIVE: Self = if cfg!(target_endian = "little") { Self::Little } else { Self::Big };
}

/// Bytes that are read from the front.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    bytes: &'a [u8],
    order: Order,
}

impl<'a> Words<'a> {
    /// All of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8], order: Order) -> Self {
        Self { bytes, order }
    }

    /// The order of its numbers.
    #[inline]
    pub fn order(&self) -> Order {
        self.order
    }

    /// What is left.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// The next 16 bits.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        let bytes = self.chunk()?;
        Some(match self.order {
            Order::Little => u16::from_le_bytes(bytes),
            Order::Big => u16::from_be_bytes(bytes),
        })
    }

    /// The next 32 bits.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        let bytes = self.chunk()?;
        Some(match self.order {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        })
    }

    /// The next 32 bits, with a sign.
    #[inline]
    pub fn i32(&mut self) -> Option<i32> {
        self.u32().map(u32::cast_signed)
    }

    /// The next 64 bits.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        let bytes = self.chunk()?;
        Some(number(bytes, self.order))
    }

    /// The next `length` bytes.
    #[inline]
    pub fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(usize::try_from(length).ok()?)?;
        self.bytes = rest;
        Some(taken)
    }

    /// As [`Words::take`], to be read as `count` numbers of 64 bits.
    #[inline]
    pub fn list(&mut self, count: u64) -> Option<List<'a>> {
        let order = self.order;
        Some(List { bytes: self.take(count.checked_mul(8)?)?, order })
    }

    /// All whole numbers of 64 bits that are left.
    pub fn all(&mut self) -> Vec<u64> {
        self.list(self.bytes.len() as u64 / 8).map_or_else(Vec::new, |list| list.iter().collect())
    }

    /// The rest up to its first NUL.
    #[inline]
    pub fn name(&self) -> &'a [u8] {
        until_nul(self.bytes)
    }

    /// A text behind its length in 32 bits, as in the sections of a perf.data file.
    pub fn string(&mut self) -> Option<String> {
        let length = self.u32()?;
        self.take(u64::from(length)).map(text)
    }

    #[inline]
    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*bytes)
    }
}

/// Numbers of 64 bits, one behind the other.
#[derive(Debug, Clone, Copy, Default)]
pub struct List<'a> {
    bytes: &'a [u8],
    order: Order,
}

impl<'a> List<'a> {
    /// Each of them.
    #[inline]
    pub fn iter(self) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator + 'a {
        let order = self.order;
        let (words, _) = self.bytes.as_chunks();
        words.iter().map(move |word| number(*word, order))
    }

    /// The numbers where they lie, which costs nothing. None where they are not in this machine's order of bytes, or
    /// not aligned; in the records of a ring they are both.
    #[inline]
    pub fn in_place(self) -> Option<&'a [u64]> {
        (self.order == Order::NATIVE).then(|| bytemuck::try_cast_slice(self.bytes).ok()).flatten()
    }
}

#[inline]
fn number(bytes: [u8; 8], order: Order) -> u64 {
    match order {
        Order::Little => u64::from_le_bytes(bytes),
        Order::Big => u64::from_be_bytes(bytes),
    }
}

#[inline]
fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or(bytes)
}

/// The text up to the first NUL or the end of `bytes`.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(until_nul(bytes)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_either_order_and_never_past_the_end() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        let mut little = Words::new(&bytes, Order::Little);
        assert_eq!((little.u16(), little.u32()), (Some(0x0201), Some(0x0605_0403)));
        assert_eq!((little.u32(), little.take(2)), (None, Some(&[7, 8][..])));
        assert_eq!(little.rest(), [9]);
        let mut big = Words::new(&bytes, Order::Big);
        assert_eq!(big.u64(), Some(0x0102_0304_0506_0708));
        assert!(big.take(u64::MAX).is_none() && big.list(u64::MAX).is_none());
        let list = Words::new(&bytes, Order::Little).list(1).expect("one");
        assert_eq!(list.iter().collect::<Vec<_>>(), [0x0807_0605_0403_0201]);
    }

    #[test]
    fn only_aligned_numbers_of_this_machine_are_seen_in_place() {
        let words = [1_u64, 2, 3];
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        let list = |from: usize, order| Words::new(&bytes[from..], order).list(2);
        let foreign = if Order::NATIVE == Order::Little { Order::Big } else { Order::Little };
        assert_eq!(list(8, Order::NATIVE).and_then(List::in_place), Some(&words[1..]));
        assert_eq!(list(4, Order::NATIVE).and_then(List::in_place), None);
        assert_eq!(list(8, foreign).and_then(List::in_place), None);
    }
}
