//! `Py_AsyncioModuleDebugOffsets`: the table of the module `_asyncio`, from Python 3.14 on.
//!
//! Words of 8 bytes, in the section `.AsyncioDebug` of the file that has the module: the size of a
//! struct, then its fields. Source: `Modules/_asynciomodule.c` of 3.14.

use super::super::{ProcessMemory, Struct};
use super::InterpreterError;
use super::layout::AwaitLayout;
use super::tasks::Callbacks;

const WHAT: &str = "the table of offsets of `_asyncio`";
/// Tasks are smaller: they have 200 bytes in 3.14.
const LARGEST_TASK: u64 = 2048;
/// No struct of the interpreter is larger.
const LARGEST_STRUCT: u64 = 64 << 20;
/// Words of the table, and of its three groups.
const WORDS: usize = 13;
const GROUPS: [(usize, usize, u64); 3] =
    [(0, 7, LARGEST_TASK), (7, 2, LARGEST_STRUCT), (9, 4, LARGEST_STRUCT)];

/// Where event loops and their tasks are. Offsets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AsyncioLayout {
    /// Bytes of a future's first fields, which the table does not have.
    future_start: usize,
    /// Of `TaskObj`, which begins as futures do: `task_awaited_by`, and two bytes.
    pub(super) awaited_by: usize,
    pub(super) is_task: usize,
    pub(super) awaited_by_is_set: usize,
    /// Of `TaskObj` alone: `task_coro`, and the links of the list that it is in.
    pub(super) coroutine: usize,
    pub(super) node: usize,
    /// Of the interpreter: the list of tasks whose thread has ended.
    pub(super) interpreter_tasks: u64,
    /// Of a thread state.
    pub(super) running_loop: u64,
    pub(super) running_task: u64,
    pub(super) thread_tasks: u64,
}

impl AsyncioLayout {
    /// The table at an address.
    ///
    /// # Errors
    /// When it cannot be read, or an offset is not within its struct.
    pub(super) fn read(
        memory: &dyn ProcessMemory,
        awaits: &AwaitLayout,
        table: u64,
    ) -> Result<Self, InterpreterError> {
        let mut bytes = [0; WORDS * 8];
        memory.read(table, &mut bytes).map_err(InterpreterError::memory(WHAT, table))?;
        let words = Struct::new(&bytes);
        let word = |at: usize| words.word(at * 8);
        for (first, count, largest) in GROUPS {
            let size = word(first);
            let fits = |at| word(at) < size;
            if size > largest || !(first + 1..first + count).all(fits) {
                let reason = "an offset is not within its struct";
                return Err(InterpreterError::malformed(WHAT, table, reason));
            }
        }
        let offset = |at| usize::try_from(word(at)).unwrap_or_default();
        Ok(Self {
            future_start: Callbacks::span(awaits),
            awaited_by: offset(2),
            is_task: offset(3),
            awaited_by_is_set: offset(4),
            coroutine: offset(5),
            node: offset(6),
            interpreter_tasks: word(8),
            running_loop: word(10),
            running_task: word(11),
            thread_tasks: word(12),
        })
    }

    /// Bytes of a future up to the last of its fields.
    pub(super) fn future_span(&self) -> usize {
        let bytes = self.is_task.max(self.awaited_by_is_set) + 1;
        bytes.max(self.awaited_by + 8).max(self.future_start)
    }

    /// Bytes of a task up to the last of its fields.
    pub(super) fn task_span(&self) -> usize {
        self.future_span().max(self.coroutine.max(self.node) + 8)
    }
}
