//! The frames of PHP 7.4 to 8.4, read from outside.
//!
//! ```text
//! executor_globals -> current_execute_data -> prev_execute_data -> ...
//!                                |-> func: name, class, file        read once
//!                                |-> opline: line
//! ```
//!
//! PHP without thread safety (NTS), which nearly all servers and command lines run, has one
//! interpreter, on the process's first thread. Builds with thread safety (ZTS) keep their globals
//! in each thread's own memory and are not read.
//!
//! A call from C to PHP runs `execute_ex`; the frame that it begins with is marked
//! (`ZEND_CALL_TOP`). Frames behind it, up to the next mark, are run by the same call.
//!
//! The frames are followed twice. Of a program that runs on meanwhile, the outermost frames are known: those
//! that did not change.

mod layout;
mod program;
#[cfg(test)]
mod tests;

use layout::{EXECUTE_DATA, FIRST_USER_TYPE, FUNCTION, Layout, STRING};
pub use program::{PhpProgram, find_php};

use super::functions::Functions;
use super::{
    Circle, FunctionId, InterpretedFrame, InterpretedFunction, InterpreterError, Look, MemoryPiece,
    Pages, ProcessMemory, Struct,
};

/// The function that runs PHP's code: on the native stack once a call from C to PHP.
pub const LOOP: &str = "execute_ex";

/// Frames that are followed. Programs that recurse without end are ended by PHP's limit of memory,
/// at some ten thousand.
const MOST_FRAMES: usize = 1 << 14;
/// Bytes of a name or a path that are kept. Paths have at most 4096.
const MOST_CHARACTERS: u64 = 4096;
/// So often the frames of a thread that runs on are followed, until the outermost of them stay.
const MOST_ATTEMPTS: usize = 3;
const FRAME: &str = "a frame";

/// The interpreter of one process, and all that is known of its functions.
#[derive(Debug)]
pub struct Php {
    layout: Layout,
    /// Address of `executor_globals` in the process.
    executor: u64,
    functions: Functions<Identity, ()>,
    pages: Pages,
    frames: Vec<RawFrame>,
}

/// A frame as it is in the process.
#[derive(Clone, Copy, Debug)]
struct RawFrame {
    address: u64,
    instruction: u64,
    function: u64,
    is_entry: bool,
}

/// The fields that make up a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    kind: u8,
    name: u64,
    class: u64,
    /// Zero for functions of PHP itself and of its extensions.
    file: u64,
    /// First and last line.
    lines: (u32, u32),
}

impl Identity {
    fn is_user(&self) -> bool {
        self.kind >= FIRST_USER_TYPE
    }
}

impl Php {
    /// Looks at the interpreter of a process. `executor` is the address of `executor_globals` in
    /// the process ([`find_php`] finds it in a file).
    ///
    /// # Errors
    /// When the release is unknown, or the process cannot be read.
    pub fn find(
        memory: &dyn ProcessMemory,
        executor: u64,
        version: (u8, u8),
    ) -> Result<Self, InterpreterError> {
        let layout = Layout::of_release(version)?;
        word(memory, "the current frame", executor.wrapping_add(layout.current_frame))?;
        Ok(Self {
            layout,
            executor,
            functions: Functions::default(),
            pages: Pages::default(),
            frames: Vec::new(),
        })
    }

    /// What is known of a function; none for a number of another process.
    pub fn function(&self, id: FunctionId) -> Option<&InterpretedFunction> {
        self.functions.get(id)
    }

    /// Replaces `frames` by those of the process's first thread, the outermost first. There are none
    /// between requests. Where the thread ran on meanwhile, they are the outermost that stayed.
    ///
    /// # Errors
    /// When the frames cannot be read; `frames` is empty then.
    pub fn look(
        &mut self,
        memory: &dyn ProcessMemory,
        frames: &mut Vec<InterpretedFrame>,
    ) -> Result<Look, InterpreterError> {
        frames.clear();
        let look = self.read(memory, frames);
        if look.is_err() {
            frames.clear();
        }
        look
    }

    fn read(
        &mut self,
        memory: &dyn ProcessMemory,
        frames: &mut Vec<InterpretedFrame>,
    ) -> Result<Look, InterpreterError> {
        let truncated = self.walk(memory)?;
        let mut changed = false;
        for _ in 0..MOST_ATTEMPTS {
            let before = std::mem::take(&mut self.frames);
            let known = self.read_functions(memory, &before);
            self.walk(memory)?;
            let stayed = outermost_same(&before, &self.frames);
            changed |= stayed < self.frames.len();
            if stayed == before.len() {
                self.emit(memory, (&before, &known?), frames)?;
                break;
            }
            changed = true;
            // What was read of the others may be of no function at all.
            self.frames.drain(..self.frames.len() - stayed);
        }
        if changed && truncated {
            // The outermost are others then.
            frames.clear();
        }
        Ok(Look { changed, truncated })
    }

    /// Appends frames with their lines, the outermost first.
    fn emit(
        &self,
        memory: &dyn ProcessMemory,
        (raw, known): (&[RawFrame], &[(FunctionId, Identity)]),
        frames: &mut Vec<InterpretedFrame>,
    ) -> Result<(), InterpreterError> {
        let mut lines = vec![[0; 4]; raw.len()];
        let mut pieces = Vec::with_capacity(raw.len());
        for ((frame, line), (_, identity)) in raw.iter().zip(&mut lines).zip(known) {
            if identity.is_user() {
                let address = frame.instruction.wrapping_add(self.layout.instruction_line);
                pieces.push(MemoryPiece { address, into: line });
            }
        }
        memory.read_pieces(&mut pieces).map_err(InterpreterError::memory("lines", 0))?;
        for ((frame, line), (id, identity)) in raw.iter().zip(&lines).zip(known).rev() {
            if frame.is_entry && identity.is_user() {
                frames.push(InterpretedFrame::Entry);
            }
            // The innermost frame's instruction is written down at calls only, so it may be one of
            // before; it is never one of another function.
            let line = Some(u32::from_ne_bytes(*line)).filter(|line| {
                identity.is_user() && (identity.lines.0..=identity.lines.1).contains(line)
            });
            frames.push(InterpretedFrame::Function { function: *id, line });
        }
        Ok(())
    }

    /// Follows the frames from the innermost on. Answers whether there are more than are followed.
    fn walk(&mut self, memory: &dyn ProcessMemory) -> Result<bool, InterpreterError> {
        let head_at = self.executor.wrapping_add(self.layout.current_frame);
        let head = word(memory, "the current frame", head_at)?;
        self.frames.clear();
        self.pages.clear();
        let (mut address, mut circle) = (head, Circle::new(head));
        let mut bytes = [0; EXECUTE_DATA.span];
        for _ in 0..MOST_FRAMES {
            if address == 0 {
                return Ok(false);
            }
            let wrong = |reason| Err(InterpreterError::malformed(FRAME, address, reason));
            if !address.is_multiple_of(8) {
                return wrong("its address is odd");
            }
            let failed = InterpreterError::memory(FRAME, address);
            self.pages.read(memory, address, &mut bytes).map_err(failed)?;
            let fields = Struct::new(&bytes);
            let function = fields.word(EXECUTE_DATA.function);
            // Frames without a function stand for nothing: they hold a generator's place.
            if function != 0 {
                self.frames.push(RawFrame {
                    address,
                    instruction: fields.word(EXECUTE_DATA.instruction),
                    function,
                    is_entry: fields.half(EXECUTE_DATA.call_flags) & EXECUTE_DATA.top != 0,
                });
            }
            let previous = fields.word(EXECUTE_DATA.previous);
            if previous != 0 && circle.closes(previous) {
                return wrong("its callers go round in a circle");
            }
            address = previous;
        }
        Ok(true)
    }

    /// The function of each frame. All are read at once, to see that they are the known ones.
    fn read_functions(
        &mut self,
        memory: &dyn ProcessMemory,
        frames: &[RawFrame],
    ) -> Result<Vec<(FunctionId, Identity)>, InterpreterError> {
        let mut addresses: Vec<u64> = frames.iter().map(|frame| frame.function).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let span = self.layout.function_span();
        let mut bytes = vec![0; addresses.len() * span];
        let places = addresses.iter().zip(bytes.chunks_exact_mut(span));
        let mut pieces: Vec<_> =
            places.map(|(address, into)| MemoryPiece { address: *address, into }).collect();
        let first = addresses.first().copied().unwrap_or_default();
        memory.read_pieces(&mut pieces).map_err(InterpreterError::memory("functions", first))?;
        let mut known = Vec::with_capacity(addresses.len());
        for (address, bytes) in addresses.iter().zip(bytes.chunks_exact(span)) {
            let identity = self.layout.identity(&Struct::new(bytes));
            let id = match self.functions.at(*address, identity) {
                Some(id) => id,
                None => self.load(memory, *address, identity)?,
            };
            known.push((id, identity));
        }
        let of = |frame: &RawFrame| {
            let index = addresses.binary_search(&frame.function).ok()?;
            known.get(index).copied()
        };
        Ok(frames.iter().filter_map(of).collect())
    }

    fn load(
        &mut self,
        memory: &dyn ProcessMemory,
        address: u64,
        identity: Identity,
    ) -> Result<FunctionId, InterpreterError> {
        // The code of a file outside of its functions has no name.
        let mut name = match identity.name {
            0 => "{main}".to_owned(),
            name => string(memory, "a function's name", name)?,
        };
        if identity.class != 0 && identity.name != 0 {
            let at = identity.class.wrapping_add(FUNCTION.class_name);
            let class = string(memory, "a class's name", word(memory, "a class", at)?)?;
            name = format!("{class}::{name}");
        }
        let file = match identity.is_user() {
            true => Some(string(memory, "a function's file", identity.file)?),
            false => None,
        };
        let function = InterpretedFunction { name, file };
        self.functions.keep((address, identity), function, ((), 0))
    }
}

/// How many of the outermost frames are the same in both, the innermost of which are the first. The
/// innermost that is the same may have run on within itself: the frames that it calls are others then.
fn outermost_same(before: &[RawFrame], again: &[RawFrame]) -> usize {
    let same = |(a, b): &(&RawFrame, &RawFrame)| (a.address, a.function) == (b.address, b.function);
    let pairs = || before.iter().rev().zip(again.iter().rev());
    let stayed = pairs().take_while(same).count();
    let ran_on = pairs().position(|(a, b)| a.instruction != b.instruction);
    ran_on.map_or(stayed, |ran_on| stayed.min(ran_on + 1))
}

/// A pointer.
fn word(
    memory: &dyn ProcessMemory,
    what: &'static str,
    address: u64,
) -> Result<u64, InterpreterError> {
    let mut bytes = [0; 8];
    memory.read(address, &mut bytes).map_err(InterpreterError::memory(what, address))?;
    Ok(u64::from_ne_bytes(bytes))
}

/// A `zend_string`, cut after [`MOST_CHARACTERS`]. Names of anonymous classes have a zero byte and
/// then what tells them apart: that is left out.
fn string(
    memory: &dyn ProcessMemory,
    what: &'static str,
    address: u64,
) -> Result<String, InterpreterError> {
    let mut head = [0; STRING.characters];
    memory.read(address, &mut head).map_err(InterpreterError::memory(what, address))?;
    let fields = Struct::new(&head);
    if fields.half(STRING.kind) & STRING.kind_mask != STRING.is_string {
        return Err(InterpreterError::malformed(what, address, "it is not a string"));
    }
    let length = fields.word(STRING.length).min(MOST_CHARACTERS);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    let start = address.wrapping_add(STRING.characters as u64);
    memory.read(start, &mut bytes).map_err(InterpreterError::memory(what, start))?;
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).into_owned())
}
