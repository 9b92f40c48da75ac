//! The frames of Ruby 2.7 to 3.4 (CRuby), read from outside.
//!
//! ```text
//! ruby_current_vm_ptr -> ractors -> threads -> execution context -> control frames -> iseqs -> names, lines
//!                        \__ once, and when a thread began _/                         \_ once a function _/
//! ```
//!
//! A look at a thread costs six reads: the thread, its context, all of its control frames, which lie
//! one behind the other, their flags, the functions and their bodies, to see that they are the known
//! ones, and then the frames again. A blocked thread's frames do not change, so they are exact. Of a thread
//! that runs on meanwhile, the outermost frames are known: those that did not change.
//!
//! A call from C to Ruby runs `rb_vm_exec`, and in it `vm_exec_core`, the interpreter's loop; the
//! frame that it begins with is marked (`VM_FRAME_FLAG_FINISH`). Frames behind it, up to the next
//! mark, are run by the same call.

mod layout;
mod lines;
mod methods;
mod program;
#[cfg(test)]
mod tests;
mod text;
mod threads;

use layout::{
    C_FRAME, C_METHOD, CONTEXT, DUMMY, ENVIRONMENT, FINISH, FRAME, INTERNAL, ISEQ, ISEQ_BODY,
    ISEQ_SPAN, KIND, Layout, TYPE_MASK, USER_FLAGS,
};
use lines::Lines;
use methods::{MethodNames, Strings};
pub use program::{RubyProgram, find_ruby};
use threads::{CONTEXT_SPAN, RubyThread, Threads};

use super::functions::Functions;
use super::{
    FunctionId, InterpretedFrame, InterpretedFunction, InterpreterError, ListedThreads, Look,
    MemoryPiece, ProcessMemory, Struct, look_at,
};

/// Frames of one thread that are read. Ruby's own limit is some ten thousand.
const MOST_FRAMES: usize = 1 << 14;
/// So often the frames of a thread that runs on are read, until the outermost of them stay.
const MOST_ATTEMPTS: usize = 3;
/// Words of a function's instructions, and entries of its lines. The largest of Ruby's own library
/// has some 10,000.
const MOST_INSTRUCTIONS: usize = 1 << 20;

/// Where a process has its interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RubyPlace {
    /// Address of `ruby_current_vm_ptr` in the process; none where the file has no such symbol.
    pub vm: Option<u64>,
    /// The module's data in the process, through which the interpreter is looked for then.
    pub data: std::ops::Range<u64>,
    /// Address of `ruby_global_symbols`, by which methods written in C have names; none where the
    /// file has no such symbol.
    pub symbols: Option<u64>,
}

/// The interpreter of one process, and all that is known of its functions and threads.
#[derive(Debug)]
pub struct Ruby {
    layout: Layout,
    /// Address of the pointer to the `rb_vm_struct`.
    vm_at: u64,
    threads: Threads,
    functions: Functions<Identity, Lines>,
    methods: Option<MethodNames>,
    scratch: Scratch,
}

/// The fields that make up a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    /// An iseq's body, its instructions, name, file and lines.
    Iseq { body: u64, size: u32, code: u64, label: u64, path: u64, entries: (u64, u32) },
    /// The number of a name.
    Method(u64),
}

/// Buffers that are used again by each look.
#[derive(Debug, Default)]
struct Scratch {
    frames: Vec<u8>,
    frames_again: Vec<u8>,
    environments: Vec<u8>,
    iseqs: Vec<u64>,
    bodies: Vec<(FunctionId, u64)>,
}

/// Where a thread's frames were when it was read.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    thread: RubyThread,
    context: u64,
    /// The innermost frame.
    frame: u64,
    truncated: bool,
}

/// What stayed while a thread was read.
#[derive(Clone, Copy, Debug)]
struct Stayed {
    /// So many of the outermost frames.
    frames: usize,
    /// Which frame is the innermost.
    innermost: bool,
}

impl Ruby {
    /// Finds the interpreter of a process.
    ///
    /// # Errors
    /// When the interpreter has not started yet ([`InterpreterError::NotRunning`]), its release is
    /// unknown, or its structs are not those of the release.
    pub fn find(
        memory: &dyn ProcessMemory,
        place: &RubyPlace,
        version: (u8, u8),
    ) -> Result<Self, InterpreterError> {
        let layout = Layout::of_release(version)?;
        let vm_at = match place.vm {
            Some(address) => address,
            None => threads::find_vm(memory, &layout, place.data.clone())?,
        };
        let threads = Threads::scan(memory, &layout, vm_at)?;
        let strings = Strings { memory, has_length: layout.strings_have_length };
        let methods = MethodNames::find(strings, place.symbols, place.data.clone());
        Ok(Self {
            layout,
            vm_at,
            threads,
            functions: Functions::default(),
            methods,
            scratch: Scratch::default(),
        })
    }

    /// What is known of a function; none for a number of another process.
    pub fn function(&self, id: FunctionId) -> Option<&InterpretedFunction> {
        self.functions.get(id)
    }

    /// Replaces `frames` by those of one thread, the outermost first; `None` where the thread runs no
    /// Ruby. Of a thread that ran on meanwhile, they are the outermost that stayed. `tid` is the kernel's
    /// number of the thread as the process itself sees it.
    ///
    /// # Errors
    /// When the frames cannot be read; `frames` is empty then.
    pub fn look_at(
        &mut self,
        memory: &dyn ProcessMemory,
        tid: u32,
        frames: &mut Vec<InterpretedFrame>,
    ) -> Result<Option<Look>, InterpreterError> {
        look_at(self, memory, tid, frames)
    }

    /// Reads what the frames run, and then the frames again, until both are of one moment. Frames that
    /// change meanwhile are left out, with those that they call. Answers whether the thread ran on; `None`
    /// where it ended.
    fn read_functions(
        &mut self,
        memory: &dyn ProcessMemory,
        mut anchor: Anchor,
    ) -> Result<Option<bool>, InterpreterError> {
        let mut changed = false;
        for _ in 0..MOST_ATTEMPTS {
            let functions = self.read_environments(memory).and_then(|()| self.read_iseqs(memory));
            let Some(stayed) = self.read_again(memory, &anchor)? else { return Ok(None) };
            changed |= !stayed.innermost;
            let frames = self.frame_count();
            if stayed.frames == frames {
                return functions.map(|()| Some(changed));
            }
            changed = true;
            // What was read of the others may be of no function at all.
            let left_out = (frames - stayed.frames) * self.layout.frame;
            let Scratch { frames, frames_again, .. } = &mut self.scratch;
            std::mem::swap(frames, frames_again);
            frames.drain(..left_out);
            anchor.frame = anchor.frame.wrapping_add(left_out as u64);
        }
        self.scratch.frames.clear();
        self.scratch.environments.clear();
        Ok(Some(true))
    }

    /// Reads the thread, its context and all control frames.
    fn anchor(
        &mut self,
        memory: &dyn ProcessMemory,
        thread: RubyThread,
    ) -> Result<Option<Anchor>, InterpreterError> {
        let Some(context) = self.context_of(memory, thread)? else { return Ok(None) };
        let mut bytes = [0; CONTEXT_SPAN];
        let failed = InterpreterError::memory("a context", context);
        memory.read(context, &mut bytes).map_err(failed)?;
        let fields = Struct::new(&bytes);
        let wrong = |reason| Err(InterpreterError::malformed("a context", context, reason));
        if fields.word(self.layout.context_thread) != thread.address {
            return wrong("it belongs to another thread");
        }
        let size = fields.word(CONTEXT.stack_size).checked_mul(8);
        let end = size.and_then(|size| fields.word(CONTEXT.stack).checked_add(size));
        let frame = fields.word(CONTEXT.frame);
        let length = end.and_then(|end| end.checked_sub(frame));
        let length = length.and_then(|length| usize::try_from(length).ok());
        let Some(length) = length.filter(|length| length.is_multiple_of(self.layout.frame)) else {
            return wrong("its frames are not on its stack");
        };
        if frame < fields.word(CONTEXT.stack) {
            return wrong("its frames are not on its stack");
        }
        let most = MOST_FRAMES * self.layout.frame;
        let frames = &mut self.scratch.frames;
        frames.resize(length.min(most), 0);
        memory.read(frame, frames).map_err(InterpreterError::memory("frames", frame))?;
        Ok(Some(Anchor { thread, context, frame, truncated: length > most }))
    }

    /// What a thread runs; `None` where it has ended.
    fn context_of(
        &self,
        memory: &dyn ProcessMemory,
        thread: RubyThread,
    ) -> Result<Option<u64>, InterpreterError> {
        let (mut bytes, mut tid) = (vec![0; self.layout.thread.span], [0; 4]);
        let mut pieces = [
            MemoryPiece { address: thread.address, into: &mut bytes },
            MemoryPiece { address: thread.tid_at, into: &mut tid },
        ];
        if memory.read_pieces(&mut pieces).is_err() {
            // Of a thread that ended, the C library may have given back the stack.
            let failed = InterpreterError::memory("a thread", thread.address);
            memory.read(thread.address, &mut bytes).map_err(failed)?;
            return Ok(None);
        }
        let fields = Struct::new(&bytes);
        let stands = fields.word(self.layout.thread.vm) == self.threads.vm
            && u32::from_ne_bytes(tid) == thread.tid;
        let context = fields.word(self.layout.thread.context);
        Ok(Some(context).filter(|context| stands && *context != 0))
    }

    /// Reads what stands below each frame's variables.
    fn read_environments(&mut self, memory: &dyn ProcessMemory) -> Result<(), InterpreterError> {
        let Scratch { frames, environments, .. } = &mut self.scratch;
        let (frame, span) = (self.layout.frame, ENVIRONMENT.span);
        environments.resize(frames.len() / frame * span, 0);
        let places = frames.chunks_exact(frame).zip(environments.chunks_exact_mut(span));
        let piece = |(frame, into)| {
            let end = Struct::new(frame).word(FRAME.environment);
            let address = end.wrapping_sub(ENVIRONMENT.flags as u64);
            MemoryPiece { address, into }
        };
        let mut pieces: Vec<_> = places.map(piece).collect();
        let failed = InterpreterError::memory("variables", 0);
        memory.read_pieces(&mut pieces).map_err(failed)
    }

    /// Each frame, the innermost first, and its environment.
    fn frames(&self) -> impl DoubleEndedIterator<Item = (Struct<'_>, Struct<'_>)> {
        let frames = self.scratch.frames.chunks_exact(self.layout.frame).map(Struct::new);
        frames.zip(self.scratch.environments.chunks_exact(ENVIRONMENT.span).map(Struct::new))
    }

    /// The functions of all frames of Ruby. All are read at once, to see that they are the known ones.
    fn read_iseqs(&mut self, memory: &dyn ProcessMemory) -> Result<(), InterpreterError> {
        let of_ruby = self.frames().filter(|(_, below)| runs_ruby(below));
        let mut iseqs: Vec<u64> = of_ruby.map(|(frame, _)| frame.word(FRAME.iseq)).collect();
        iseqs.sort_unstable();
        iseqs.dedup();
        let first = iseqs.first().copied().unwrap_or_default();
        let mut heads = vec![0; iseqs.len() * ISEQ_SPAN];
        read_each(memory, &iseqs, &mut heads)
            .map_err(InterpreterError::memory("a function", first))?;
        let mut at = Vec::with_capacity(iseqs.len());
        for (address, head) in iseqs.iter().zip(heads.chunks_exact(ISEQ_SPAN)) {
            let head = Struct::new(head);
            let flags = head.word(0);
            if flags & TYPE_MASK != INTERNAL || flags >> USER_FLAGS & 0xf != ISEQ {
                let reason = "it has another type";
                return Err(InterpreterError::malformed("a function", *address, reason));
            }
            at.push(head.word(ISEQ_BODY));
        }
        let span = self.layout.body.span;
        let mut bodies = vec![0; iseqs.len() * span];
        let first = at.first().copied().unwrap_or_default();
        read_each(memory, &at, &mut bodies)
            .map_err(InterpreterError::memory("a function", first))?;
        let mut known = Vec::with_capacity(iseqs.len());
        for ((iseq, body), bytes) in iseqs.iter().zip(&at).zip(bodies.chunks_exact(span)) {
            let fields = Struct::new(bytes);
            let id = self.load(memory, *iseq, *body, &fields)?;
            known.push((id, fields.word(self.layout.body.code)));
        }
        (self.scratch.iseqs, self.scratch.bodies) = (iseqs, known);
        Ok(())
    }

    fn load(
        &mut self,
        memory: &dyn ProcessMemory,
        iseq: u64,
        body: u64,
        fields: &Struct<'_>,
    ) -> Result<FunctionId, InterpreterError> {
        let layout = self.layout.body;
        let identity = Identity::Iseq {
            body,
            size: fields.half(layout.size),
            code: fields.word(layout.code),
            label: fields.word(layout.label),
            path: fields.word(layout.path),
            entries: (fields.word(layout.lines), fields.half(layout.lines + 16)),
        };
        if let Some(id) = self.functions.at(iseq, identity) {
            return Ok(id);
        }
        let has_length = self.layout.strings_have_length;
        let label = fields.word(layout.label);
        let function = InterpretedFunction {
            name: text::read(memory, has_length, "a function's name", label)?,
            file: Some(text::read_path(memory, has_length, fields.word(layout.path))?),
        };
        let lines = self.read_lines(memory, fields)?;
        let bytes = lines.bytes();
        self.functions.keep((iseq, identity), function, (lines, bytes))
    }

    fn read_lines(
        &self,
        memory: &dyn ProcessMemory,
        fields: &Struct<'_>,
    ) -> Result<Lines, InterpreterError> {
        const WHAT: &str = "a function's lines";
        let layout = self.layout.body;
        let size = usize::try_from(fields.half(layout.size)).unwrap_or(usize::MAX);
        let count = usize::try_from(fields.half(layout.lines + 16)).unwrap_or(usize::MAX);
        let at = fields.word(layout.lines);
        if size > MOST_INSTRUCTIONS || count > size.max(1) {
            return Err(InterpreterError::malformed(WHAT, at, "they are too many"));
        }
        let bytes = |address, length| {
            let mut bytes = vec![0; length];
            memory.read(address, &mut bytes).map_err(InterpreterError::memory(WHAT, address))?;
            Ok(bytes)
        };
        let entries = bytes(at, count * layout.entry)?;
        let positions = fields.word(layout.lines + 8);
        let index = fields.word(layout.lines + 24);
        Ok(match (positions, index) {
            (0, 0) => Lines::from_index(&entries, layout.entry, &[], size.min(1)),
            (0, index) => {
                let index = bytes(index, lines::index_bytes(size))?;
                Lines::from_index(&entries, layout.entry, &index, size)
            }
            (positions, _) => {
                Lines::from_positions(&entries, layout.entry, &bytes(positions, count * 4)?)
            }
        })
    }

    /// Reads again all that led to the frames, and the frames. `None` where the thread ended.
    fn read_again(
        &mut self,
        memory: &dyn ProcessMemory,
        anchor: &Anchor,
    ) -> Result<Option<Stayed>, InterpreterError> {
        let Scratch { frames, frames_again, .. } = &mut self.scratch;
        frames_again.resize(frames.len(), 0);
        let (mut frame, mut tid, mut context) = ([0; 8], [0; 4], [0; 8]);
        let context_at = anchor.thread.address.wrapping_add(self.layout.thread.context as u64);
        let frame_at = anchor.context.wrapping_add(CONTEXT.frame as u64);
        let mut pieces = [
            MemoryPiece { address: anchor.frame, into: frames_again },
            MemoryPiece { address: frame_at, into: &mut frame },
            MemoryPiece { address: context_at, into: &mut context },
            MemoryPiece { address: anchor.thread.tid_at, into: &mut tid },
        ];
        let failed = InterpreterError::memory("frames", anchor.frame);
        memory.read_pieces(&mut pieces).map_err(failed)?;
        if u32::from_ne_bytes(tid) != anchor.thread.tid {
            return Ok(None);
        }
        if u64::from_ne_bytes(context) != anchor.context {
            // Another fiber.
            return Ok(Some(Stayed { frames: 0, innermost: false }));
        }
        let innermost = u64::from_ne_bytes(frame);
        // Frames below it have returned.
        let returned = innermost.saturating_sub(anchor.frame) / self.layout.frame as u64;
        let returned = usize::try_from(returned).unwrap_or(usize::MAX);
        let frames = self.outermost_same().min(self.frame_count().saturating_sub(returned));
        Ok(Some(Stayed { frames, innermost: innermost == anchor.frame }))
    }

    fn frame_count(&self) -> usize {
        self.scratch.frames.len() / self.layout.frame
    }

    /// How many of the outermost frames were the same when they were read again. The innermost of them may
    /// have run on within itself: the frames that it calls are others then.
    fn outermost_same(&self) -> usize {
        let Scratch { frames, frames_again, .. } = &self.scratch;
        let before = frames.chunks_exact(self.layout.frame).map(Struct::new);
        let again = frames_again.chunks_exact(self.layout.frame).map(Struct::new);
        let mut stayed = 0;
        for (before, again) in before.zip(again).rev() {
            let same = |at| before.word(at) == again.word(at);
            if !same(FRAME.iseq) || !same(FRAME.environment) {
                break;
            }
            stayed += 1;
            if !same(FRAME.instruction) {
                break;
            }
        }
        stayed
    }

    /// Appends the frames, the outermost first.
    fn emit(&mut self, memory: &dyn ProcessMemory, frames: &mut Vec<InterpretedFrame>) {
        let mut parts = Vec::new();
        for (frame, below) in self.frames().rev() {
            let flags = below.word(ENVIRONMENT.flags);
            if !runs_ruby(&below) {
                let is_method = flags & KIND == C_METHOD;
                parts.extend(is_method.then(|| Part::Method(below.word(ENVIRONMENT.method))));
                continue;
            }
            if flags & FINISH != 0 {
                parts.push(Part::Frame(InterpretedFrame::Entry));
            }
            parts.extend(self.frame(&frame).map(Part::Frame));
        }
        let strings = Strings { memory, has_length: self.layout.strings_have_length };
        let Self { methods, functions, .. } = self;
        frames.extend(parts.into_iter().filter_map(|part| match part {
            Part::Frame(frame) => Some(frame),
            Part::Method(entry) => {
                let function = methods.as_ref()?.function(strings, functions, entry)?;
                Some(InterpretedFrame::Function { function, line: None })
            }
        }));
    }

    /// A frame of Ruby: its function, and the line.
    fn frame(&self, frame: &Struct<'_>) -> Option<InterpretedFrame> {
        let iseq = frame.word(FRAME.iseq);
        let index = self.scratch.iseqs.binary_search(&iseq).ok()?;
        let (function, code) = *self.scratch.bodies.get(index)?;
        // It points behind the instruction that runs, except before the first.
        let position = frame.word(FRAME.instruction).wrapping_sub(code) / 8;
        let position = u32::try_from(position.saturating_sub(1)).ok();
        let lines = self.functions.lines(function);
        let line = position.and_then(|position| lines?.line(position));
        Some(InterpretedFrame::Function { function, line })
    }
}

impl ListedThreads for Ruby {
    type Frame = InterpretedFrame;
    type Look = Look;

    fn has_thread(&mut self, tid: u32) -> bool {
        !self.threads.of(tid).is_empty()
    }

    fn is_list_current(&self, memory: &dyn ProcessMemory) -> bool {
        self.threads.is_current(memory)
    }

    fn list_threads(&mut self, memory: &dyn ProcessMemory) -> Result<(), InterpreterError> {
        self.threads = Threads::scan(memory, &self.layout, self.vm_at)?;
        Ok(())
    }

    fn look_at_listed(
        &mut self,
        memory: &dyn ProcessMemory,
        tid: u32,
        frames: &mut Vec<InterpretedFrame>,
    ) -> Result<Option<Look>, InterpreterError> {
        let Some(thread) = self.threads.of(tid).first().copied() else { return Ok(None) };
        let Some(anchor) = self.anchor(memory, thread)? else { return Ok(None) };
        let Some(changed) = self.read_functions(memory, anchor)? else { return Ok(None) };
        // The outermost are others then.
        if !(changed && anchor.truncated) {
            self.emit(memory, frames);
        }
        Ok(Some(Look { changed, truncated: anchor.truncated }))
    }
}

/// What a control frame stands for.
enum Part {
    Frame(InterpretedFrame),
    /// A method entry.
    Method(u64),
}

/// Whether a frame runs Ruby's instructions, by what stands below its variables.
fn runs_ruby(below: &Struct<'_>) -> bool {
    let flags = below.word(ENVIRONMENT.flags);
    flags & C_FRAME == 0 && flags & KIND != DUMMY
}

/// Reads structs of one size at several addresses, one behind the other.
fn read_each(
    memory: &dyn ProcessMemory,
    addresses: &[u64],
    into: &mut [u8],
) -> Result<(), super::Unreadable> {
    let span = into.len() / addresses.len().max(1);
    let places = addresses.iter().zip(into.chunks_exact_mut(span.max(1)));
    let mut pieces: Vec<_> =
        places.map(|(address, into)| MemoryPiece { address: *address, into }).collect();
    memory.read_pieces(&mut pieces)
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
