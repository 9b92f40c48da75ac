//! Numbers and texts of a trace: little-endian, or in groups of seven bits, the lowest first.

/// The bytes end, or make no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wrong;

/// A place in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Wrong> {
        let end = self.at.checked_add(length).ok_or(Wrong)?;
        let taken = self.bytes.get(self.at..end).ok_or(Wrong)?;
        self.at = end;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Wrong> {
        self.take(N)?.try_into().map_err(|_| Wrong)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Wrong> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Wrong> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Wrong> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Wrong> {
        self.array().map(u64::from_le_bytes)
    }

    /// So many bytes as a 32-bit length says.
    pub(super) fn sized(&mut self) -> Result<&'a [u8], Wrong> {
        let length = usize::try_from(self.u32()?).map_err(|_| Wrong)?;
        self.take(length)
    }

    /// Forward to a multiple of four.
    pub(super) fn align(&mut self) {
        self.at = self.at.saturating_add(self.at.wrapping_neg() % 4);
    }

    pub(super) fn varuint(&mut self) -> Result<u64, Wrong> {
        let mut number = 0;
        for group in 0..10 {
            let byte = self.u8()?;
            number |= u64::from(byte & 0x7f).checked_shl(7 * group).ok_or(Wrong)?;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Wrong)
    }

    /// A number in groups that fits 32 bits.
    pub(super) fn varuint32(&mut self) -> Result<u32, Wrong> {
        u32::try_from(self.varuint()?).map_err(|_| Wrong)
    }

    /// UTF-8 behind its length in groups.
    pub(super) fn text(&mut self) -> Result<String, Wrong> {
        let length = usize::try_from(self.varuint()?).map_err(|_| Wrong)?;
        self.take(length).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// UTF-8 behind its length in 16 bits.
    pub(super) fn short_text(&mut self) -> Result<String, Wrong> {
        let length = usize::from(self.u16()?);
        self.take(length).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// UTF-16 that ends with a zero.
    pub(super) fn wide_text(&mut self) -> Result<String, Wrong> {
        let rest = self.bytes.get(self.at..).ok_or(Wrong)?;
        let (units, _) = rest.as_chunks::<2>();
        let length = units.iter().position(|unit| *unit == [0, 0]).ok_or(Wrong)?;
        self.at += 2 * length + 2;
        let units = units[..length].iter().map(|unit| u16::from_le_bytes(*unit));
        Ok(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts() {
        let mut cursor = Cursor::new(&[0x80, 1, 2, 0, b'a', 0, 0, 0, 1, b'b']);
        assert_eq!(cursor.varuint(), Ok(128));
        assert_eq!(cursor.u16(), Ok(2));
        assert_eq!(cursor.wide_text().as_deref(), Ok("a"));
        assert_eq!(cursor.text().as_deref(), Ok("b"));
        assert_eq!(cursor.u8(), Err(Wrong));
        assert_eq!(Cursor::new(&[0xff; 12]).varuint(), Err(Wrong));
        let mut cursor = Cursor::new(&[0; 8]);
        cursor.at = 5;
        cursor.align();
        assert_eq!(cursor.at, 8);
    }
}
