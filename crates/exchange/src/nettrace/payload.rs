//! What the used events carry.

use super::bytes::{Cursor, Wrong};

/// `MethodLoadVerbose` and its kin.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Method {
    pub(super) module: u64,
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) name: String,
}

pub(super) fn method(payload: &[u8]) -> Result<Method, Wrong> {
    let mut cursor = Cursor::new(payload);
    cursor.u64()?;
    let (module, start) = (cursor.u64()?, cursor.u64()?);
    let size = u64::from(cursor.u32()?);
    cursor.take(8)?;
    let (space, name) = (cursor.wide_text()?, cursor.wide_text()?);
    let name = if space.is_empty() { name } else { format!("{space}.{name}") };
    Ok(Method { module, start, size, name })
}

/// `ModuleLoad` and its kin: number, and path of the file with the code of the virtual machine.
pub(super) fn module(payload: &[u8]) -> Result<(u64, String), Wrong> {
    let mut cursor = Cursor::new(payload);
    let id = cursor.u64()?;
    cursor.take(16)?;
    Ok((id, cursor.wide_text()?))
}

/// `AllocationTick`: bytes, and the type of the last object. The first version knows neither the
/// type nor more than four gigabytes.
pub(super) fn allocation(payload: &[u8], pointer: usize) -> Result<(u64, String), Wrong> {
    let mut cursor = Cursor::new(payload);
    let bytes = u64::from(cursor.u32()?);
    cursor.take(6)?;
    let Ok(bytes) = cursor.u64() else { return Ok((bytes, String::new())) };
    cursor.take(pointer)?;
    Ok((bytes, cursor.wide_text()?))
}

/// A file in memory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) id: u64,
    /// Whose, where the event itself says it.
    pub(super) process: Option<u32>,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) path: String,
}

/// `ProcessMapping`: with the process among its fields, as the providers' description has it, or
/// without, as one-collect writes it.
pub(super) fn mapping(payload: &[u8], fields: &[String]) -> Result<Mapping, Wrong> {
    let mut cursor = Cursor::new(payload);
    let id = cursor.varuint()?;
    let told = fields.get(1).is_some_and(|name| name == "ProcessId");
    let process = if told { Some(cursor.varuint32()?) } else { None };
    let (start, end) = (cursor.varuint()?, cursor.varuint()?);
    cursor.varuint()?;
    Ok(Mapping { id, process, start, end, path: cursor.short_text()? })
}

/// `ProcessSymbol`: the mapping, begin and end, name.
pub(super) fn symbol(payload: &[u8]) -> Result<(u64, (u64, u64), String), Wrong> {
    let mut cursor = Cursor::new(payload);
    cursor.varuint()?;
    let mapping = cursor.varuint()?;
    let range = (cursor.varuint()?, cursor.varuint()?);
    Ok((mapping, range, cursor.short_text()?))
}

/// `ProcessCreate`: the name.
pub(super) fn process(payload: &[u8]) -> Result<String, Wrong> {
    let mut cursor = Cursor::new(payload);
    cursor.varuint()?;
    cursor.short_text()
}

/// The first number of an event.
pub(super) fn value(payload: &[u8]) -> Result<u64, Wrong> {
    Cursor::new(payload).varuint()
}

/// What the sample profiler says of a thread: whether it was in managed code.
pub(super) fn is_managed(payload: &[u8]) -> Result<bool, Wrong> {
    const MANAGED: u32 = 2;
    Ok(Cursor::new(payload).u32()? == MANAGED)
}

/// `ProcessInfo`: the command line.
pub(super) fn command(payload: &[u8]) -> Result<String, Wrong> {
    Cursor::new(payload).wide_text()
}
