//! Strings and arrays of Ruby, as far as names and files are made of them.

use super::super::{InterpreterError, ProcessMemory, Struct};
use super::layout::{ARRAY, STRING, TYPE_MASK, USER_FLAGS};

/// Bytes of a text that are kept. Paths have at most 4096.
const MOST_BYTES: u64 = 4096;
/// Bytes of an object that are read at first: the smallest has five words.
const SPAN: usize = 40;
/// `RSTRING_NOEMBED`, `RARRAY_EMBED_FLAG`: the characters are elsewhere, the elements are here.
const FIRST_USER_FLAG: u64 = 1 << (USER_FLAGS + 1);

/// An object's first words, and what it is.
pub(super) struct Object {
    bytes: [u8; SPAN],
    flags: u64,
}

impl Object {
    pub(super) fn read(
        memory: &dyn ProcessMemory,
        what: &'static str,
        address: u64,
    ) -> Result<Self, InterpreterError> {
        let mut bytes = [0; SPAN];
        if address == 0 || !address.is_multiple_of(8) {
            return Err(InterpreterError::malformed(what, address, "it is not an object"));
        }
        memory.read(address, &mut bytes).map_err(InterpreterError::memory(what, address))?;
        let flags = Struct::new(&bytes).word(0);
        Ok(Self { bytes, flags })
    }

    pub(super) fn is(&self, kind: u64) -> bool {
        self.flags & TYPE_MASK == kind
    }

    /// Where an array at an address has its elements, and how many.
    pub(super) fn elements(&self, address: u64) -> Option<(u64, u64)> {
        let fields = Struct::new(&self.bytes);
        match self.flags & FIRST_USER_FLAG {
            0 => Some((fields.word(32), fields.word(16))),
            // Short ones have their length in the flags, in as many bits as it needs.
            _ => Some((address.checked_add(16)?, self.flags >> (USER_FLAGS + 3) & 0x7f)),
        }
    }
}

/// The string at an address, cut after [`MOST_BYTES`]. Bytes that are no UTF-8 become U+FFFD.
pub(super) fn read(
    memory: &dyn ProcessMemory,
    has_length: bool,
    what: &'static str,
    address: u64,
) -> Result<String, InterpreterError> {
    let object = Object::read(memory, what, address)?;
    if !object.is(STRING) {
        return Err(InterpreterError::malformed(what, address, "it is not a string"));
    }
    let (length, start) = place(&object, has_length, address);
    let mut bytes = vec![0; usize::try_from(length.min(MOST_BYTES)).unwrap_or_default()];
    memory.read(start, &mut bytes).map_err(InterpreterError::memory(what, start))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Length and first byte of a string's characters.
fn place(object: &Object, has_length: bool, address: u64) -> (u64, u64) {
    let fields = Struct::new(&object.bytes);
    if object.flags & FIRST_USER_FLAG != 0 {
        return (fields.word(16), fields.word(24));
    }
    match has_length {
        true => (fields.word(16), address.wrapping_add(24)),
        // Short strings have it in five bits of the flags.
        false => (object.flags >> (USER_FLAGS + 2) & 0x1f, address.wrapping_add(16)),
    }
}

/// A function's file: a string, or the two of an array, of which the second is the absolute one.
pub(super) fn read_path(
    memory: &dyn ProcessMemory,
    has_length: bool,
    address: u64,
) -> Result<String, InterpreterError> {
    const WHAT: &str = "a function's file";
    let object = Object::read(memory, WHAT, address)?;
    if !object.is(ARRAY) {
        return read(memory, has_length, WHAT, address);
    }
    let both = object.elements(address).filter(|(_, count)| *count >= 2);
    let Some((elements, _)) = both else {
        return Err(InterpreterError::malformed(WHAT, address, "it is not a pair"));
    };
    let mut both = [0; 16];
    memory.read(elements, &mut both).map_err(InterpreterError::memory(WHAT, elements))?;
    let both = Struct::new(&both);
    // Code that is in no file has no absolute path (nil).
    read(memory, has_length, WHAT, both.word(8))
        .or_else(|_| read(memory, has_length, WHAT, both.word(0)))
}
