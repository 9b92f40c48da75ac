//! The one door to processes: a process that exists but has not begun its command.
//!
//! The child is forked, sets itself up, says so through the report pipe and then waits on the
//! release pipe; the caller puts it into a cgroup and arms events on it, writes one byte, and the
//! child executes the command. The report pipe closes on exec, so its end of file means success
//! and anything else is the reason, with the kernel's number.
//!
//! ```text
//!   us     fork ─────────── read ready ── arm ── write go ─── read: end of file = it runs
//!   child        set up ─── say ready ─── read ─────────────── exec ─── (or: say why not)
//! ```
//!
//! We may be a program of many threads, so between fork and exec the child may only make system
//! calls: every string is prepared beforehand ([`Program`]), and nothing allocates. `fork(2)`,
//! `signal-safety(7)`.

#![expect(unsafe_code, reason = "fork and exec have no safe form; the crate's only such module")]

mod child;
mod program;
mod report;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{PidfdFlags, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid};

use crate::command::{Exit, Group, Signal};
use crate::error::{Error, Result};
use crate::held::{HeldProcess, LiveProcess};
use culprit_model::Pid;

pub(crate) use program::Program;
use report::Report;
pub use report::Stage;

/// Everything the child needs, borrowed for the time of the fork.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    /// What to execute.
    pub(crate) program: &'a Program,
    /// What becomes descriptors 0, 1 and 2; `None` leaves ours.
    pub(crate) stdio: [Option<BorrowedFd<'a>>; 3],
    /// The process group.
    pub(crate) group: Group,
    /// The namespaces to go into first.
    pub(crate) inside: Option<Inside<'a>>,
}

/// The namespaces of another process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inside<'a> {
    /// A pidfd of a process that lives in them.
    pub(crate) of: BorrowedFd<'a>,
    /// Which of them to enter; always with the pid namespace.
    pub(crate) which: rustix::thread::ThreadNameSpaceType,
}

/// Forks a child that stops short of its command.
pub(crate) fn hold(launch: &Launch<'_>) -> Result<HeldChild> {
    let program = launch.program;
    let fork_error = |source: rustix::io::Errno| Error::Fork {
        program: program.name.clone(),
        source: source.into(),
    };
    let (release_in, release) = pipe_with(PipeFlags::CLOEXEC).map_err(fork_error)?;
    let (report, report_out) = pipe_with(PipeFlags::CLOEXEC).map_err(fork_error)?;
    let ends = child::Ends {
        release: release_in.as_fd(),
        release_out: release.as_fd(),
        report: report_out.as_fd(),
    };
    let forked = child::fork(|| {
        child::run(launch, &ends);
    })
    .map_err(fork_error)?;
    drop(report_out);
    drop(release_in);
    let mut reports = Reports { pipe: File::from(report), program: program.name.clone() };
    let pid = match launch.inside {
        None => forked,
        Some(_) => reports.born(forked)?,
    };
    let child = LocalChild::adopt(pid).map_err(fork_error)?;
    let mut held = HeldChild { child: Some(child), release: File::from(release), reports };
    held.reports.ready()?;
    Ok(held)
}

/// The child's side of the conversation, as we read it.
#[derive(Debug)]
struct Reports {
    pipe: File,
    program: String,
}

impl Reports {
    fn next(&mut self) -> Result<Option<Report>> {
        let mut bytes = [0; Report::SIZE];
        match self.pipe.read_exact(&mut bytes) {
            Ok(()) => Ok(Report::from_bytes(bytes)),
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
            Err(source) => Err(Error::Fork { program: self.program.clone(), source }),
        }
    }

    fn failure(&self, stage: Stage, errno: i32) -> Error {
        let source = std::io::Error::from_raw_os_error(errno);
        Error::Start { program: self.program.clone(), stage, source }
    }

    /// The number of the process that a go-between made, once the go-between is gone.
    fn born(&mut self, go_between: Pid) -> Result<Pid> {
        let report = self.next();
        reap(go_between);
        match report? {
            Some(Report::Born(pid)) => Ok(pid),
            Some(Report::Failed(stage, errno)) => Err(self.failure(stage, errno)),
            _ => Err(self.failure(Stage::Prepare, libc::ECHILD)),
        }
    }

    fn ready(&mut self) -> Result<()> {
        match self.next()? {
            Some(Report::Ready) => Ok(()),
            Some(Report::Failed(stage, errno)) => Err(self.failure(stage, errno)),
            _ => Err(self.failure(Stage::Prepare, libc::ECHILD)),
        }
    }

    /// What became of the exec.
    fn executed(&mut self) -> Result<()> {
        match self.next()? {
            None => Ok(()),
            Some(Report::Failed(stage, errno)) => Err(self.failure(stage, errno)),
            Some(_) => Err(self.failure(Stage::Prepare, libc::EPROTO)),
        }
    }
}

/// Waits for a child of ours whose status nobody needs.
fn reap(pid: Pid) {
    if let Some(pid) = raw(pid) {
        while matches!(
            waitid(WaitId::Pid(pid), WaitIdOptions::EXITED),
            Err(rustix::io::Errno::INTR)
        ) {}
    }
}

fn raw(pid: Pid) -> Option<rustix::process::Pid> {
    i32::try_from(pid.0).ok().and_then(rustix::process::Pid::from_raw)
}

/// A child that waits for our word. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct HeldChild {
    /// `None` only once it was started.
    child: Option<LocalChild>,
    release: File,
    reports: Reports,
}

impl HeldChild {
    /// Its number in our pid namespace.
    pub(crate) fn pid(&self) -> Pid {
        self.child.as_ref().map(|c| c.pid).unwrap_or_default()
    }

    fn go(&mut self) -> Result<()> {
        let program = self.reports.program.clone();
        self.release.write_all(b"g").map_err(|source| Error::Fork { program, source })?;
        self.reports.executed()
    }
}

impl HeldProcess for HeldChild {
    fn pid(&self) -> Option<Pid> {
        Some(HeldChild::pid(self))
    }

    fn start(mut self: Box<Self>) -> Result<Box<dyn LiveProcess>> {
        self.go()?;
        match self.child.take() {
            Some(child) => Ok(Box::new(child)),
            None => unreachable!("a held child is started once, and consumed by it"),
        }
    }
}

impl Drop for HeldChild {
    fn drop(&mut self) {
        if let Some(child) = &self.child {
            // Closing the pipe would do, were it not that another child forked meanwhile may hold
            // a copy of its writing end until that one's own exec.
            let _gone_already = child.signal(Signal::KILL);
            reap(child.pid);
        }
    }
}

/// A child process of ours, held by a descriptor so that its number cannot be taken by another.
#[derive(Debug)]
pub(crate) struct LocalChild {
    pid: Pid,
    pidfd: OwnedFd,
    exit: Mutex<Option<Exit>>,
}

impl LocalChild {
    fn adopt(pid: Pid) -> rustix::io::Result<Self> {
        let number = raw(pid).ok_or(rustix::io::Errno::SRCH)?;
        let pidfd = pidfd_open(number, PidfdFlags::empty())?;
        Ok(Self { pid, pidfd, exit: Mutex::new(None) })
    }

    fn try_reap(&self) -> Result<Option<Exit>> {
        let mut exit = self.exit.lock().unwrap_or_else(PoisonError::into_inner);
        if exit.is_none() {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            let status = waitid(WaitId::PidFd(self.pidfd.as_fd()), options)
                .map_err(|e| Error::Wait { pid: self.pid, source: e.into() })?;
            *exit = status.and_then(|s| {
                s.exit_status()
                    .map(Exit::Code)
                    .or_else(|| s.terminating_signal().map(|n| Exit::Signal(Signal(n))))
            });
        }
        Ok(*exit)
    }
}

impl LiveProcess for LocalChild {
    fn pid(&self) -> Option<Pid> {
        Some(self.pid)
    }

    fn wait_at_most(&self, limit: Option<Duration>) -> Result<Option<Exit>> {
        if let Some(exit) = self.try_reap()? {
            return Ok(Some(exit));
        }
        // A limit beyond what the kernel can count is as good as none.
        let limit = limit.and_then(|l| Timespec::try_from(l).ok());
        match poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], limit.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => self.try_reap(),
            Err(e) => Err(Error::Wait { pid: self.pid, source: e.into() }),
        }
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        send(&self.pidfd, self.pid, signal)
    }
}

/// Sends a signal through a pidfd; a process that has ended is no error.
pub(crate) fn send(pidfd: &OwnedFd, pid: Pid, signal: Signal) -> Result<()> {
    let error = |source| Error::Signal { signal, pid, source };
    let Some(number) = child::signal_number(signal) else {
        return Err(error(rustix::io::Errno::INVAL.into()));
    };
    match pidfd_send_signal(pidfd, number) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(e) => Err(error(e.into())),
    }
}
