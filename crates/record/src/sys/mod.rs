//! The kernel's door: `perf_event_open`, the ioctls of its descriptors, real-time priority, and the memory
//! of other processes.
//!
//! Together with [`ring`] and [`memory`] this is the only unsafe code of the crate. Everything here is a thin,
//! typed wrapper around one system call; what is opened and why is decided in `attr` and `plan`.
//! Sources: perf_event_open(2), sched_setscheduler(2), process_vm_readv(2), include/uapi/linux/perf_event.h.

pub(crate) mod bpf;
mod memory;
mod ring;
pub(crate) mod trace;

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use culprit_symbols::runtimes::MemoryPiece;
use perf_event_open_sys as perf;
use perf_event_open_sys::bindings::perf_event_attr;

pub use memory::HugePages;
pub(crate) use ring::MappedRing;

/// What an event watches.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// One thread, and with `inherit` those that it creates.
    Thread(i32),
    /// One thread on whatever CPU; it can have a ring only where its children do not inherit it.
    Anywhere(i32),
    /// The processes of a cgroup and of the cgroups below it.
    Cgroup(BorrowedFd<'a>),
    /// Everything on the CPU.
    Machine,
}

/// Opens one event on one CPU; the descriptor closes on exec.
///
/// # Errors
/// Whatever the kernel answers; the ladder turns it into words.
pub(crate) fn open_event(
    attr: &mut perf_event_attr,
    scope: Scope<'_>,
    cpu: u32,
) -> io::Result<OwnedFd> {
    let cpu = i32::try_from(cpu).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let close = u64::from(perf::bindings::PERF_FLAG_FD_CLOEXEC);
    let cgroup = u64::from(perf::bindings::PERF_FLAG_PID_CGROUP);
    let (pid, flags) = match scope {
        Scope::Thread(tid) | Scope::Anywhere(tid) => (tid, close),
        Scope::Cgroup(dir) => (dir.as_raw_fd(), close | cgroup),
        Scope::Machine => (-1, close),
    };
    let cpu = if matches!(scope, Scope::Anywhere(_)) { -1 } else { cpu };
    // SAFETY: `attr` is a live, fully initialised structure whose `size` field is its size, and the
    // path that it may point to lives as long as the description that it was made of.
    let fd = unsafe { perf::perf_event_open(attr, pid, cpu, -1, flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just returned this descriptor and nobody else holds it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sends the records of `event` into the ring that was mapped on `target` (same CPU only).
pub(crate) fn redirect(event: BorrowedFd<'_>, target: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: both descriptors are open; the argument is a plain descriptor number.
    check(unsafe { perf::ioctls::SET_OUTPUT(event.as_raw_fd(), target.as_raw_fd()) })
}

/// Lets a tracepoint event fire only where `filter` holds (Documentation/trace/events.rst).
pub(crate) fn set_filter(event: BorrowedFd<'_>, filter: &CStr) -> io::Result<()> {
    let text = filter.as_ptr().cast_mut();
    // SAFETY: the kernel copies the NUL-terminated text and does not write to it.
    check(unsafe { perf::ioctls::SET_FILTER(event.as_raw_fd(), text) })
}

/// Starts an event.
pub(crate) fn enable(event: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptor is open; the argument is a plain number.
    check(unsafe { perf::ioctls::ENABLE(event.as_raw_fd(), 0) })
}

/// Stops an event; what it wrote stays in its ring.
pub(crate) fn disable(event: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptor is open; the argument is a plain number.
    check(unsafe { perf::ioctls::DISABLE(event.as_raw_fd(), 0) })
}

/// Changes how many events make a record.
pub(crate) fn set_period(event: BorrowedFd<'_>, period: u64) -> io::Result<()> {
    // SAFETY: the descriptor is open; the kernel reads one u64 through a pointer, which is what
    // `ioctls::PERIOD` cannot pass.
    check(unsafe { libc::ioctl(event.as_raw_fd(), perf::bindings::PERIOD as _, &raw const period) })
}

/// The number that the kernel writes into each record of this event and of its inherited copies.
pub(crate) fn event_id(event: BorrowedFd<'_>) -> io::Result<u64> {
    let mut id = 0;
    // SAFETY: `id` is a live u64 that the kernel fills.
    check(unsafe { perf::ioctls::ID(event.as_raw_fd(), &raw mut id) })?;
    Ok(id)
}

/// Gives the calling thread the lowest real-time priority, not inherited by what it starts.
pub(crate) fn be_realtime() -> io::Result<()> {
    let param = libc::sched_param { sched_priority: 1 };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: pid 0 is the calling thread and `param` is a live structure.
    check(unsafe { libc::sched_setscheduler(0, policy, &raw const param) })
}

/// Lets the calling thread run as soon as it wakes: on a CPU that is idle, else before what runs on its own. A
/// real-time thread would be woken on the CPU that it ran on last, idle or not, so it would interrupt the recorded
/// program beside an idle CPU. `slice` is how long it works at a time, in ns: since Linux 6.12, who needs less goes
/// first; before, it waits up to 3 ms where every CPU is busy.
pub(crate) fn be_prompt(slice: u64) -> io::Result<()> {
    let attr = libc::sched_attr {
        size: u32::try_from(size_of::<libc::sched_attr>()).unwrap_or(u32::MAX),
        sched_policy: libc::SCHED_OTHER.cast_unsigned(),
        sched_flags: libc::SCHED_FLAG_RESET_ON_FORK.cast_unsigned().into(),
        sched_nice: -20,
        sched_priority: 0,
        sched_runtime: slice,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: pid 0 is the calling thread and `attr` is a live structure of the stated size.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Reads parts of a process's memory in one call. Answers how many bytes it read: fewer than are wanted
/// where something is not mapped. At most `IOV_MAX` (1024) parts.
pub(crate) fn read_process(pid: i32, pieces: &mut [MemoryPiece<'_>]) -> io::Result<usize> {
    let mut local = Vec::with_capacity(pieces.len());
    let mut remote = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let iov_len = piece.into.len();
        local.push(libc::iovec { iov_base: piece.into.as_mut_ptr().cast(), iov_len });
        let iov_base =
            std::ptr::without_provenance_mut(usize::try_from(piece.address).unwrap_or(0));
        remote.push(libc::iovec { iov_base, iov_len });
    }
    let count = local.len() as libc::c_ulong;
    // SAFETY: `local` points to exclusive buffers of the stated lengths, which outlive the call; the kernel
    // checks the other process's addresses.
    let read =
        unsafe { libc::process_vm_readv(pid, local.as_ptr(), count, remote.as_ptr(), count, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
