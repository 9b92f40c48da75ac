//! Coroutines that wait: their frames, from the one that a task runs to the innermost.
//!
//! ```text
//! coroutine -> frame -> top of its stack -> coroutine -> ... -> iterator of a future -> future
//!                                      \--> wrapper of a coroutine or generator -> ...
//! ```
//!
//! A coroutine that awaits keeps what it awaits on top of its stack, and has its frame within
//! itself. Source: `Objects/genobject.c` and `Modules/_asynciomodule.c` of 3.12 to 3.14.

use rustc_hash::FxHashMap;

use super::super::{ProcessMemory, Struct};
use super::code::{Codes, Position, word};
use super::frames::{self, RawFrame, TAG};
use super::layout::{AwaitLayout, Layout};
use super::reads::Reads;
use super::{InterpreterError, PyFrame};

/// Frames of one task that are followed.
pub(super) const MOST_FRAMES: usize = 256;
const WHAT: &str = "a coroutine";
/// Types that are remembered.
const MOST_TYPES: usize = 256;
/// `FRAME_SUSPENDED_YIELD_FROM`, in 3.12 `FRAME_SUSPENDED`; and the first state of a frame that does not wait: `FRAME_EXECUTING`.
const AWAITS: i8 = -1;
const EXECUTING: i8 = 0;
/// What `RESUME` says in its lowest bits of why the coroutine waits.
const RESUME_REASON: u8 = 3;
const AFTER_YIELD_FROM: u8 = 2;

/// What an object is that a coroutine awaits, or that leads from one task to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It has a frame.
    Coroutine,
    /// It leads to one that has.
    Wrapper,
    FutureIterator,
    Future,
    Task,
    Function,
    /// A function of an object.
    Method,
    TaskGroup,
    WeakReference,
    WeakSet,
    Set,
    /// `None`.
    Nothing,
    Other,
}

/// What objects are, by the address of their type.
#[derive(Debug, Default)]
pub(super) struct Kinds(FxHashMap<u64, Kind>);

impl Kinds {
    fn get(
        &mut self,
        memory: &dyn ProcessMemory,
        layout: &Layout,
        kind: u64,
    ) -> Result<Kind, InterpreterError> {
        if let Some(known) = self.0.get(&kind) {
            return Ok(*known);
        }
        let at = kind.wrapping_add(layout.object.type_name as u64);
        let name = word(memory, "a type", at)?;
        let found = kind_of(memory, name);
        if self.0.len() >= MOST_TYPES {
            self.0.clear();
        }
        self.0.insert(kind, found);
        Ok(found)
    }
}

/// What objects of a type are, by the address of its name.
fn kind_of(memory: &dyn ProcessMemory, name: u64) -> Kind {
    const NAMES: [(&str, Kind); 18] = [
        ("coroutine\0", Kind::Coroutine),
        ("generator\0", Kind::Coroutine),
        ("async_generator\0", Kind::Coroutine),
        ("coroutine_wrapper\0", Kind::Wrapper),
        ("async_generator_asend\0", Kind::Wrapper),
        ("async_generator_athrow\0", Kind::Wrapper),
        ("anext_awaitable\0", Kind::Wrapper),
        ("_asyncio.FutureIter\0", Kind::FutureIterator),
        ("_asyncio.Future\0", Kind::Future),
        ("_GatheringFuture\0", Kind::Future),
        ("function\0", Kind::Function),
        ("_asyncio.Task\0", Kind::Task),
        ("method\0", Kind::Method),
        ("TaskGroup\0", Kind::TaskGroup),
        ("weakref.ReferenceType\0", Kind::WeakReference),
        ("WeakSet\0", Kind::WeakSet),
        ("set\0", Kind::Set),
        ("NoneType\0", Kind::Nothing),
    ];
    let mut bytes = [0; 24];
    let is = |text: &str, bytes: &mut [u8; 24]| {
        // Only as far as this name goes: behind it there may be no memory.
        let into = bytes.get_mut(..text.len()).unwrap_or_default();
        memory.read(name, into).is_ok() && into == text.as_bytes()
    };
    let found = NAMES.iter().find(|(text, _)| is(text, &mut bytes));
    found.map_or(Kind::Other, |(_, kind)| *kind)
}

/// Reads coroutines.
pub(super) struct CoroutineReader<'c> {
    pub(super) memory: &'c dyn ProcessMemory,
    pub(super) layout: &'c Layout,
    pub(super) awaits: &'c AwaitLayout,
    pub(super) codes: &'c mut Codes,
    pub(super) kinds: &'c mut Kinds,
    pub(super) reads: &'c mut Reads,
}

/// The coroutines of one task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Coroutines {
    /// The outermost first.
    pub(super) frames: Vec<PyFrame>,
    /// The future that the innermost awaits; 0 where it awaits something else.
    pub(super) future: u64,
}

impl CoroutineReader<'_> {
    /// All coroutines from the one that a task runs on.
    ///
    /// # Errors
    /// When one cannot be read, or runs.
    pub(super) fn read(&mut self, coroutine: u64) -> Result<Coroutines, InterpreterError> {
        let mut found = Coroutines::default();
        let mut object = coroutine & !TAG;
        // Each can be behind a wrapper.
        for _ in 0..2 * MOST_FRAMES {
            if object == 0 || found.frames.len() >= MOST_FRAMES {
                break;
            }
            let (kind, first) = self.object(object)?;
            match kind {
                Kind::Coroutine => object = self.frame(object, &mut found)?,
                Kind::Wrapper => object = first,
                Kind::FutureIterator => {
                    found.future = first;
                    break;
                }
                _ => break,
            }
        }
        Ok(found)
    }

    /// What an object is, and the first pointer behind what all objects have.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn object(&mut self, object: u64) -> Result<(Kind, u64), InterpreterError> {
        let at = self.awaits.object_size;
        let head = self.reads.read(self.memory, "what is awaited", object, at + 8)?;
        let fields = Struct::new(head);
        let (kind, first) = (fields.word(self.layout.object.kind), fields.word(at) & !TAG);
        Ok((self.kinds.get(self.memory, self.layout, kind)?, first))
    }

    /// Whether a coroutine has run to its end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn has_ended(&mut self, coroutine: u64) -> Result<bool, InterpreterError> {
        let at = coroutine.wrapping_add(self.awaits.state as u64);
        let state = self.reads.read(self.memory, WHAT, at, 1)?;
        Ok(Struct::new(state).byte(0).cast_signed() > EXECUTING)
    }

    /// Appends a coroutine's frame. Answers what the coroutine awaits, 0 for nothing.
    fn frame(&mut self, object: u64, found: &mut Coroutines) -> Result<u64, InterpreterError> {
        let Self { memory, layout, awaits, codes, reads, .. } = self;
        let wrong = |reason| Err(InterpreterError::malformed(WHAT, object, reason));
        let start = awaits.state.min(awaits.frame);
        let end = awaits.frame + layout.frame.span().max(awaits.stack.end());
        let bytes = reads.read(*memory, WHAT, object.wrapping_add(start as u64), end - start)?;
        let state = Struct::new(bytes).byte(awaits.state - start).cast_signed();
        let fields = Struct::new(bytes.get(awaits.frame - start..).unwrap_or_default());
        let frame = object.wrapping_add(awaits.frame as u64);
        let top = awaits.stack.top(frame, &fields);
        let mut raw = Vec::new();
        frames::push(layout, &fields, &mut raw);
        let [RawFrame::Code { code, instruction, generator: true, copy }] = *raw else {
            return wrong("its frame is not its own");
        };
        if state >= EXECUTING {
            return wrong("it runs");
        }
        let function = reads.read(*memory, "a code object", code, layout.code.span())?;
        let function = codes.resolve(*memory, layout, code, function)?;
        let position = function.position(*memory, &layout.code, instruction, copy);
        if position == Position::Elsewhere {
            return wrong("its instruction is not one of its function");
        }
        let line = codes.line(function.id, position);
        found.frames.push(PyFrame::Code { code: function.id, line });
        let (Some(top), AWAITS) = (top, state) else { return Ok(0) };
        if !awaits.state_tells {
            let next = reads.read(*memory, "an instruction", instruction.wrapping_add(2), 2)?;
            if Struct::new(next).byte(1) & RESUME_REASON < AFTER_YIELD_FROM {
                return Ok(0);
            }
        }
        Ok(reads.word(*memory, "the stack of a coroutine", top)? & !TAG)
    }
}
