//! `ptrace(2)`: threads that stop for us when they are born, execute a program, or end.
//!
//! Only seized threads are meant (`PTRACE_SEIZE`). The kernel takes requests from the seizing thread alone, so all
//! calls of one observation come from one thread. Options never include `PTRACE_O_EXITKILL`: when the tracer dies,
//! its threads run on.

use std::io;

/// What the kernel reports of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A new program is loaded and has not executed an instruction.
    Executed,
    /// The thread ends; its memory still exists.
    Ending,
    /// It was born, or stops because we asked for it.
    Attached,
    /// It has made a thread or process.
    Made,
    /// Its whole process was stopped by a signal, and stays so until `SIGCONT`.
    Stopped,
    /// A signal is about to be delivered.
    Signal(i32),
    /// It is gone.
    Gone,
}

/// `PTRACE_EVENT_STOP`, which the C library's bindings lack for glibc (include/uapi/linux/ptrace.h).
const EVENT_STOP: i32 = 128;

/// Observes a thread from now on, with all that it makes.
///
/// # Errors
/// `EPERM` without the right, or when somebody else traces the thread; `ESRCH` when it has ended.
pub(crate) fn seize(tid: i32) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACEEXIT;
    request(libc::PTRACE_SEIZE, tid, usize::try_from(options).unwrap_or(0))
}

/// Asks a running thread to stop.
pub(crate) fn interrupt(tid: i32) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, tid, 0)
}

/// Lets a stopped thread run on and gives it a signal; 0 for none.
pub(crate) fn resume(tid: i32, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_CONT, tid, usize::try_from(signal).unwrap_or(0))
}

/// Leaves a thread in the stop that its process is in.
pub(crate) fn listen(tid: i32) -> io::Result<()> {
    request(libc::PTRACE_LISTEN, tid, 0)
}

/// Lets a stopped thread run on unobserved and gives it a signal; 0 for none.
pub(crate) fn detach(tid: i32, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_DETACH, tid, usize::try_from(signal).unwrap_or(0))
}

/// The thread or process that a thread has made, which stops before its first instruction. To be asked while the
/// thread is in [`Stop::Made`].
pub(crate) fn made(tid: i32) -> io::Result<i32> {
    let mut made: libc::c_ulong = 0;
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the request takes no address, and `made` is a live word that the kernel fills.
    let result = unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, tid, none, &raw mut made) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    i32::try_from(made).map_err(io::Error::other)
}

fn request(request: libc::c_uint, tid: i32, data: usize) -> io::Result<()> {
    let none = std::ptr::null_mut::<libc::c_void>();
    let data = std::ptr::without_provenance_mut::<libc::c_void>(data);
    // SAFETY: these requests take no address, and their data is a number.
    let result = unsafe { libc::ptrace(request, tid, none, data) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The next report of a thread that this thread observes; none if nothing has happened.
///
/// # Errors
/// `ECHILD` when no thread is observed.
pub(crate) fn next_stop() -> io::Result<Option<(i32, Stop)>> {
    let mut status = 0;
    let flags = libc::__WALL | libc::__WNOTHREAD | libc::WNOHANG;
    // SAFETY: `status` is a live integer that the kernel fills.
    let tid = unsafe { libc::waitpid(-1, &raw mut status, flags) };
    match tid {
        0 => Ok(None),
        tid if tid < 0 => Err(io::Error::last_os_error()),
        tid => Ok(Some((tid, stop(status)))),
    }
}

fn stop(status: i32) -> Stop {
    if !libc::WIFSTOPPED(status) {
        return Stop::Gone;
    }
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        0 => Stop::Signal(signal),
        EVENT_STOP if signal == libc::SIGTRAP => Stop::Attached,
        EVENT_STOP => Stop::Stopped,
        libc::PTRACE_EVENT_EXEC => Stop::Executed,
        libc::PTRACE_EVENT_EXIT => Stop::Ending,
        _ => Stop::Made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_told_apart() {
        let event = |event: i32, signal: i32| event << 16 | signal << 8 | 0x7f;
        assert_eq!(stop(event(0, libc::SIGUSR1)), Stop::Signal(libc::SIGUSR1));
        assert_eq!(stop(event(EVENT_STOP, libc::SIGTRAP)), Stop::Attached);
        assert_eq!(stop(event(EVENT_STOP, libc::SIGSTOP)), Stop::Stopped);
        assert_eq!(stop(event(libc::PTRACE_EVENT_EXEC, libc::SIGTRAP)), Stop::Executed);
        assert_eq!(stop(event(libc::PTRACE_EVENT_EXIT, libc::SIGTRAP)), Stop::Ending);
        assert_eq!(stop(event(libc::PTRACE_EVENT_CLONE, libc::SIGTRAP)), Stop::Made);
        assert_eq!(stop(3 << 8), Stop::Gone);
    }
}
