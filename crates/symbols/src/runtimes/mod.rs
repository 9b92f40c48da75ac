//! Frames of interpreters: functions and lines that no native stack shows, read from the memory of
//! the process that runs them.
//!
//! ```text
//! address of the runtime's state --> layout of its structs   once a process
//! layout, a thread               --> its frames              at each wait or sample
//! frame                          --> function, file, line    once a function, then kept
//! ```
//!
//! The caller brings the memory ([`ProcessMemory`]): a live process, a core file, or a test's
//! bytes. The process may run on while it is read, and may lie. So every length and every chain has
//! a limit, and an answer says whether the thread ran on meanwhile.

mod circle;
pub mod cpython;
mod error;
#[cfg(test)]
mod fake;
mod functions;
pub mod jvm;
mod listed;
mod memory;
pub mod php;
pub mod ruby;
mod tid;

use circle::Circle;
pub use error::InterpreterError;
pub use functions::{FunctionId, InterpretedFrame, InterpretedFunction, Look};
use listed::{ListedThreads, look_at};
pub use memory::{MemoryPiece, ProcessMemory, Unreadable};
use memory::{Pages, Struct};
