//! The header of a perf.data file, made safe before anything trusts it.
//!
//! Its sections are places and sizes that the crate which reads them allocates. Sections that reach
//! past the end of the file (a recording that was cut or never finished) are left out; then the
//! records are still there, and names of events and build ids are not.

use std::io::{self, Read, Seek, SeekFrom};

use super::check::{self, EVENT_DESC, LEAST_ATTRIBUTES, Records};

/// Bytes of the header.
const HEADER: usize = 104;
/// Where its sections stand: attributes, data, event types.
const SECTIONS: [usize; 3] = [24, 40, 56];
/// Where the bits of the features stand.
const FEATURES: usize = 72;
/// Where the size of an event's attributes stands, and most events.
const ATTRIBUTES: usize = 16;
const MOST_EVENTS: u64 = 1 << 16;
/// Where the bits of simpleperf's own features stand, behind all others.
const FOREIGN: usize = FEATURES + 16;
/// Bytes of a section's place and size.
const SECTION: usize = 16;

/// A file behind a repaired header.
pub(super) struct Repaired<R> {
    inner: R,
    header: [u8; HEADER],
    at: u64,
    /// The records, once they are being read.
    records: Option<Records>,
    /// What had to be left out.
    pub(super) damage: Option<&'static str>,
}

impl<R: Read + Seek> Repaired<R> {
    /// Reads the header and checks it against the length of the file.
    pub(super) fn new(mut inner: R) -> Result<Self, String> {
        let failed = |error: io::Error| format!("its header: {error}");
        let size = inner.seek(SeekFrom::End(0)).map_err(failed)?;
        inner.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut header = [0; HEADER];
        inner.read_exact(&mut header).map_err(failed)?;
        let mut file = Self { inner, header, at: 0, records: None, damage: None };
        file.check(size)?;
        file.at = 0;
        Ok(file)
    }

    fn check(&mut self, size: u64) -> Result<(), String> {
        let least = self.number(ATTRIBUTES);
        if least < LEAST_ATTRIBUTES || self.number(SECTIONS[0] + 8) / least > MOST_EVENTS {
            return Err("the size of its attributes makes no sense".to_owned());
        }
        // Nothing has written types since 2013; what reads them trusts the sizes in them, as what
        // reads simpleperf's features does.
        self.set(SECTIONS[2] + 8, 0);
        self.header[FOREIGN..].fill(0);
        let [attributes, data, _] = SECTIONS.map(|at| (self.number(at), self.number(at + 8)));
        let fits = |(at, length): (u64, u64)| at.checked_add(length).is_some_and(|end| end <= size);
        if !fits(attributes) {
            return Err("its attributes lie behind its end".to_owned());
        }
        if data.0 > size {
            return Err("its records lie behind its end".to_owned());
        }
        // A recorder that was killed leaves a size of 0.
        if !fits(data) || data.1 == 0 {
            self.set(SECTIONS[1] + 8, size - data.0);
            self.damage = Some("the recording was cut or never finished");
        }
        let end = self.number(SECTIONS[1]) + self.number(SECTIONS[1] + 8);
        if self.damage.is_some() || !self.features_fit(end, size).unwrap_or(false) {
            self.header[FEATURES..].fill(0);
            self.damage.get_or_insert("the part behind the records is missing or damaged");
        }
        Ok(())
    }

    /// Whether every feature's section lies within the file, and the events' makes sense.
    fn features_fit(&mut self, table: u64, size: u64) -> io::Result<bool> {
        let count: u32 = self.header[FEATURES..].iter().map(|byte| byte.count_ones()).sum();
        let described = 1u64 << EVENT_DESC;
        let bits = self.number(FEATURES);
        let events = (bits & described != 0).then(|| (bits & (described - 1)).count_ones());
        self.inner.seek(SeekFrom::Start(table))?;
        let (mut all, mut place) = (0u64, None);
        for index in 0..count {
            let mut section = [0; SECTION];
            self.inner.read_exact(&mut section)?;
            let (at, length) = (self.word(&section[..8]), self.word(&section[8..]));
            all = all.saturating_add(length);
            if at.checked_add(length).is_none_or(|end| end > size) || all > size {
                return Ok(false);
            }
            if events == Some(index) {
                place = Some((at, length));
            }
        }
        let Some((at, length)) = place else { return Ok(true) };
        let mut section = Vec::new();
        self.inner.seek(SeekFrom::Start(at))?;
        self.inner.by_ref().take(length).read_to_end(&mut section)?;
        Ok(check::events_fit(&section, self.is_little()))
    }

    fn is_little(&self) -> bool {
        self.header.starts_with(b"PERFILE2")
    }

    fn word(&self, bytes: &[u8]) -> u64 {
        check::word(bytes, self.is_little()).unwrap_or_default()
    }

    fn number(&self, at: usize) -> u64 {
        self.word(&self.header[at..])
    }

    fn set(&mut self, at: usize, value: u64) {
        let bytes = if self.is_little() { value.to_le_bytes() } else { value.to_be_bytes() };
        self.header[at..at + 8].copy_from_slice(&bytes);
    }
}

impl<R: Read + Seek> Read for Repaired<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let at = usize::try_from(self.at).unwrap_or(HEADER).min(HEADER);
        let read = if at < HEADER {
            let count = into.len().min(HEADER - at);
            into[..count].copy_from_slice(&self.header[at..at + count]);
            if at + count == HEADER {
                self.inner.seek(SeekFrom::Start(HEADER as u64))?;
            }
            count
        } else if let Some(records) = &mut self.records {
            records.read(&mut self.inner, into)?
        } else {
            self.inner.read(into)?
        };
        self.at += read as u64;
        Ok(read)
    }
}

impl<R: Read + Seek> Seek for Repaired<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Current(by) => SeekFrom::Start(self.at.saturating_add_signed(by)),
            other => other,
        };
        self.at = self.inner.seek(to)?;
        let begun = self.at == self.number(SECTIONS[1]);
        self.records = begun.then(|| Records::new(self.is_little()));
        Ok(self.at)
    }
}
