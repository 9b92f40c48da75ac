//! The header of a file, and the sections in front of and behind its records.
//!
//! ```text
//! magic, size of an attribute
//! attributes  ----> attributes, each with the place of its ids
//! data        ----> records
//! features    bits; behind the records one place and size for each bit that is set
//! ```
//!
//! A recorder that was killed leaves no size of the records and no sections behind them; then what
//! follows is taken for records. Source: tools/perf/Documentation/perf.data-file-format.txt.

use std::io::{Read, Seek, SeekFrom};

use culprit_kernel::attr::LEAST;
use culprit_kernel::{Attr, Order, Words};

/// Bytes of the header of a file.
const HEADER: u64 = 104;

/// Bytes of a section's place and size.
const SECTION: usize = 16;

/// Most events; perf's own limit is files.
const MOST_EVENTS: u64 = 1 << 16;

/// Most bytes of the ids of all events together.
const MOST_IDS: u64 = 64 << 20;

/// Most bytes of one section behind the records: names of events are the longest, below 10 MB.
const MOST_SECTION: u64 = 64 << 20;

/// A place in the file and how many bytes are there.
type Section = (u64, u64);

/// What stands around the records.
#[derive(Debug, Default)]
pub(super) struct Around {
    pub(super) order: Order,
    /// Attributes with the ids of their events.
    pub(super) attrs: Vec<(Attr, Vec<u64>)>,
    /// Sections behind the records by their number, whole.
    pub(super) features: Vec<(u32, Vec<u8>)>,
    /// How many bytes of records there are; the input stands at the first.
    pub(super) records: u64,
    /// What could not be read.
    pub(super) damage: Vec<&'static str>,
}

impl Around {
    /// Reads the header of a file and leaves the input at its records.
    ///
    /// # Errors
    /// When not even the attributes can be read.
    pub(super) fn read(input: &mut (impl Read + Seek), order: Order) -> Result<Self, String> {
        let size = input.seek(SeekFrom::End(0)).map_err(|error| error.to_string())?;
        let header = at(input, (0, HEADER)).ok_or("its header is cut short")?;
        let long = |place: usize| header.get(place..).and_then(|b| Words::new(b, order).u64());
        let section = |place: usize| Some((long(place)?, long(place + 8)?));
        let length = long(16).unwrap_or(0);
        let (attributes, data) = section(24).zip(section(40)).ok_or("its header is cut short")?;
        let mut around = Self { order, ..Self::default() };
        around.read_attrs(input, attributes, length, size)?;
        if data.0 > size || data.0 < HEADER {
            return Err("its records are behind the end of the file".to_owned());
        }
        let end = data.0.checked_add(data.1).filter(|end| *end <= size && data.1 > 0);
        around.records = end.map_or(size, |end| end) - data.0;
        match end {
            None => around.damage.push("the recording is cut short or unfinished"),
            Some(end) => {
                let bits = (0..4).filter_map(|word| long(72 + word * 8)).collect::<Vec<_>>();
                around.read_features(input, end, &bits, size);
            }
        }
        input.seek(SeekFrom::Start(data.0)).map_err(|error| error.to_string())?;
        Ok(around)
    }

    /// The attributes: each is followed by the place of its ids.
    fn read_attrs(
        &mut self,
        input: &mut (impl Read + Seek),
        place: Section,
        length: u64,
        size: u64,
    ) -> Result<(), String> {
        if length < (LEAST + SECTION) as u64 || place.1 / length > MOST_EVENTS {
            return Err("the size of its attributes is invalid".to_owned());
        }
        let bytes =
            within(input, place, size).ok_or("its attributes are behind the end of the file")?;
        let mut ids_left = MOST_IDS;
        let chunk = usize::try_from(length).unwrap_or(usize::MAX);
        for entry in bytes.chunks_exact(chunk) {
            let (attr, ids) = entry.split_at(chunk - SECTION);
            let attr = Attr::read(attr, self.order).ok_or("its attributes are cut short")?;
            let mut words = Words::new(ids, self.order);
            let ids = words.u64().zip(words.u64()).unwrap_or_default();
            ids_left = ids_left.saturating_sub(ids.1);
            let ids = within(input, ids, size).filter(|_| ids_left > 0);
            if ids.is_none() {
                self.damage.push("the ids of its events are cut short");
            }
            let ids = Words::new(ids.as_deref().unwrap_or_default(), self.order).all();
            self.attrs.push((attr, ids));
        }
        Ok(())
    }

    /// The sections behind the records. One that is cut is left out, the others are read.
    fn read_features(
        &mut self,
        input: &mut (impl Read + Seek),
        table: u64,
        bits: &[u64],
        size: u64,
    ) {
        let set = (0..256_u32).filter(|bit| {
            bits.get((bit / 64) as usize).is_some_and(|word| word >> (bit % 64) & 1 != 0)
        });
        let set: Vec<u32> = set.collect();
        let length = (set.len() * SECTION) as u64;
        let Some(places) = within(input, (table, length), size) else {
            self.damage.push("the part after the records is missing");
            return;
        };
        let mut words = Words::new(&places, self.order);
        let mut cut = false;
        for feature in set {
            let place = words.u64().zip(words.u64()).unwrap_or_default();
            match within(input, place, size) {
                _ if !super::features::is_read(feature) => {}
                Some(bytes) => self.features.push((feature, bytes)),
                None => cut = true,
            }
        }
        if cut {
            self.damage.push("sections after the records are cut short");
        }
    }
}

/// The bytes of a section that lies within the file and is no longer than makes sense.
fn within(input: &mut (impl Read + Seek), place: Section, size: u64) -> Option<Vec<u8>> {
    let end = place.0.checked_add(place.1)?;
    (end <= size && place.1 <= MOST_SECTION).then(|| at(input, place)).flatten()
}

fn at(input: &mut (impl Read + Seek), (place, length): Section) -> Option<Vec<u8>> {
    input.seek(SeekFrom::Start(place)).ok()?;
    let mut bytes = Vec::new();
    input.by_ref().take(length).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == length).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A file of one event with `records` bytes of records and one section behind them.
    fn file(records: u64, stated: u64) -> Vec<u8> {
        let mut words = vec![u64::from_le_bytes(*b"PERFILE2"), HEADER, (LEAST + SECTION) as u64];
        let data = HEADER + (LEAST + SECTION) as u64 + 8;
        words.extend([HEADER + 8, (LEAST + SECTION) as u64, data, stated, 0, 0, 1 << 3, 0, 0, 0]);
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(77_u64.to_le_bytes());
        bytes.extend([0; LEAST]);
        bytes.extend([HEADER, 8].iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(vec![0; usize::try_from(records).expect("few")]);
        bytes.extend([data + records + 16, 8].iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend([4, 0, 0, 0, b'h', b'o', 0, 0]);
        bytes
    }

    #[test]
    fn attributes_ids_and_sections_are_found() {
        let mut input = Cursor::new(file(32, 32));
        let around = Around::read(&mut input, Order::Little).expect("a header");
        assert_eq!(around.attrs[0].1, [77]);
        assert_eq!((around.records, around.features.len()), (32, 1));
        assert!(around.damage.is_empty());
        assert_eq!(input.position(), HEADER + 8 + (LEAST + SECTION) as u64);
    }

    #[test]
    fn what_is_cut_behind_the_records_costs_no_record() {
        let whole = file(32, 32);
        let around = Around::read(&mut Cursor::new(&whole[..whole.len() - 4]), Order::Little);
        let around = around.expect("a header");
        assert_eq!((around.records, around.damage.len()), (32, 1));
        let killed = Around::read(&mut Cursor::new(&file(32, 0)), Order::Little).expect("a header");
        assert_eq!((killed.records, killed.damage.len()), (32 + 24, 1));
        for end in 0..whole.len() {
            let _ = Around::read(&mut Cursor::new(&whole[..end]), Order::Little);
        }
    }
}
