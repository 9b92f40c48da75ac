//! A chunk: a header, then events end to end; some of them are checkpoints, which hold the constants
//! that the others refer to, and one says what types there are.
//!
//! ```text
//! "FLR\0" major minor size checkpoint metadata start duration ticks ticks/s flags
//! size type start ... | size type ... | size 1 checkpoint ... | size 0 metadata ...
//! ```
//!
//! Checkpoints form a chain backwards from the header's; reading events in their order finds the
//! same ones, and also those of a chunk that was never finished.

use rustc_hash::FxHashMap;

use super::bytes::{Cursor, Written, Wrong};
use super::classes::{Class, Classes, Field, Kind, Unit};

/// Bytes of a chunk's header.
pub(super) const HEADER: usize = 68;

/// What every chunk begins with.
pub(super) const MAGIC: &[u8] = b"FLR\0";

/// The types that the format itself gives events.
const METADATA: u64 = 0;
const CHECKPOINT: u64 = 1;

/// Values within values, where a text is looked for: the name of the module of a package of a class.
const DEEPEST_TEXT: usize = 4;

/// The facts of a chunk's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) major: u16,
    pub(super) minor: u16,
    /// Bytes with the header; 0 while it is written.
    pub(super) size: u64,
    /// When it began, ns since 1970.
    pub(super) start: u64,
    /// How long it went on, ns.
    duration: u64,
    /// The clock's reading at its start, and how often it ticks in a second.
    ticks: u64,
    frequency: u64,
    /// Whether numbers are in groups of seven bits.
    pub(super) compressed: bool,
}

impl Header {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER] = bytes.get(..HEADER)?.try_into().ok()?;
        let long = |at: usize| {
            let eight = bytes[at..at + 8].iter();
            eight.fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte))
        };
        let versions = long(0).to_be_bytes();
        bytes.starts_with(MAGIC).then(|| Self {
            major: u16::from_be_bytes([versions[4], versions[5]]),
            minor: u16::from_be_bytes([versions[6], versions[7]]),
            size: long(8),
            start: long(32),
            duration: long(40),
            ticks: long(48),
            frequency: long(56),
            compressed: bytes[67] & 1 == 1,
        })
    }

    /// The end on the clock of `start`.
    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add(self.duration)
    }

    /// A reading of the clock as ns since 1970.
    pub(super) fn time(&self, ticks: u64) -> Option<u64> {
        let since = i128::from(ticks.cast_signed()) - i128::from(self.ticks.cast_signed());
        let nanos = since.checked_mul(1_000_000_000)? / i128::from(self.frequency.max(1));
        u64::try_from(i128::from(self.start) + nanos).ok()
    }

    /// A length of time in nanoseconds.
    pub(super) fn span(&self, value: u64, unit: Unit) -> Option<u64> {
        match unit {
            Unit::Nanos(each) => value.checked_mul(each),
            Unit::Ticks => {
                let nanos = u128::from(value) * 1_000_000_000 / u128::from(self.frequency.max(1));
                u64::try_from(nanos).ok().filter(|nanos| nanos.cast_signed() >= 0)
            }
        }
    }
}

/// A constant: its class's position, and its key.
pub(super) type Key = (usize, u64);

/// A chunk with its types and constants.
#[derive(Debug)]
pub(super) struct Chunk<'a> {
    bytes: &'a [u8],
    pub(super) header: Header,
    classes: Classes,
    /// Where constants stand.
    constants: FxHashMap<Key, usize>,
    texts: Option<usize>,
    /// Checkpoints that could not be read to their end, and events of types that are not told.
    pub(super) malformed: u64,
}

impl<'a> Chunk<'a> {
    /// A chunk from its bytes with the header; none when it does not say what its types are.
    pub(super) fn new(bytes: &'a [u8], header: Header) -> Option<Self> {
        let metadata = walk(bytes).filter(|event| event.0 == METADATA).last()?;
        let classes = Classes::parse(bytes, metadata.1).ok()?;
        let texts = classes.named("java.lang.String");
        let constants = FxHashMap::default();
        let mut chunk = Self { bytes, header, classes, constants, texts, malformed: 0 };
        for (_, at) in walk(bytes).filter(|event| event.0 == CHECKPOINT) {
            let read = chunk.checkpoint(at);
            chunk.malformed += u64::from(read.is_err());
        }
        let untold =
            walk(bytes).filter(|event| event.0 > CHECKPOINT && chunk.name(event.0).is_none());
        chunk.malformed += untold.count() as u64;
        Some(chunk)
    }

    /// Where the events end, as far as they can be followed.
    pub(super) fn end(bytes: &[u8]) -> usize {
        let mut walk = walk(bytes);
        walk.by_ref().for_each(drop);
        walk.at
    }

    /// Every event but the format's own.
    pub(super) fn events(&self) -> impl Iterator<Item = Record<'_>> {
        let others = walk(self.bytes).filter(|event| event.0 > CHECKPOINT);
        others
            .filter_map(|(id, at)| Some(Record { chunk: self, class: self.classes.place(id)?, at }))
    }

    /// The name of the type of a number.
    pub(super) fn name(&self, id: u64) -> Option<&str> {
        self.class(self.classes.place(id)?).map(|class| class.name.as_str())
    }

    /// Start, duration, way to the one before, flags; then for each class how many constants, each
    /// with its key.
    fn checkpoint(&mut self, at: usize) -> Result<(), Wrong> {
        let mut cursor = Cursor::new(self.bytes, at);
        for _ in 0..3 {
            cursor.number()?;
        }
        cursor.byte()?;
        for _ in 0..cursor.number()? {
            let class = self.classes.place(cursor.number()?).ok_or(Wrong)?;
            for _ in 0..cursor.count()? {
                let key = cursor.number()?;
                self.constants.insert((class, key), cursor.at);
                self.one(&mut cursor, class)?;
            }
        }
        Ok(())
    }

    /// The value of a field.
    fn field(&self, cursor: &mut Cursor<'a>, field: &Field) -> Result<Value<'_>, Wrong> {
        let one = |cursor: &mut Cursor<'a>| match field.constant {
            true => Ok(Value::Constant((field.class, cursor.number()?))),
            false => self.one(cursor, field.class),
        };
        if !field.list {
            return one(cursor);
        }
        let count = cursor.count()?;
        let list = List { class: field.class, constant: field.constant, at: cursor.at, count };
        for _ in 0..count {
            let before = cursor.at;
            one(cursor)?;
            if cursor.at == before {
                return Err(Wrong);
            }
        }
        Ok(Value::List(list))
    }

    /// A value of a class.
    fn one(&self, cursor: &mut Cursor<'a>, class: usize) -> Result<Value<'_>, Wrong> {
        let place = class;
        let class = self.class(place).ok_or(Wrong)?;
        match class.kind {
            Kind::Byte => Ok(Value::Number(u64::from(cursor.byte()?))),
            Kind::Number => Ok(Value::Number(cursor.number()?)),
            Kind::Skipped(length) => cursor.take(length).map(|_| Value::Nothing),
            Kind::Text => Ok(match cursor.text()? {
                Written::Null => Value::Nothing,
                Written::Text(text) => Value::Text(text.into_owned()),
                Written::Constant(key) => {
                    self.texts.map_or(Value::Nothing, |class| Value::Constant((class, key)))
                }
            }),
            Kind::Fields => {
                let record = Record { chunk: self, class: place, at: cursor.at };
                for field in &class.fields {
                    self.field(cursor, field)?;
                }
                Ok(Value::Record(record))
            }
            Kind::Endless => Err(Wrong),
        }
    }

    fn class(&self, at: usize) -> Option<&Class> {
        self.classes.list.get(at)
    }

    /// What a key stands for.
    pub(super) fn constant(&self, key: Key) -> Value<'_> {
        let Some(at) = self.constants.get(&key) else { return Value::Nothing };
        self.one(&mut Cursor::new(self.bytes, *at), key.0).unwrap_or(Value::Nothing)
    }

    /// The text that a value is, or that names it.
    pub(super) fn text(&self, value: Value<'_>) -> Option<String> {
        let mut value = value;
        for _ in 0..=2 * DEEPEST_TEXT {
            value = match value {
                Value::Text(text) => return Some(text),
                Value::Constant(key) => self.constant(key),
                Value::Record(record) => {
                    ["string", "name", "description"].iter().find_map(|name| record.get(name))?
                }
                _ => return None,
            };
        }
        None
    }
}

/// A list of values of one class.
#[derive(Debug, Clone, Copy)]
pub(super) struct List {
    class: usize,
    constant: bool,
    at: usize,
    count: usize,
}

/// A value.
#[derive(Debug, Clone)]
pub(super) enum Value<'c> {
    Nothing,
    Number(u64),
    Text(String),
    Constant(Key),
    Record(Record<'c>),
    List(List),
}

/// An event or a structure in one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'c> {
    chunk: &'c Chunk<'c>,
    class: usize,
    at: usize,
}

impl<'c> Record<'c> {
    /// Its type's name.
    pub(super) fn name(&self) -> &'c str {
        self.chunk.class(self.class).map_or("", |class| &class.name)
    }

    /// The value of a field with what its numbers count; none without that field, and where the
    /// bytes make no sense.
    fn find(&self, name: &str) -> Option<(Value<'c>, Unit)> {
        let class = self.chunk.class(self.class)?;
        let mut cursor = Cursor::new(self.chunk.bytes, self.at);
        for field in &class.fields {
            let value = self.chunk.field(&mut cursor, field).ok()?;
            if field.name == name {
                return Some((value, field.unit));
            }
        }
        None
    }

    pub(super) fn get(&self, name: &str) -> Option<Value<'c>> {
        self.find(name).map(|found| found.0)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn key(&self, name: &str) -> Option<Key> {
        match self.get(name)? {
            Value::Constant(key) => Some(key),
            _ => None,
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.chunk.text(self.get(name)?)
    }

    /// When it began, ns since 1970.
    pub(super) fn time(&self) -> Option<u64> {
        self.chunk.header.time(self.number("startTime")?)
    }

    /// A length of time, ns.
    pub(super) fn span(&self, name: &str) -> Option<u64> {
        match self.find(name)? {
            (Value::Number(number), unit) => self.chunk.header.span(number, unit),
            _ => None,
        }
    }

    /// The records of a list, in order.
    pub(super) fn list(&self, name: &str) -> impl Iterator<Item = Record<'c>> + use<'c> {
        let found = match self.get(name) {
            Some(Value::List(list)) if !list.constant => Some(list),
            _ => None,
        };
        let chunk = self.chunk;
        let mut cursor = Cursor::new(chunk.bytes, found.map_or(0, |list| list.at));
        (0..found.map_or(0, |list| list.count)).map_while(move |_| {
            match chunk.one(&mut cursor, found?.class) {
                Ok(Value::Record(record)) => Some(record),
                _ => None,
            }
        })
    }
}

/// The events of a chunk: type and where the rest begins.
struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

fn walk(bytes: &[u8]) -> Walk<'_> {
    Walk { bytes, at: HEADER }
}

impl Iterator for Walk<'_> {
    type Item = (u64, usize);

    fn next(&mut self) -> Option<(u64, usize)> {
        let mut cursor = Cursor::new(self.bytes, self.at);
        let size = usize::try_from(cursor.number().ok()?).ok()?;
        let kind = cursor.number().ok()?;
        let end = self.at.checked_add(size).filter(|end| *end <= self.bytes.len())?;
        if end < cursor.at {
            return None;
        }
        self.at = end;
        Some((kind, cursor.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds() {
        let header = Header {
            major: 2,
            minor: 1,
            size: 0,
            start: 5_000_000_000,
            duration: 7,
            ticks: 1000,
            frequency: 3,
            compressed: true,
        };
        assert_eq!(header.time(1003), Some(6_000_000_000));
        assert_eq!(header.time(997), Some(4_000_000_000));
        assert_eq!(header.span(3, Unit::Ticks), Some(1_000_000_000));
        assert_eq!(header.span(2, Unit::Nanos(1_000_000)), Some(2_000_000));
        assert_eq!(header.span(u64::MAX, Unit::Ticks), None);
        assert_eq!(Header { start: 0, ..header }.time(0), None);
    }
}
