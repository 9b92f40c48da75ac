//! Local headers: one before each entry's bytes.
//!
//! An entry of a spool also carries a [`Note`] in an extra field, so that a reader knows what was
//! in an entry whose bytes have been released.

use std::ops::Range;

/// The signature of a local header.
pub(crate) const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// Bytes of a local header without name and extra fields.
pub(crate) const LOCAL_SIZE: usize = 30;
/// Tag of the extra field with 64-bit sizes.
pub(crate) const ZIP64_TAG: u16 = 0x0001;
/// Tag of our extra field: `Cu`, unused in APPNOTE 4.5.2 and in Info-ZIP's list.
const NOTE_TAG: u16 = u16::from_le_bytes(*b"Cu");
/// Payload bytes of the zip64 field in a local header: both sizes.
const ZIP64_SIZE: u16 = 16;
/// Payload bytes of a note.
const NOTE_SIZE: u16 = 32;
/// Stands for a size that the zip64 field holds.
pub(crate) const IN_ZIP64: u32 = u32::MAX;
/// Flags of entries that cannot be read in place: encrypted, or with their sizes after the data.
const UNREADABLE_FLAGS: u16 = 0b1001;
/// 1980-01-01 in the format of MS-DOS.
pub(crate) const DATE: u16 = 0x21;

/// One entry: its name, where its bytes are, and their checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Name in the archive.
    pub(crate) name: String,
    /// Offset of the local header.
    pub(crate) header: u64,
    /// Offsets of the bytes.
    pub(crate) data: Range<u64>,
    /// CRC-32 of the bytes.
    pub(crate) crc: u32,
    /// Present in spools.
    pub(crate) note: Option<Note>,
    /// False when some tool packed it so that it cannot be read in place.
    pub(crate) stored: bool,
}

/// What an entry of a spool holds, or held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Note {
    /// True when the bytes are gone.
    pub(crate) released: bool,
    /// How many rows it has, or had. One that stands for several released parts has the sum;
    /// superseded rows are not counted.
    pub(crate) rows: u64,
    /// Smallest and largest time of those rows, ns since the recording's start; empty
    /// (`first > last`) for rows without a time.
    pub(crate) span: (u64, u64),
}

impl Note {
    /// A span without any time.
    pub(crate) const TIMELESS: (u64, u64) = (u64::MAX, 0);

    /// Both together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            released: self.released && other.released,
            rows: self.rows.saturating_add(other.rows),
            span: (self.span.0.min(other.span.0), self.span.1.max(other.span.1)),
        }
    }

    fn to_bytes(self) -> [u8; NOTE_SIZE as usize] {
        let mut bytes = [0; NOTE_SIZE as usize];
        bytes[0] = u8::from(self.released);
        bytes[8..16].copy_from_slice(&self.rows.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.span.0.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.span.1.to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let released = fields.u64()? & 1 == 1;
        let rows = fields.u64()?;
        let span = (fields.u64()?, fields.u64()?);
        Some(Self { released, rows, span })
    }
}

/// Little-endian fields, taken from the front.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk()?;
        self.0 = tail;
        Some(*head)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The payload of the first extra field with this tag.
    pub(crate) fn extra(&self, wanted: u16) -> Option<&'a [u8]> {
        let mut rest = Fields(self.0);
        loop {
            let tag = rest.u16()?;
            let size = rest.u16()?;
            let payload = rest.bytes(usize::from(size))?;
            if tag == wanted {
                return Some(payload);
            }
        }
    }
}

/// The local header of an entry of `size` bytes. One with a note always has 64-bit sizes, so that
/// a released entry can grow over its neighbours without its header growing.
pub(crate) fn local_header(name: &str, size: u64, crc: u32, note: Option<Note>) -> Vec<u8> {
    let small = u32::try_from(size).ok().filter(|s| *s != IN_ZIP64 && note.is_none());
    let mut extra = Vec::new();
    if small.is_none() {
        extra.extend(ZIP64_TAG.to_le_bytes());
        extra.extend(ZIP64_SIZE.to_le_bytes());
        extra.extend(size.to_le_bytes());
        extra.extend(size.to_le_bytes());
    }
    if let Some(note) = note {
        extra.extend(NOTE_TAG.to_le_bytes());
        extra.extend(NOTE_SIZE.to_le_bytes());
        extra.extend(note.to_bytes());
    }
    let mut header = Vec::with_capacity(LOCAL_SIZE + name.len() + extra.len());
    header.extend(LOCAL);
    put_common(&mut header, small, crc);
    put_len(&mut header, name.len());
    put_len(&mut header, extra.len());
    header.extend(name.as_bytes());
    header.extend(extra);
    header
}

/// The fields that local headers and the directory share, from the needed version to the sizes.
pub(crate) fn put_common(out: &mut Vec<u8>, size: Option<u32>, crc: u32) {
    let version: u16 = if size.is_some() { 10 } else { 45 };
    let [flags, method, time] = [0u16; 3];
    for field in [version, flags, method, time, DATE] {
        out.extend(field.to_le_bytes());
    }
    for field in [crc, size.unwrap_or(IN_ZIP64), size.unwrap_or(IN_ZIP64)] {
        out.extend(field.to_le_bytes());
    }
}

/// The length of a name or extra field; ours are all under 200 bytes.
pub(crate) fn put_len(out: &mut Vec<u8>, length: usize) {
    out.extend(u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes());
}

/// The local header at the front of `bytes`, which start at `offset` of the file. None when that
/// is no header, or a cut one.
pub(crate) fn parse_local(bytes: &[u8], offset: u64) -> Option<Entry> {
    let mut fields = Fields(bytes);
    if fields.bytes(4)? != LOCAL {
        return None;
    }
    let (_version, flags, method) = (fields.u16()?, fields.u16()?, fields.u16()?);
    let (_time, _date, crc) = (fields.u16()?, fields.u16()?, fields.u32()?);
    let (packed, _unpacked) = (fields.u32()?, fields.u32()?);
    let (name, extra) = (fields.u16()?, fields.u16()?);
    let name = String::from_utf8(fields.bytes(usize::from(name))?.to_vec()).ok()?;
    let extra = Fields(fields.bytes(usize::from(extra))?);
    let size = match packed {
        // The unpacked size stands first, the packed one second.
        IN_ZIP64 => Fields(extra.extra(ZIP64_TAG)?.get(8..)?).u64()?,
        size => u64::from(size),
    };
    let start = offset.checked_add((bytes.len() - fields.0.len()) as u64)?;
    Some(Entry {
        name,
        header: offset,
        data: start..start.checked_add(size)?,
        crc,
        note: extra.extra(NOTE_TAG).and_then(Note::parse),
        stored: method == 0 && flags & UNREADABLE_FLAGS == 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_with_and_without_a_note() {
        let note = Note { released: true, rows: 9, span: (5, 7) };
        for (size, note) in [(7, None), (7, Some(note)), (5_000_000_000, None), (0xFFFF_FFFF, None)]
        {
            let header = local_header("events/x.000001.parquet", size, 42, note);
            let start = 100 + header.len() as u64;
            assert_eq!(
                parse_local(&header, 100),
                Some(Entry {
                    name: "events/x.000001.parquet".into(),
                    header: 100,
                    data: start..start + size,
                    crc: 42,
                    note,
                    stored: true,
                })
            );
        }
    }

    #[test]
    fn a_cut_header_is_none() {
        let header = local_header(
            "meta.json",
            7,
            42,
            Some(Note { released: false, rows: 0, span: Note::TIMELESS }),
        );
        for cut in 0..header.len() {
            assert_eq!(parse_local(&header[..cut], 0), None, "cut at {cut}");
        }
    }

    #[test]
    fn sizes_that_overflow_are_none() {
        let header = local_header("a", u64::MAX - 3, 0, None);
        assert_eq!(parse_local(&header, 100), None);
    }
}
