//! The ring that the kernel writes and we read.
//!
//! One page of control data, then 2^n pages of records. The kernel moves `data_head` forward as it
//! writes, we move `data_tail` forward as we read; both count bytes for ever and are taken modulo
//! the size. Invariant: the bytes in `[tail, head)` belong to us and the kernel does not touch them
//! until we store a larger tail. Source: perf_event_open(2), "MMAP layout".

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::perf_event_mmap_page;
use rustix::mm::{MapFlags, ProtFlags};

/// A mapped ring of one stream of one CPU.
#[derive(Debug)]
pub(crate) struct MappedRing {
    base: NonNull<u8>,
    page: usize,
    data: usize,
}

// SAFETY: the mapping is plain shared memory, owned by this value; only `&mut self` moves the tail.
unsafe impl Send for MappedRing {}

impl MappedRing {
    /// Maps `data_bytes` (a power of two and a multiple of the page size) of `event`'s records.
    ///
    /// # Errors
    /// EPERM means the limit on locked memory, not a missing right to measure.
    pub(crate) fn map(event: BorrowedFd<'_>, data_bytes: usize) -> io::Result<Self> {
        let page = rustix::param::page_size();
        if !data_bytes.is_power_of_two() || !data_bytes.is_multiple_of(page) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let length = page + data_bytes;
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing of ours.
        let base = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), length, rights, MapFlags::SHARED, event, 0)
        }?;
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, page, data: data_bytes })
    }

    /// Bytes of memory that the ring occupies, control page included.
    pub(crate) fn memory(&self) -> usize {
        self.page + self.data
    }

    /// Appends every unread record to `out` as 8-byte words, then hands the space back. Returns the
    /// number of words.
    pub(crate) fn drain_into(&mut self, out: &mut Vec<u64>) -> usize {
        let (tail, head) = self.unread();
        let length = word_index(head.wrapping_sub(tail));
        let length = length.min(self.data / 8);
        let start = word_index(tail) % (self.data / 8);
        let first = length.min(self.data / 8 - start);
        self.append(start, first, out);
        self.append(0, length - first, out);
        self.release(head);
        length
    }

    /// Bytes that wait to be read.
    pub(crate) fn pending(&self) -> u64 {
        let (tail, head) = self.unread();
        head.wrapping_sub(tail)
    }

    fn unread(&self) -> (u64, u64) {
        // Acquire pairs with the kernel's barrier before its store of `data_head`: the records
        // below the head are visible once the head is.
        (self.tail().load(Ordering::Relaxed), self.head().load(Ordering::Acquire))
    }

    fn release(&mut self, head: u64) {
        // Release: our copies are finished before the kernel may overwrite the space.
        self.tail().store(head, Ordering::Release);
    }

    /// Appends `count` words from word `start` of the data area.
    fn append(&self, start: usize, count: usize, out: &mut Vec<u64>) {
        let offset = self.page + start * 8;
        assert!(offset + count * 8 <= self.memory(), "the caller keeps within the ring");
        out.reserve(count);
        let to = out.spare_capacity_mut().as_mut_ptr();
        // SAFETY: `offset` is within the mapping, as was just checked.
        let from = unsafe { self.base.add(offset) };
        // SAFETY: `from` has `count` words within the mapping which the kernel leaves alone between
        // tail and head; `to` has room for as many and is ours, so they cannot overlap.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.cast::<u8>(), count * 8) };
        // SAFETY: these words were just written, within the capacity that was reserved.
        unsafe { out.set_len(out.len() + count) };
    }

    fn head(&self) -> &AtomicU64 {
        self.counter(std::mem::offset_of!(perf_event_mmap_page, data_head))
    }

    fn tail(&self) -> &AtomicU64 {
        self.counter(std::mem::offset_of!(perf_event_mmap_page, data_tail))
    }

    fn counter(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset + 8 <= self.page);
        // SAFETY: both counters lie in the first page, which is mapped as long as `self` lives.
        let at = unsafe { self.base.add(offset) };
        // SAFETY: the address is 8-aligned (fixed ABI) and the kernel accesses it as one word.
        unsafe { AtomicU64::from_ptr(at.as_ptr().cast::<u64>()) }
    }
}

/// Positions in a ring count bytes and every record is a multiple of eight of them.
const fn word_index(position: u64) -> usize {
    (position / 8) as usize
}

impl Drop for MappedRing {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `map`, and no reference into it outlives `self`.
        let result = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.memory()) };
        debug_assert!(result.is_ok());
    }
}
