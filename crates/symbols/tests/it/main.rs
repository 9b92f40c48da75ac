//! Integration tests of `culprit-symbols` on real programs, compiled here with the system's compilers.

#![expect(clippy::print_stdout, reason = "a skipped test says so")]

mod calls;
mod debug_files;
mod hostile;
mod jit;
mod jvm;
mod parts;
mod programs;
mod python;
mod recorded;
mod scripts;
mod symbolize;
mod tail_calls;
mod unwind;
