//! The records of a file one after the other, unpacked where `perf record -z` packed them.
//!
//! Sizes come from the file: a record has at most 64 KiB, what stands behind one is skipped and not
//! kept, and how much is unpacked is bounded by the bytes that it came from.

use std::io::{self, Read};

use culprit_kernel::{Header, Order, Words};
use zstd::stream::raw::{Decoder, InBuffer, Operation as _, OutBuffer};

/// Bytes that are asked of the file at a time.
const CHUNK: usize = 1 << 20;

/// Bytes that are unpacked at a time.
const PIECE: usize = 256 << 10;

/// Kinds of records that only perf itself writes.
pub(super) mod kind {
    pub(crate) const ATTR: u32 = 64;
    pub(crate) const TRACING_DATA: u32 = 66;
    pub(crate) const BUILD_ID: u32 = 67;
    pub(crate) const FINISHED_ROUND: u32 = 68;
    pub(crate) const AUXTRACE: u32 = 71;
    pub(crate) const EVENT_UPDATE: u32 = 78;
    pub(crate) const FEATURE: u32 = 80;
    pub(crate) const COMPRESSED: u32 = 81;
    pub(crate) const COMPRESSED2: u32 = 83;
}

/// The most that packed records may hold: what of them fits in memory, and for large files so many
/// bytes for each packed one. Call chains pack to a twentieth.
const MOST_UNPACKED: u64 = 2 << 30;
const MOST_RATIO: u64 = 256;

/// Where a record's bytes are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) header: Header,
    place: (bool, usize, usize),
}

/// Records under reading.
pub(super) struct Records<R> {
    inner: R,
    order: Order,
    /// Bytes of the records that were not asked for yet.
    left: u64,
    plain: Buffer,
    unpacked: Buffer,
    decoder: Option<Decoder<'static>>,
    packed: u64,
    grown: u64,
    most: u64,
}

/// Bytes, and how many of them are done.
#[derive(Debug, Default)]
struct Buffer {
    bytes: Vec<u8>,
    at: usize,
}

impl Buffer {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Forgets what is done.
    fn compact(&mut self) {
        self.bytes.drain(..self.at);
        self.at = 0;
    }

    /// The record here, if it is whole. An error says that it cannot be one.
    #[inline]
    fn record(&mut self, order: Order, unpacked: bool) -> Result<Option<Record>, &'static str> {
        let Some(header) = Header::read(&mut Words::new(self.rest(), order)) else {
            return Ok(None);
        };
        let size = usize::from(header.size);
        if size < Header::BYTES {
            return Err("a record is shorter than its header");
        }
        if self.bytes.len() - self.at < size {
            return Ok(None);
        }
        let place = (unpacked, self.at, self.at + size);
        self.at += size;
        Ok(Some(Record { header, place }))
    }
}

impl<R: Read> Records<R> {
    /// The records that stand in the next `length` bytes of `inner`.
    pub(super) fn new(inner: R, order: Order, length: u64) -> Self {
        Self {
            inner,
            order,
            left: length,
            plain: Buffer::default(),
            unpacked: Buffer::default(),
            decoder: None,
            packed: 0,
            grown: 0,
            most: MOST_UNPACKED,
        }
    }

    /// The bytes of the record that was read last, with its header.
    #[inline]
    pub(super) fn bytes(&self, record: Record) -> &[u8] {
        let (unpacked, from, to) = record.place;
        let buffer = if unpacked { &self.unpacked } else { &self.plain };
        &buffer.bytes[from..to]
    }

    /// The same without its header.
    #[inline]
    pub(super) fn body(&self, record: Record) -> &[u8] {
        &self.bytes(record)[Header::BYTES..]
    }

    /// The next record; none at the end.
    ///
    /// # Errors
    /// Why nothing that follows can be read.
    pub(super) fn next(&mut self) -> Result<Option<Record>, String> {
        loop {
            if self.unpacked.at < self.unpacked.bytes.len()
                && let Some(record) = self.unpacked.record(self.order, true)?
            {
                return Ok(Some(record));
            }
            let Some(record) = self.next_plain()? else { return self.end() };
            match record.header.kind {
                kind::COMPRESSED | kind::COMPRESSED2 => self.unpack(record)?,
                _ => return Ok(Some(record)),
            }
        }
    }

    fn end(&self) -> Result<Option<Record>, String> {
        match self.plain.rest().len() + self.unpacked.rest().len() {
            0 => Ok(None),
            _ => Err("the last record is cut short".to_owned()),
        }
    }

    fn next_plain(&mut self) -> Result<Option<Record>, String> {
        loop {
            if let Some(record) = self.plain.record(self.order, false)? {
                return Ok(Some(record));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Reads on; false at the end.
    fn fill(&mut self) -> Result<bool, String> {
        self.plain.compact();
        let from = self.plain.bytes.len();
        let wanted = usize::try_from(self.left.min(CHUNK as u64)).unwrap_or(CHUNK);
        self.plain.bytes.resize(from + wanted, 0);
        let read = read_some(&mut self.inner, &mut self.plain.bytes[from..]);
        let count = *read.as_ref().unwrap_or(&0);
        self.plain.bytes.truncate(from + count);
        self.left -= count as u64;
        read.map(|count| count > 0).map_err(|error| error.to_string())
    }

    /// Skips bytes that stand behind a record and belong to it.
    ///
    /// # Errors
    /// When they end early.
    pub(super) fn skip(&mut self, length: u64) -> Result<(), String> {
        self.behind(length, &mut |_| ())
    }

    /// The bytes that stand behind a record, `most` of them.
    ///
    /// # Errors
    /// When they end early.
    pub(super) fn read_behind(&mut self, length: u64, most: usize) -> Result<Vec<u8>, String> {
        let mut kept = Vec::new();
        self.behind(length, &mut |bytes| {
            let room = most.saturating_sub(kept.len());
            kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        })?;
        Ok(kept)
    }

    fn behind(&mut self, mut length: u64, each: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        while length > 0 {
            let rest = self.plain.rest();
            let count = rest.len().min(usize::try_from(length).unwrap_or(usize::MAX));
            each(&rest[..count]);
            self.plain.at += count;
            length -= count as u64;
            if length > 0 && !self.fill()? {
                return Err("the data after a record is cut short".to_owned());
            }
        }
        Ok(())
    }

    /// Unpacks a record of records behind those that were unpacked before.
    fn unpack(&mut self, record: Record) -> Result<(), String> {
        let Self { plain, unpacked, decoder, .. } = self;
        let (_, from, to) = record.place;
        let mut packed = &plain.bytes[from + Header::BYTES..to];
        if record.header.kind == kind::COMPRESSED2 {
            let mut words = Words::new(packed, self.order);
            let size = words.u64().unwrap_or(0);
            packed = words.take(size).ok_or("a compressed record is cut short")?;
        }
        let decoder = match decoder {
            Some(decoder) => decoder,
            None => decoder.insert(Decoder::new().map_err(|error| error.to_string())?),
        };
        self.packed += packed.len() as u64;
        let most = self.most.saturating_add(self.packed.saturating_mul(MOST_RATIO));
        unpacked.compact();
        let mut input = InBuffer::around(packed);
        loop {
            let from = unpacked.bytes.len();
            unpacked.bytes.resize(from + PIECE, 0);
            let mut output = OutBuffer::around(&mut unpacked.bytes[from..]);
            let ran = decoder.run(&mut input, &mut output);
            let written = output.pos();
            unpacked.bytes.truncate(from + written);
            self.grown += written as u64;
            ran.map_err(|error| format!("its compressed records: {error}"))?;
            if self.grown > most {
                return Err(format!("its records have more than {most} bytes when decompressed"));
            }
            if written < PIECE && input.pos() == packed.len() {
                return Ok(());
            }
            if written == 0 {
                return Err("its compressed records are damaged".to_owned());
            }
        }
    }
}

/// As `read`, again when it was interrupted.
fn read_some(inner: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match inner.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, body: &[u8]) -> Vec<u8> {
        let size = u16::try_from(Header::BYTES + body.len()).expect("a small record").to_le_bytes();
        let mut bytes = vec![kind, 0, 0, 0, 0, 0, size[0], size[1]];
        bytes.extend_from_slice(body);
        bytes
    }

    fn all(bytes: &[u8]) -> Result<Vec<(u32, Vec<u8>)>, String> {
        let mut records = Records::new(bytes, Order::Little, u64::MAX);
        let mut read = Vec::new();
        while let Some(record) = records.next()? {
            read.push((record.header.kind, records.body(record).to_vec()));
        }
        Ok(read)
    }

    #[test]
    fn packed_records_are_those_that_were_packed_also_across_pieces() {
        let inner = [record(9, &[1; 16]), record(10, &[2; 24])].concat();
        let packed = zstd::bulk::compress(&inner, 1).expect("packed");
        let halves = packed.split_at(packed.len() / 2);
        let file = [record(81, halves.0), record(81, halves.1), record(68, &[])].concat();
        let expected = vec![(9, vec![1; 16]), (10, vec![2; 24]), (68, Vec::new())];
        assert_eq!(all(&file), Ok(expected));
    }

    #[test]
    fn a_small_file_cannot_unpack_to_more_than_is_allowed() {
        let inner = record(200, &[0; 60_000]).repeat(200);
        let packed = zstd::bulk::compress(&inner, 1).expect("packed");
        assert!(packed.len() < 30_000, "{}", packed.len());
        let file = record(81, &packed);
        let read = |most: u64| {
            let mut records = Records::new(&*file, Order::Little, u64::MAX);
            records.most = most;
            while records.next()?.is_some() {}
            Ok::<_, String>(records.grown)
        };
        assert_eq!(read(MOST_UNPACKED), Ok(inner.len() as u64));
        let why = read(1 << 20).expect_err("a bound");
        assert!(why.contains("bytes when decompressed"), "{why}");
    }

    #[test]
    fn cut_and_impossible_records_are_errors_behind_whole_ones() {
        let file = [record(9, &[1; 16]), record(9, &[1; 16])].concat();
        let mut records = Records::new(&file[..40], Order::Little, u64::MAX);
        assert!(records.next().is_ok_and(|record| record.is_some()));
        assert!(records.next().is_err());
        assert!(all(&[9, 0, 0, 0, 0, 0, 4, 0]).is_err());
        assert!(all(&record(81, b"no zstd at all")).is_err());
    }
}
