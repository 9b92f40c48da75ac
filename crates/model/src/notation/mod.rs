//! Recordings as text, for tests: strips of characters for threads over time, columns of names for
//! stacks. Both ways, so that a test can say what it has and what it expects in the same drawing.
//!
//! ```text
//! tick 1ms                                             one character of a strip (the default)
//! stack b blocked.lock main;get;[kernel]!futex_wait    `b`: this cause at this stack, root first
//! app(10)/main(10)      UUUUbbbbbbUU                   a thread's life
//! app(10)/worker(11)    ....KKKKKKss|                  born at 4 ms, exits at 12 ms
//! wake 10 worker > main app;put                        who ended main's wait, and where it was
//! root app(10)                                         the recorded command's own process
//! ```
//!
//! Without a `stack` line a character stands for a cause without a stack:
//!
//! | | | | |
//! |---|---|---|---|
//! | `U` cpu.user | `K` cpu.kernel | `r` runnable | `q` runnable.quota |
//! | `d` disk | `y` fsync | `f` fault | `n` net |
//! | `l` lock | `s` sleep | `o` poll | `p` pipe |
//! | `i` ipc | `c` child | `w` notify | `m` memory |
//! | `g` signal | `t` stopped | `x` other | `.` not alive |
//!
//! More lines: `child sh(20) of app(10)`, `counter 5 cgroup.cpu.throttled 3`, `fact root overlay`,
//! `fault 3 worker major`, `lost 4 6` (switch records). Numbers before a name are in ticks. A frame
//! without `!` is of module `app`. Threads are named by name where that is unique, else by
//! `name(tid)`. Empty lines and what follows a `#` are skipped.
//!
//! [`parse`] gives a finished recording with intervals, [`parse_raw`] the switches, samples and
//! wakeups that a recorder would have seen, [`print()`] the text of a finished recording.

mod columns;
mod parse;
mod print;
mod raw;
mod write;

pub use columns::{columns, from_columns};
pub use parse::parse;
pub use print::print;
pub use raw::parse_raw;

use thiserror::Error;

use crate::cause::Cause;

/// A line that is not in the notation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {reason}")]
#[non_exhaustive]
pub struct NotationError {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// The character of each cause where no `stack` line defines one.
const LETTERS: &[(char, Cause)] = &[
    ('U', Cause::CpuUser),
    ('K', Cause::CpuKernel),
    ('r', Cause::Runnable),
    ('q', Cause::RunnableQuota),
    ('d', Cause::Disk),
    ('y', Cause::Fsync),
    ('f', Cause::Fault),
    ('n', Cause::Net),
    ('l', Cause::Lock),
    ('s', Cause::Sleep),
    ('o', Cause::Poll),
    ('p', Cause::Pipe),
    ('i', Cause::Ipc),
    ('c', Cause::Child),
    ('w', Cause::Notify),
    ('m', Cause::Memory),
    ('g', Cause::Signal),
    ('t', Cause::Stopped),
    ('x', Cause::Other),
];

/// The character for time in which a thread does not live.
const ABSENT: char = '.';

#[cfg(test)]
mod tests;
