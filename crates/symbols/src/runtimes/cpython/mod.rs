//! The frames of CPython 3.8 to 3.14, read from outside.
//!
//! ```text
//! _PyRuntime -> interpreters -> threads -> frames -> code objects -> names, lines
//!               \_____ once, and when a thread began _____/  \___ once a function ___/
//! ```
//!
//! A look at a thread costs a handful of reads: its state, the pages that its frames lie in, then
//! all its code objects at once, to see that they are the ones that are known. A blocked thread's
//! frames do not change, so they are exact. A running thread may change them during the look: it
//! says so ([`PyLook::changed`]), or ends in an error, when that can be seen.
//!
//! An event loop of `asyncio` that waits has no frame of the functions that wait: their frames are
//! in coroutines. [`CPython::look_at_tasks`] reads those.

mod asyncio;
mod code;
mod coroutines;
mod debug_offsets;
mod frames;
mod layout;
mod lines;
mod program;
mod reads;
mod task_lists;
mod task_set;
mod tasks;
#[cfg(test)]
mod tests;
mod text;
mod threads;

pub use code::{CodeId, PyCode, PyInstructions};
pub use program::{CPythonProgram, LOOP, find_asyncio, find_cpython};

use super::{InterpreterError, ListedThreads, MemoryPiece, Pages, ProcessMemory, Struct, look_at};
use asyncio::AsyncioLayout;
use code::{CodeObject, Codes, Position};
use coroutines::{CoroutineReader, Kinds};
use frames::{Chain, RawFrame, Walk};
use layout::{Layout, TaskPlace};
use reads::Reads;
use rustc_hash::FxHashMap;
use tasks::{LoopThread, TaskReader};
use threads::{ThreadState, Threads};

/// What errors call the language.
const NAME: &str = "Python";

/// Frames of all threads together that one look reads. A process that lies could have them without
/// end.
const MOST_FRAMES_OF_ALL: usize = 1 << 20;

/// The interpreter of one process, and all that is known of its functions and threads.
#[derive(Debug)]
pub struct CPython {
    layout: Layout,
    runtime: u64,
    codes: Codes,
    threads: Threads,
    scratch: Scratch,
    asyncio: Option<AsyncioLayout>,
    kinds: Kinds,
    /// What event loops were found to await, by thread.
    awaits: FxHashMap<u32, Awaited>,
}

/// What the tasks of an event loop await, and what it was read from.
#[derive(Debug)]
struct Awaited {
    reads: Reads,
    frames: Vec<PyFrame>,
}

/// A frame of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PyFrame {
    /// The C stack has one `_PyEval_EvalFrameDefault` here. The frames up to the next entry are run
    /// by that call of it.
    Entry,
    /// A function runs.
    Code {
        /// Which one: see [`CPython::code`].
        code: CodeId,
        /// Line in its file; none where the compiler made up the instruction.
        line: Option<u32>,
    },
}

/// How far the frames of a look can be relied on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PyLook {
    /// A function was called or returned while the thread was read. Its frames are the outermost, which
    /// stayed; there may be none. The innermost function may run on within itself without that.
    pub changed: bool,
    /// The thread has more frames than are read: the outermost are missing.
    pub truncated: bool,
    /// Frames of several interpreters are among them, each from an entry on. Up to Python 3.12 those
    /// of a sub-interpreter are given to the thread that created it, whichever thread runs it.
    pub several_interpreters: bool,
}

/// The frames of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadFrames {
    /// The kernel's number of the thread, as the process itself sees it: inside of its own
    /// namespace.
    pub tid: u32,
    /// The outermost first.
    pub frames: Vec<PyFrame>,
    /// How far they can be relied on, or why there are none.
    pub look: Result<PyLook, InterpreterError>,
}

/// Buffers that are used again by each look.
#[derive(Debug, Default)]
struct Scratch {
    pages: Pages,
    chain: Chain,
    /// That of a thread that ran on, read again.
    later: Chain,
    addresses: Vec<u64>,
    objects: Vec<CodeObject>,
    thread: Vec<u8>,
    /// The thread state, read again.
    thread_again: Vec<u8>,
    codes: Vec<u8>,
}

impl CPython {
    /// Finds the interpreter of a process.
    ///
    /// `runtime` is the address of `_PyRuntime` in the process ([`find_cpython`] finds it in a
    /// file). `version` is needed up to 3.12 only: from 3.13 on the process says it.
    ///
    /// # Errors
    /// When the interpreter has not started yet ([`InterpreterError::NotRunning`]), its release is
    /// unknown, or its structs are not those of the release.
    pub fn find(
        memory: &dyn ProcessMemory,
        runtime: u64,
        version: Option<(u8, u8)>,
    ) -> Result<Self, InterpreterError> {
        let layout = match debug_offsets::read(memory, runtime)? {
            Some(layout) => layout,
            None => Layout::of_release(version.ok_or(InterpreterError::UnknownVersion(NAME))?)?,
        };
        let threads = Threads::scan(memory, &layout, runtime)?;
        let (codes, scratch) = (Codes::default(), Scratch::default());
        let (kinds, awaits) = (Kinds::default(), FxHashMap::default());
        Ok(Self { layout, runtime, codes, threads, scratch, asyncio: None, kinds, awaits })
    }

    /// Whether tasks of `asyncio` can be read in this release; in 3.14 once
    /// [`set_asyncio`](Self::set_asyncio) knows where the module is.
    pub fn has_readable_tasks(&self) -> bool {
        self.layout.awaits.is_some()
    }

    /// Takes the table of offsets of the module `_asyncio`: `table` is its address in the process
    /// ([`find_asyncio`] finds it in a file).
    ///
    /// # Errors
    /// When the table cannot be read or makes no sense.
    pub fn set_asyncio(
        &mut self,
        memory: &dyn ProcessMemory,
        table: u64,
    ) -> Result<(), InterpreterError> {
        if let Some(awaits) = &self.layout.awaits {
            self.asyncio = Some(AsyncioLayout::read(memory, awaits, table)?);
        }
        Ok(())
    }

    /// Replaces `frames` by those of the coroutines that an event loop which waits on a thread waits
    /// for, the outermost first; all are functions. `tid` is as in [`look_at`](Self::look_at).
    ///
    /// They are those of the one task that no other awaits, then of the task that it awaits, and so
    /// on; of several tasks, those that all begin with. `frames` is empty
    ///
    /// - where no loop runs, or a task runs on it;
    /// - where several tasks have nothing in common, or are too many;
    /// - in 3.14 before [`set_asyncio`](Self::set_asyncio);
    /// - in 3.12 and 3.13 for loops that do not run until a task is done (`run_forever`).
    ///
    /// The frames are of one moment of a thread that waits during the whole call. Of one that waits
    /// in a callback, and not for the next event, they are the same: the caller has to know that.
    ///
    /// Linear in tasks and coroutines; one read while these stay the same.
    ///
    /// # Errors
    /// When the tasks cannot be read; `frames` is empty then.
    pub fn look_at_tasks(
        &mut self,
        memory: &dyn ProcessMemory,
        tid: u32,
        frames: &mut Vec<PyFrame>,
    ) -> Result<(), InterpreterError> {
        frames.clear();
        if let Some(known) = self.awaits.get(&tid).filter(|known| known.reads.is_same(memory)) {
            frames.extend_from_slice(&known.frames);
            return Ok(());
        }
        self.awaits.remove(&tid);
        let Some(place) = self.loop_thread(memory, tid)? else { return Ok(()) };
        let Some(awaits) = &self.layout.awaits else { return Ok(()) };
        let mut reads = Reads::default();
        let coroutines = CoroutineReader {
            memory,
            layout: &self.layout,
            awaits,
            codes: &mut self.codes,
            kinds: &mut self.kinds,
            reads: &mut reads,
        };
        let mut reader = TaskReader { coroutines };
        let tasks = match (awaits.tasks, &self.asyncio) {
            (TaskPlace::Lists, Some(asyncio)) => reader.listed(asyncio, &place)?,
            (TaskPlace::Lists, None) => None,
            (TaskPlace::Set(attributes), _) => reader.in_set(attributes, &place)?,
        };
        let found = reader.chains(&tasks.unwrap_or_default())?;
        if !reads.is_same(memory) {
            let reason = "they changed while they were read";
            return Err(InterpreterError::malformed("the tasks of a loop", place.thread, reason));
        }
        frames.extend_from_slice(&found);
        let states = self.threads.states();
        self.awaits.retain(|tid, _| states.iter().any(|state| state.tid == *tid));
        self.awaits.insert(tid, Awaited { reads, frames: found });
        Ok(())
    }

    /// The thread state of a thread, where it has one only, and those that may have made its tasks.
    fn loop_thread(
        &mut self,
        memory: &dyn ProcessMemory,
        tid: u32,
    ) -> Result<Option<LoopThread>, InterpreterError> {
        let place = self.layout.awaits.map(|awaits| awaits.tasks);
        if place.is_none() || (place == Some(TaskPlace::Lists) && self.asyncio.is_none()) {
            return Ok(None);
        }
        if !self.threads.is_current(memory) {
            self.threads = Threads::scan(memory, &self.layout, self.runtime)?;
        }
        let [state] = self.threads.of(tid) else { return Ok(None) };
        let (thread, interpreter) = (state.address, state.interpreter);
        let states = self.threads.states().iter();
        let makers = states.filter(|state| state.interpreter == interpreter);
        let makers = makers.map(|state| state.address).collect();
        Ok(Some(LoopThread { thread, interpreter, makers }))
    }

    /// Major and minor number of the release.
    pub fn version(&self) -> (u8, u8) {
        self.layout.version
    }

    /// What is known of a function; none for a number of another process.
    pub fn code(&self, id: CodeId) -> Option<&PyCode> {
        self.codes.get(id)
    }

    /// Where the instructions are of functions that were met since the last call. Python 3.11 and newer have
    /// them in the code object; of older releases nothing is said.
    pub fn take_instructions(&mut self) -> Vec<PyInstructions> {
        self.codes.take_met()
    }

    /// Appends the frames of every thread of every interpreter, ordered by thread number.
    ///
    /// # Errors
    /// When the list of threads cannot be read. What is wrong with one thread's frames stands in
    /// its [`ThreadFrames::look`].
    pub fn look(
        &mut self,
        memory: &dyn ProcessMemory,
        threads: &mut Vec<ThreadFrames>,
    ) -> Result<(), InterpreterError> {
        self.threads = Threads::scan(memory, &self.layout, self.runtime)?;
        let mut tids: Vec<u32> = self.threads.states().iter().map(|state| state.tid).collect();
        tids.dedup();
        let mut count = 0;
        for tid in tids {
            let mut frames = Vec::new();
            if count > MOST_FRAMES_OF_ALL {
                let error = InterpreterError::malformed("the program", 0, "it has too many frames");
                threads.push(ThreadFrames { tid, frames, look: Err(error) });
                continue;
            }
            let look = match self.look_at_listed(memory, tid, &mut frames) {
                // It ended meanwhile.
                Ok(None) => continue,
                Ok(Some(look)) => Ok(look),
                Err(error) => {
                    frames.clear();
                    Err(error)
                }
            };
            count += frames.len();
            threads.push(ThreadFrames { tid, frames, look });
        }
        Ok(())
    }

    /// Replaces `frames` by those of one thread, the outermost first; `None` where the thread runs
    /// no Python. `tid` is the kernel's number of the thread as the process itself sees it.
    ///
    /// # Errors
    /// When the frames cannot be read; `frames` is empty then.
    pub fn look_at(
        &mut self,
        memory: &dyn ProcessMemory,
        tid: u32,
        frames: &mut Vec<PyFrame>,
    ) -> Result<Option<PyLook>, InterpreterError> {
        look_at(self, memory, tid, frames)
    }
}

impl ListedThreads for CPython {
    type Frame = PyFrame;
    type Look = PyLook;

    fn has_thread(&mut self, tid: u32) -> bool {
        !self.threads.of(tid).is_empty()
    }

    fn is_list_current(&self, memory: &dyn ProcessMemory) -> bool {
        self.threads.is_current(memory)
    }

    fn list_threads(&mut self, memory: &dyn ProcessMemory) -> Result<(), InterpreterError> {
        self.threads = Threads::scan(memory, &self.layout, self.runtime)?;
        Ok(())
    }

    /// The frames in all thread states of a thread; `None` where there is no such state any more.
    fn look_at_listed(
        &mut self,
        memory: &dyn ProcessMemory,
        tid: u32,
        frames: &mut Vec<PyFrame>,
    ) -> Result<Option<PyLook>, InterpreterError> {
        let mut all: Option<PyLook> = None;
        for state in self.threads.of(tid) {
            let mut one = OneLook {
                memory,
                layout: &self.layout,
                codes: &mut self.codes,
                scratch: &mut self.scratch,
            };
            let before = frames.len();
            let Some(look) = one.look_at(state, frames)? else { return Ok(None) };
            let earlier = all.unwrap_or_default();
            all = Some(PyLook {
                changed: earlier.changed || look.changed,
                truncated: earlier.truncated || look.truncated,
                several_interpreters: earlier.several_interpreters
                    || (before > 0 && frames.len() > before),
            });
            if look.changed {
                break;
            }
        }
        Ok(all)
    }
}

/// One look at one thread state.
struct OneLook<'c> {
    memory: &'c dyn ProcessMemory,
    layout: &'c Layout,
    codes: &'c mut Codes,
    scratch: &'c mut Scratch,
}

impl OneLook<'_> {
    /// Appends the frames; `None` where the state is no longer the thread's.
    fn look_at(
        &mut self,
        state: &mut ThreadState,
        frames: &mut Vec<PyFrame>,
    ) -> Result<Option<PyLook>, InterpreterError> {
        let Some(anchor) = self.anchor(state)? else { return Ok(None) };
        let Scratch { pages, chain, .. } = &mut *self.scratch;
        let walk = chain.walk(self.memory, pages, self.layout, anchor.head)?;
        pages.used(&mut state.hint.pages);
        state.hint.head_at = anchor.head_at.unwrap_or_default();
        let Some(mut changed) = self.read_codes(&anchor)? else { return Ok(None) };
        if changed && !self.keep_what_stayed(state) {
            return Ok(None);
        }
        changed |= self.emit(frames);
        let truncated = walk == Walk::Truncated;
        Ok(Some(PyLook { changed, truncated, several_interpreters: false }))
    }

    /// Leaves the outermost frames: those that the thread still has. Answers false where the thread ended.
    fn keep_what_stayed(&mut self, state: &mut ThreadState) -> bool {
        let Ok(Some(anchor)) = self.anchor(state) else { return false };
        let Scratch { pages, chain, later, .. } = &mut *self.scratch;
        let walk = later.walk(self.memory, pages, self.layout, anchor.head);
        if walk.is_err() {
            chain.frames.clear();
        }
        chain.keep_common(later);
        true
    }

    /// Reads where the frames begin.
    fn anchor(&mut self, state: &mut ThreadState) -> Result<Option<Anchor>, InterpreterError> {
        let head = self.read_thread(state);
        let fields = Struct::new(&self.scratch.thread);
        let mut anchor = Anchor::new(self.layout, state, &fields);
        if head.is_none() || fields.word(anchor.identity) != state.identity {
            return Ok(None);
        }
        if let Some(at) = anchor.head_at {
            anchor.head = match head {
                Some(head) if at == state.hint.head_at => head,
                _ => code::word(self.memory, "the current frame", at)?,
            };
        }
        Ok(Some(anchor))
    }

    /// Reads the thread state and, at once, what the frames were in at the last look. Answers the
    /// word where the address of the innermost frame was then; `None` where there is no thread
    /// state any more.
    fn read_thread(&mut self, state: &mut ThreadState) -> Option<u64> {
        let Scratch { pages, thread, .. } = &mut *self.scratch;
        thread.resize(self.layout.thread.span(), 0);
        let mut head = [0; 8];
        let mut pieces = vec![MemoryPiece { address: state.address, into: thread }];
        if state.hint.head_at != 0 {
            pieces.push(MemoryPiece { address: state.hint.head_at, into: &mut head });
        }
        pieces.extend(pages.expect(&state.hint.pages));
        if self.memory.read_pieces(&mut pieces).is_err() {
            // The hint may be wrong: without one, only the thread state can be missing.
            state.hint.head_at = 0;
            pages.clear();
            self.memory.read(state.address, thread).ok()?;
        }
        Some(u64::from_ne_bytes(head))
    }

    /// Reads all code objects of the frames, and then again all that led to them, at once. Answers
    /// whether the thread ran on meanwhile; `None` where it ended.
    fn read_codes(&mut self, anchor: &Anchor) -> Result<Option<bool>, InterpreterError> {
        let span = self.layout.code.span();
        let Scratch { pages, chain, addresses, objects, codes, thread, thread_again, .. } =
            &mut *self.scratch;
        addresses.clear();
        addresses.extend(chain.frames.iter().filter_map(RawFrame::code));
        addresses.sort_unstable();
        addresses.dedup();
        codes.resize(addresses.len() * span, 0);
        thread_again.resize(thread.len(), 0);
        let (mut link, mut head) = ([0; 8], anchor.head.to_ne_bytes());
        let mut pieces: Vec<MemoryPiece<'_>> = addresses
            .iter()
            .zip(codes.chunks_exact_mut(span))
            .map(|(address, into)| MemoryPiece { address: *address, into })
            .chain(pages.again())
            .collect();
        if let Some(address) = anchor.head_at {
            pieces.push(MemoryPiece { address, into: &mut head });
        }
        pieces.push(MemoryPiece { address: anchor.link, into: &mut link });
        pieces.push(MemoryPiece { address: anchor.thread, into: thread_again });
        if self.memory.read_pieces(&mut pieces).is_err() {
            return Err(self.unreadable_code());
        }
        objects.clear();
        for (address, bytes) in addresses.iter().zip(codes.chunks_exact(span)) {
            objects.push(self.codes.resolve(self.memory, self.layout, *address, bytes)?);
        }
        let (before, now) = (Struct::new(thread), Struct::new(thread_again));
        let same = |field| before.word(field) == now.word(field);
        if !same(anchor.identity) || u64::from_ne_bytes(link) != anchor.thread {
            return Ok(None);
        }
        let stands = same(self.layout.thread.frame)
            && u64::from_ne_bytes(head) == anchor.head
            && chain.is_same(pages, self.layout);
        Ok(Some(!stands))
    }

    /// Which of the code objects cannot be read.
    fn unreadable_code(&mut self) -> InterpreterError {
        let mut bytes = vec![0; self.layout.code.span()];
        let failed = self.scratch.addresses.iter().find_map(|address| {
            let read = self.memory.read(*address, &mut bytes);
            read.err().map(InterpreterError::memory("a code object", *address))
        });
        let ended = || InterpreterError::malformed("a thread", 0, "it ended while it was read");
        failed.unwrap_or_else(ended)
    }

    /// Appends the frames, the outermost first, up to one that does not fit its function. Answers whether
    /// there is one.
    fn emit(&self, frames: &mut Vec<PyFrame>) -> bool {
        let Scratch { chain, addresses, objects, .. } = &*self.scratch;
        for frame in chain.frames.iter().rev() {
            let RawFrame::Code { code, instruction, generator, copy } = *frame else {
                frames.push(PyFrame::Entry);
                continue;
            };
            let index = addresses.binary_search(&code).ok();
            let Some(object) = index.and_then(|index| objects.get(index)) else { continue };
            let position = object.position(self.memory, &self.layout.code, instruction, copy);
            if position == Position::Elsewhere {
                return true;
            }
            if generator || !object.is_incomplete(position) {
                let line = self.codes.line(object.id, position);
                frames.push(PyFrame::Code { code: object.id, line });
            }
        }
        false
    }
}

/// Where a thread's frames begin, and what says that the thread still is there.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    /// Address of the thread state.
    thread: u64,
    /// The field of the thread state that says whose it is.
    identity: usize,
    /// Address of the innermost frame; 0 where there is none.
    head: u64,
    /// Where the address of the innermost frame is, when not in the thread state.
    head_at: Option<u64>,
    /// The pointer to the thread state in the list of threads.
    link: u64,
}

impl Anchor {
    fn new(layout: &Layout, state: &ThreadState, fields: &Struct<'_>) -> Self {
        let thread = &layout.thread;
        let frame = fields.word(thread.frame);
        let link = match fields.word(thread.prev) {
            0 => state.interpreter.wrapping_add(layout.interpreter.threads as u64),
            prev => prev.wrapping_add(thread.next as u64),
        };
        Self {
            thread: state.address,
            identity: thread.native_id.unwrap_or(thread.thread_id),
            head: frame,
            head_at: thread.c_frame.map(|at| frame.wrapping_add(at as u64)),
            link,
        }
    }
}
