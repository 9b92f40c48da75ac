//! The one door to processes: a process that exists but has not begun its command.
//!
//! The child is made, sets itself up, says so through the report pipe and then waits on the
//! release pipe; the caller puts it into a cgroup and arms events on it, writes one byte, and the
//! child executes the command. The report pipe closes on exec, so its end of file means success
//! and anything else is the reason, with the kernel's number.
//!
//! ```text
//!   us      ─┬──────────── read ready ── arm ── write go ─── read: end of file = it runs
//!   lender   └ vfork ∙ ∙ ∙ ∙ ∙ ∙ ∙ ∙ ∙ ∙ ∙ ∙ ∙ ∙ ∙ ∙ ∙ ∙ ∙ ∙ (ends)
//!   child         └ set up ─ say ready ─ read ─────────────── exec ─── (or: say why not)
//! ```
//!
//! Until its exec the child lives in our memory, which a thread of its own lends to it and stands
//! still: copying our memory map and taking the copy down again, the latter in the command's time,
//! costs more than starting a small program does. A child that goes into a place's namespaces has
//! a copy (`fork`), because one that shares memory may not enter a user namespace (`setns(2)`).
//!
//! We may be a program of many threads, so before exec the child may only make system calls: every
//! string is prepared beforehand ([`Program`]), and nothing allocates. `fork(2)`, `vfork(2)`,
//! `signal-safety(7)`. [`first_process`] makes a sandbox's pid 1 under the same rule.

#![expect(unsafe_code, reason = "fork and exec have no safe form; the crate's only such module")]

mod child;
mod first;
mod held;
mod local;
mod pid_one;
mod program;
mod report;

use std::fs::File;
use std::io::Read;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use culprit_model::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};

use crate::command::Group;

pub(crate) use first::{First, Namespaces, Noted, first_process};
pub(crate) use held::hold;
pub(crate) use local::{LocalChild, open_pidfd, send};
pub(crate) use program::Program;
use report::Report;
pub use report::Stage;

/// Held while pipes for a child are open on our side and until they are closed again.
///
/// A child forked meanwhile by another thread would have copies of them until its own exec, and
/// the end of such a pipe, which is how an exec and the end of an output are told, would wait for
/// that.
pub(crate) fn forking() -> MutexGuard<'static, ()> {
    static FORKING: Mutex<()> = Mutex::new(());
    FORKING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Everything the child needs, with descriptors that stay open until it has spoken.
#[derive(Debug, Clone)]
pub(crate) struct Launch<'a> {
    /// What to execute.
    pub(crate) program: Arc<Program>,
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

/// The child's side of the conversation, as we read it.
#[derive(Debug)]
struct Reports(File);

/// How often a silent child's maker is looked at: a child that does not even begin is rare.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

impl Reports {
    /// Waits for a message where our own copy of the writing end keeps the pipe from ending. False
    /// when `nobody` is left to write one.
    fn wait(&self, nobody: impl Fn() -> bool) -> rustix::io::Result<bool> {
        loop {
            // Asked first: what was said before the end still counts.
            let over = nobody();
            let limit = if over { Timespec::default() } else { LOOK };
            match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&limit)) {
                Ok(0) if over => return Ok(false),
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(errno) => return Err(errno),
            }
        }
    }

    /// The next message; `None` when every writer has closed the pipe.
    fn next(&mut self) -> std::io::Result<Option<Report>> {
        let mut bytes = [0; Report::SIZE];
        match self.0.read_exact(&mut bytes) {
            Ok(()) => Ok(Report::from_bytes(bytes)),
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// What one message means to its listener.
enum Said<E> {
    /// More is to come.
    More,
    /// All is as it should be.
    Ready,
    /// This went wrong.
    Failed(E),
}

/// What was heard from a new process, or from a new process and the go-between that made it: they
/// speak through one pipe, in any order.
struct Heard<E> {
    /// The new process, where it or a go-between named it.
    born: Option<Pid>,
    /// How it went; `None` when the pipe ended without a word on it.
    outcome: Option<Result<(), E>>,
}

impl Reports {
    /// Listens until the process is known and has said how it went, or the pipe ends.
    fn listen<E>(&mut self, mut judge: impl FnMut(Report) -> Said<E>) -> std::io::Result<Heard<E>> {
        let (mut born, mut outcome) = (None, None);
        while born.is_none() || outcome.is_none() {
            match self.next()? {
                None => break,
                Some(Report::Born(pid)) => born = Some(pid),
                Some(report) => match judge(report) {
                    Said::More => {}
                    Said::Ready => outcome = Some(Ok(())),
                    Said::Failed(why) => outcome = Some(Err(why)),
                },
            }
        }
        Ok(Heard { born, outcome })
    }
}

/// Waits for a child of ours whose status nobody needs.
fn reap(pid: Pid) {
    if let Some(pid) = raw(pid) {
        let end = WaitIdOptions::EXITED;
        while matches!(waitid(WaitId::Pid(pid), end), Err(Errno::INTR)) {}
    }
}

fn raw(pid: Pid) -> Option<rustix::process::Pid> {
    i32::try_from(pid.0).ok().and_then(rustix::process::Pid::from_raw)
}
