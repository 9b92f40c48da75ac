//! A child process of ours while it lives: its end, and signals to it.
//!
//! It is held by a pidfd, so that its number cannot be taken by another process between two calls
//! (`pidfd_open(2)`), and its status is kept, so that it can be asked for more than once.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use culprit_model::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid};

use super::{child, raw};
use crate::command::{Exit, Signal};
use crate::error::{Error, Result};
use crate::held::LiveProcess;

/// A child of ours.
#[derive(Debug)]
pub(crate) struct LocalChild {
    pid: Pid,
    pidfd: OwnedFd,
    exit: Mutex<Option<Exit>>,
}

impl LocalChild {
    /// Takes over a process that is a child of ours and was not waited for.
    pub(super) fn adopt(pid: Pid) -> rustix::io::Result<Self> {
        Ok(Self { pid, pidfd: open_pidfd(pid)?, exit: Mutex::new(None) })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    fn wait_error(&self, source: impl Into<std::io::Error>) -> Error {
        Error::Wait { pid: self.pid, source: source.into() }
    }

    fn try_reap(&self) -> Result<Option<Exit>> {
        let mut exit = self.exit.lock().unwrap_or_else(PoisonError::into_inner);
        if exit.is_none() {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            let status = waitid(WaitId::PidFd(self.pidfd.as_fd()), options);
            *exit = status.map_err(|e| self.wait_error(e))?.and_then(|s| {
                let signal = || s.terminating_signal().map(|n| Exit::Signal(Signal(n)));
                s.exit_status().map(Exit::Code).or_else(signal)
            });
        }
        Ok(*exit)
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
