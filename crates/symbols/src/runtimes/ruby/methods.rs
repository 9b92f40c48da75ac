//! Names of methods that are written in C: a frame has the number of its method's name, and the
//! interpreter one table of all names.
//!
//! ```text
//! ruby_global_symbols: last number | table | array of arrays of 512 names each | table
//! ```
//!
//! Debian's builds have no symbol for it. Then it is looked for in the library's data: it is the
//! place whose numbers and types fit, and in which the name of `+` is `+`.

use super::super::functions::Functions;
use super::layout::{ARRAY, INTERNAL, METHOD, METHOD_ENTRY, TYPE_MASK, USER_FLAGS};
use super::lines::Lines;
use super::text::{self, Object};
use super::{
    FunctionId, Identity, InterpretedFunction, InterpreterError, ProcessMemory, Struct, word,
};

/// Names in one array, two words each (`ID_ENTRY_UNIT`, `ID_ENTRY_SIZE`).
const NAMES: u64 = 512;
const NAME_WORDS: u64 = 2;
/// Numbers below this are operators; the lowest four bits of the others say what kind of name they
/// are (`tLAST_OP_ID`, `ID_SCOPE_SHIFT`).
const FIRST_NAME: u64 = 2048;
const KIND_BITS: u32 = 4;
/// The number of `+`.
const PLUS: u64 = b'+' as u64;
/// Names that a program has at least and at most.
const COUNT: std::ops::Range<u64> = 256..1 << 28;
/// Words of data that are looked through.
const MOST_WORDS: usize = 1 << 17;
/// Set in the key of a function that is known by its name's number, where others have an address.
const BY_NUMBER: u64 = 1 << 63;
const WHAT: &str = "a method's name";

/// The names of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct MethodNames {
    /// Address of the pointer to the array of arrays.
    arrays_at: u64,
}

/// Where names are read.
#[derive(Clone, Copy)]
pub(super) struct Strings<'m> {
    pub(super) memory: &'m dyn ProcessMemory,
    /// As in [`text::read`].
    pub(super) has_length: bool,
}

impl MethodNames {
    /// The names at `ruby_global_symbols`, or where they are found in the data.
    pub(super) fn find(
        strings: Strings<'_>,
        symbols: Option<u64>,
        data: std::ops::Range<u64>,
    ) -> Option<Self> {
        if let Some(symbols) = symbols {
            return Some(Self { arrays_at: symbols.wrapping_add(16) });
        }
        let size = usize::try_from(data.end.saturating_sub(data.start)).unwrap_or_default();
        let mut bytes = vec![0; size.min(MOST_WORDS * 8)];
        strings.memory.read(data.start, &mut bytes).ok()?;
        let places = (data.start..).step_by(8).zip(bytes.windows(32).step_by(8));
        let fits = |(address, bytes): (u64, &[u8])| {
            let fields = Struct::new(bytes);
            let pointers = [fields.word(8), fields.word(16), fields.word(24)];
            let pointer = |word: &u64| word.is_multiple_of(8) && *word > 0xffff;
            let names = Self { arrays_at: address.wrapping_add(16) };
            let fits = COUNT.contains(&fields.word(0))
                && pointers.iter().all(pointer)
                && names.name(strings, PLUS).is_ok_and(|name| name == "+");
            fits.then_some(names)
        };
        places.into_iter().find_map(fits)
    }

    /// The method of a frame, by its method entry.
    pub(super) fn function(
        &self,
        strings: Strings<'_>,
        functions: &mut Functions<Identity, Lines>,
        entry: u64,
    ) -> Option<FunctionId> {
        let number = method_number(strings.memory, entry).ok()?;
        let (key, identity) = (number | BY_NUMBER, Identity::Method(number));
        if let Some(id) = functions.at(key, identity) {
            return Some(id);
        }
        let name = self.name(strings, number).ok()?;
        let function = InterpretedFunction { name, file: None };
        functions.keep((key, identity), function, (Lines::default(), 0)).ok()
    }

    fn name(&self, strings: Strings<'_>, number: u64) -> Result<String, InterpreterError> {
        let serial = if number < FIRST_NAME { number } else { number >> KIND_BITS };
        let arrays = word(strings.memory, WHAT, self.arrays_at)?;
        let array = element(strings.memory, arrays, serial / NAMES)?;
        let name = element(strings.memory, array, serial % NAMES * NAME_WORDS)?;
        text::read(strings.memory, strings.has_length, WHAT, name)
    }
}

/// The number of the name that a method was defined with.
fn method_number(memory: &dyn ProcessMemory, entry: u64) -> Result<u64, InterpreterError> {
    let mut bytes = [0; METHOD.span];
    memory.read(entry, &mut bytes).map_err(InterpreterError::memory(WHAT, entry))?;
    let fields = Struct::new(&bytes);
    let flags = fields.word(0);
    if flags & TYPE_MASK != INTERNAL || flags >> USER_FLAGS & 0xf != METHOD_ENTRY {
        return Err(InterpreterError::malformed(WHAT, entry, "it is not a method"));
    }
    word(memory, WHAT, fields.word(METHOD.definition).wrapping_add(METHOD.original_id))
}

/// An element of an array.
fn element(memory: &dyn ProcessMemory, array: u64, index: u64) -> Result<u64, InterpreterError> {
    let object = Object::read(memory, WHAT, array)?;
    let elements = object.elements(array).filter(|_| object.is(ARRAY));
    let Some((start, _)) = elements.filter(|(_, count)| index < *count) else {
        return Err(InterpreterError::malformed(WHAT, array, "it is not in the table"));
    };
    word(memory, WHAT, start.wrapping_add(index * 8))
}
