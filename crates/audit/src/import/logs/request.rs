//! What a line of any log says of one request.

use std::borrow::Cow;

use culprit_model::labels;
use twox_hash::XxHash64;

use crate::import::batch::{Batch, Words};
use crate::import::xdb::path_of;
use crate::import::zone::{LocalTimes, LogTime};
use crate::values::is_plausible;

labels! {
    /// What a field of a log says.
    LogField ("field of logs") {
        /// When the request ended, or only the time of the day.
        Time = "time",
        /// The day, where it has a field of its own.
        Date = "date",
        /// Address of the client.
        Address = "address",
        /// User agent.
        Agent = "agent",
        /// Method of the request.
        Method = "method",
        /// Path or address that was requested.
        Path = "path",
        /// The line that was requested: method, path and version.
        Request = "request",
        /// Status of the answer.
        Status = "status",
        /// Bytes of the answer.
        Sent = "sent",
    }
}

/// One request; texts are numbers of the chunk's dictionaries.
#[derive(Debug)]
pub(crate) struct Request {
    pub(super) row: u64,
    pub(super) time: LogTime,
    pub(super) address: u32,
    pub(super) agent: u32,
    pub(super) path: u32,
    pub(super) head: bool,
    pub(super) status: u16,
    pub(super) sent: u64,
    pub(super) line_bytes: u32,
    /// Hash of the line, to find lines that stand in two files.
    pub(super) hash: u64,
}

/// Fields of logs, each there or not.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FieldSet(u16);

impl FieldSet {
    pub(crate) fn add(&mut self, field: LogField) {
        self.0 |= 1 << field as u16;
    }

    pub(crate) fn add_all(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(crate) fn has(self, field: LogField) -> bool {
        self.0 & (1 << field as u16) != 0
    }
}

/// The requests of one chunk.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(super) requests: Vec<Request>,
    pub(super) addresses: Words,
    pub(super) agents: Words,
    pub(super) paths: Words,
    /// How many lines there are, and those that could not be read.
    pub(crate) lines: Batch,
    /// Fields that a line had under the name of `--field`.
    pub(crate) own_fields: FieldSet,
}

/// What a line says.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LogLine<'a> {
    pub(super) time: LogTime,
    pub(super) address: &'a [u8],
    pub(super) agent: &'a [u8],
    pub(super) method: &'a [u8],
    /// Path or address; empty when the request could not be read by the server.
    pub(super) target: &'a [u8],
    pub(super) status: u16,
    pub(super) sent: u64,
    /// Bytes of the line.
    pub(super) bytes: usize,
}

impl Requests {
    /// When the first request was; none without one.
    pub(crate) fn first_ms(&self) -> Option<i64> {
        self.requests.first().map(|request| request.time.ms)
    }

    /// How many requests there are.
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    /// A time as the clock showed it, in UTC.
    pub(super) fn local(&mut self, local: i64, times: &LocalTimes) -> LogTime {
        let time = times.utc(local);
        self.lines.times_local += 1;
        self.lines.times_skipped += u64::from(time.never);
        self.lines.times_repeated += u64::from(time.again_ms > 0);
        time
    }

    /// Adds the request of a line.
    ///
    /// # Errors
    /// When its time is outside of the years of visits.
    pub(super) fn add(&mut self, line: &LogLine<'_>) -> Result<(), &'static str> {
        if !is_plausible(line.time.ms) {
            return Err("the time is outside of the years 1990 to 2100");
        }
        let target = text(line.target);
        self.requests.push(Request {
            row: self.lines.rows,
            time: line.time,
            address: self.addresses.number(&text(line.address)),
            agent: self.agents.number(&text(line.agent)),
            path: self.paths.number(path_of(if target.is_empty() { "/" } else { &target })),
            head: line.method == b"HEAD",
            status: line.status,
            sent: line.sent,
            line_bytes: u32::try_from(line.bytes).unwrap_or(u32::MAX),
            hash: 0,
        });
        Ok(())
    }
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Reads the lines of a chunk: `each` adds the request of a line, or says why it cannot.
pub(super) fn read_lines<'a>(
    chunk: &'a [u8],
    mut each: impl FnMut(&'a [u8], &mut Requests) -> Result<(), &'static str>,
) -> Requests {
    let mut out = Requests::default();
    let mut from = 0;
    while from < chunk.len() {
        let end = memchr::memchr(b'\n', &chunk[from..]).map_or(chunk.len(), |at| from + at);
        let line = &chunk[from..end];
        from = end + 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        out.lines.rows += 1;
        let before = out.requests.len();
        if let Err(reason) = each(line, &mut out) {
            let row = out.lines.rows;
            out.lines.reject(row, reason, line);
        }
        for request in &mut out.requests[before..] {
            request.hash = XxHash64::oneshot(0, line);
        }
    }
    out
}

/// Method and target of a request's line; a target without a method for anything else.
pub(super) fn request_line(request: &[u8]) -> (&[u8], &[u8]) {
    let mut parts = request.split(|byte| *byte == b' ');
    let method = parts.next().unwrap_or_default();
    (method, parts.next().unwrap_or(b"/"))
}

/// What stands between quotes, and what follows. A backslash protects a quote.
pub(super) fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = text.strip_prefix(b"\"")?;
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', inner.get(at..)?)?;
        if inner[at] == b'"' {
            return Some((&inner[..at], &inner[at + 1..]));
        }
        at += 2;
    }
}

/// A status, which is a number of three digits or 0.
pub(super) fn status(text: &[u8]) -> Option<u16> {
    crate::values::whole(text).and_then(|number| u16::try_from(number).ok())
}

/// A number of bytes; 0 for `-` and for nonsense.
pub(super) fn size(text: &[u8]) -> u64 {
    crate::values::whole(text).and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
}

/// An address without the port behind it: `10.0.0.1:80`, `[2001:db8::1]:443`.
pub(super) fn without_port(text: &[u8]) -> &[u8] {
    if let Some(rest) = text.strip_prefix(b"[") {
        return memchr::memchr(b']', rest).map_or(rest, |end| &rest[..end]);
    }
    let colons = memchr::memchr_iter(b':', text).count();
    match memchr::memrchr(b':', text) {
        // With more colons than one it is an IPv6 address without a port.
        Some(at) if colons == 1 => &text[..at],
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_loses_its_port() {
        for (text, address) in [
            ("10.0.0.1:80", "10.0.0.1"),
            ("10.0.0.1", "10.0.0.1"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
            ("[broken", "broken"),
            ("", ""),
        ] {
            assert_eq!(without_port(text.as_bytes()), address.as_bytes(), "{text}");
        }
    }
}
