//! A process in its two lives: held (it exists, events can be armed on it, CMD has not begun) and
//! running.
//!
//! ```text
//!   Place::hold ──> Held ──start──> Running ──wait──> Exit
//!                    └─drop: killed, never ran CMD
//! ```
//!
//! Each place brings its own implementation of the two traits; callers see the two structs.

use std::fmt;
use std::fs::File;
use std::time::Duration;

use crate::command::{Exit, Signal};
use crate::error::Result;
use culprit_model::Pid;

/// What a place does with a process that it holds.
pub(crate) trait HeldProcess: Send + fmt::Debug {
    /// The held process, where it exists before the start.
    fn pid(&self) -> Option<Pid>;
    /// Lets it go.
    fn start(self: Box<Self>) -> Result<Box<dyn LiveProcess>>;
}

/// What a place does with a process that it started.
pub(crate) trait LiveProcess: Send + Sync + fmt::Debug {
    /// The process that runs CMD, where the place could tell.
    fn pid(&self) -> Option<Pid>;
    /// Waits at most this long (`None`: for ever) for the end; may come back early with `None`.
    fn wait_at_most(&self, limit: Option<Duration>) -> Result<Option<Exit>>;
    /// Sends a signal to the process; the end of the process is no error.
    fn signal(&self, signal: Signal) -> Result<()>;
    /// What it used, once it has ended, where we are its parent.
    fn usage(&self) -> Option<Usage> {
        None
    }
}

/// What a command used, as the kernel tells its parent at its end: the command itself and those of
/// its children that it waited for (`getrusage(2)`, RUSAGE_CHILDREN).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time in user space.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// The most memory that one of its processes held, bytes. Before it became its command the
    /// process lived in our memory or a copy, and exec hands the peak of the memory that it leaves on
    /// (`exec_mmap` in fs/exec.c): none where it is not more than we have ever held.
    pub peak_memory_bytes: Option<u64>,
}

/// Our ends of the pipes that a command asked for.
#[derive(Debug, Default)]
pub(crate) struct Pipes {
    pub(crate) stdin: Option<File>,
    pub(crate) stdout: Option<File>,
    pub(crate) stderr: Option<File>,
}

/// A process that sits in its cgroup and has not executed the first instruction of its command.
///
/// Dropping it ends it.
#[derive(Debug)]
pub struct Held {
    process: Box<dyn HeldProcess>,
    pipes: Pipes,
}

impl Held {
    pub(crate) fn new(process: Box<dyn HeldProcess>, pipes: Pipes) -> Self {
        Self { process, pipes }
    }

    /// The process, in our pid namespace. `None` for an engine's containers, whose process does
    /// not exist before the start; there the cgroup is what events are armed on.
    #[must_use]
    pub fn pid(&self) -> Option<Pid> {
        self.process.pid()
    }

    /// Lets the process execute its command.
    ///
    /// # Errors
    /// [`crate::Error::Start`] when the command cannot be executed: not found, not a program, no
    /// permission. Then nothing is left of the process.
    pub fn start(self) -> Result<Running> {
        Ok(Running { process: self.process.start()?, pipes: self.pipes })
    }
}

/// A process that runs its command.
///
/// Dropping it leaves a host process running; a container's process ends with the container.
#[derive(Debug)]
pub struct Running {
    process: Box<dyn LiveProcess>,
    pipes: Pipes,
}

impl Running {
    /// The process that runs the command, in our pid namespace. `None` when an engine's container
    /// ended before it could be asked.
    #[must_use]
    pub fn pid(&self) -> Option<Pid> {
        self.process.pid()
    }

    /// What the command used, once it has ended. None where it is an engine's child and not ours.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.process.usage()
    }

    /// Waits for the end. May be called again, and gives the same answer.
    ///
    /// # Errors
    /// When the kernel or the engine cannot tell, for example because the engine went away.
    pub fn wait(&self) -> Result<Exit> {
        loop {
            if let Some(exit) = self.process.wait_at_most(None)? {
                return Ok(exit);
            }
        }
    }

    /// How it ended, or `None` while it runs.
    ///
    /// # Errors
    /// As [`Running::wait`].
    pub fn try_wait(&self) -> Result<Option<Exit>> {
        self.process.wait_at_most(Some(Duration::ZERO))
    }

    /// Waits for the end, at most `limit`; a signal that arrives meanwhile cuts the wait short.
    ///
    /// # Errors
    /// As [`Running::wait`].
    pub fn wait_at_most(&self, limit: Duration) -> Result<Option<Exit>> {
        self.process.wait_at_most(Some(limit))
    }

    /// Sends a signal to the process. That it has already ended is no error.
    ///
    /// # Errors
    /// When the kernel or the engine refuses.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        self.process.signal(signal)
    }

    /// Ends the command with everything that it has started: asks first, and kills after `grace` who
    /// is still there. `members` lists the processes that are the command's, which only the caller
    /// can know: those in its cgroup, or those whose births were recorded. A container's end with
    /// its first one. Comes back when the command has ended; what cannot be killed within seconds
    /// is left.
    ///
    /// # Errors
    /// When the command cannot be signalled or waited for.
    pub fn end(&self, members: &dyn Fn() -> Vec<Pid>, grace: Duration) -> Result<Exit> {
        crate::ending::end(&*self.process, members, grace)
    }

    /// The writing end of the command's standard input, once, if it was asked for as a pipe.
    pub fn take_stdin(&mut self) -> Option<File> {
        self.pipes.stdin.take()
    }

    /// The reading end of the command's standard output, once, if it was asked for as a pipe.
    pub fn take_stdout(&mut self) -> Option<File> {
        self.pipes.stdout.take()
    }

    /// The reading end of the command's standard error, once, if it was asked for as a pipe.
    pub fn take_stderr(&mut self) -> Option<File> {
        self.pipes.stderr.take()
    }
}
