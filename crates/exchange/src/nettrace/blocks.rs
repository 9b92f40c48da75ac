//! The blocks of a trace, and what its first one says about the whole.
//!
//! Until version 5 a block is an object in the way of the .NET library FastSerialization: tags around
//! a type with its name, then the size, aligned to four bytes of the file. Since version 6 it is a
//! size of 24 bits and a kind of 8.

use super::bytes::{Cursor, Wrong};
use crate::format::Refusal;

/// What every trace begins with.
pub(super) const MAGIC: &[u8] = b"Nettrace";

/// What follows it until version 5, behind its length.
const SERIALIZATION: &[u8] = b"!FastSerialization.1";

/// Tags of FastSerialization.
const NULL: u8 = 1;
const BEGIN: u8 = 5;
const END: u8 = 6;

/// The newest version that is read.
const NEWEST: u32 = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Trace,
    Events,
    Metadata,
    Stacks,
    SequencePoint,
    Threads,
    Labels,
    /// Threads that ended, what later versions add.
    Other,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) kind: Kind,
    pub(super) body: &'a [u8],
}

/// Facts of the whole trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Trace {
    pub(super) version: u32,
    /// The real time of `ticks`, ns since 1970.
    pub(super) start: u64,
    ticks: u64,
    /// Ticks in a second.
    frequency: u64,
    /// Bytes of an address: 4 or 8.
    pub(super) pointer: usize,
    /// 0 for traces of several processes.
    pub(super) process: u32,
    /// Between two samples of a CPU, ns; none where that is not told.
    pub(super) period: Option<u64>,
}

impl Trace {
    /// A reading of the clock as ns since 1970.
    pub(super) fn time(&self, ticks: u64) -> Option<u64> {
        let since = i128::from(ticks.cast_signed()) - i128::from(self.ticks.cast_signed());
        let nanos = since.checked_mul(1_000_000_000)? / i128::from(self.frequency.max(1));
        u64::try_from(i128::from(self.start) + nanos).ok().filter(|time| time.cast_signed() >= 0)
    }

    /// A number of ticks in nanoseconds.
    pub(super) fn span(&self, ticks: u64) -> Option<u64> {
        let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(self.frequency.max(1));
        u64::try_from(nanos).ok().filter(|nanos| nanos.cast_signed() >= 0)
    }

    fn parse(body: &[u8], version: u32) -> Result<Self, Wrong> {
        let mut cursor = Cursor::new(body);
        let mut date = [0; 8];
        for part in &mut date {
            *part = u64::from(cursor.u16()?);
        }
        let (ticks, frequency) = (cursor.u64()?, cursor.u64()?);
        let pointer = if cursor.u32()? == 4 { 4 } else { 8 };
        let start = since_1970(date);
        let trace = Self { version, start, ticks, frequency, pointer, process: 0, period: None };
        if version < 6 {
            return Ok(Self { process: cursor.u32()?, ..trace });
        }
        trace.told(&mut cursor)
    }

    /// What the pairs of names and values at the end say.
    fn told(mut self, cursor: &mut Cursor<'_>) -> Result<Self, Wrong> {
        for _ in 0..cursor.u32()? {
            let (name, value) = (cursor.text()?, cursor.text()?);
            match name.as_str() {
                "ProcessId" => self.process = value.parse().unwrap_or(0),
                "ExpectedCPUSamplingRate" => {
                    self.period = value.parse().ok().filter(|period| *period > 0);
                }
                _ => {}
            }
        }
        Ok(self)
    }
}

/// Year, month, day of the week, day, hour, minute, second and millisecond as ns since 1970; 0 for
/// dates that are none.
fn since_1970([year, month, _, day, hour, minute, second, milli]: [u64; 8]) -> u64 {
    if !(1970..=2200).contains(&year) || !(1..=12).contains(&month) || day == 0 {
        return 0;
    }
    // Years that begin in March end with the leap day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let days = days.saturating_sub(DAYS_TO_1970);
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    seconds * 1_000_000_000 + milli * 1_000_000
}

/// Days from 1 March of the year 0 to 1 January 1970.
const DAYS_TO_1970: u64 = 719_468;

/// A trace's blocks behind the first.
#[derive(Debug)]
pub(super) struct Blocks<'a> {
    cursor: Cursor<'a>,
    version: u32,
    /// Whether it ended as it should.
    pub(super) ended: bool,
}

impl<'a> Blocks<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<(Self, Trace), Refusal> {
        let version = version(bytes).map_err(|Wrong| "it ends inside its header")??;
        let mut cursor = Cursor::new(bytes);
        cursor.at = MAGIC.len() + if version < NEWEST { 4 + SERIALIZATION.len() } else { 12 };
        let mut blocks = Self { cursor, version, ended: false };
        let first = blocks.block().ok().flatten().filter(|block| block.kind == Kind::Trace);
        let first = first.ok_or("its first block does not describe the trace")?;
        let trace = Trace::parse(first.body, version);
        Ok((blocks, trace.map_err(|Wrong| "its first block is cut short")?))
    }

    /// The next block; none at the end.
    fn block(&mut self) -> Result<Option<Block<'a>>, Wrong> {
        if self.version < NEWEST { self.object() } else { self.plain() }
    }

    fn plain(&mut self) -> Result<Option<Block<'a>>, Wrong> {
        let [low, middle, high, kind] = self.cursor.u32()?.to_le_bytes();
        let size =
            usize::try_from(u32::from_le_bytes([low, middle, high, 0])).map_err(|_| Wrong)?;
        let body = self.cursor.take(size)?;
        let kind = match kind {
            0 => return Ok(None),
            1 => Kind::Trace,
            2 => Kind::Events,
            3 => Kind::Metadata,
            4 => Kind::SequencePoint,
            5 => Kind::Stacks,
            6 => Kind::Threads,
            8 => Kind::Labels,
            _ => Kind::Other,
        };
        Ok(Some(Block { kind, body }))
    }

    fn object(&mut self) -> Result<Option<Block<'a>>, Wrong> {
        /// Bytes of the object `Trace`, the only one without its size.
        const TRACE: usize = 16 + 8 + 8 + 4 * 4;
        let cursor = &mut self.cursor;
        match cursor.u8()? {
            NULL => return Ok(None),
            BEGIN => {}
            _ => return Err(Wrong),
        }
        // The type's own type is nothing; then come its version and the oldest reader's.
        if cursor.take(2)? != [BEGIN, NULL] {
            return Err(Wrong);
        }
        cursor.take(8)?;
        let kind = match cursor.sized()? {
            b"Trace" => Kind::Trace,
            b"EventBlock" => Kind::Events,
            b"MetadataBlock" => Kind::Metadata,
            b"StackBlock" => Kind::Stacks,
            b"SPBlock" => Kind::SequencePoint,
            _ => Kind::Other,
        };
        if cursor.u8()? != END {
            return Err(Wrong);
        }
        let body = if kind == Kind::Trace {
            cursor.take(TRACE)?
        } else {
            let size = usize::try_from(cursor.u32()?).map_err(|_| Wrong)?;
            cursor.align();
            cursor.take(size)?
        };
        if cursor.u8()? == END { Ok(Some(Block { kind, body })) } else { Err(Wrong) }
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Block<'a>;

    fn next(&mut self) -> Option<Block<'a>> {
        let block = self.block();
        self.ended = block.as_ref().is_ok_and(Option::is_none);
        block.ok().flatten()
    }
}

/// The version of the format; 5 for all that are laid out as it is.
fn version(bytes: &[u8]) -> Result<Result<u32, Refusal>, Wrong> {
    let mut cursor = Cursor::new(bytes);
    if cursor.take(MAGIC.len())? != MAGIC {
        return Ok(Err("it does not begin with `Nettrace`".to_owned()));
    }
    let length = cursor.u32()?;
    if length != 0 {
        let known = cursor.take(SERIALIZATION.len())? == SERIALIZATION;
        return Ok(if known { Ok(5) } else { Err("its header has an unknown kind".to_owned()) });
    }
    let version = cursor.u32()?;
    cursor.u32()?;
    Ok(match version {
        NEWEST => Ok(version),
        _ => Err(format!("it has format version {version}; Culprit reads versions 4 to {NEWEST}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_counted_from_1970() {
        assert_eq!(since_1970([1970, 1, 4, 1, 0, 0, 0, 0]), 0);
        assert_eq!(since_1970([2000, 3, 3, 1, 0, 0, 1, 5]), 951_868_801_005_000_000);
        assert_eq!(since_1970([2024, 2, 4, 29, 12, 0, 0, 0]), 1_709_208_000_000_000_000);
        assert_eq!(since_1970([9, 0, 0, 0, 0, 0, 0, 0]), 0);
    }
}
