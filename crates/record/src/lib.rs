//! The thread-time recorder.

mod attr;
mod clock;
mod decode;
mod error;
mod events;
mod files;
mod ladder;
mod order;
mod perf;
mod reader;
mod source;
#[expect(unsafe_code, reason = "the system call and the shared ring have no safe interface")]
mod sys;
mod tracefs;
