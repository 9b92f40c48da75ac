//! Our side of a sandbox's first process: which namespaces, and what became of the steps.

use std::fs::File;
use std::os::fd::AsFd;

use culprit_model::Pid;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::thread::{ThreadNameSpaceType, UnshareFlags};

use super::local::LocalChild;
use super::{Report, Reports, Said, Stage, child, forking, pid_one, reap};
use crate::error::{Error, Result};
use crate::sandbox::{Outcome, Step};

/// Which namespaces are made.
#[derive(Debug)]
pub(crate) struct Namespaces {
    /// What is written to setgroups, uid_map and gid_map of a new user namespace.
    pub(super) user: Option<UserMap>,
}

/// A user namespace in which we are who we were.
#[derive(Debug)]
pub(super) struct UserMap {
    pub(super) uid_map: String,
    pub(super) gid_map: String,
}

impl Namespaces {
    /// Those of a sandbox, inside a user namespace or not.
    pub(crate) fn of_sandbox(in_user_namespace: bool) -> Self {
        let user = || UserMap {
            uid_map: format!("{0} {0} 1", rustix::process::geteuid().as_raw()),
            gid_map: format!("{0} {0} 1", rustix::process::getegid().as_raw()),
        };
        Self { user: in_user_namespace.then(user) }
    }

    pub(super) fn unshare_flags(&self) -> UnshareFlags {
        let user = self.user.as_ref().map_or(UnshareFlags::empty(), |_| UnshareFlags::NEWUSER);
        UnshareFlags::NEWNS
            | UnshareFlags::NEWPID
            | UnshareFlags::NEWNET
            | UnshareFlags::NEWIPC
            | UnshareFlags::NEWUTS
            | user
    }

    /// What a command enters. The cgroup namespace is each command's own, made when it has been
    /// put into its cgroup.
    pub(crate) fn kinds(&self) -> ThreadNameSpaceType {
        let user =
            self.user.as_ref().map_or(ThreadNameSpaceType::empty(), |_| ThreadNameSpaceType::USER);
        ThreadNameSpaceType::MOUNT
            | ThreadNameSpaceType::PROCESS_ID
            | ThreadNameSpaceType::NETWORK
            | ThreadNameSpaceType::INTER_PROCESS_COMMUNICATION
            | ThreadNameSpaceType::HOST_NAME_AND_NIS_DOMAIN_NAME
            | user
    }
}

/// A sandbox's pid 1.
#[derive(Debug)]
pub(crate) struct First {
    child: LocalChild,
    /// Closed when we are gone: then pid 1 goes when it is alone.
    _lifeline: File,
}

impl First {
    pub(crate) fn child(&self) -> &LocalChild {
        &self.child
    }

    pub(crate) fn pid(&self) -> Pid {
        self.child.pid()
    }
}

/// A step that did not do what it says first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noted {
    /// Index into the steps.
    pub(crate) step: usize,
    pub(crate) outcome: Outcome,
}

/// Makes the namespaces, runs the steps in them and leaves a process there that stays.
pub(crate) fn first_process(
    namespaces: &Namespaces,
    steps: &[Step],
) -> Result<(First, Vec<Noted>)> {
    let error = |e: Errno| refused("create a process", e);
    let _forking = forking();
    let (lifeline_in, lifeline) = pipe_with(PipeFlags::CLOEXEC).map_err(error)?;
    let (report, report_out) = pipe_with(PipeFlags::CLOEXEC).map_err(error)?;
    let ends = pid_one::Ends { lifeline: lifeline_in.as_fd(), report: report_out.as_fd() };
    let forked = child::fork(|| pid_one::make(namespaces, steps, &ends)).map_err(error)?;
    drop((report_out, lifeline_in));
    let mut noted = Vec::new();
    let mut reports = Reports(File::from(report));
    let heard = reports.listen(|said| judge(said, steps, &mut noted));
    reap(forked);
    let heard = heard.map_err(|e| refused("wait for its first process", e))?;
    let child = heard.born.map(LocalChild::adopt).transpose().map_err(error)?;
    match (heard.outcome, child) {
        (Some(Ok(())), Some(child)) => {
            Ok((First { child, _lifeline: File::from(lifeline) }, noted))
        }
        (outcome, child) => {
            // Whoever is not ready never stays: it has ended or is about to.
            if let Some(child) = child {
                let _nobody_asks = child.wait_for_ever();
            }
            Err(outcome.and_then(Result::err).unwrap_or_else(|| error(Errno::CHILD)))
        }
    }
}

fn refused(step: impl Into<String>, source: impl Into<std::io::Error>) -> Error {
    Error::Sandbox { step: step.into(), source: source.into() }
}

fn judge(said: Report, steps: &[Step], noted: &mut Vec<Noted>) -> Said<Error> {
    let mut note = |step: u32, outcome| {
        noted.push(Noted { step: step as usize, outcome });
        Said::More
    };
    match said {
        Report::Ready => Said::Ready,
        Report::Born(_) => Said::More,
        Report::ReadOnly(step, why) => note(step, Outcome::ReadOnly(Errno::from_raw_os_error(why))),
        Report::LeftOut(step, why) => note(step, Outcome::LeftOut(Errno::from_raw_os_error(why))),
        Report::Refused(step, why) => {
            let name = steps.get(step as usize).map(ToString::to_string).unwrap_or_default();
            Said::Failed(refused(name, Errno::from_raw_os_error(why)))
        }
        Report::Failed(stage, why) => {
            let step = match stage {
                Stage::Isolate => "create namespaces",
                Stage::Network => "bring up the loopback interface",
                _ => "create a process",
            };
            Said::Failed(refused(step, Errno::from_raw_os_error(why)))
        }
    }
}
