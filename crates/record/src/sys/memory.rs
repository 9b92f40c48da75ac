//! An allocator for programs that analyse recordings: the system's, with large blocks on huge pages.
//! It is here because unsafe code is in this module only.
//!
//! Columns of millions of rows are written once and read a few times, so that most of what they
//! cost is the kernel's work of handing out their pages: measured 2.5 us for each 4 KiB, which is
//! 0.65 GB/s, against 5.7 GB/s where it hands out 2 MiB at a time. Linux does so where a program
//! asks for it (`madvise`, the default of most distributions) or always; where it is told never to,
//! nothing changes.

use std::alloc::{GlobalAlloc, Layout, System};

use rustix::mm::{Advice, madvise};

/// Blocks from this size on are worth a system call: they hold three whole huge pages at least.
const LARGE: usize = 8 << 20;
const PAGE: usize = 4096;

/// The system's allocator; asks for huge pages for blocks of 8 MiB and more.
#[derive(Debug, Clone, Copy, Default)]
pub struct HugePages;

// SAFETY: every block is the system allocator's, unchanged; advice changes no byte of it.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; the block came from `System`.
        advised(unsafe { System.realloc(block, layout, size) }, size)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Asks for huge pages for a block, if it is large.
#[inline]
fn advised(block: *mut u8, size: usize) -> *mut u8 {
    if size >= LARGE && !block.is_null() {
        advise(block, size);
    }
    block
}

#[cold]
fn advise(block: *mut u8, size: usize) {
    // The pages of its first and last byte as well: advice for a part of a mapping splits it in two, which
    // can be made larger only by a copy (mremap(2), EFAULT).
    let skipped = block.addr() % PAGE;
    let length = (skipped + size).next_multiple_of(PAGE);
    let start = block.wrapping_sub(skipped).cast();
    // What the kernel will not do is done without.
    // SAFETY: pages that a block lies in which was just allocated; this advice keeps their content,
    // whoever else has some of it.
    unsafe { madvise(start, length, Advice::LinuxHugepage) }.ok();
}
