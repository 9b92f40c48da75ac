//! Our side of a held child: from the fork to the word that lets it go.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::Arc;

use culprit_model::Pid;
use rustix::pipe::{PipeFlags, pipe_with};

use super::local::{LocalChild, LocalProcess};
use super::{Launch, Report, Reports, Said, Stage, child, reap};
use crate::command::Signal;
use crate::error::{Error, Result};
use crate::held::{HeldProcess, LiveProcess};

/// Forks a child that stops short of its command.
pub(crate) fn hold(launch: &Launch<'_>) -> Result<HeldChild> {
    let program = launch.program.name.clone();
    let error =
        |source: rustix::io::Errno| Error::Fork { program: program.clone(), source: source.into() };
    let (release_in, release) = pipe_with(PipeFlags::CLOEXEC).map_err(error)?;
    let (report, report_out) = pipe_with(PipeFlags::CLOEXEC).map_err(error)?;
    let ends = child::Ends {
        release: release_in.as_fd(),
        release_out: release.as_fd(),
        report: report_out.as_fd(),
    };
    let forked = child::fork(|| child::run(launch, &ends)).map_err(error)?;
    drop((report_out, release_in));
    let mut reports = Reports(File::from(report));
    let known = launch.inside.is_none().then_some(forked);
    let heard = reports.listen(known, |said| judge(&program, said));
    if launch.inside.is_some() {
        reap(forked);
    }
    let heard = heard.map_err(|e| pipe_error(&program, e))?;
    let vanished = failure(&program, Stage::Prepare, libc::ECHILD);
    let (Some(pid), Some(outcome)) = (heard.born, heard.outcome) else { return Err(vanished) };
    let child = Arc::new(LocalChild::adopt(pid).map_err(error)?);
    // From here on a failure ends the child, for it drops what holds it.
    let held = HeldChild { child, release: File::from(release), reports, program, started: false };
    outcome.map(|()| held)
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
