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

use super::super::{Pages, ProcessMemory, Struct};
use super::error::JvmError;
use super::program::JvmProgram;

/// JDK 11 to 25 have 300 to 1300 entries a table.
const MOST_ENTRIES: u64 = 20_000;
/// The longest entry is 48 bytes.
const LONGEST_ENTRY: u64 = 256;
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
    ) -> Result<Self, JvmError> {
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
        for entry in Table::new(types, type_stride)?.entries() {
            let Some(name) = reader.name(entry.wrapping_add(sized_name))? else { break };
            let size = reader.word("the size of a type", entry.wrapping_add(size))?;
            tables.sizes.insert(name, usize::try_from(size).unwrap_or(usize::MAX));
        }
        for entry in Table::new(constants, constant_stride)?.entries() {
            let Some(name) = reader.name(entry.wrapping_add(constant_name))? else { break };
            let value = reader.int("a constant", entry.wrapping_add(constant_value))?;
            tables.constants.insert(name, value);
        }
        Ok(tables)
    }

    fn read_fields(
        &mut self,
        reader: &mut Reader<'_>,
        table: &Table,
        [type_name, field_name, is_static, offset, address]: [u64; 5],
    ) -> Result<(), JvmError> {
        for entry in table.entries() {
            let Some(of) = reader.name(entry.wrapping_add(type_name))? else { break };
            let Some(name) = reader.name(entry.wrapping_add(field_name))? else { continue };
            let field = if reader.int("a field", entry.wrapping_add(is_static))? == 0 {
                let offset = reader.word("a field's offset", entry.wrapping_add(offset))?;
                Field::Offset(usize::try_from(offset).unwrap_or(usize::MAX))
            } else {
                let at = entry.wrapping_add(address);
                Field::Static(reader.word("a field's address", at)?)
            };
            self.fields.insert((of, name), field);
        }
        Ok(())
    }

    /// The offset of a field, from `TYPE.FIELD`.
    pub(super) fn offset(&self, name: &'static str) -> Result<usize, JvmError> {
        match self.field(name) {
            Some(Field::Offset(offset)) if offset <= MOST_OFFSET => Ok(offset),
            _ => Err(JvmError::Missing(name)),
        }
    }

    /// The offset of the first of several fields that this release has.
    pub(super) fn first_offset(&self, names: &[&'static str]) -> Result<usize, JvmError> {
        let mut found = names.iter().map(|name| self.offset(name));
        let first = names.first().copied().unwrap_or("a field");
        found.find(Result::is_ok).unwrap_or(Err(JvmError::Missing(first)))
    }

    /// The address of a static field.
    pub(super) fn address(&self, name: &'static str) -> Result<u64, JvmError> {
        match self.field(name) {
            Some(Field::Static(address)) => Ok(address),
            _ => Err(JvmError::Missing(name)),
        }
    }

    /// The size of a type.
    pub(super) fn size(&self, name: &'static str) -> Result<usize, JvmError> {
        let size = self.sizes.get(name).copied().filter(|size| *size <= MOST_OFFSET);
        size.ok_or(JvmError::Missing(name))
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
    fn new(start: u64, stride: u64) -> Result<Self, JvmError> {
        if start == 0 {
            return Err(JvmError::NotStarted);
        }
        if stride == 0 || stride > LONGEST_ENTRY {
            let reason = "its entries have an impossible size";
            return Err(JvmError::malformed("a table of the JVM", start, reason));
        }
        Ok(Self { start, stride })
    }

    fn entries(&self) -> impl Iterator<Item = u64> + use<> {
        let (start, stride) = (self.start, self.stride);
        (0..MOST_ENTRIES).map(move |index| start.wrapping_add(index * stride))
    }
}

impl Reader<'_> {
    fn word(&mut self, what: &'static str, address: u64) -> Result<u64, JvmError> {
        let mut bytes = [0; 8];
        self.pages
            .read(self.memory, address, &mut bytes)
            .map_err(JvmError::memory(what, address))?;
        Ok(Struct::new(&bytes).word(0))
    }

    fn int(&mut self, what: &'static str, address: u64) -> Result<i32, JvmError> {
        let mut bytes = [0; 4];
        self.pages
            .read(self.memory, address, &mut bytes)
            .map_err(JvmError::memory(what, address))?;
        Ok(Struct::new(&bytes).int(0))
    }

    /// The text that a pointer at `address` leads to; `None` for a null pointer.
    fn name(&mut self, address: u64) -> Result<Option<Box<str>>, JvmError> {
        let at = self.word("a name", address)?;
        if at == 0 {
            return Ok(None);
        }
        let mut name = Vec::new();
        while name.len() < LONGEST_NAME {
            let mut byte = [0];
            let place = at.wrapping_add(name.len() as u64);
            self.pages
                .read(self.memory, place, &mut byte)
                .map_err(JvmError::memory("a name", place))?;
            match byte {
                [0] => break,
                [byte] => name.push(byte),
            }
        }
        Ok(Some(String::from_utf8_lossy(&name).into()))
    }
}
