//! Our side of a held child: from its birth to the word that lets it go.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use culprit_model::Pid;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::local::{LocalChild, LocalProcess};
use super::{Heard, Launch, Report, Reports, Said, Stage, child, reap};
use crate::command::Signal;
use crate::error::{Error, Result};
use crate::held::{HeldProcess, LiveProcess};

/// Makes a child that stops short of its command.
pub(crate) fn hold(launch: &Launch<'_>) -> Result<HeldChild> {
    let program = launch.program.name.clone();
    let error = |source: Errno| fork_error(&program, source);
    let (release_in, release) = pipe_with(PipeFlags::CLOEXEC).map_err(error)?;
    let (report, report_out) = pipe_with(PipeFlags::CLOEXEC).map_err(error)?;
    let ends = child::Ends {
        release: release_in.as_fd(),
        release_out: release.as_fd(),
        report: report_out.as_fd(),
    };
    let mut reports = Reports(File::from(report));
    let heard = if launch.inside.is_some() {
        let forked = child::fork(|| child::run(launch, &ends)).map_err(error)?;
        drop((report_out, release_in));
        let heard = hear(&mut reports, &program);
        reap(forked);
        heard
    } else {
        let lender = lend(launch, &ends)?;
        if !reports.wait(|| lender.is_finished()).map_err(error)? {
            return Err(unborn(lender, &program));
        }
        drop((report_out, release_in));
        hear(&mut reports, &program)
    }?;
    let vanished = failure(&program, Stage::Prepare, libc::ECHILD);
    let (Some(pid), Some(outcome)) = (heard.born, heard.outcome) else { return Err(vanished) };
    let child = Arc::new(LocalChild::adopt(pid).map_err(error)?);
    // From here on a failure ends the child, for it drops what holds it.
    let held = HeldChild { child, release: File::from(release), reports, program, started: false };
    outcome.map(|()| held)
}

/// What becomes of a thread that lends its memory: the child's number, once it has left.
type Lender = JoinHandle<rustix::io::Result<Pid>>;

/// Makes the child in our own memory. The thread ends when the child executes its program or ends;
/// nobody waits for it.
fn lend(launch: &Launch<'_>, ends: &child::Ends<'_>) -> Result<Lender> {
    let program = &launch.program;
    let launch = Launch {
        program: Arc::clone(program),
        stdio: launch.stdio.map(|fd| fd.map(lent)),
        group: launch.group,
        inside: None,
    };
    let ends = child::Ends {
        release: lent(ends.release),
        release_out: lent(ends.release_out),
        report: lent(ends.report),
    };
    std::thread::Builder::new()
        .name("culprit-lender".to_owned())
        .stack_size(child::LENDER_STACK)
        .spawn(move || child::lend(&|| child::run(&launch, &ends)))
        .map_err(|e| pipe_error(&program.name, e))
}

/// A descriptor as the child has it.
fn lent(fd: BorrowedFd<'_>) -> BorrowedFd<'static> {
    // SAFETY: only the child uses it, in its own table, which is a copy of ours from a time when it
    // was open: `hold` keeps it until the child has spoken.
    unsafe { BorrowedFd::borrow_raw(fd.as_raw_fd()) }
}

/// Why a lender ended without a word from its child.
fn unborn(lender: Lender, program: &str) -> Error {
    match lender.join() {
        Ok(Err(errno)) => fork_error(program, errno),
        Ok(Ok(pid)) => {
            reap(pid);
            failure(program, Stage::Prepare, libc::ECHILD)
        }
        Err(_panicked) => failure(program, Stage::Prepare, libc::ECHILD),
    }
}

fn hear(reports: &mut Reports, program: &str) -> Result<Heard<Error>> {
    reports.listen(|said| judge(program, said)).map_err(|e| pipe_error(program, e))
}

fn judge(program: &str, said: Report) -> Said<Error> {
    match said {
        Report::Ready => Said::Ready,
        Report::Failed(stage, errno) => Said::Failed(failure(program, stage, errno)),
        _ => Said::Failed(failure(program, Stage::Prepare, libc::EPROTO)),
    }
}

fn failure(program: &str, stage: Stage, errno: i32) -> Error {
    let source = std::io::Error::from_raw_os_error(errno);
    Error::Start { program: program.to_owned(), stage, source, better: None }
}

fn fork_error(program: &str, source: Errno) -> Error {
    pipe_error(program, source.into())
}

fn pipe_error(program: &str, source: std::io::Error) -> Error {
    Error::Fork { program: program.to_owned(), source }
}

/// A child that waits for our word. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct HeldChild {
    child: Arc<LocalChild>,
    release: File,
    reports: Reports,
    program: String,
    started: bool,
}

impl HeldChild {
    /// The process itself, for who must know of its end.
    pub(crate) fn child(&self) -> &Arc<LocalChild> {
        &self.child
    }

    /// Says the word and hears what became of the exec.
    fn go(&mut self) -> Result<()> {
        self.release.write_all(b"g").map_err(|e| pipe_error(&self.program, e))?;
        match self.reports.next().map_err(|e| pipe_error(&self.program, e))? {
            None => Ok(()),
            Some(Report::Failed(stage, errno)) => Err(failure(&self.program, stage, errno)),
            Some(_) => Err(failure(&self.program, Stage::Prepare, libc::EPROTO)),
        }
    }
}

impl HeldProcess for HeldChild {
    fn pid(&self) -> Option<Pid> {
        Some(self.child.pid())
    }

    fn start(mut self: Box<Self>) -> Result<Box<dyn LiveProcess>> {
        self.go()?;
        self.started = true;
        Ok(Box::new(LocalProcess(Arc::clone(&self.child))))
    }
}

impl Drop for HeldChild {
    fn drop(&mut self) {
        if !self.started {
            // Closing the pipe would do, were it not that another child forked meanwhile may hold
            // a copy of its writing end until that one's own exec.
            let _gone_already = self.child.signal_now(Signal::KILL);
            let _nobody_asks = self.child.wait_for_ever();
        }
    }
}
