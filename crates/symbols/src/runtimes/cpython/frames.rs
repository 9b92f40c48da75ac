//! The frames of one thread, from the innermost to the outermost, as the interpreter links them.
//!
//! ```text
//! 3.8 to 3.10   thread -> PyFrameObject -> f_back -> ...           a call of the interpreter each
//! 3.11          thread -> _PyCFrame -> _PyInterpreterFrame -> previous -> ...     some with a mark
//! 3.12          the same, with a frame of no function below those of one call
//! 3.13, 3.14    thread -> _PyInterpreterFrame -> previous -> ...   as in 3.12
//! ```
//!
//! Most frames of a thread lie one behind the other in few pages; those of generators and
//! coroutines are inside of their objects.

use super::super::{Circle, Pages, ProcessMemory, Struct};
use super::InterpreterError;
use super::layout::{FrameStyle, Layout};

/// Frames of one thread that are followed. Python's own limit is 1000; programs that raise it use
/// some ten thousand.
const MOST_FRAMES: usize = 1 << 14;
const WHAT: &str = "a frame";
/// `owner` from this on: the frame stands for no function (`FRAME_OWNED_BY_CSTACK` in 3.12 and
/// 3.13, `FRAME_OWNED_BY_INTERPRETER` in 3.14; both are 3).
const FIRST_SHIM: u8 = 3;
/// `FRAME_OWNED_BY_GENERATOR`.
const GENERATOR: u8 = 1;
/// `FRAME_EXECUTING`.
const GENERATOR_RUNS: u8 = 0;
/// 3.14 uses the low bits of references for itself; objects lie at multiples of 8.
pub(super) const TAG: u64 = 7;

/// A frame as it is in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RawFrame {
    /// Below it, in time before it, the interpreter's C function was called.
    Entry,
    /// A function runs.
    Code {
        /// Address of its code object.
        code: u64,
        /// Address of the instruction or, up to 3.10, its byte offset; `u64::MAX` before the first.
        instruction: u64,
        /// Frames of generators count from their first instruction on.
        generator: bool,
        /// Which copy of the instructions the thread runs; 0 is the code object's own.
        copy: u32,
    },
}

impl RawFrame {
    /// Address of its code object.
    pub(super) fn code(&self) -> Option<u64> {
        match self {
            Self::Entry => None,
            Self::Code { code, .. } => Some(*code),
        }
    }
}

/// Whether all frames were followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walk {
    Complete,
    /// There are more than [`MOST_FRAMES`]: the outermost are missing.
    Truncated,
}

/// The frames of one thread.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// The innermost first.
    pub(super) frames: Vec<RawFrame>,
    /// Where each struct is.
    addresses: Vec<u64>,
    /// Where the frames of each struct begin.
    begins: Vec<usize>,
    /// One struct.
    bytes: Vec<u8>,
    /// The outermost struct whose frame does not run: it ended while the chain was followed. Up to Python 3.10
    /// the next call of the same function uses it again.
    ended: Option<usize>,
}

impl Chain {
    /// Replaces the frames by those from `head` on.
    ///
    /// # Errors
    /// When a frame cannot be read, or the chain comes back to where it was.
    pub(super) fn walk(
        &mut self,
        memory: &dyn ProcessMemory,
        pages: &mut Pages,
        layout: &Layout,
        head: u64,
    ) -> Result<Walk, InterpreterError> {
        self.frames.clear();
        self.addresses.clear();
        self.begins.clear();
        self.ended = None;
        self.bytes.resize(layout.frame.span(), 0);
        let mut address = head;
        let mut circle = Circle::new(head);
        for _ in 0..MOST_FRAMES {
            if address == 0 {
                return Ok(Walk::Complete);
            }
            let wrong = |reason| Err(InterpreterError::malformed(WHAT, address, reason));
            if address & TAG != 0 {
                return wrong("its address is odd");
            }
            let failed = InterpreterError::memory(WHAT, address);
            pages.read(memory, address, &mut self.bytes).map_err(failed)?;
            let fields = Struct::new(&self.bytes);
            self.begins.push(self.frames.len());
            push(layout, &fields, &mut self.frames);
            if !runs(memory, pages, layout, address, &fields)? {
                self.ended = Some(self.addresses.len());
            }
            self.addresses.push(address);
            let previous = fields.word(layout.frame.previous);
            if circle.closes(previous) {
                return wrong("its callers go round in a circle");
            }
            address = previous;
        }
        Ok(Walk::Truncated)
    }

    /// Whether all frames run, and were the same when their pages were read again. The innermost
    /// function may have run on within itself: its frame is the same while it stands for the same
    /// code and has the same caller.
    pub(super) fn is_same(&self, pages: &Pages, layout: &Layout) -> bool {
        let Some((innermost, callers)) = self.addresses.split_first() else { return true };
        let start = layout.frame.start();
        let length = layout.frame.span().saturating_sub(start);
        let same =
            |frame: &u64, at: usize, length| pages.is_same(frame.wrapping_add(at as u64), length);
        let word = |at| same(innermost, at, size_of::<u64>());
        self.ended.is_none()
            && word(layout.frame.code)
            && word(layout.frame.previous)
            && callers.iter().all(|frame| same(frame, start, length))
    }

    /// Leaves the outermost frames, those that a later chain of the same thread has, too. One that had ended
    /// when it was read is in no chain that begins later.
    pub(super) fn keep_common(&mut self, later: &Self) {
        let both = self.calls().zip(later.calls());
        let common = both.take_while(|(one, other)| one == other).count();
        let begin = self.begins.len().checked_sub(common).and_then(|at| self.begins.get(at));
        self.frames.drain(..begin.copied().unwrap_or(self.frames.len()));
    }

    /// Each struct that runs with its code, the outermost first.
    fn calls(&self) -> impl Iterator<Item = (u64, Option<u64>)> {
        let first = self.ended.map_or(0, |ended| ended + 1);
        let code = |at: &usize| self.frames.get(*at).and_then(RawFrame::code);
        let calls = self.addresses.iter().copied().zip(self.begins.iter().map(code));
        calls.skip(first).collect::<Vec<_>>().into_iter().rev()
    }
}

/// Appends the frame whose struct was read, and the mark of an entry where it has one.
pub(super) fn push(layout: &Layout, fields: &Struct<'_>, frames: &mut Vec<RawFrame>) {
    let code = fields.word(layout.frame.code) & !TAG;
    let instruction = fields.word(layout.frame.instruction);
    let copy = layout.frame.copy.map_or(0, |at| fields.half(at));
    match layout.frame.style {
        FrameStyle::Objects { unit, .. } => {
            // -1 before the first instruction.
            let index = u32::try_from(fields.int(layout.frame.instruction)).ok();
            let offset = index.map(|index| u64::from(index) * u64::from(unit));
            let instruction = offset.unwrap_or(u64::MAX);
            frames.push(RawFrame::Code { code, instruction, generator: false, copy });
            frames.push(RawFrame::Entry);
        }
        FrameStyle::Marked { is_entry, owner, .. } => {
            let generator = fields.byte(owner) == GENERATOR;
            frames.push(RawFrame::Code { code, instruction, generator, copy });
            if fields.byte(is_entry) != 0 {
                frames.push(RawFrame::Entry);
            }
        }
        FrameStyle::Shims { owner, .. } => match fields.byte(owner) {
            FIRST_SHIM.. => frames.push(RawFrame::Entry),
            owner => {
                let generator = owner == GENERATOR;
                frames.push(RawFrame::Code { code, instruction, generator, copy });
            }
        },
    }
}

/// Whether a frame can be on a stack now.
///
/// # Errors
/// When the generator that the frame is part of cannot be read.
fn runs(
    memory: &dyn ProcessMemory,
    pages: &mut Pages,
    layout: &Layout,
    address: u64,
    fields: &Struct<'_>,
) -> Result<bool, InterpreterError> {
    let (owner, before) = match layout.frame.style {
        FrameStyle::Objects { state, running, .. } => {
            return Ok(running.contains(&fields.byte(state)));
        }
        FrameStyle::Marked { owner, generator_state, .. }
        | FrameStyle::Shims { owner, generator_state } => (owner, generator_state),
    };
    // A function's frame has no such mark.
    if fields.byte(owner) != GENERATOR {
        return Ok(true);
    }
    let (at, mut state) = (address.wrapping_sub(before as u64), [0; 1]);
    pages.read(memory, at, &mut state).map_err(InterpreterError::memory("a generator", at))?;
    Ok(state == [GENERATOR_RUNS])
}
