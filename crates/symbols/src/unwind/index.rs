//! `.eh_frame_hdr`: the linker's sorted table from code addresses to unwind entries.
//!
//! Read directly instead of with gimli, for the one encoding that all linkers write (32-bit offsets from
//! the section itself): a search is then a few loads, and the numbers of a hostile table are checked.
//! Anything else is treated like a missing table. Source: LSB 5.0 core, chapter 10.6.2.

use gimli::{Endianity, RunTimeEndian};

/// Version, and the encodings of the pointer, the count and the table.
const USUAL: [u8; 4] = [1, PCREL | SDATA4, UDATA4, DATAREL | SDATA4];
const SDATA4: u8 = 0x0b;
const UDATA4: u8 = 0x03;
const PCREL: u8 = 0x10;
const DATAREL: u8 = 0x30;

const HEAD: usize = 12;
const ROW: usize = 8;

/// A usable table.
#[derive(Debug)]
pub(super) struct HeaderTable {
    /// The rows: start of the code, then its entry, each a signed distance from `address`.
    rows: Vec<u8>,
    /// Address of the section.
    address: u64,
    /// Address of `.eh_frame`.
    entries: u64,
    endian: RunTimeEndian,
}

/// Address of `.eh_frame`, as the header of a table at `address` states it.
pub(super) fn entries_address(header: &[u8], address: u64, endian: RunTimeEndian) -> Option<u64> {
    let usual = header.get(..2)? == &USUAL[..2];
    let distance = endian.read_i32(header.get(4..8)?);
    usual.then(|| address.checked_add(4)?.checked_add_signed(i64::from(distance))).flatten()
}

impl HeaderTable {
    /// The table of a section at `address`; `None` when there is none or in another encoding.
    pub(super) fn parse(
        header: &[u8],
        address: u64,
        entries: u64,
        endian: RunTimeEndian,
    ) -> Option<Self> {
        let (head, rows) = header.split_at_checked(HEAD)?;
        if head.get(..4)? != USUAL {
            return None;
        }
        let count = usize::try_from(endian.read_u32(head.get(8..12)?)).ok()?;
        let rows = rows.get(..count.checked_mul(ROW)?)?;
        (count > 0).then(|| Self { rows: rows.to_vec(), address, entries, endian })
    }

    /// Position in `.eh_frame` of the last entry that starts at or before an address.
    pub(super) fn entry(&self, address: u64) -> Option<usize> {
        let wanted = i64::try_from(i128::from(address) - i128::from(self.address)).ok()?;
        let (mut low, mut high) = (0, self.rows.len() / ROW);
        while low < high {
            let middle = low.midpoint(high);
            if i64::from(self.number(middle * ROW)?) <= wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.entry_of(low.checked_sub(1)?)
    }

    /// Positions in `.eh_frame` of all entries, by the address of their code.
    pub(super) fn entries(&self) -> impl Iterator<Item = usize> {
        (0..self.rows.len() / ROW).filter_map(|row| self.entry_of(row))
    }

    fn entry_of(&self, row: usize) -> Option<usize> {
        let distance = i64::from(self.number(row * ROW + 4)?);
        let entry = self.address.checked_add_signed(distance)?;
        usize::try_from(entry.checked_sub(self.entries)?).ok()
    }

    fn number(&self, at: usize) -> Option<i32> {
        self.rows.get(at..at.checked_add(4)?).map(|bytes| self.endian.read_i32(bytes))
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.rows.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(count: u32, rows: &[(i32, i32)]) -> Vec<u8> {
        let mut bytes = [&USUAL[..], &0x100i32.to_le_bytes(), &count.to_le_bytes()].concat();
        for (start, entry) in rows {
            bytes.extend(start.to_le_bytes());
            bytes.extend(entry.to_le_bytes());
        }
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<HeaderTable> {
        let endian = RunTimeEndian::Little;
        let entries = entries_address(bytes, 0x1000, endian)?;
        HeaderTable::parse(bytes, 0x1000, entries, endian)
    }

    #[test]
    fn the_last_entry_at_or_before_an_address() {
        let bytes = header(3, &[(-0x800, 0x104), (0, 0x114), (0x20, 0x124)]);
        let table = parse(&bytes).expect("usual");
        let found = [0x7ff, 0x800, 0xfff, 0x1000, 0x101f, 0x1020, u64::MAX]
            .map(|address| table.entry(address));
        assert_eq!(found, [None, Some(0), Some(0), Some(0x10), Some(0x10), Some(0x20), None]);
    }

    #[test]
    fn hostile_headers_are_no_tables() {
        assert!(parse(&header(u32::MAX, &[(0, 0)])).is_none(), "more rows than bytes");
        assert!(parse(&header(0, &[])).is_none());
        assert!(parse(&[1, 0xff, 0xff, 0xff]).is_none(), "a header without table");
        assert!(parse(&[]).is_none());
        let before_section = parse(&header(1, &[(0, -0x2000)])).expect("a table");
        assert_eq!(before_section.entry(0x1000), None, "an entry before its section");
    }
}
