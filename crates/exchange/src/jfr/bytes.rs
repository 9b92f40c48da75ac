//! How numbers and texts are encoded (`jdk.jfr.internal.consumer` of the JDK's sources): numbers in
//! groups of seven bits, the lowest first; texts with a byte that says how.

use std::borrow::Cow;

/// The bytes end, or make no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wrong;

/// A text as it stands in an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Written<'a> {
    Null,
    Text(Cow<'a, str>),
    /// The key of a text that a checkpoint holds.
    Constant(u64),
}

/// A place in the bytes of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Wrong> {
        let end = self.at.checked_add(length).ok_or(Wrong)?;
        let taken = self.bytes.get(self.at..end).ok_or(Wrong)?;
        self.at = end;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Wrong> {
        self.take(1).map(|taken| taken[0])
    }

    /// A whole number of any size: the ninth byte has all its eight bits.
    pub(super) fn number(&mut self) -> Result<u64, Wrong> {
        let mut number = 0;
        for group in 0..8 {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << (7 * group);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Ok(number | (u64::from(self.byte()?) << 56))
    }

    /// A count of things of at least a byte each.
    pub(super) fn count(&mut self) -> Result<usize, Wrong> {
        let count = usize::try_from(self.number()?).map_err(|_| Wrong)?;
        if count <= self.left() { Ok(count) } else { Err(Wrong) }
    }

    pub(super) fn text(&mut self) -> Result<Written<'a>, Wrong> {
        Ok(match self.byte()? {
            0 => Written::Null,
            1 => Written::Text(Cow::Borrowed("")),
            2 => Written::Constant(self.number()?),
            3 => {
                let length = self.count()?;
                Written::Text(String::from_utf8_lossy(self.take(length)?))
            }
            4 => Written::Text(Cow::Owned(self.characters()?)),
            5 => {
                let length = self.count()?;
                let latin = self.take(length)?;
                Written::Text(Cow::Owned(latin.iter().map(|byte| char::from(*byte)).collect()))
            }
            _ => return Err(Wrong),
        })
    }

    /// A list of UTF-16 units, each a number.
    fn characters(&mut self) -> Result<String, Wrong> {
        let mut units = Vec::new();
        for _ in 0..self.count()? {
            units.push(u16::try_from(self.number()?).map_err(|_| Wrong)?);
        }
        Ok(String::from_utf16_lossy(&units))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_with_a_small_byte_or_the_ninth() {
        let number = |bytes: &[u8]| Cursor::new(bytes, 0).number();
        assert_eq!(number(&[5]), Ok(5));
        assert_eq!(number(&[0x80, 1]), Ok(128));
        assert_eq!(number(&[0xff; 9]), Ok(u64::MAX));
        assert_eq!(number(&[0x80, 0x80]), Err(Wrong));
    }

    #[test]
    fn texts_of_every_kind() {
        fn text(bytes: &[u8]) -> Result<Written<'_>, Wrong> {
            Cursor::new(bytes, 0).text()
        }
        assert_eq!(text(&[0]), Ok(Written::Null));
        assert_eq!(text(&[1]), Ok(Written::Text("".into())));
        assert_eq!(text(&[2, 9]), Ok(Written::Constant(9)));
        assert_eq!(text(&[3, 2, 0xc3, 0xa9]), Ok(Written::Text("é".into())));
        assert_eq!(text(&[4, 2, 0x61, 0xe9, 0x01]), Ok(Written::Text("aé".into())));
        assert_eq!(text(&[5, 2, 0x61, 0xe9]), Ok(Written::Text("aé".into())));
        assert_eq!(text(&[3, 9, 0x61]), Err(Wrong));
        assert_eq!(text(&[9]), Err(Wrong));
    }
}
