//! Thread states: which threads run Python, and where each has its frames.

use super::super::{MemoryPiece, ProcessMemory, Struct, tid};
use super::InterpreterError;
use super::code::word;
use super::layout::Layout;

/// Sub-interpreters of a process, and threads of all of them, that are looked at. A list that is
/// longer is taken as one that was read while it changed.
const MOST_INTERPRETERS: usize = 1024;
const MOST_THREADS: usize = 1 << 15;

/// A thread state. One thread has several when it runs several sub-interpreters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ThreadState {
    /// The kernel's number of the thread, as the process itself sees it.
    pub(super) tid: u32,
    pub(super) address: u64,
    pub(super) interpreter: u64,
    /// Where the interpreter keeps the thread's identity: the number or, before 3.11, the
    /// `pthread_t`.
    pub(super) identity_at: u64,
    pub(super) identity: u64,
    pub(super) hint: Hint,
}

/// Where the frames were at the last look: a thread that waits again mostly has them there again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hint {
    /// Where the address of the innermost frame was, when not in the thread state; else 0.
    pub(super) head_at: u64,
    /// Numbers of the pages that the frames were in.
    pub(super) pages: Vec<u64>,
}

/// A word that changes when a thread begins.
#[derive(Clone, Copy, Debug)]
struct Mark {
    address: u64,
    value: u64,
    /// The bits that count.
    mask: u64,
}

/// The thread states of a process, and how to see that there are others now.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// Ordered by number; those of one thread from the outermost to the innermost interpreter.
    states: Vec<ThreadState>,
    /// Heads of the lists, the numbers of the threads there (a new thread can be where one ended),
    /// and numbers that are not set yet.
    marks: Vec<Mark>,
}

impl Threads {
    /// Reads all lists.
    pub(super) fn scan(
        memory: &dyn ProcessMemory,
        layout: &Layout,
        runtime: u64,
    ) -> Result<Self, InterpreterError> {
        let mut threads = Self::default();
        let head = runtime.wrapping_add(layout.runtime_interpreters as u64);
        let mut interpreter = threads.mark(memory, "the list of interpreters", head)?;
        if interpreter == 0 {
            return Err(InterpreterError::NotRunning(super::NAME));
        }
        for _ in 0..MOST_INTERPRETERS {
            if interpreter == 0 {
                threads.order();
                return Ok(threads);
            }
            threads.scan_interpreter(memory, layout, interpreter)?;
            let next = interpreter.wrapping_add(layout.interpreter.next as u64);
            interpreter = word(memory, "an interpreter", next)?;
        }
        Err(InterpreterError::malformed("the list of interpreters", head, "it does not end"))
    }

    fn scan_interpreter(
        &mut self,
        memory: &dyn ProcessMemory,
        layout: &Layout,
        interpreter: u64,
    ) -> Result<(), InterpreterError> {
        let head = interpreter.wrapping_add(layout.interpreter.threads as u64);
        let mut address = self.mark(memory, "the list of threads", head)?;
        let mut bytes = vec![0; layout.thread.span()];
        let mut is_head = true;
        while address != 0 {
            memory
                .read(address, &mut bytes)
                .map_err(InterpreterError::memory("a thread", address))?;
            let fields = Struct::new(&bytes);
            if fields.word(layout.thread.interpreter) != interpreter {
                let reason = "it belongs to another interpreter";
                return Err(InterpreterError::malformed("a thread", address, reason));
            }
            self.add(memory, layout, address, &fields, is_head);
            is_head = false;
            if self.states.len() + self.marks.len() > MOST_THREADS {
                return Err(InterpreterError::malformed(
                    "the list of threads",
                    head,
                    "it does not end",
                ));
            }
            address = fields.word(layout.thread.next);
        }
        Ok(())
    }

    fn add(
        &mut self,
        memory: &dyn ProcessMemory,
        layout: &Layout,
        address: u64,
        fields: &Struct<'_>,
        is_head: bool,
    ) {
        let interpreter = fields.word(layout.thread.interpreter);
        let field = layout.thread.native_id.unwrap_or(layout.thread.thread_id);
        let (identity_at, identity) = (address.wrapping_add(field as u64), fields.word(field));
        let number = match layout.thread.native_id {
            Some(_) => u32::try_from(identity).ok().filter(|tid| *tid != 0),
            None => tid::from_pthread(memory, identity).map(|(tid_at, tid)| {
                if is_head {
                    let mask = u64::from(u32::MAX);
                    self.marks.push(Mark { address: tid_at, value: u64::from(tid), mask });
                }
                tid
            }),
        };
        let hint = Hint::default();
        let state = |tid| ThreadState { tid, address, interpreter, identity_at, identity, hint };
        self.states.extend(number.map(state));
        if is_head || number.is_none() {
            self.marks.push(Mark { address: identity_at, value: identity, mask: u64::MAX });
        }
    }

    /// Reads a word, and keeps it as one that shows a change.
    fn mark(
        &mut self,
        memory: &dyn ProcessMemory,
        what: &'static str,
        address: u64,
    ) -> Result<u64, InterpreterError> {
        let value = word(memory, what, address)?;
        self.marks.push(Mark { address, value, mask: u64::MAX });
        Ok(value)
    }

    /// Lists have the latest first, and a thread that is about to begin has its creator's number.
    fn order(&mut self) {
        self.states.reverse();
        self.states.sort_by_key(|state| state.tid);
        let mut creator = None;
        let marks = &mut self.marks;
        self.states.retain(|state| {
            let owner = Some((state.tid, state.interpreter));
            let begins = creator == owner;
            if begins {
                let (address, value) = (state.identity_at, state.identity);
                marks.push(Mark { address, value, mask: u64::MAX });
            } else {
                creator = owner;
            }
            !begins
        });
    }

    pub(super) fn states(&self) -> &[ThreadState] {
        &self.states
    }

    /// The states of one thread, the outermost first.
    pub(super) fn of(&mut self, tid: u32) -> &mut [ThreadState] {
        let start = self.states.partition_point(|state| state.tid < tid);
        let end = self.states.partition_point(|state| state.tid <= tid);
        self.states.get_mut(start..end).unwrap_or_default()
    }

    /// Whether no thread began since the scan. Costs one read.
    pub(super) fn is_current(&self, memory: &dyn ProcessMemory) -> bool {
        let mut words = vec![[0; 8]; self.marks.len()];
        let mut pieces: Vec<_> = words
            .iter_mut()
            .zip(&self.marks)
            .map(|(word, mark)| MemoryPiece { address: mark.address, into: word })
            .collect();
        let read = memory.read_pieces(&mut pieces).is_ok();
        let mut both = words.iter().zip(&self.marks);
        read && !self.marks.is_empty()
            && both.all(|(word, mark)| (u64::from_ne_bytes(*word) ^ mark.value) & mark.mask == 0)
    }
}
