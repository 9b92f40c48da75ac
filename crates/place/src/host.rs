//! The machine itself: a command is a child of ours.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cgroup::{Cgroup, Position};
use crate::command::Command;
use crate::error::{Error, Result};
use crate::facts::PlaceFacts;
use crate::held::Held;
use crate::place::{Place, TMP};
use crate::procfs;
use crate::spawn::{Inside, Launch, LocalChild, Program, forking, hold};
use crate::spec::PlaceSpec;
use crate::streams::Streams;

/// The host, with its work folder.
#[derive(Debug)]
pub(crate) struct Host {
    spec: PlaceSpec,
}

impl Host {
    pub(crate) fn new(dir: Option<PathBuf>) -> Self {
        Self { spec: PlaceSpec::Host { dir } }
    }

    fn dir(&self) -> Option<&Path> {
        match &self.spec {
            PlaceSpec::Host { dir } => dir.as_deref(),
            _ => None,
        }
    }

    fn work_dir(&self) -> Result<PathBuf> {
        match self.dir() {
            Some(dir) => Ok(dir.to_path_buf()),
            None => std::env::current_dir().map_err(|e| Error::file("find", ".", e)),
        }
    }
}

impl Place for Host {
    fn spec(&self) -> &PlaceSpec {
        &self.spec
    }

    fn facts(&self) -> Result<PlaceFacts> {
        PlaceFacts::observe(&self.spec, culprit_model::Pid(std::process::id()), &self.work_dir()?)
    }

    fn environment(&self) -> Result<Vec<(OsString, OsString)>> {
        Ok(our_environment().collect())
    }

    fn can_write_files(&self) -> Result<bool> {
        let us = culprit_model::Pid(std::process::id());
        Ok(procfs::can_write(us, Path::new(TMP)) && procfs::can_write(us, &self.work_dir()?))
    }

    fn make_cgroup(&self) -> Result<Cgroup> {
        Cgroup::create(Position::BelowOurs)
    }

    fn hold(&self, command: &Command, cgroup: Option<&Cgroup>) -> Result<Held> {
        child_of(command, our_environment(), self.dir(), None, cgroup).map(|(_, held)| held)
    }

    fn remove(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// Holds a child of ours that will run `command`, inside other namespaces where given.
pub(crate) fn child_of(
    command: &Command,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    work_dir: Option<&Path>,
    inside: Option<Inside<'_>>,
    cgroup: Option<&Cgroup>,
) -> Result<(Arc<LocalChild>, Held)> {
    let dir = command.dir.as_deref().or(work_dir);
    let program = Arc::new(Program::new(command, environment, dir)?);
    let _forking = forking();
    let streams = Streams::of(command)?;
    let (stdio, group) = (streams.child_ends(), command.group);
    let held = hold(&Launch { program, stdio, group, inside })?;
    let child = Arc::clone(held.child());
    if let Some(cgroup) = cgroup {
        cgroup.add(child.pid())?;
    }
    Ok((child, Held::new(Box::new(held), streams.into_our_ends())))
}

/// What a command inherits. Not a setting of ours, so it is not read where settings are.
pub(crate) fn our_environment() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}
