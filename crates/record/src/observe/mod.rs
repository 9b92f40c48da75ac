//! What running processes read of their environment, and which files they use.
//!
//! ```text
//! follow    each program that a process executes, stopped before its first instruction     session, block
//! watch     the first byte of some values, by the processor                                watch, code, classify, behalf
//! count     the names that getenv and its like are asked for, in the kernel                names, program
//! files     what is opened, looked for and read, in the kernel                             files, program
//! ```
//!
//! The facts come out as [`Observed`]; what they prove is for the caller to say. Where a right is missing, that part
//! is left out and a [`Gap`] says so; the command still runs.
//!
//! Everything is undone when this process ends, however it ends: probes and watchpoints are held by descriptors, and
//! the kernel lets traced processes run on. No file is written.
//!
//! Sources: ptrace(2), perf_event_open(2), bpf(2).

mod behalf;
mod block;
mod classify;
mod code;
mod facts;
mod files;
mod guard;
mod names;
mod program;
mod rows;
mod session;
mod watch;

pub use facts::{
    CodeFrame, FileUse, Gap, GapKind, Lookup, Observed, ObservedProcess, Reader, WatchedValue,
};
pub use guard::Guarded;
pub use session::{Observer, Subject, Wishes};
pub use watch::MOST_WATCHED;

/// The library that a JVM loads as an agent, for a file that it can open: it writes which variables the program asks
/// `System.getenv` for to the file that its option names. `shim/javaenv.c` says how.
pub const JAVA_AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libculprit-javaenv.so"));
