//! A child process of ours while it lives: its end, what it used, and signals to it.
//!
//! It is held by a pidfd, so that its number cannot be taken by another process between two calls
//! (`pidfd_open(2)`), and its status is kept, so that it can be asked for more than once. Only the
//! call that takes note of its end tells what it used (`wait4(2)`).

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use culprit_model::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

use super::{child, raw};
use crate::command::{Exit, Signal};
use crate::error::{Error, Result};
use crate::held::{LiveProcess, Usage};

/// A child of ours.
#[derive(Debug)]
pub(crate) struct LocalChild {
    pid: Pid,
    pidfd: OwnedFd,
    ended: Mutex<Option<(Exit, Usage)>>,
}

impl LocalChild {
    /// Takes over a process that is a child of ours and was not waited for.
    pub(super) fn adopt(pid: Pid) -> rustix::io::Result<Self> {
        Ok(Self { pid, pidfd: open_pidfd(pid)?, ended: Mutex::new(None) })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    fn wait_error(&self, source: impl Into<std::io::Error>) -> Error {
        Error::Wait { pid: self.pid, source: source.into() }
    }

    fn try_reap(&self) -> Result<Option<Exit>> {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.is_none() {
            *ended = look(self.pid).map_err(|e| self.wait_error(e))?;
        }
        Ok(ended.map(|(exit, _)| exit))
    }

    /// Waits at most `limit` (`None`: for ever), less when a signal of ours comes in.
    fn wait(&self, limit: Option<Duration>) -> Result<Option<Exit>> {
        if let Some(exit) = self.try_reap()? {
            return Ok(Some(exit));
        }
        // A limit beyond what the kernel can count is as good as none.
        let limit = limit.and_then(|l| Timespec::try_from(l).ok());
        match poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => self.try_reap(),
            Err(e) => Err(self.wait_error(e)),
        }
    }

    pub(super) fn wait_for_ever(&self) -> Result<Exit> {
        loop {
            if let Some(exit) = self.wait(None)? {
                return Ok(exit);
            }
        }
    }

    /// Whether nothing is left to wait for.
    pub(crate) fn has_ended(&self) -> bool {
        !matches!(self.try_reap(), Ok(None))
    }

    /// Waits for an end that must come.
    pub(crate) fn wait_up_to(&self, limit: Duration) -> Result<Exit> {
        self.wait(Some(limit))?.ok_or_else(|| self.wait_error(std::io::ErrorKind::TimedOut))
    }

    pub(crate) fn signal_now(&self, signal: Signal) -> Result<()> {
        send(&self.pidfd, self.pid, signal)
    }
}

/// How a child ended and what it used, once it has. It must not have been waited for: its number is
/// its own until then.
fn look(pid: Pid) -> rustix::io::Result<Option<(Exit, Usage)>> {
    let number = i32::try_from(pid.0).map_err(|_| Errno::CHILD)?;
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both places are ours and of the types that the call writes.
    let found = unsafe { libc::wait4(number, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
    if found < 0 {
        return Err(child::last_error());
    }
    if found == 0 {
        return Ok(None);
    }
    // SAFETY: all zeroes are a valid value of this plain structure, whether it was written or not.
    let usage = unsafe { usage.assume_init() };
    let mut own = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the place is ours and of the type that the call writes.
    let _never_fails = unsafe { libc::getrusage(libc::RUSAGE_SELF, own.as_mut_ptr()) };
    // SAFETY: as above.
    let own = unsafe { own.assume_init() };
    let exit = if libc::WIFEXITED(status) {
        Exit::Code(libc::WEXITSTATUS(status))
    } else {
        Exit::Signal(Signal(libc::WTERMSIG(status)))
    };
    Ok(Some((exit, used(&usage, &own))))
}

/// What a child used, by its account and ours.
fn used(child: &libc::rusage, own: &libc::rusage) -> Usage {
    let length = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs())
            + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    // Told in KiB.
    let peak = (child.ru_maxrss > own.ru_maxrss)
        .then(|| child.ru_maxrss.unsigned_abs().saturating_mul(1024));
    Usage { user: length(child.ru_utime), system: length(child.ru_stime), peak_memory_bytes: peak }
}

impl AsFd for LocalChild {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// A started child, as callers have it.
#[derive(Debug)]
pub(super) struct LocalProcess(pub(super) Arc<LocalChild>);

impl LiveProcess for LocalProcess {
    fn pid(&self) -> Option<Pid> {
        Some(self.0.pid)
    }

    fn wait_at_most(&self, limit: Option<Duration>) -> Result<Option<Exit>> {
        self.0.wait(limit)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        self.0.signal_now(signal)
    }

    fn usage(&self) -> Option<Usage> {
        self.0.ended.lock().unwrap_or_else(PoisonError::into_inner).map(|(_, usage)| usage)
    }
}

/// A descriptor of a process.
pub(crate) fn open_pidfd(pid: Pid) -> rustix::io::Result<OwnedFd> {
    pidfd_open(raw(pid).ok_or(Errno::SRCH)?, PidfdFlags::empty())
}

/// Sends a signal through a pidfd; a process that has ended is no error.
pub(crate) fn send(pidfd: &OwnedFd, pid: Pid, signal: Signal) -> Result<()> {
    let error = |source| Error::Signal { signal, pid, source };
    let Some(number) = child::signal_number(signal) else {
        return Err(error(Errno::INVAL.into()));
    };
    match pidfd_send_signal(pidfd, number) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(e) => Err(error(e.into())),
    }
}
