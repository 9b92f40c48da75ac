//! What the crate beneath takes on trust, checked before it sees it.
//!
//! It allocates what a file's counts ask for, asserts the length of a build id and multiplies the
//! length of a call chain without looking: a damaged file would end the process or get an empty stack.

use std::io::{self, Read};

use linux_perf_data::linux_perf_event_reader::{
    Endianness, RawEventRecord, RecordType, SampleFormat,
};

/// Bytes of a record's header, and of a pipe's.
const HEADER: u64 = 8;
pub(super) const PIPE_HEADER: u64 = 16;

/// Records that only perf itself writes.
const FEATURE: u32 = 80;
const AUXTRACE: u32 = 71;

/// The feature that describes the events.
pub(super) const EVENT_DESC: u32 = 12;

/// Least bytes of an event's attributes.
pub(super) const LEAST_ATTRIBUTES: u64 = 64;

/// The build id stands in a mapping, in `misc`; and where its length is.
const MISC_BUILD_ID: u16 = 1 << 14;
const BUILD_ID_LENGTH: usize = 32;
const MOST_BUILD_ID: u8 = 20;

/// A number of the first bytes, in the order of bytes of the file.
pub(super) fn word(bytes: &[u8], little: bool) -> Option<u64> {
    let bytes = *bytes.first_chunk()?;
    Some(if little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
}

fn half(bytes: &[u8], little: bool) -> Option<u32> {
    let bytes = *bytes.first_chunk()?;
    Some(if little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
}

/// Whether the events of an `EVENT_DESC` section are as many and as long as it says.
pub(super) fn events_fit(section: &[u8], little: bool) -> bool {
    walk_events(section, little).is_some()
}

fn walk_events(section: &[u8], little: bool) -> Option<()> {
    let count = half(section, little)?;
    let attributes = u64::from(half(section.get(4..)?, little)?);
    if attributes < LEAST_ATTRIBUTES {
        return None;
    }
    let mut rest = section.get(8..)?;
    for _ in 0..count {
        rest = rest.get(usize::try_from(attributes).ok()?..)?;
        let ids = u64::from(half(rest, little)?) * 8;
        let name = u64::from(half(rest.get(4..)?, little)?);
        rest = rest.get(usize::try_from(8 + name + ids).ok()?..)?;
    }
    Some(())
}

/// Whether a record can be given to the crate's parsers.
pub(super) fn fits(record: &RawEventRecord<'_>) -> bool {
    let body = record.data.as_slice();
    match record.record_type {
        RecordType::SAMPLE => chain_fits(&body, record),
        RecordType::MMAP2 if record.misc & MISC_BUILD_ID != 0 => {
            body.get(BUILD_ID_LENGTH).is_some_and(|length| *length <= MOST_BUILD_ID)
        }
        _ => true,
    }
}

/// Whether a sample's call chain lies within it.
fn chain_fits(body: &[u8], record: &RawEventRecord<'_>) -> bool {
    let format = record.parse_info.sample_format;
    if !format.contains(SampleFormat::CALLCHAIN) {
        return true;
    }
    let before = SampleFormat::IDENTIFIER
        | SampleFormat::IP
        | SampleFormat::TID
        | SampleFormat::TIME
        | SampleFormat::ADDR
        | SampleFormat::ID
        | SampleFormat::STREAM_ID
        | SampleFormat::CPU
        | SampleFormat::PERIOD;
    let at = format.intersection(before).bits().count_ones() as usize * 8;
    let Some(rest) = body.get(at..) else { return false };
    let little = record.parse_info.endian == Endianness::LittleEndian;
    word(rest, little).is_some_and(|length| length < rest.len() as u64 / 8)
}

/// A stream of records that are checked as they pass.
#[derive(Debug, Default)]
pub(super) struct Records {
    little: bool,
    record: Vec<u8>,
    at: usize,
}

impl Records {
    pub(super) fn new(little: bool) -> Self {
        Self { little, ..Self::default() }
    }

    /// Passes on bytes of `inner`, which stands at a record or within the one that was begun.
    pub(super) fn read(&mut self, inner: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.record.len() {
            self.next(inner)?;
        }
        let read = (&self.record[self.at..]).read(into)?;
        self.at += read;
        Ok(read)
    }

    fn next(&mut self, inner: &mut impl Read) -> io::Result<()> {
        let refused = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidData, why));
        self.at = 0;
        self.record.clear();
        inner.by_ref().take(HEADER).read_to_end(&mut self.record)?;
        let Some(header) = word(&self.record, self.little) else { return Ok(()) };
        let (kind, size) = if self.little {
            (header & 0xffff_ffff, header >> 48)
        } else {
            (header >> 32, header & 0xffff)
        };
        let Some(length) = size.checked_sub(HEADER) else {
            return refused("a record is shorter than its header");
        };
        inner.by_ref().take(length).read_to_end(&mut self.record)?;
        let body = self.record.get(8..).unwrap_or_default();
        let first = word(body, self.little);
        if kind == u64::from(AUXTRACE) && first != Some(0) {
            return refused("hardware traces (AUX) are not read");
        }
        let events = first.is_some_and(|first| first & 0xffff_ffff == u64::from(EVENT_DESC));
        if kind == u64::from(FEATURE)
            && events
            && !events_fit(body.get(8..).unwrap_or_default(), self.little)
        {
            return refused("the description of the events is damaged");
        }
        Ok(())
    }
}

/// What comes out of a pipe: a short header and records.
pub(super) struct Pipe<R> {
    inner: R,
    header: u64,
    records: Records,
}

impl<R: Read> Pipe<R> {
    pub(super) fn new(inner: R, little: bool) -> Self {
        Self { inner, header: PIPE_HEADER, records: Records::new(little) }
    }
}

impl<R: Read> Read for Pipe<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.header == 0 {
            return self.records.read(&mut self.inner, into);
        }
        let read = self.inner.by_ref().take(self.header).read(into)?;
        self.header -= read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One event of 64 bytes with `ids` ids, of which one is there.
    fn events(count: u8, ids: u8) -> Vec<u8> {
        let mut section = vec![count, 0, 0, 0, 64, 0, 0, 0];
        section.extend([0; 64]);
        section.extend([ids, 0, 0, 0, 2, 0, 0, 0, b'c', 0]);
        section.extend([7; 8]);
        section
    }

    #[test]
    fn counts_beyond_a_section_are_noticed() {
        assert!(events_fit(&events(1, 1), true));
        assert!(!events_fit(&events(2, 1), true));
        assert!(!events_fit(&events(1, 2), true));
        assert!(!events_fit(&events(1, 1), false));
        assert!(!events_fit(&[], true));
    }

    #[test]
    fn records_that_ask_for_memory_are_refused() {
        let read = |record: &[u8]| {
            let mut out = [0; 64];
            Records::new(true).read(&mut &*record, &mut out)
        };
        let mut trace = vec![71, 0, 0, 0, 0, 0, 16, 0];
        trace.extend([0xff; 8]);
        assert!(read(&trace).is_err());
        assert!(read(&[9, 0, 0, 0, 0, 0, 4, 0]).is_err());
        assert_eq!(read(&[9, 0, 0, 0, 0, 0, 8, 0]).expect("an empty record"), 8);
    }
}
