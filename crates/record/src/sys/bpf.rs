//! `bpf(2)`: maps, programs, and the ring that programs write.
//!
//! Everything is held by descriptors: when this process ends, however it ends, the kernel takes programs, maps and
//! the probes that run them away. Sources: include/uapi/linux/bpf.h, kernel/bpf/ringbuf.c.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use perf_event_open_sys as perf;
use rustix::mm::{MapFlags, ProtFlags};

/// Commands of the system call.
mod command {
    pub(super) const MAP_CREATE: i64 = 0;
    pub(super) const MAP_LOOKUP: i64 = 1;
    pub(super) const MAP_UPDATE: i64 = 2;
    pub(super) const MAP_DELETE: i64 = 3;
    pub(super) const MAP_NEXT_KEY: i64 = 4;
    pub(super) const PROG_LOAD: i64 = 5;
    pub(super) const RAW_TRACEPOINT_OPEN: i64 = 17;
    pub(super) const LINK_CREATE: i64 = 28;
    pub(super) const ITERATOR_CREATE: i64 = 33;
}

/// Kinds of maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum MapKind {
    /// Keys and values.
    Hash = 1,
    /// Values by number.
    Array = 2,
    /// A ring of records.
    Ring = 27,
}

/// Kinds of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum ProgramKind {
    /// Runs at a probe in a program, and may wait for a page of memory.
    Uprobe = 2,
    /// Runs at a tracepoint with its bare arguments.
    RawTracepoint = 17,
    /// Runs for each object of a kind, when somebody reads.
    Iterator = 26,
}

/// `BPF_TRACE_ITER`: how an iterator is attached.
const AS_ITERATOR: u32 = 28;

/// `BPF_F_SLEEPABLE`.
const MAY_SLEEP: u32 = 1 << 4;
/// Bytes of the verifier's report that are asked for.
const REPORT: usize = 64 << 10;

/// The words of `union bpf_attr`, as many as the commands here use.
type Attr = [u64; 16];

fn call(command: i64, attr: &mut Attr) -> io::Result<i64> {
    // SAFETY: the structure is live and of the stated size; the addresses in it are those of buffers that the
    // callers below keep alive and large enough for the sizes of their map.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, attr.as_mut_ptr(), size_of::<Attr>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn descriptor(result: i64) -> io::Result<OwnedFd> {
    let number = i32::try_from(result).map_err(io::Error::other)?;
    // SAFETY: the kernel just returned this descriptor and nobody else holds it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Two 32-bit fields of the structure in one word, the first one lower.
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn number(fd: BorrowedFd<'_>) -> u32 {
    u32::try_from(fd.as_raw_fd()).unwrap_or(u32::MAX)
}

/// A map whose keys and values have fixed sizes.
#[derive(Debug)]
pub(crate) struct Map {
    fd: OwnedFd,
    key: usize,
    value: usize,
}

impl Map {
    /// Makes a map of at most `most` entries.
    ///
    /// # Errors
    /// `EPERM` without CAP_BPF.
    pub(crate) fn new(kind: MapKind, key: usize, value: usize, most: u32) -> io::Result<Self> {
        let size = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        let mut attr = Attr::default();
        attr[0] = pair(kind as u32, size(key));
        attr[1] = pair(size(value), most);
        let fd = descriptor(call(command::MAP_CREATE, &mut attr)?)?;
        Ok(Self { fd, key, value })
    }

    fn attr(&self, key: &[u8], value: *const u8, flags: u64) -> Attr {
        assert_eq!(key.len(), self.key, "the key has the map's size");
        let mut attr = Attr::default();
        attr[0] = u64::from(number(self.fd.as_fd()));
        attr[1] = key.as_ptr() as u64;
        attr[2] = value as u64;
        attr[3] = flags;
        attr
    }

    /// Sets an entry.
    pub(crate) fn insert(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        assert_eq!(value.len(), self.value, "the value has the map's size");
        call(command::MAP_UPDATE, &mut self.attr(key, value.as_ptr(), 0)).map(|_| ())
    }

    /// Takes an entry away.
    pub(crate) fn remove(&self, key: &[u8]) -> io::Result<()> {
        call(command::MAP_DELETE, &mut self.attr(key, std::ptr::null(), 0)).map(|_| ())
    }

    /// The value of an entry.
    pub(crate) fn get(&self, key: &[u8]) -> io::Result<Vec<u8>> {
        let mut value = vec![0; self.value];
        call(command::MAP_LOOKUP, &mut self.attr(key, value.as_mut_ptr(), 0))?;
        Ok(value)
    }

    /// Every key, in no order. Keys that are set or removed meanwhile may be missing.
    pub(crate) fn keys(&self) -> Vec<Vec<u8>> {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        loop {
            let mut next = vec![0; self.key];
            let mut attr = Attr::default();
            attr[0] = u64::from(number(self.fd.as_fd()));
            attr[1] = keys.last().map_or(0, |key| key.as_ptr() as u64);
            attr[2] = next.as_mut_ptr() as u64;
            if call(command::MAP_NEXT_KEY, &mut attr).is_err() {
                return keys;
            }
            keys.push(next);
        }
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Loads a program; the descriptor keeps it.
///
/// # Errors
/// `EPERM` without CAP_BPF and CAP_PERFMON; else the last lines of the verifier's report.
pub(crate) fn load(kind: ProgramKind, instructions: &[u64]) -> io::Result<OwnedFd> {
    load_for((kind, 0), instructions)
}

/// As [`load`]; an iterator is told by number which of the kernel's functions announces its objects.
fn load_for((kind, announced_by): (ProgramKind, u32), instructions: &[u64]) -> io::Result<OwnedFd> {
    let license = c"GPL";
    let mut report = vec![0_u8; REPORT];
    let mut attr = Attr::default();
    attr[0] = pair(kind as u32, u32::try_from(instructions.len()).unwrap_or(u32::MAX));
    attr[1] = instructions.as_ptr() as u64;
    attr[2] = license.as_ptr() as u64;
    attr[3] = pair(1, u32::try_from(REPORT).unwrap_or(u32::MAX));
    attr[4] = report.as_mut_ptr() as u64;
    attr[5] = pair(0, if kind == ProgramKind::Uprobe { MAY_SLEEP } else { 0 });
    if kind == ProgramKind::Iterator {
        attr[8] = pair(0, AS_ITERATOR);
        attr[13] = pair(0, announced_by);
    }
    match call(command::PROG_LOAD, &mut attr) {
        Ok(result) => descriptor(result),
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            let text = CStr::from_bytes_until_nul(&report).unwrap_or_default().to_string_lossy();
            let end: Vec<&str> = text.lines().rev().take(3).collect();
            Err(io::Error::other(format!("{error}: {}", end.join(" / "))))
        }
        Err(error) => Err(error),
    }
}

/// Runs a program once for each object that the kernel's function `announced_by` (its number in the kernel's
/// types) announces, and gives what the program has written.
///
/// # Errors
/// `EPERM` without CAP_BPF and CAP_PERFMON; else why the program is refused, or does not run.
pub(crate) fn iterate(announced_by: u32, instructions: &[u64]) -> io::Result<Vec<u8>> {
    let program = load_for((ProgramKind::Iterator, announced_by), instructions)?;
    let mut attr = Attr::default();
    attr[0] = u64::from(number(program.as_fd()));
    attr[1] = u64::from(AS_ITERATOR);
    let link = descriptor(call(command::LINK_CREATE, &mut attr)?)?;
    let mut attr = Attr::default();
    attr[0] = u64::from(number(link.as_fd()));
    let mut file = File::from(descriptor(call(command::ITERATOR_CREATE, &mut attr)?)?);
    let mut written = Vec::new();
    file.read_to_end(&mut written)?;
    Ok(written)
}

/// Runs a program at a tracepoint, as long as the descriptor is open.
pub(crate) fn at_tracepoint(name: &CStr, program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut attr = Attr::default();
    attr[0] = name.as_ptr() as u64;
    attr[1] = u64::from(number(program));
    descriptor(call(command::RAW_TRACEPOINT_OPEN, &mut attr)?)
}

/// Runs a program at each hit of a probe.
pub(crate) fn at_probe(event: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: both descriptors are open; the argument is a plain descriptor number.
    let result = unsafe { perf::ioctls::SET_BPF(event.as_raw_fd(), number(program)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The ring that programs write records into and we read.
///
/// One page that holds how far we have read, one page that holds how far the programs have written, then the data
/// twice in a row, so that a record never wraps.
#[derive(Debug)]
pub(crate) struct ProgramRing {
    map: Map,
    read: NonNull<u8>,
    written: NonNull<u8>,
    page: usize,
    size: usize,
}

/// A record that is being written.
const BUSY: u32 = 1 << 31;
/// A record that was given up.
const DISCARDED: u32 = 1 << 30;
/// Bytes before each record.
const HEADER: usize = 8;

impl ProgramRing {
    /// A ring of `size` bytes, a power of two and a multiple of the page size.
    ///
    /// # Errors
    /// `EPERM` without CAP_BPF.
    pub(crate) fn new(size: u32) -> io::Result<Self> {
        let map = Map::new(MapKind::Ring, 0, 0, size)?;
        let page = rustix::param::page_size();
        let size = usize::try_from(size).map_err(io::Error::other)?;
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        let read = Self::part(&map, page, rights, 0)?;
        let written = Self::part(&map, page + 2 * size, ProtFlags::READ, page)?;
        Ok(Self { map, read, written, page, size })
    }

    fn part(map: &Map, length: usize, rights: ProtFlags, from: usize) -> io::Result<NonNull<u8>> {
        let (none, shared) = (std::ptr::null_mut(), MapFlags::SHARED);
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing of ours.
        let base = unsafe { rustix::mm::mmap(none, length, rights, shared, map, from as u64) }?;
        NonNull::new(base.cast::<u8>()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Hands every finished record to `take` and gives its space back.
    pub(crate) fn drain(&mut self, take: &mut dyn FnMut(&[u8])) {
        // SAFETY: the first word of the page is the position, 8-aligned, and lives as long as `self`.
        let read = unsafe { AtomicU64::from_ptr(self.read.as_ptr().cast::<u64>()) };
        // SAFETY: the same for the other page, which we only load from.
        let written = unsafe { AtomicU64::from_ptr(self.written.as_ptr().cast::<u64>()) };
        let mut position = read.load(Ordering::Relaxed);
        while position < written.load(Ordering::Acquire) {
            let at = self.page + usize::try_from(position).unwrap_or(0) % self.size;
            // SAFETY: `at` lies in the first copy of the data.
            let record = unsafe { self.written.add(at) };
            // SAFETY: a record starts with its length, 8-aligned, which the kernel stores with release.
            let length = unsafe { AtomicU32::from_ptr(record.as_ptr().cast::<u32>()) };
            let length = length.load(Ordering::Acquire);
            if length & BUSY != 0 {
                return;
            }
            let bytes = usize::try_from(length & !DISCARDED).unwrap_or(0).min(self.size);
            if length & DISCARDED == 0 {
                // SAFETY: the data lies twice in a row, so that the record is whole behind its header.
                let data = unsafe { record.add(HEADER) };
                // SAFETY: the kernel leaves the bytes alone until the position below is stored.
                take(unsafe { std::slice::from_raw_parts(data.as_ptr(), bytes) });
            }
            position += (HEADER + bytes).next_multiple_of(8) as u64;
            read.store(position, Ordering::Release);
        }
    }
}

impl AsFd for ProgramRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

impl Drop for ProgramRing {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `new`, and no reference into it outlives `self`.
        let first = unsafe { rustix::mm::munmap(self.read.as_ptr().cast(), self.page) };
        let length = self.page + 2 * self.size;
        // SAFETY: the same.
        let second = unsafe { rustix::mm::munmap(self.written.as_ptr().cast(), length) };
        debug_assert!(first.is_ok() && second.is_ok());
    }
}
