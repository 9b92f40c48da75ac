//! Types of events: who writes them, and what they are called.

use super::bytes::{Cursor, Wrong};
use super::events::Events;

/// A type of event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Type {
    pub(super) provider: String,
    pub(super) id: u32,
    pub(super) name: String,
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

/// Number, provider, id, name; keywords, version and level; then the fields.
fn object(payload: &[u8]) -> Result<(u32, Type), Wrong> {
    let mut cursor = Cursor::new(payload);
    let (number, provider) = (cursor.u32()?, cursor.wide_text()?);
    let (id, name) = (cursor.u32()?, cursor.wide_text()?);
    Ok((number, Type { provider, id, name, fields: Vec::new() }))
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
    Ok((number, Type { provider, id, name, fields }))
}
