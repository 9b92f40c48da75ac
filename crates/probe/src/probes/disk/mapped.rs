//! Mapped pages: a thread waits in page faults, and for `msync` where writes are to be on the disk.

use std::fs::File;

use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};

use super::file::Buffer;
use super::offsets::{Request, Requests};
use super::spec::{Access, Spec};
use super::window::{Times, Window, one_at_a_time};

/// A whole file, mapped shared. The file is ours alone and is not shortened while it is mapped.
#[derive(Debug)]
struct Mapping {
    start: *mut std::ffi::c_void,
    length: usize,
}

impl Mapping {
    #[expect(
        unsafe_code,
        reason = "a file is mapped by hand, so that its faults are what is measured"
    )]
    fn new(file: &File, spec: &Spec) -> std::io::Result<Self> {
        let length = usize::try_from(spec.size).map_err(std::io::Error::other)?;
        let mut protection = ProtFlags::READ;
        if spec.write_share > 0.0 {
            protection |= ProtFlags::WRITE;
        }
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start =
            unsafe { mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, file, 0) }?;
        let mapping = Self { start, length };
        if spec.access != Access::Sequential {
            // SAFETY: the mapping that was just made.
            unsafe { madvise(start, length, Advice::Random) }?;
        }
        Ok(mapping)
    }

    /// Copies a request's block from or to the file.
    #[expect(unsafe_code, reason = "pages that other threads may change are copied by address")]
    fn copy(&self, request: Request, buffer: &mut Buffer) {
        #[expect(clippy::cast_possible_truncation, reason = "within a length that fits in `usize`")]
        let at = request.offset as usize;
        let length = buffer.bytes().len();
        debug_assert!(at + length <= self.length);
        let there = self.start.cast::<u8>().wrapping_add(at);
        let (from, to): (*const u8, *mut u8) = if request.writes {
            (buffer.bytes().as_ptr(), there)
        } else {
            (there, buffer.bytes_mut().as_mut_ptr())
        };
        // SAFETY: requests lie within the file and so within the mapping, which is writable where
        // any request writes; the buffer is as long and is no part of it. Other threads may write the
        // same bytes: what is read is never looked at.
        unsafe { std::ptr::copy_nonoverlapping(from, to, length) };
        std::hint::black_box(buffer);
    }

    /// Brings a request's pages to the disk.
    #[expect(unsafe_code, reason = "msync takes an address")]
    fn sync(&self, request: Request, length: u64) -> std::io::Result<()> {
        let page = rustix::param::page_size() as u64;
        let begin = request.offset - request.offset % page;
        let bytes = request.offset + length - begin;
        #[expect(clippy::cast_possible_truncation, reason = "within a length that fits in `usize`")]
        let (begin, bytes) = (begin as usize, bytes as usize);
        let pages = self.start.wrapping_byte_add(begin);
        // SAFETY: pages of the mapping.
        Ok(unsafe { msync(pages, bytes, MsyncFlags::SYNC) }?)
    }
}

impl Drop for Mapping {
    #[expect(unsafe_code, reason = "what was mapped by hand is unmapped by hand")]
    fn drop(&mut self) {
        // SAFETY: the mapping of this value; nothing points into it any more. It cannot fail for an
        // address and length that mmap has given.
        let _ = unsafe { munmap(self.start, self.length) };
    }
}

/// The load of one thread.
///
/// # Errors
/// The kernel's.
pub(super) fn load(
    file: &File,
    spec: &Spec,
    requests: Requests,
    mut buffer: Buffer,
    times: Times,
) -> std::io::Result<Window> {
    let mapping = Mapping::new(file, spec)?;
    one_at_a_time(spec, requests, times, |request| {
        mapping.copy(request, &mut buffer);
        if request.writes && spec.cache.writes_through() {
            mapping.sync(request, spec.block)?;
        }
        Ok(())
    })
}
