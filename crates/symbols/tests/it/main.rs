//! Integration tests of `culprit-symbols` on real programs, compiled here with the system's compilers.

mod debug_files;
mod hostile;
mod programs;
mod speed;
mod symbolize;
mod unwind;
