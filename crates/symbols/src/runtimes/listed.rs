//! A look at one thread of an interpreter that has a list of its threads.
//!
//! The list is read once, and again when it has changed: that a thread is not in it, or that its frames
//! are no longer where they were, says so.

use super::{InterpreterError, ProcessMemory};

/// An interpreter whose threads were listed.
pub(super) trait ListedThreads {
    /// A frame of a thread.
    type Frame;
    /// How far its frames can be relied on.
    type Look;

    /// Whether the list has a thread of this number.
    fn has_thread(&mut self, tid: u32) -> bool;

    /// Whether no thread began since the list was read.
    fn is_list_current(&self, memory: &dyn ProcessMemory) -> bool;

    /// Reads the list.
    ///
    /// # Errors
    /// When it cannot be read.
    fn list_threads(&mut self, memory: &dyn ProcessMemory) -> Result<(), InterpreterError>;

    /// Appends the frames of a thread in the list, the outermost first; `None` where the program has no
    /// such thread any more.
    ///
    /// # Errors
    /// When they cannot be read.
    fn look_at_listed(
        &mut self,
        memory: &dyn ProcessMemory,
        tid: u32,
        frames: &mut Vec<Self::Frame>,
    ) -> Result<Option<Self::Look>, InterpreterError>;
}

/// Replaces `frames` by those of one thread, the outermost first; `None` where the thread runs nothing of
/// the interpreter. `tid` is the kernel's number of the thread as the process itself sees it.
///
/// # Errors
/// When the frames cannot be read; `frames` is empty then.
pub(super) fn look_at<I: ListedThreads>(
    interpreter: &mut I,
    memory: &dyn ProcessMemory,
    tid: u32,
    frames: &mut Vec<I::Frame>,
) -> Result<Option<I::Look>, InterpreterError> {
    frames.clear();
    let look = look_at_current(interpreter, memory, tid, frames);
    if !matches!(look, Ok(Some(_))) {
        frames.clear();
    }
    look
}

fn look_at_current<I: ListedThreads>(
    interpreter: &mut I,
    memory: &dyn ProcessMemory,
    tid: u32,
    frames: &mut Vec<I::Frame>,
) -> Result<Option<I::Look>, InterpreterError> {
    if let Some(look) = interpreter.look_at_listed(memory, tid, frames)? {
        return Ok(Some(look));
    }
    if !interpreter.has_thread(tid) && interpreter.is_list_current(memory) {
        return Ok(None);
    }
    interpreter.list_threads(memory)?;
    frames.clear();
    interpreter.look_at_listed(memory, tid, frames)
}
