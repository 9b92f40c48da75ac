//! Numbers, arrays and hash tables of precompiled images ("native format").
//!
//! ```text
//! array   count, block starts, then per 16 elements a binary tree of which only what exists is stored
//! table   buckets, bucket starts, entries: low byte of the hash, distance to the entry's data
//! ```
//!
//! Source: .NET's `docs/design/coreclr/botr/readytorun-format.md` and
//! `src/coreclr/vm/nativeformatreader.h`. Every walk is bounded by the length of the bytes.

use super::bytes::{index_at, size, u8_at, u32_at};

/// Elements below one tree.
const BLOCK: usize = 16;

/// An unsigned number of 1 to 5 bytes (the low bits of the first say how many), and where the next
/// begins.
pub(super) fn unsigned(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let first = u32::from(u8_at(bytes, at)?);
    let byte = |distance: usize| u8_at(bytes, at.checked_add(distance)?).map(u32::from);
    if first & 1 == 0 {
        Some((first >> 1, at + 1))
    } else if first & 2 == 0 {
        Some(((first >> 2) | (byte(1)? << 6), at + 2))
    } else if first & 4 == 0 {
        Some(((first >> 3) | (byte(1)? << 5) | (byte(2)? << 13), at + 3))
    } else if first & 8 == 0 {
        Some(((first >> 4) | (byte(1)? << 4) | (byte(2)? << 12) | (byte(3)? << 20), at + 4))
    } else if first & 16 == 0 {
        Some((u32_at(bytes, at + 1)?, at + 5))
    } else {
        None
    }
}

/// A sparse array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array<'a> {
    bytes: &'a [u8],
    base: usize,
    count: u32,
    index_size: usize,
}

impl<'a> Array<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (header, base) = unsigned(bytes, 0)?;
        let index_size = match header & 3 {
            0 => 1,
            1 => 2,
            _ => 4,
        };
        Some(Self { bytes, base, count: header >> 2, index_size })
    }

    /// Number of elements, of which most may not exist. As the file states it.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Where the data of an element begin.
    pub(super) fn get(&self, index: u32) -> Option<usize> {
        if index >= self.count {
            return None;
        }
        let (block, within) = (size(index) / BLOCK, size(index) % BLOCK);
        let start_at = self.base.checked_add(block.checked_mul(self.index_size)?)?;
        let start = number_at(self.bytes, start_at, self.index_size)?;
        let mut at = self.base.checked_add(size(start))?;
        for bit in [8, 4, 2, 1] {
            let (node, next) = unsigned(self.bytes, at)?;
            if within & bit == 0 && node & 1 != 0 {
                at = next;
            } else if within & bit != 0 && node & 2 != 0 {
                at = at.checked_add(size(node >> 2))?;
            } else if node & 3 == 0 && size(node >> 2) == within {
                // The only element below this node.
                return Some(next);
            } else {
                return None;
            }
        }
        Some(at)
    }
}

/// A hash table, of which only all entries are of interest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    buckets: u32,
    index_size: usize,
}

impl<'a> Table<'a> {
    /// Where the numbers of a table count from: behind its header.
    const BASE: usize = 1;

    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let header = u8_at(bytes, 0)?;
        let index_size = match header & 3 {
            0 => 1,
            1 => 2,
            2 => 4,
            _ => return None,
        };
        let buckets = 1_u32.checked_shl((header >> 2).into())?;
        Some(Self { bytes, buckets, index_size })
    }

    /// Where the data of each entry begin. Buckets that overlap end it: an entry takes two bytes at
    /// least, so there are no more than the bytes allow.
    pub(super) fn entries(&self) -> Vec<usize> {
        let mut found = Vec::new();
        for bucket in 0..self.buckets {
            let bounds = self.bound(bucket).zip(self.bound(bucket.saturating_add(1)));
            let Some((start, end)) = bounds else { break };
            let mut at = start;
            while at < end && found.len() <= self.bytes.len() / 2 {
                let Some((entry, next)) = self.entry(at + 1) else { break };
                found.push(entry);
                at = next;
            }
        }
        found
    }

    fn bound(&self, bucket: u32) -> Option<usize> {
        let at = Self::BASE.checked_add(size(bucket).checked_mul(self.index_size)?)?;
        Self::BASE.checked_add(size(number_at(self.bytes, at, self.index_size)?))
    }

    /// The data of the entry whose distance stands at a place, and where the next entry begins.
    fn entry(&self, at: usize) -> Option<(usize, usize)> {
        let (distance, next) = unsigned(self.bytes, at)?;
        let data = at.checked_add(size(distance)).filter(|data| *data < self.bytes.len())?;
        Some((data, next))
    }
}

fn number_at(bytes: &[u8], at: usize, width: usize) -> Option<u32> {
    match width {
        1 => u8_at(bytes, at).map(u32::from),
        width => index_at(bytes, at, width == 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_one_to_five_bytes() {
        for (bytes, number) in [
            (&[0x00][..], 0),
            (&[0xfe], 0x7f),
            (&[0x01, 0x02], 0x80),
            (&[0xfd, 0xff], 0x3fff),
            (&[0x03, 0x00, 0x02], 0x4000),
            (&[0x07, 0x00, 0x00, 0x02], 0x20_0000),
            (&[0x0f, 0x00, 0x00, 0x00, 0x10], 0x1000_0000),
        ] {
            assert_eq!(unsigned(bytes, 0), Some((number, bytes.len())), "{bytes:x?}");
            assert_eq!(unsigned(&bytes[..bytes.len() - 1], 0), None, "{bytes:x?} cut short");
        }
        assert_eq!(unsigned(&[0x1f, 0, 0, 0, 0, 0], 0), None);
    }

    /// An array of 20 with the elements 5 (alone below its root), and 16 and 17 (in a tree).
    #[test]
    fn an_array_has_only_what_is_stored() {
        let both = 3 | 2 << 2;
        let bytes = [
            (20 << 2) << 1, // the count, one byte for the start of each block
            2,
            4,
            (5 << 2) << 1, // block 0: only element 5, then its data
            0xaa,
            1 << 1, // block 1: left, left, left, then both
            1 << 1,
            1 << 1,
            both << 1,
            0xbb,
            0xcc,
        ];
        let array = Array::parse(&bytes).expect("it has a header");
        assert_eq!(array.count(), 20);
        let found: Vec<_> = (0..25).filter_map(|index| Some((index, array.get(index)?))).collect();
        assert_eq!(found, [(5, 4), (16, 9), (17, 10)]);
    }

    #[test]
    fn a_table_gives_every_entry() {
        // Two buckets, one byte for the start of each and the end; entries of hash and distance.
        let bytes = [1 << 2, 3, 5, 7, 0x10, 3 << 1, 0x20, 2 << 1, 0xaa, 0xbb];
        let table = Table::parse(&bytes).expect("it has a header");
        assert_eq!(table.entries(), [8, 9]);
    }

    #[test]
    fn buckets_that_overlap_end() {
        let mut bytes = vec![8 << 2];
        bytes.extend([0; 100]);
        bytes.extend([255; 1000]);
        let table = Table::parse(&bytes).expect("it has a header");
        assert!(table.entries().len() <= bytes.len());
    }
}
