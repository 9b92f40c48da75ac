//! Types of events: who writes them, and what they are called.

use super::bytes::{Cursor, Wrong};
use super::events::Events;

/// A type of event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Type {
    pub(super) provider: String,
    pub(super) id: u32,
    pub(super) name: String,
    /// What it says of what it is about: 1 for a start, 2 for a stop; 0 where that is not told, as
    /// in all of version 4.
    pub(super) opcode: u8,
    /// Names of its fields, where the trace describes them.
    pub(super) fields: Vec<String>,
}

impl Type {
    /// As losses call it; the runtime's own events have numbers and no names.
    pub(super) fn title(&self) -> String {
        match self.name.as_str() {
            "" => format!("{} event {}", self.provider, self.id),
            name => format!("{} {name}", self.provider),
        }
    }
}

/// The types that a block of metadata describes, each with its number, up to the first that cannot
/// be read.
pub(super) fn types(body: &[u8], version: u32) -> (Vec<(u32, Type)>, bool) {
    let mut types = Vec::new();
    let read = if version < 6 { objects(body, &mut types) } else { rows(body, &mut types) };
    (types, read.is_ok())
}

fn objects(body: &[u8], types: &mut Vec<(u32, Type)>) -> Result<(), Wrong> {
    let mut events = Events::new(body, 5)?;
    for event in events.by_ref() {
        types.push(object(event.payload)?);
    }
    if events.whole { Ok(()) } else { Err(Wrong) }
}

/// Number, provider, id, name; keywords, version and level; the fields; in version 5 tags.
fn object(payload: &[u8]) -> Result<(u32, Type), Wrong> {
    let mut cursor = Cursor::new(payload);
    let (number, provider) = (cursor.u32()?, cursor.wide_text()?);
    let (id, name) = (cursor.u32()?, cursor.wide_text()?);
    // A type whose end makes no sense still says which it is.
    let opcode = tagged_opcode(&mut cursor).unwrap_or(0);
    Ok((number, Type { provider, id, name, opcode, fields: Vec::new() }))
}

/// The opcode among the tags behind the fields; 0 without it.
fn tagged_opcode(cursor: &mut Cursor<'_>) -> Result<u8, Wrong> {
    const OPCODE: u8 = 1;
    cursor.take(8 + 4 + 4)?;
    skip_fields(cursor, 0)?;
    while !cursor.is_done() {
        let size = usize::try_from(cursor.u32()?).map_err(|_| Wrong)?;
        let tag = cursor.u8()?;
        let body = cursor.take(size)?;
        if tag == OPCODE {
            return Cursor::new(body).u8();
        }
    }
    Ok(0)
}

/// How many fields, and each with its type and name; those of an object stand between these.
fn skip_fields(cursor: &mut Cursor<'_>, depth: usize) -> Result<(), Wrong> {
    /// Objects within objects; the runtime's events have three.
    const DEEPEST: usize = 16;
    const OBJECT: u32 = 1;
    if depth > DEEPEST {
        return Err(Wrong);
    }
    for _ in 0..cursor.u32()? {
        if cursor.u32()? == OBJECT {
            skip_fields(cursor, depth + 1)?;
        }
        cursor.wide_text()?;
    }
    Ok(())
}

fn rows(body: &[u8], types: &mut Vec<(u32, Type)>) -> Result<(), Wrong> {
    let mut cursor = Cursor::new(body);
    let header = usize::from(cursor.u16()?);
    cursor.take(header)?;
    while !cursor.is_done() {
        let size = usize::from(cursor.u16()?);
        types.push(row(cursor.take(size)?)?);
    }
    Ok(())
}

fn row(row: &[u8]) -> Result<(u32, Type), Wrong> {
    let mut cursor = Cursor::new(row);
    let (number, provider) = (cursor.varuint32()?, cursor.text()?);
    let (id, name) = (cursor.varuint32()?, cursor.text()?);
    let mut fields = Vec::new();
    for _ in 0..cursor.u16()? {
        let size = usize::from(cursor.u16()?);
        fields.push(Cursor::new(cursor.take(size)?).text()?);
    }
    let opcode = told_opcode(&mut cursor).unwrap_or(0);
    Ok((number, Type { provider, id, name, opcode, fields }))
}

/// The opcode among the facts that a type may have besides; 0 without it.
fn told_opcode(cursor: &mut Cursor<'_>) -> Result<u8, Wrong> {
    let size = usize::from(cursor.u16()?);
    let mut cursor = Cursor::new(cursor.take(size)?);
    while !cursor.is_done() {
        let length = match cursor.u8()? {
            1 => return cursor.u8(),
            // Keywords; a message, a description; an attribute; the provider's id; level, version.
            3 => 8,
            4 | 5 => {
                cursor.text()?;
                0
            }
            6 => {
                drop((cursor.text()?, cursor.text()?));
                0
            }
            7 => 16,
            8 | 9 => 1,
            _ => break,
        };
        cursor.take(length)?;
    }
    Ok(0)
}
