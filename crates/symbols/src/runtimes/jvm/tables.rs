//! What a JVM says of its own structures: fields with their offsets, sizes of types, constants.
//!
//! ```text
//! gHotSpotVMStructs  -> | type name | field name | .. | is static | offset | address |  one entry a field
//! gHotSpotVMTypes    -> | type name | .. | size |
//! gHotSpotVMIntConstants -> | name | value |
//! ```
//!
//! Each table ends with an entry without a name. Source: `vmStructs.hpp` of HotSpot, JDK 11 to 25.

use rustc_hash::FxHashMap;

use super::super::{InterpreterError, Pages, ProcessMemory, Struct};
use super::program::JvmProgram;
use crate::Svma;

/// JDK 11 to 25 have 300 to 1300 entries a table.
const MOST_ENTRIES: u64 = 20_000;
/// The longest entry is 48 bytes.
const LONGEST_ENTRY: u64 = ENTRY_BYTES as u64;
const ENTRY_BYTES: usize = 64;
/// The longest name has some 80 bytes.
const LONGEST_NAME: usize = 256;

/// A field of one of the JVM's types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// In each object, so many bytes behind its start.
    Offset(usize),
    /// One for all, at an address of the process.
    Static(u64),
}

/// The three tables.
#[derive(Debug, Default)]
pub(super) struct Tables {
    fields: FxHashMap<(Box<str>, Box<str>), Field>,
    sizes: FxHashMap<Box<str>, usize>,
    constants: FxHashMap<Box<str>, i32>,
    /// Process address minus module address.
    bias: u64,
}

/// A process's memory, read page by page.
struct Reader<'m> {
    memory: &'m dyn ProcessMemory,
    pages: Pages,
}

/// Where a table is and how its entries look.
struct Table {
    start: u64,
    stride: u64,
}

impl Tables {
    /// The tables of a library that is mapped with this bias (process address minus module address).
    pub(super) fn read(
        memory: &dyn ProcessMemory,
        bias: u64,
        program: &JvmProgram,
    ) -> Result<Self, InterpreterError> {
        let mut reader = Reader { memory, pages: Pages::default() };
        let mut values = [0; super::program::COUNT];
        for (value, variable) in values.iter_mut().zip(&program.variables) {
            *value = reader.word("a variable of the JVM", variable.0.wrapping_add(bias))?;
        }
        let [
            structs,
            type_name,
            field_name,
            is_static,
            offset,
            address,
            struct_stride, //
            types,
            sized_name,
            size,
            type_stride, //
            constants,
            constant_name,
            constant_value,
            constant_stride,
        ] = values;
        let mut tables = Self::default();
        let entry_fields = [type_name, field_name, is_static, offset, address];
        tables.read_fields(&mut reader, &Table::new(structs, struct_stride)?, entry_fields)?;
        let types = Table::new(types, type_stride)?;
        for entry in types.entries() {
            let entry = types.read(&mut reader, entry)?;
            let Some(name) = reader.name(entry.word(sized_name))? else { break };
            tables.sizes.insert(name, usize::try_from(entry.word(size)).unwrap_or(usize::MAX));
        }
        let constants = Table::new(constants, constant_stride)?;
        for entry in constants.entries() {
            let entry = constants.read(&mut reader, entry)?;
            let Some(name) = reader.name(entry.word(constant_name))? else { break };
            tables.constants.insert(name, entry.int(constant_value));
        }
        tables.bias = bias;
        Ok(tables)
    }

    fn read_fields(
        &mut self,
        reader: &mut Reader<'_>,
        table: &Table,
        [type_name, field_name, is_static, offset, address]: [u64; 5],
    ) -> Result<(), InterpreterError> {
        for entry in table.entries() {
            let entry = table.read(reader, entry)?;
            let Some(of) = reader.name(entry.word(type_name))? else { break };
            let Some(name) = reader.name(entry.word(field_name))? else { continue };
            let field = if entry.int(is_static) == 0 {
                Field::Offset(usize::try_from(entry.word(offset)).unwrap_or(usize::MAX))
            } else {
                Field::Static(entry.word(address))
            };
            self.fields.insert((of, name), field);
        }
        Ok(())
    }

    /// The offset of a field, from `TYPE.FIELD`.
    pub(super) fn offset(&self, name: &'static str) -> Result<usize, InterpreterError> {
        match self.field(name) {
            Some(Field::Offset(offset)) if offset <= MOST_OFFSET => Ok(offset),
            _ => Err(InterpreterError::Undescribed(name)),
        }
    }

    /// The offset of the first of several fields that this release has.
    pub(super) fn first_offset(&self, names: &[&'static str]) -> Result<usize, InterpreterError> {
        let mut found = names.iter().map(|name| self.offset(name));
        let first = names.first().copied().unwrap_or("a field");
        found.find(Result::is_ok).unwrap_or(Err(InterpreterError::Undescribed(first)))
    }

    /// The address of a static field, in the module.
    pub(super) fn address(&self, name: &'static str) -> Result<Svma, InterpreterError> {
        match self.field(name) {
            Some(Field::Static(address)) => Ok(Svma(address.wrapping_sub(self.bias))),
            _ => Err(InterpreterError::Undescribed(name)),
        }
    }

    /// The size of a type.
    pub(super) fn size(&self, name: &'static str) -> Result<usize, InterpreterError> {
        let size = self.sizes.get(name).copied().filter(|size| *size <= MOST_OFFSET);
        size.ok_or(InterpreterError::Undescribed(name))
    }

    /// The value of a constant.
    pub(super) fn constant(&self, name: &str) -> Option<i32> {
        self.constants.get(name).copied()
    }

    fn field(&self, name: &str) -> Option<Field> {
        let (of, field) = name.split_once('.')?;
        self.fields.get(&(of.into(), field.into())).copied()
    }
}

/// No structure that is wanted is larger than some 400 bytes.
const MOST_OFFSET: usize = 4096;

impl Table {
    fn new(start: u64, stride: u64) -> Result<Self, InterpreterError> {
        if start == 0 {
            return Err(InterpreterError::NotRunning(super::NAME));
        }
        if stride == 0 || stride > LONGEST_ENTRY {
            let reason = "its entries have an impossible size";
            return Err(InterpreterError::malformed("a table of the JVM", start, reason));
        }
        Ok(Self { start, stride })
    }

    fn read(&self, reader: &mut Reader<'_>, entry: u64) -> Result<Entry, InterpreterError> {
        let mut bytes = [0; ENTRY_BYTES];
        let own = usize::try_from(self.stride).unwrap_or_default();
        let into = bytes.get_mut(..own).unwrap_or_default();
        reader
            .pages
            .read(reader.memory, entry, into)
            .map_err(InterpreterError::memory("a table of the JVM", entry))?;
        Ok(Entry(bytes))
    }

    fn entries(&self) -> impl Iterator<Item = u64> + use<> {
        let (start, stride) = (self.start, self.stride);
        (0..MOST_ENTRIES).map(move |index| start.wrapping_add(index * stride))
    }
}

impl Reader<'_> {
    fn word(&mut self, what: &'static str, address: u64) -> Result<u64, InterpreterError> {
        let mut bytes = [0; 8];
        self.pages
            .read(self.memory, address, &mut bytes)
            .map_err(InterpreterError::memory(what, address))?;
        Ok(Struct::new(&bytes).word(0))
    }

    /// The text at an address; `None` for a null pointer.
    fn name(&mut self, at: u64) -> Result<Option<Box<str>>, InterpreterError> {
        if at == 0 {
            return Ok(None);
        }
        let mut name = Vec::new();
        while name.len() < LONGEST_NAME {
            let place = at.wrapping_add(name.len() as u64);
            let mut bytes = [0; PIECE];
            // A piece that does not cross a page's end.
            let room = PIECE - usize::try_from(place % PIECE as u64).unwrap_or_default();
            let bytes = bytes.get_mut(..room).unwrap_or_default();
            self.pages
                .read(self.memory, place, bytes)
                .map_err(InterpreterError::memory("a name", place))?;
            let end = bytes.iter().position(|byte| *byte == 0);
            name.extend_from_slice(bytes.get(..end.unwrap_or(room)).unwrap_or_default());
            if end.is_some() {
                break;
            }
        }
        Ok(Some(String::from_utf8_lossy(&name).into()))
    }
}

/// Bytes of a name that are read together.
const PIECE: usize = 32;

/// An entry of a table.
struct Entry([u8; ENTRY_BYTES]);

impl Entry {
    fn word(&self, offset: u64) -> u64 {
        Struct::new(&self.0).word(usize::try_from(offset).unwrap_or(usize::MAX))
    }

    fn int(&self, offset: u64) -> i32 {
        Struct::new(&self.0).int(usize::try_from(offset).unwrap_or(usize::MAX))
    }
}
