//! The names in .NET's metadata: types, methods and what they are part of.
//!
//! ```text
//! root --> streams --> #~        rows of all tables, one table behind the other
//!                      #Strings  names
//!                      #Blob     signatures
//! ```
//!
//! Source: ECMA-335 II.24. Rows are counted from 1. A row, name or chain that does not fit is none.

use super::bytes::{compressed, index_at, size, u8_at, u16_at, u32_at, u64_at};
use super::signature;
use super::tables::{Column, TABLES, Widths, id};
use crate::image::elf::string_at;

/// Bytes of one name that are kept; compilers cut names at 1024.
const LONGEST_NAME: usize = 512;

/// How deep types may stand in each other. Generated code nests three or four.
const DEEPEST_NESTING: usize = 16;

/// One table.
#[derive(Clone, Copy, Debug, Default)]
struct Table {
    at: usize,
    row_size: usize,
    rows: u32,
}

/// Metadata of one assembly.
#[derive(Debug)]
pub(super) struct Metadata<'a> {
    rows: &'a [u8],
    names: &'a [u8],
    blobs: &'a [u8],
    widths: Widths,
    tables: [Table; TABLES],
    /// First method of each type, in the order of types.
    first_methods: Vec<u32>,
}

impl<'a> Metadata<'a> {
    /// Reads the frame of the tables; `None` where it does not fit.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let streams = streams(bytes)?;
        let stream = |names: &[&[u8]]| {
            let found = streams.iter().find(|(name, _)| names.contains(name));
            found.map(|(_, bytes)| *bytes)
        };
        let rows = stream(&[b"#~", b"#-"])?;
        let (widths, mut at) = widths(rows)?;
        let mut tables = [Table::default(); TABLES];
        for (number, (table, rows)) in tables.iter_mut().zip(widths.rows).enumerate() {
            let Some(columns) = Widths::columns(number) else { break };
            let row_size = columns.iter().map(|column| widths.of(*column)).sum();
            *table = Table { at, row_size, rows };
            at = at.checked_add(row_size.checked_mul(size(rows))?)?;
        }
        if at > rows.len() {
            return None;
        }
        let names = stream(&[b"#Strings"]).unwrap_or_default();
        let blobs = stream(&[b"#Blob"]).unwrap_or_default();
        let mut metadata = Self { rows, names, blobs, widths, tables, first_methods: Vec::new() };
        let types = 1..=metadata.count(id::TYPE_DEF);
        let first = |row| metadata.cell(id::TYPE_DEF, row, 5);
        metadata.first_methods = types.map(|row| first(row).unwrap_or(u32::MAX)).collect();
        Some(metadata)
    }

    /// Rows of a table.
    pub(super) fn count(&self, table: usize) -> u32 {
        self.tables.get(table).map_or(0, |table| table.rows)
    }

    /// Number of methods that the assembly defines.
    pub(super) fn methods(&self) -> u32 {
        self.count(id::METHOD_DEF)
    }

    /// A method's name with that of its type: `System.IO.FileStream.Read`.
    pub(super) fn method(&self, row: u32) -> Option<String> {
        let owner = self.owner(row)?;
        Some(member(&self.type_def(owner)?, &self.method_name(row)?))
    }

    /// A method's name alone.
    pub(super) fn method_name(&self, row: u32) -> Option<String> {
        self.name(id::METHOD_DEF, row, 3)
    }

    /// How many parameters a method has.
    pub(super) fn parameters(&self, row: u32) -> Option<u32> {
        const GENERIC: u8 = 0x10;
        let signature = self.blob(self.cell(id::METHOD_DEF, row, 4)?)?;
        let generic = u8_at(signature, 0)? & GENERIC != 0;
        let at = if generic { compressed(signature, 1)?.1 } else { 1 };
        compressed(signature, at).map(|(count, _)| count)
    }

    /// The name of a method of another assembly, and of the type that it is looked for in.
    pub(super) fn member_ref(&self, row: u32) -> Option<(Option<String>, String)> {
        let parent = self.cell(id::MEMBER_REF, row, 0)?;
        let owner = match parent & 7 {
            0 => self.type_def(parent >> 3),
            1 => self.type_ref(parent >> 3),
            4 => self.type_spec(parent >> 3),
            _ => None,
        };
        Some((owner, self.name(id::MEMBER_REF, row, 1)?))
    }

    /// The type that a method is part of: the last one whose methods begin at it or before.
    fn owner(&self, method: u32) -> Option<u32> {
        let before = self.first_methods.partition_point(|first| *first <= method);
        u32::try_from(before).ok().filter(|row| *row > 0)
    }

    /// A type's name with its namespace and the types that it stands in.
    pub(super) fn type_def(&self, row: u32) -> Option<String> {
        let mut name = self.type_name(id::TYPE_DEF, row)?;
        let mut inner = row;
        for _ in 0..DEEPEST_NESTING {
            let Some(outer) = self.enclosing(inner) else { break };
            name = member(&self.type_name(id::TYPE_DEF, outer)?, &name);
            inner = outer;
        }
        Some(name)
    }

    /// The same for a type of another assembly.
    pub(super) fn type_ref(&self, row: u32) -> Option<String> {
        let mut name = self.type_name(id::TYPE_REF, row)?;
        let mut inner = row;
        for _ in 0..DEEPEST_NESTING {
            let scope = self.cell(id::TYPE_REF, inner, 0)?;
            if scope & 3 != 3 {
                break;
            }
            inner = scope >> 2;
            name = member(&self.type_name(id::TYPE_REF, inner)?, &name);
        }
        Some(name)
    }

    /// A type that is written as a signature: an instance of a generic one.
    fn type_spec(&self, row: u32) -> Option<String> {
        let blob = self.blob(self.cell(id::TYPE_SPEC, row, 0)?)?;
        signature::Reader::new(blob, 0, self).type_name()
    }

    /// Namespace and name; both tables of types have them in the same columns.
    fn type_name(&self, table: usize, row: u32) -> Option<String> {
        let name = self.name(table, row, 1)?;
        match self.name(table, row, 2) {
            Some(space) => Some(member(&space, &name)),
            None => Some(name),
        }
    }

    /// The type around a type. The table is ordered by the inner one.
    fn enclosing(&self, inner: u32) -> Option<u32> {
        let (mut low, mut high) = (1, self.count(id::NESTED_CLASS).checked_add(1)?);
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.cell(id::NESTED_CLASS, middle, 0)?;
            if found == inner {
                return self.cell(id::NESTED_CLASS, middle, 1);
            }
            if found < inner {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        None
    }

    /// A name; none for an empty one.
    fn name(&self, table: usize, row: u32, column: usize) -> Option<String> {
        let text = string_at(self.names, self.cell(table, row, column)?);
        let text = text.get(..LONGEST_NAME).unwrap_or(text);
        (!text.is_empty()).then(|| String::from_utf8_lossy(text).into_owned())
    }

    /// The bytes at a place of the heap of blobs.
    pub(super) fn blob(&self, at: u32) -> Option<&'a [u8]> {
        let (length, start) = compressed(self.blobs, size(at))?;
        self.blobs.get(start..start.checked_add(size(length))?)
    }

    /// A column of a row.
    pub(super) fn cell(&self, table: usize, row: u32, column: usize) -> Option<u32> {
        let columns: &[Column] = Widths::columns(table)?;
        let before: usize = columns.iter().take(column).map(|column| self.widths.of(*column)).sum();
        let wide = self.widths.of(*columns.get(column)?) == 4;
        let table = self.tables.get(table)?;
        let index = row.checked_sub(1).filter(|index| *index < table.rows)?;
        let start = table.at.checked_add(size(index).checked_mul(table.row_size)?)?;
        index_at(self.rows, start.checked_add(before)?, wide)
    }
}

/// A member's name behind that of what it is in.
pub(super) fn member(owner: &str, name: &str) -> String {
    format!("{owner}.{name}")
}

/// The streams by name.
pub(super) fn streams(bytes: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    if !bytes.starts_with(b"BSJB") {
        return None;
    }
    let version = size(u32_at(bytes, 12)?);
    let mut at = version.checked_add(16)?;
    let count = u16_at(bytes, at.checked_add(2)?)?;
    at = at.checked_add(4)?;
    let mut streams = Vec::new();
    // A file has five or six.
    for _ in 0..count.min(16) {
        let (start, length) = (size(u32_at(bytes, at)?), size(u32_at(bytes, at.checked_add(4)?)?));
        let name = string_at(bytes, u32::try_from(at.checked_add(8)?).ok()?);
        streams.push((name, bytes.get(start..start.checked_add(length)?)?));
        at = at.checked_add(8)?.checked_add((name.len() / 4 + 1) * 4)?;
    }
    Some(streams)
}

/// How wide the columns are, and where the first table begins.
fn widths(rows: &[u8]) -> Option<(Widths, usize)> {
    let heaps = u8_at(rows, 6)?;
    let present = u64_at(rows, 8)?;
    let mut at = 24;
    let mut counts = [0; TABLES];
    for (number, count) in counts.iter_mut().enumerate() {
        if (present >> number) & 1 != 0 {
            *count = u32_at(rows, at)?;
            at = at.checked_add(4)?;
        }
    }
    // Edited assemblies have four bytes more.
    if heaps & 0x40 != 0 {
        at = at.checked_add(4)?;
    }
    let wide_heaps = [heaps & 1 != 0, heaps & 2 != 0, heaps & 4 != 0];
    Some((Widths { rows: counts, wide_heaps }, at))
}
