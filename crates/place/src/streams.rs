//! The files behind a command's three standard streams, opened before the process is made.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::pipe::{PipeFlags, pipe_with};

use crate::command::{Command, Stdio};
use crate::error::{Error, Result};
use crate::held::Pipes;

/// What the standard streams are called in messages.
const STANDARD: [&str; 3] = ["standard input", "standard output", "standard error"];

/// Which end of a pipe the command gets.
#[derive(Clone, Copy)]
enum Side {
    Reads,
    Writes,
}

/// The command's ends and ours. Dropping the value closes the command's ends on our side, so that
/// the end of the command shows as the end of the pipe.
#[derive(Debug)]
pub(crate) struct Streams {
    theirs: [Option<Arc<File>>; 3],
    ours: Pipes,
}

impl Streams {
    pub(crate) fn of(command: &Command) -> Result<Self> {
        let null = &mut None;
        let (stdin_theirs, stdin) = open(&command.stdin, Side::Reads, null)?;
        let (stdout_theirs, stdout) = open(&command.stdout, Side::Writes, null)?;
        let (stderr_theirs, stderr) = open(&command.stderr, Side::Writes, null)?;
        Ok(Self {
            theirs: [stdin_theirs, stdout_theirs, stderr_theirs],
            ours: Pipes { stdin, stdout, stderr },
        })
    }

    /// What becomes the command's descriptors 0, 1, 2; `None` where it keeps ours.
    pub(crate) fn child_ends(&self) -> [Option<BorrowedFd<'_>>; 3] {
        self.theirs.each_ref().map(|file| file.as_ref().map(|f| f.as_fd()))
    }

    /// The files to copy from and to, for a command that cannot be given descriptors.
    pub(crate) fn to_copy(&self) -> Result<[Arc<File>; 3]> {
        let copy = |i: usize, ours: BorrowedFd<'_>| -> Result<Arc<File>> {
            if let Some(file) = &self.theirs[i] {
                return Ok(Arc::clone(file));
            }
            let copy = ours.try_clone_to_owned();
            Ok(Arc::new(copy.map_err(|e| Error::file("copy", STANDARD[i], e))?.into()))
        };
        Ok([
            copy(0, std::io::stdin().as_fd())?,
            copy(1, std::io::stdout().as_fd())?,
            copy(2, std::io::stderr().as_fd())?,
        ])
    }

    pub(crate) fn into_our_ends(self) -> Pipes {
        self.ours
    }
}

type Ends = (Option<Arc<File>>, Option<File>);

/// `null` is the open `/dev/null`, once one is wanted.
fn open(stdio: &Stdio, side: Side, null: &mut Option<Arc<File>>) -> Result<Ends> {
    match stdio {
        Stdio::Inherit => Ok((None, None)),
        Stdio::File(file) => Ok((Some(Arc::clone(file)), None)),
        Stdio::Null => {
            let file = match null {
                Some(file) => file,
                none => {
                    let file = File::options().read(true).write(true).open("/dev/null");
                    none.insert(Arc::new(file.map_err(|e| Error::file("open", "/dev/null", e))?))
                }
            };
            Ok((Some(Arc::clone(file)), None))
        }
        Stdio::Pipe => {
            let ends =
                pipe_with(PipeFlags::CLOEXEC).map_err(|e| Error::file("make", "a pipe", e))?;
            let (read, write) = (File::from(ends.0), File::from(ends.1));
            Ok(match side {
                Side::Reads => (Some(Arc::new(read)), Some(write)),
                Side::Writes => (Some(Arc::new(write)), Some(read)),
            })
        }
    }
}
