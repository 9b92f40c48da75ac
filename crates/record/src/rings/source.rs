//! Where records come from, behind one trait.
//!
//! The kernel's perf events are one source ([`crate::rings::perf`]); saved bytes are another, for tests
//! without rights; eBPF may become a third. Whatever it is, it delivers chunks of perf records of
//! the streams that `attr` names, on the clock CLOCK_MONOTONIC.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use crate::events::attr::{Role, Stream};
use crate::events::decode::{EventShape, EventShapes};
use crate::rings::chunk::Chunk;

/// What woke the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ready {
    /// New mappings: open their files now, their process may not live long.
    Maps,
    /// A ring is half full: read everything.
    All,
    /// The time is up.
    Nothing,
}

/// Records that a source dropped, by what they were for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dropped {
    /// What the lost records were for.
    pub(crate) role: Role,
    /// How many.
    pub(crate) count: u64,
}

/// A source of records.
pub(crate) trait EventSource: Send {
    /// What samples look like.
    fn shapes(&self) -> EventShapes;

    /// Waits until there is something to read or to do, at most `timeout`. `wake` is readable when there is
    /// something to do.
    fn wait(&mut self, timeout: Duration, wake: Option<BorrowedFd<'_>>) -> io::Result<Ready>;

    /// Appends the unread records of `streams` to `out`, in buffers taken from `spare`.
    fn drain(&mut self, streams: &[Stream], spare: &mut Vec<Vec<u64>>, out: &mut Vec<Chunk>);

    /// From now on, every `period`-th switch of a CPU gets a record of `role`. False where that
    /// cannot be changed while it runs: then it stays as it is.
    fn set_period(&mut self, _cpu: u32, _role: Role, _period: u64) -> bool {
        false
    }

    /// From now on, the clock samples after each `period` ns of CPU time, where that can be changed.
    fn set_clock_period(&mut self, _period: u64) {}

    /// Records what runs in one more cgroup from now on. Gives what the records of its events look like.
    ///
    /// # Errors
    /// When there are no events, or the kernel takes no more of them.
    fn add_cgroup(&mut self, _cgroup: BorrowedFd<'_>) -> io::Result<Vec<EventShape>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Ends recording; what was recorded can still be drained.
    fn stop(&mut self) {}

    /// The true number of lost records, known once the source has stopped. None where the kernel
    /// does not count them: then the records in the rings are all there is to know.
    fn dropped(&mut self) -> Option<Vec<Dropped>> {
        None
    }

    /// Bytes of ring memory.
    fn memory_bytes(&self) -> usize {
        0
    }
}

/// The source of the lowest rung: there are no events, only what is polled from /proc.
#[derive(Debug, Default)]
pub(crate) struct NoEvents;

impl EventSource for NoEvents {
    fn shapes(&self) -> EventShapes {
        EventShapes::default()
    }

    fn wait(&mut self, timeout: Duration, _: Option<BorrowedFd<'_>>) -> io::Result<Ready> {
        std::thread::sleep(timeout);
        Ok(Ready::Nothing)
    }

    fn drain(&mut self, _: &[Stream], _: &mut Vec<Vec<u64>>, _: &mut Vec<Chunk>) {}
}
