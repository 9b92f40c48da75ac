//! What is to be run, and how it ended: plain values shared by every place.
//!
//! A [`Command`] says nothing about where it runs; a place turns it into a process, or into a
//! request to an engine. The environment is that of the place plus the additions named here, so
//! that one command value can be run in several places and compared.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

/// Where one of a command's three standard streams goes.
#[derive(Debug, Clone, Default)]
pub enum Stdio {
    /// Ours: what the command reads and writes is what our own process would.
    #[default]
    Inherit,
    /// `/dev/null`.
    Null,
    /// A file of the caller's. Shared, because a command may be run more than once.
    File(Arc<File>),
    /// A pipe whose other end the caller takes from [`crate::Running`].
    Pipe,
}

/// Which process group the command is started in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Group {
    /// Ours, so that a Ctrl-C typed at the terminal reaches the command as well as us.
    #[default]
    Shared,
    /// One of its own, so that the caller decides which signals are passed on.
    Own,
}

/// A command and what it is given.
#[derive(Debug, Clone, Default)]
pub struct Command {
    /// The program (a path, or a name that is looked up in the place's `PATH`) and its arguments.
    pub argv: Vec<OsString>,
    /// Variables added to the place's environment, or replaced in it, in this order.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory inside the place; `None` is the place's own work directory.
    pub dir: Option<PathBuf>,
    /// Standard input.
    pub stdin: Stdio,
    /// Standard output.
    pub stdout: Stdio,
    /// Standard error.
    pub stderr: Stdio,
    /// The process group; engines ignore it, their processes are never in ours.
    pub group: Group,
}

impl Command {
    /// A command with this program and arguments, our environment and our streams.
    pub fn new<A: Into<OsString>>(argv: impl IntoIterator<Item = A>) -> Self {
        Self { argv: argv.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The program's name as it is shown in messages; empty when there is none.
    #[must_use]
    pub fn program(&self) -> String {
        self.argv.first().map(|a| a.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It called exit with this status, 0 to 255. Engines report a command that was ended by
    /// signal `n` as the status 128 + `n`, and cannot tell the two apart.
    Code(i32),
    /// This signal ended it.
    Signal(Signal),
}

impl Exit {
    /// Whether it ended with status 0.
    #[must_use]
    pub const fn success(self) -> bool {
        matches!(self, Self::Code(0))
    }

    /// The status that a shell would show: the exit status, or 128 + the signal's number.
    #[must_use]
    pub const fn shell_code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal.0,
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit status {code}"),
            Self::Signal(signal) => write!(f, "ended by {signal}"),
        }
    }
}

/// A signal's number on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signal(pub i32);

impl Signal {
    /// The terminal went away.
    pub const HUP: Self = Self(1);
    /// Ctrl-C.
    pub const INT: Self = Self(2);
    /// End at once; cannot be caught.
    pub const KILL: Self = Self(9);
    /// The first signal that a program may use as it likes.
    pub const USR1: Self = Self(10);
    /// Please end.
    pub const TERM: Self = Self(15);
    /// Go on after a stop.
    pub const CONT: Self = Self(18);
    /// Stop; cannot be caught.
    pub const STOP: Self = Self(19);
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::HUP => "SIGHUP",
            Self::INT => "SIGINT",
            Self::KILL => "SIGKILL",
            Self::USR1 => "SIGUSR1",
            Self::TERM => "SIGTERM",
            Self::CONT => "SIGCONT",
            Self::STOP => "SIGSTOP",
            Self(number) => return write!(f, "signal {number}"),
        };
        f.write_str(name)
    }
}
