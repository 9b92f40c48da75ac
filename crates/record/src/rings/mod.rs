//! Where records come from: the kernel's rings, read by a thread of its own and put into one order of time.
//!
//! ```text
//! perf, source   events opened, a ring a stream and CPU
//! reader, pace   rings emptied; how many switches get a stack
//! chunk          what was in a ring; `culprit_kernel` puts chunks into one order of time
//! ```

pub(crate) mod chunk;
pub(crate) mod pace;
pub(crate) mod perf;
pub(crate) mod reader;
#[cfg(test)]
pub(crate) mod saved;
pub(crate) mod source;
