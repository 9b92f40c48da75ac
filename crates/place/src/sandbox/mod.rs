//! The built-in sandbox: mount, pid, net, ipc, uts and cgroup namespaces of its own over an overlay
//! on the host's root. What an engine's container does to a program's file system and network, for
//! the host's own programs, without an engine or an image.
//!
//! A process of ours is pid 1 in there and does nothing but stay; commands enter its namespaces and
//! are children of ours. Everything written goes to a folder below the scratch folder and is
//! removed with the sandbox. When we are killed, pid 1 stays until no command is left in the
//! sandbox, and the folder is removed by the next run.
//!
//! It keeps a program's writes and network apart; it is no protection against a hostile one.

mod plan;
mod state;
mod step;

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::ThreadNameSpaceType;

use crate::cgroup::{Cgroup, Position};
use crate::command::{Command, Signal};
use crate::error::{Error, Result};
use crate::facts::PlaceFacts;
use crate::held::Held;
use crate::host::{child_of, our_environment};
use crate::mounts::mounts;
use crate::place::{Place, Settings, TMP};
use crate::procfs;
use crate::spawn::{First, Inside, LocalChild, Namespaces, Noted, first_process};
use crate::spec::PlaceSpec;

pub(crate) use state::sweep;
pub(crate) use step::{Outcome, Step};

/// How long the end of the sandbox's processes may take after they were killed.
const END: Duration = Duration::from_secs(10);

/// A sandbox that is ready for commands.
#[derive(Debug)]
pub(crate) struct Sandbox {
    spec: PlaceSpec,
    work_dir: PathBuf,
    /// Pid 1 of the sandbox.
    first: First,
    removed: bool,
    namespaces: ThreadNameSpaceType,
    state: state::State,
    notes: Vec<String>,
    /// Commands that may still run. The kernel ends them with pid 1, but pid 1 is not gone before
    /// we, their parent, have taken note of their end.
    commands: Mutex<Vec<Arc<LocalChild>>>,
}

impl Sandbox {
    pub(crate) fn new(dir: Option<PathBuf>, settings: &Settings) -> Result<Self> {
        let asked = dir.clone().unwrap_or_else(|| ".".into());
        // Without links, for what lies where is decided by the path.
        let work_dir = asked.canonicalize().map_err(|e| Error::file("find", asked, e))?;
        let privileged = state::may_mount()?;
        let state = state::State::make(&settings.scratch)?;
        let mounts = mounts(None)?;
        let list = &state::list;
        let host = plan::Host { mounts: &mounts, list, privileged, work_dir: &work_dir };
        let plan = plan::plan(&host, state.layout())?;
        state.prepare(&plan.lowers, privileged)?;

        let wanted = Namespaces::of_sandbox(!privileged);
        let namespaces = wanted.kinds();
        let (first, noted) = first_process(&wanted, &plan.steps)?;
        state.remember(first.pid())?;
        let notes = notes(&plan.steps, &noted, privileged);
        let spec = PlaceSpec::Sandbox { dir };
        let (removed, commands) = (false, Mutex::default());
        Ok(Self { spec, work_dir, first, removed, namespaces, state, notes, commands })
    }

    fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.removed, true) {
            return Ok(());
        }
        self.first.child().signal_now(Signal::KILL)?;
        let commands = self.commands.get_mut().unwrap_or_else(PoisonError::into_inner);
        for command in commands.drain(..) {
            command.wait_up_to(END)?;
        }
        self.first.child().wait_up_to(END)?;
        self.state.remove()
    }
}

impl Place for Sandbox {
    fn spec(&self) -> &PlaceSpec {
        &self.spec
    }

    fn facts(&self) -> Result<PlaceFacts> {
        let mut facts = PlaceFacts::observe(&self.spec, self.first.pid(), &self.work_dir)?;
        facts.notes.extend(self.notes.iter().cloned());
        if facts.work.as_ref().is_some_and(|fs| !fs.is_overlay()) {
            let dir = self.work_dir.display();
            facts.notes.push(format!("the work folder `{dir}` is not on the overlay"));
        }
        Ok(facts)
    }

    fn environment(&self) -> Result<Vec<(OsString, OsString)>> {
        Ok(our_environment().collect())
    }

    fn can_write_files(&self) -> Result<bool> {
        let pid = self.first.pid();
        Ok(procfs::can_write(pid, Path::new(TMP)) && procfs::can_write(pid, &self.work_dir))
    }

    fn make_cgroup(&self) -> Result<Cgroup> {
        Cgroup::create(Position::BelowOurs)
    }

    fn hold(&self, command: &Command, cgroup: Option<&Cgroup>) -> Result<Held> {
        let inside = Inside { of: self.first.child().as_fd(), which: self.namespaces };
        let dir = Some(self.work_dir.as_path());
        let (child, held) = child_of(command, our_environment(), dir, Some(inside), cgroup)?;
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        commands.retain(|c| !c.has_ended());
        commands.push(child);
        Ok(held)
    }

    fn remove(mut self: Box<Self>) -> Result<()> {
        self.end()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Whoever wants to know calls `remove`; what stays here is swept by the next run.
        let _swept_later = self.end();
    }
}

/// What the kernel would not do, in words.
fn notes(steps: &[Step], noted: &[Noted], privileged: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if !privileged {
        notes.push(
            "created without root: a user namespace, and one overlay for each top-level folder"
                .to_owned(),
        );
    }
    for note in noted {
        let of_host = match steps.get(note.step) {
            Some(Step::Overlay { lower, .. }) => lower,
            Some(Step::BindReadOnly { source, .. }) => source,
            _ => continue,
        };
        let folder = of_host.to_string_lossy();
        notes.push(match note.outcome {
            Outcome::Done => continue,
            Outcome::ReadOnly(why) => {
                format!("`{folder}` is read-only: the kernel refuses an overlay there ({why})")
            }
            Outcome::LeftOut(Errno::NOENT) => {
                format!(
                    "`{folder}` is missing: it was not found when the sandbox was created (removed, or \
                     hidden by another mount)"
                )
            }
            Outcome::LeftOut(why) => {
                format!("`{folder}` is missing: the kernel refuses an overlay there ({why})")
            }
        });
    }
    notes
}
