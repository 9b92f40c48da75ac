//! As much of Thrift's compact protocol as Parquet's footers and page headers use.
//!
//! Reads a slice and never past it; every length is checked before anything is allocated. Source:
//! apache/thrift, doc/specs/thrift-compact-protocol.md.

/// Types of fields and list elements, as the protocol numbers them.
pub(crate) const I32: u8 = 5;
pub(crate) const I64: u8 = 6;
pub(crate) const BINARY: u8 = 8;
pub(crate) const LIST: u8 = 9;
pub(crate) const STRUCT: u8 = 12;

/// Nesting that is followed when skipping; Parquet's own structures need six.
const DEPTH_MAX: u32 = 16;

/// The bytes are not what the protocol allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

type Result<T> = std::result::Result<T, Malformed>;

/// A reader over a slice; what is left of it stands in the field.
#[derive(Debug)]
pub(crate) struct Thrift<'a>(pub(crate) &'a [u8]);

impl<'a> Thrift<'a> {
    fn byte(&mut self) -> Result<u8> {
        let (first, rest) = self.0.split_first().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*first)
    }

    fn bytes(&mut self, length: u64) -> Result<&'a [u8]> {
        let length = usize::try_from(length).map_err(|_| Malformed)?;
        let (head, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(head)
    }

    /// An unsigned number of seven bits a byte, lowest first.
    pub(crate) fn unsigned(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    /// A signed number: the sign in the lowest bit.
    pub(crate) fn signed(&mut self) -> Result<i64> {
        let raw = self.unsigned()?;
        Ok((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
    }

    /// A signed number of 32 bits.
    pub(crate) fn signed32(&mut self) -> Result<i32> {
        self.signed()?.try_into().map_err(|_| Malformed)
    }

    /// Bytes or text.
    pub(crate) fn binary(&mut self) -> Result<&'a [u8]> {
        let length = self.unsigned()?;
        self.bytes(length)
    }

    /// Reads a structure field by field. `field` gets a field's number and type, and says whether
    /// it took the value; values that it did not take are skipped.
    pub(crate) fn fields(
        &mut self,
        mut field: impl FnMut(&mut Self, i16, u8) -> Result<bool>,
    ) -> Result<()> {
        let mut id: i16 = 0;
        while let Some((next, ty)) = self.field_header(id)? {
            id = next;
            if !field(self, id, ty)? {
                self.skip(ty, DEPTH_MAX)?;
            }
        }
        Ok(())
    }

    /// Reads a list whose elements have type `ty`.
    pub(crate) fn list<T>(
        &mut self,
        ty: u8,
        mut element: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let (found, size) = self.list_header()?;
        if size > 0 && found != ty {
            return Err(Malformed);
        }
        (0..size).map(|_| element(self)).collect()
    }

    /// The next field's number and type; none at the structure's end.
    fn field_header(&mut self, last: i16) -> Result<Option<(i16, u8)>> {
        let head = self.byte()?;
        let (delta, ty) = (head >> 4, head & 0x0f);
        if ty == 0 {
            return Ok(None);
        }
        let id = match delta {
            0 => i16::try_from(self.signed()?).map_err(|_| Malformed)?,
            delta => last.checked_add(i16::from(delta)).ok_or(Malformed)?,
        };
        Ok(Some((id, ty)))
    }

    /// A list's element type and size. Each element takes a byte at least, so that no size is
    /// believed that the rest of the slice cannot hold.
    fn list_header(&mut self) -> Result<(u8, u64)> {
        let head = self.byte()?;
        let size = match head >> 4 {
            15 => self.unsigned()?,
            short => u64::from(short),
        };
        if size > self.0.len() as u64 {
            return Err(Malformed);
        }
        Ok((head & 0x0f, size))
    }

    fn skip(&mut self, ty: u8, depth: u32) -> Result<()> {
        const BOOLS: std::ops::RangeInclusive<u8> = 1..=2;
        let depth = depth.checked_sub(1).ok_or(Malformed)?;
        match ty {
            ty if BOOLS.contains(&ty) => Ok(()),
            3 => self.byte().map(drop),
            4..=6 => self.unsigned().map(drop),
            7 => self.bytes(8).map(drop),
            BINARY => self.binary().map(drop),
            LIST | 10 => {
                let (ty, size) = self.list_header()?;
                (0..size).try_for_each(|_| match ty {
                    // In a list, a boolean has a byte of its own.
                    ty if BOOLS.contains(&ty) => self.byte().map(drop),
                    ty => self.skip(ty, depth),
                })
            }
            STRUCT => {
                while let Some((_, ty)) = self.field_header(0)? {
                    self.skip(ty, depth)?;
                }
                Ok(())
            }
            _ => Err(Malformed),
        }
    }
}
