//! Code objects: the functions of a program, each read once.
//!
//! A code object is known by its address. It may be freed, and another be made at the same address:
//! so each look reads the struct again, in one go with all others, and compares the fields that
//! make it up.

use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

use super::super::{ProcessMemory, Struct};
use super::layout::{CodeLayout, Layout};
use super::lines::LineTable;
use super::{InterpreterError, text};

/// Functions that are kept. Large programs have some hundred thousand; at double this a program
/// that makes functions without end would take 2 GiB of the recorder.
const MOST_CODES: usize = 1 << 20;
/// Bytes of their names and lines.
const MOST_BYTES: usize = 512 << 20;
/// Bytes of a table of lines. The largest of Python's own library has 30 KiB.
const LARGEST_LINE_TABLE: u64 = 4 << 20;
const WHAT: &str = "a code object";

/// A function of the program; the same number means the same name, file and lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeId(pub u32);

/// What is known of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PyCode {
    /// `co_qualname` (`Orders.parse`) from Python 3.11 on, before it `co_name` (`parse`).
    pub qualname: String,
    /// The file as Python names it; may be relative, or no file at all (`<string>`).
    pub file: String,
    /// Line of `def`, or of the first decorator; 0 where there is none.
    pub first_line: u32,
}

/// Where the instructions of a function are in the memory of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PyInstructions {
    /// The function.
    pub code: CodeId,
    /// Addresses of its instructions.
    pub range: Range<u64>,
}

#[derive(Debug)]
struct KnownCode {
    code: PyCode,
    lines: Arc<LineTable>,
}

/// The fields that make up a code object. Two objects that agree in all are the same function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    kind: u64,
    first_line: i32,
    file: u64,
    name: u64,
    qualname: u64,
    line_table: u64,
    /// Instructions, where they are part of the object.
    size: u64,
}

impl Identity {
    fn new(layout: &Layout, fields: &Struct<'_>) -> Self {
        let code = &layout.code;
        Self {
            kind: fields.word(layout.object.kind),
            first_line: fields.int(code.first_line),
            file: fields.word(code.file),
            name: fields.word(code.name),
            qualname: code.qualname.map_or(0, |at| fields.word(at)),
            line_table: fields.word(code.line_table),
            size: code.instructions.map_or(0, |_| fields.word(layout.object.size)),
        }
    }
}

/// A code object as it is in the process now.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeObject {
    pub(super) id: CodeId,
    address: u64,
    /// Instructions, where they are part of the object.
    size: u64,
    first_traceable: i32,
    /// Address of the list of copies of the instructions; 0 where there is none.
    copies: u64,
}

/// Where a frame is in its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Byte offset of the instruction.
    At(u32),
    /// Before the first instruction.
    Start,
    /// The instruction belongs to another function: the frame was read while it changed.
    Elsewhere,
}

/// All functions seen so far.
#[derive(Debug, Default)]
pub(super) struct Codes {
    by_address: FxHashMap<u64, (Identity, CodeId)>,
    by_content: FxHashMap<(PyCode, Arc<LineTable>), CodeId>,
    codes: Vec<KnownCode>,
    /// Bytes of names and lines.
    bytes: usize,
    /// Address of `PyCode_Type`, once a code object was seen.
    code_type: Option<u64>,
    /// Of code objects that were met since they were taken last.
    met: Vec<PyInstructions>,
}

impl Codes {
    pub(super) fn get(&self, id: CodeId) -> Option<&PyCode> {
        let known = usize::try_from(id.0).ok().and_then(|index| self.codes.get(index));
        known.map(|known| &known.code)
    }

    /// Where instructions are that were met since the last call.
    pub(super) fn take_met(&mut self) -> Vec<PyInstructions> {
        std::mem::take(&mut self.met)
    }

    /// The line of an instruction, by its byte offset.
    pub(super) fn line(&self, id: CodeId, position: Position) -> Option<u32> {
        let known = usize::try_from(id.0).ok().and_then(|index| self.codes.get(index))?;
        match position {
            Position::At(offset) => known.lines.line(offset),
            Position::Start => Some(known.code.first_line).filter(|line| *line > 0),
            Position::Elsewhere => None,
        }
    }

    /// The code object whose struct was just read from an address.
    ///
    /// # Errors
    /// When the struct is none of a code object, or its parts cannot be read.
    pub(super) fn resolve(
        &mut self,
        memory: &dyn ProcessMemory,
        layout: &Layout,
        address: u64,
        bytes: &[u8],
    ) -> Result<CodeObject, InterpreterError> {
        let fields = Struct::new(bytes);
        let identity = Identity::new(layout, &fields);
        let id = match self.by_address.get(&address) {
            Some((known, id)) if *known == identity => *id,
            _ => self.load(memory, layout, address, identity)?,
        };
        let instructions = layout.code.instructions;
        let first_traceable = instructions.map_or(0, |at| fields.int(at.first_traceable));
        let copies = instructions.and_then(|at| at.copies).map_or(0, |at| fields.word(at));
        Ok(CodeObject { id, address, size: identity.size, first_traceable, copies })
    }

    fn load(
        &mut self,
        memory: &dyn ProcessMemory,
        layout: &Layout,
        address: u64,
        identity: Identity,
    ) -> Result<CodeId, InterpreterError> {
        self.check_type(memory, layout, address, identity.kind)?;
        let name = match identity.qualname {
            0 => identity.name,
            qualname => qualname,
        };
        let text = |what, address| text::read(memory, &layout.text, what, address);
        let code = PyCode {
            qualname: text("a function's name", name)?,
            file: text("a function's file", identity.file)?,
            first_line: u32::try_from(identity.first_line).unwrap_or_default(),
        };
        let table = read_bytes(memory, layout, identity.line_table)?;
        let lines = LineTable::decode(layout.code.lines, &table, identity.first_line);
        let id = self.intern(code, lines)?;
        if self.by_address.len() >= MOST_CODES {
            self.by_address.clear();
        }
        self.by_address.insert(address, (identity, id));
        if let Some(instructions) = layout.code.instructions {
            let start = address.wrapping_add(instructions.start as u64);
            let range = start..start.saturating_add(identity.size.saturating_mul(2));
            self.met.push(PyInstructions { code: id, range });
        }
        Ok(id)
    }

    /// All code objects have one type. Its name is checked once.
    fn check_type(
        &mut self,
        memory: &dyn ProcessMemory,
        layout: &Layout,
        address: u64,
        kind: u64,
    ) -> Result<(), InterpreterError> {
        if self.code_type == Some(kind) {
            return Ok(());
        }
        let wrong = || InterpreterError::malformed(WHAT, address, "it has another type");
        if self.code_type.is_some() {
            return Err(wrong());
        }
        let name = word(memory, "a type", kind.wrapping_add(layout.object.type_name as u64))?;
        let mut letters = [0; 5];
        memory.read(name, &mut letters).map_err(InterpreterError::memory("a type's name", name))?;
        if letters != *b"code\0" {
            return Err(wrong());
        }
        self.code_type = Some(kind);
        Ok(())
    }

    fn intern(&mut self, code: PyCode, lines: LineTable) -> Result<CodeId, InterpreterError> {
        let key = (code, Arc::new(lines));
        if let Some(id) = self.by_content.get(&key) {
            return Ok(*id);
        }
        let next = u32::try_from(self.codes.len()).ok();
        let has_room = self.codes.len() < MOST_CODES && self.bytes < MOST_BYTES;
        let Some(id) = next.filter(|_| has_room).map(CodeId) else {
            return Err(InterpreterError::malformed("the program", 0, "it has too many functions"));
        };
        self.bytes += key.0.qualname.len() + key.0.file.len() + key.1.bytes();
        self.codes.push(KnownCode { code: key.0.clone(), lines: Arc::clone(&key.1) });
        self.by_content.insert(key, id);
        Ok(id)
    }
}

impl CodeObject {
    /// Where a frame is, from its instruction pointer or, in old releases, its byte offset. `copy`
    /// says which copy of the instructions it runs.
    pub(super) fn position(
        &self,
        memory: &dyn ProcessMemory,
        layout: &CodeLayout,
        instruction: u64,
        copy: u32,
    ) -> Position {
        let Some(instructions) = layout.instructions else {
            return u32::try_from(instruction).map_or(Position::Start, Position::At);
        };
        let start = match copy {
            0 => Some(self.address.wrapping_add(instructions.start as u64)),
            copy => self.copy_start(memory, copy),
        };
        start.map_or(Position::Elsewhere, |start| self.position_from(start, instruction))
    }

    /// Where a copy of the instructions begins: behind their number stand the addresses of all.
    fn copy_start(&self, memory: &dyn ProcessMemory, copy: u32) -> Option<u64> {
        let count = word(memory, "copies of instructions", self.copies).ok()?;
        if u64::from(copy) >= count {
            return None;
        }
        let at = self.copies.wrapping_add(8 + u64::from(copy) * 8);
        word(memory, "copies of instructions", at).ok()
    }

    fn position_from(&self, start: u64, instruction: u64) -> Position {
        // A new frame of 3.11 and 3.12 is one unit before its first instruction.
        if instruction.wrapping_add(2) == start {
            return Position::Start;
        }
        let end = self.size.saturating_mul(2);
        match u32::try_from(instruction.wrapping_sub(start)) {
            Ok(offset) if u64::from(offset) < end => Position::At(offset),
            _ => Position::Elsewhere,
        }
    }

    /// Whether the call is still being prepared: what comes before its first line, or the whole of
    /// a helper of the interpreter. Python shows no such frame either.
    pub(super) fn is_incomplete(&self, position: Position) -> bool {
        match position {
            Position::At(offset) => i64::from(offset) < i64::from(self.first_traceable) * 2,
            Position::Start => self.first_traceable > 0,
            Position::Elsewhere => false,
        }
    }
}

/// A pointer.
pub(super) fn word(
    memory: &dyn ProcessMemory,
    what: &'static str,
    address: u64,
) -> Result<u64, InterpreterError> {
    let mut bytes = [0; 8];
    memory.read(address, &mut bytes).map_err(InterpreterError::memory(what, address))?;
    Ok(u64::from_ne_bytes(bytes))
}

/// The content of a `bytes` object.
fn read_bytes(
    memory: &dyn ProcessMemory,
    layout: &Layout,
    address: u64,
) -> Result<Vec<u8>, InterpreterError> {
    const WHAT: &str = "a function's lines";
    let size = word(memory, WHAT, address.wrapping_add(layout.object.size as u64))?;
    if size > LARGEST_LINE_TABLE {
        return Err(InterpreterError::malformed(WHAT, address, "they are too long"));
    }
    let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
    let start = address.wrapping_add(layout.object.bytes as u64);
    memory.read(start, &mut bytes).map_err(InterpreterError::memory(WHAT, start))?;
    Ok(bytes)
}
