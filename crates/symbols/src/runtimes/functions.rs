//! The functions of a Ruby or PHP program, each read once, and the frames that a look answers.
//!
//! A function is known by the address of its struct. The struct may be freed, and another be made
//! at the same address: so each look reads the fields that make it up again, and compares them.

use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::InterpreterError;

/// Functions that are kept. Large programs have some hundred thousand; at double this a program
/// that makes functions without end would take 2 GiB of the recorder.
const MOST_FUNCTIONS: usize = 1 << 20;
/// Bytes of their names and lines.
const MOST_BYTES: usize = 512 << 20;

/// A function of the program; the same number means the same name, file and lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

/// What is known of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InterpretedFunction {
    /// The name, with its class where the interpreter keeps it with the function.
    pub name: String,
    /// The file as the interpreter names it; may be relative, or no file at all (`(eval)`). None for
    /// functions that the interpreter has in itself.
    pub file: Option<String>,
}

/// A frame of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterpretedFrame {
    /// The C stack has one call of the interpreter's loop here. It runs the frames up to the next
    /// entry.
    Entry,
    /// A function runs.
    Function {
        /// Which one.
        function: FunctionId,
        /// Line in its file; none where it has none.
        line: Option<u32>,
    },
}

/// How far the frames of a look can be relied on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// A function was called or returned while the thread was read: its frames may be of two
    /// different moments. The innermost function may run on within itself without that.
    pub changed: bool,
    /// The thread has more frames than are read: the outermost are missing.
    pub truncated: bool,
}

/// All functions seen so far. `Identity` are the fields that make a function up, `Lines` says which
/// line an instruction belongs to.
#[derive(Debug)]
pub(super) struct Functions<Identity, Lines> {
    by_address: FxHashMap<u64, (Identity, FunctionId)>,
    by_content: FxHashMap<(InterpretedFunction, Arc<Lines>), FunctionId>,
    known: Vec<(InterpretedFunction, Arc<Lines>)>,
    /// Bytes of names and lines.
    bytes: usize,
}

impl<Identity, Lines> Default for Functions<Identity, Lines> {
    fn default() -> Self {
        Self {
            by_address: FxHashMap::default(),
            by_content: FxHashMap::default(),
            known: Vec::new(),
            bytes: 0,
        }
    }
}

impl<Identity: Copy + PartialEq, Lines: Eq + Hash> Functions<Identity, Lines> {
    fn entry(&self, id: FunctionId) -> Option<&(InterpretedFunction, Arc<Lines>)> {
        usize::try_from(id.0).ok().and_then(|index| self.known.get(index))
    }

    pub(super) fn get(&self, id: FunctionId) -> Option<&InterpretedFunction> {
        self.entry(id).map(|(function, _)| function)
    }

    pub(super) fn lines(&self, id: FunctionId) -> Option<&Lines> {
        self.entry(id).map(|(_, lines)| &**lines)
    }

    /// The function at an address, where it still is the one that was read there.
    pub(super) fn at(&self, address: u64, identity: Identity) -> Option<FunctionId> {
        let (known, id) = self.by_address.get(&address)?;
        (*known == identity).then_some(*id)
    }

    /// Keeps a function that was read; `bytes` is what its lines take.
    ///
    /// # Errors
    /// When the program has more functions than are kept.
    pub(super) fn keep(
        &mut self,
        (address, identity): (u64, Identity),
        function: InterpretedFunction,
        (lines, bytes): (Lines, usize),
    ) -> Result<FunctionId, InterpreterError> {
        let key = (function, Arc::new(lines));
        let id = match self.by_content.get(&key) {
            Some(id) => *id,
            None => self.add(key, bytes)?,
        };
        if self.by_address.len() >= MOST_FUNCTIONS {
            self.by_address.clear();
        }
        self.by_address.insert(address, (identity, id));
        Ok(id)
    }

    fn add(
        &mut self,
        key: (InterpretedFunction, Arc<Lines>),
        bytes: usize,
    ) -> Result<FunctionId, InterpreterError> {
        let next = u32::try_from(self.known.len()).ok();
        let has_room = self.known.len() < MOST_FUNCTIONS && self.bytes < MOST_BYTES;
        let Some(id) = next.filter(|_| has_room).map(FunctionId) else {
            return Err(InterpreterError::malformed("the program", 0, "it has too many functions"));
        };
        self.bytes += key.0.name.len() + key.0.file.as_ref().map_or(0, String::len) + bytes;
        self.known.push((key.0.clone(), Arc::clone(&key.1)));
        self.by_content.insert(key, id);
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_known_by_what_makes_it_up() {
        let mut functions: Functions<u64, u32> = Functions::default();
        let function = |name: &str| InterpretedFunction { name: name.to_owned(), file: None };
        let first = functions.keep((8, 1), function("a"), (7, 4)).expect("room");
        assert_eq!(functions.at(8, 1), Some(first));
        assert_eq!(functions.at(8, 2), None, "another function is there now");
        let second = functions.keep((8, 2), function("b"), (7, 4)).expect("room");
        let again = functions.keep((16, 9), function("a"), (7, 4)).expect("room");
        assert_eq!((first == second, first == again), (false, true));
        assert_eq!(functions.get(second), Some(&function("b")));
        assert_eq!(functions.lines(first), Some(&7));
        assert_eq!(functions.get(FunctionId(2)), None);
    }
}
