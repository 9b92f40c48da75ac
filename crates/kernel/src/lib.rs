//! What the kernel's event records mean.
//!
//! A ring of `perf_event_open` and a perf.data file hold the same records. Both are read here, from their bytes to
//! typed values, and put into one order of time.
//!
//! ```text
//! words        numbers out of bytes, in either order of bytes
//! attr         what was asked of the kernel
//! layout       where that puts the fields of a record
//! record       forks, exits, names, mappings, switches, losses
//! sample       samples, with their chains, registers and stacks
//! tracepoint   fields of a tracepoint's own record
//! order        one order of time over all rings
//! rounds       the same over the rounds of a file
//! switches     the instants at which the kernel accounts switches
//! ```
//!
//! It opens nothing and asks nobody: it knows no file, no process and no clock. Bytes may be damaged on purpose. A
//! record that contradicts its size is [`Malformed`], and no byte leads to a panic. Nothing is copied or allocated
//! for a record: a call chain is a slice of the bytes that it was read from.

pub mod attr;
pub mod layout;
pub mod order;
pub mod record;
pub mod rounds;
pub mod sample;
pub mod switches;
pub mod tracepoint;
pub mod words;

pub use attr::Attr;
pub use layout::{Layout, Trailer};
pub use order::{Chunk, Place, Sorter};
pub use record::{Header, Map, MappedFile, Record};
pub use rounds::Rounds;
pub use sample::Sample;
pub use words::{List, Order, Words};

/// A record whose content contradicts its size, or of a size that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// The numbers of a process (thread group) and of one of its threads. Both are -1 for a thread that is past its
/// exit, and 0 for the idle loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Task {
    /// Number of the process.
    pub pid: i32,
    /// Number of the thread.
    pub tid: i32,
}

impl Default for Task {
    /// Nobody: what a record has that does not say whose it is.
    fn default() -> Self {
        Self { pid: -1, tid: -1 }
    }
}
