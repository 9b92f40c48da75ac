//! `container:NAME`: commands in a container that somebody else made.
//!
//! The engine's own way in is used (exec), so that a command gets the container's user, rights,
//! filters and environment. Nothing of the container is changed but for a program of ours that a
//! caller asks for ([`super::program`]), and nothing of it is removed but that.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use bollard::models::{ContainerInspectResponse, ExecInspectResponse};
use culprit_model::Pid;
use futures_util::StreamExt;

use super::client::{Client, is_missing, runtime, words};
use super::create::{is_root, text, variable, variables};
use super::place::exit;
use super::program;
use super::refusal;
use super::session::{Calling, Files, Output, Subject, open};
use super::stdin::Input;
use crate::cgroup::Cgroup;
use crate::command::{Command, Exit, Signal, Stdio};
use crate::error::{Error, Result};
use crate::facts::PlaceFacts;
use crate::held::Held;
use crate::owner::Owner;
use crate::place::{Place, Settings, SharedLibrary, TMP};
use crate::procfs;
use crate::spawn::{open_pidfd, send};
use crate::spec::{EngineKind, PlaceSpec};
use crate::streams::Streams;

/// A container that runs, as its engine and the kernel know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningContainer {
    /// Whose it is.
    pub engine: EngineKind,
    /// The engine's number for it, 64 hexadecimal digits.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The image that it was made from, as the user of the engine named it.
    pub image: String,
    /// Its first process, in our pid namespace.
    pub init: Pid,
    /// Where commands work in it.
    pub work_dir: PathBuf,
}

impl RunningContainer {
    /// Its cgroup, in the tree that carries perf events.
    ///
    /// # Errors
    /// [`Error::NoProcess`] when it has ended; [`Error::NoPerfCgroup`] when its cgroup cannot be
    /// seen from here.
    pub fn cgroup(&self) -> Result<Cgroup> {
        Cgroup::of_process(self.init)
    }
}

/// Finds a running container by name or id, with any engine that answers.
///
/// # Errors
/// [`Error::ContainerMissing`] when no engine knows it; [`Error::ContainerStopped`] when it does
/// not run.
pub fn running_container(name: &str, settings: &Settings) -> Result<RunningContainer> {
    find(name, settings).map(|(_, container, _)| container)
}

/// A container, the way to its engine, and what its commands are given.
type Found = (Client, RunningContainer, Session);

/// What a command of a container is given.
#[derive(Debug)]
struct Session {
    environment: Vec<(OsString, OsString)>,
    /// Whether it has the rights of root in there.
    as_root: bool,
}

fn find(name: &str, settings: &Settings) -> Result<Found> {
    let mut said = Vec::new();
    for kind in [EngineKind::Docker, EngineKind::Podman] {
        let client = match Client::connect(kind, settings) {
            Ok(client) => client,
            Err(why) => {
                said.push(why.to_string());
                continue;
            }
        };
        match runtime()?.block_on(client.docker().inspect_container(name, None)) {
            Ok(found) => return describe(client, name, found),
            Err(reply) if is_missing(&reply) => {
                said.push(format!("{kind} has no container with this name"))
            }
            Err(reply) => return Err(client.error("inspect a container", &reply)),
        }
    }
    Err(Error::ContainerMissing { name: name.to_owned(), why: said.join("; ") })
}

fn describe(client: Client, name: &str, found: ContainerInspectResponse) -> Result<Found> {
    let state = found.state.unwrap_or_default();
    let init = state.pid.and_then(|p| u32::try_from(p).ok()).filter(|p| *p > 0);
    let Some(init) = init.filter(|_| state.running == Some(true)) else {
        let state = state.status.map_or_else(|| "unknown".to_owned(), |s| s.to_string());
        return Err(Error::ContainerStopped { name: name.to_owned(), state });
    };
    let config = found.config.unwrap_or_default();
    let work_dir = config.working_dir.filter(|d| !d.is_empty());
    let container = RunningContainer {
        engine: client.kind,
        id: found.id.unwrap_or_default(),
        name: found.name.unwrap_or_default().trim_start_matches('/').to_owned(),
        image: config.image.unwrap_or_default(),
        init: Pid(init),
        work_dir: work_dir.map_or_else(|| "/".into(), PathBuf::from),
    };
    let session = Session {
        environment: variables(config.env.unwrap_or_default()),
        as_root: is_root(config.user.as_deref()),
    };
    Ok((client, container, session))
}

/// The place.
#[derive(Debug)]
pub(crate) struct Existing {
    spec: PlaceSpec,
    client: Client,
    container: RunningContainer,
    session: Session,
    /// The folders of programs that were put there.
    programs: Mutex<Vec<String>>,
}

impl Existing {
    pub(crate) fn new(name: &str, settings: &Settings) -> Result<Self> {
        let (client, container, session) = find(name, settings)?;
        let spec = PlaceSpec::Container { name: name.to_owned() };
        Ok(Self { spec, client, container, session, programs: Mutex::default() })
    }

    fn request(&self, command: &Command) -> Result<CreateExecOptions<String>> {
        let dir: &Path = command.dir.as_deref().unwrap_or(&self.container.work_dir);
        let cmd: Vec<_> = command.argv.iter().map(|a| text(a)).collect::<Result<_>>()?;
        if cmd.is_empty() {
            return Err(Error::NoCommand);
        }
        Ok(CreateExecOptions {
            attach_stdin: Some(!matches!(command.stdin, Stdio::Null)),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            env: Some(command.env.iter().map(variable).collect::<Result<_>>()?),
            cmd: Some(cmd),
            working_dir: Some(text(dir.as_os_str())?),
            ..CreateExecOptions::default()
        })
    }
}

impl Place for Existing {
    fn spec(&self) -> &PlaceSpec {
        &self.spec
    }

    fn facts(&self) -> Result<PlaceFacts> {
        let container = &self.container;
        let mut facts = PlaceFacts::observe(&self.spec, container.init, &container.work_dir)?;
        let note = format!("container {} of image `{}`", container.name, container.image);
        facts.notes.push(note);
        Ok(facts)
    }

    fn environment(&self) -> Result<Vec<(OsString, OsString)>> {
        Ok(self.session.environment.clone())
    }

    fn can_write_files(&self) -> Result<bool> {
        let container = &self.container;
        let open = |folder: &Path| procfs::is_open(container.init, folder, self.session.as_root);
        Ok(open(Path::new(TMP)) && open(&container.work_dir))
    }

    fn make_cgroup(&self) -> Result<Cgroup> {
        self.container.cgroup()
    }

    /// The command is born in the container's own cgroup; another one cannot be given.
    fn hold(&self, command: &Command, cgroup: Option<&Cgroup>) -> Result<Held> {
        if let Some(cgroup) = cgroup
            && cgroup.folder() != self.container.cgroup()?.folder()
        {
            let what = "run a command outside its own cgroup";
            return Err(Error::Unsupported { place: self.spec.to_string(), what });
        }
        let request = self.request(command)?;
        let streams = Streams::of(command)?;
        let files = Files::of(&streams, command)?;
        let id = &self.container.id;
        let made = self.client.call("prepare a command", |d| d.create_exec(id, request))?;
        let (client, program) = (self.client.clone(), command.program());
        let held = open(Arc::new(Exec { client, id: made.id, program }), files)?;
        Ok(Held::new(Box::new(held), streams.into_our_ends()))
    }

    fn put_program(&self, program: &Path) -> Result<PathBuf> {
        self.put(program, program::PROGRAM)
    }

    /// A copy: the container's mounts are made.
    fn share_library(&self, file: &Path) -> Result<SharedLibrary> {
        let path = self.put(file, program::LIBRARY)?;
        let root = PathBuf::from(format!("/proc/{}/root", self.container.init.0));
        let file = root.join(path.strip_prefix("/").unwrap_or(&path));
        Ok(SharedLibrary { file, path })
    }

    fn remove(mut self: Box<Self>) -> Result<()> {
        self.end()
    }
}

impl Existing {
    fn put(&self, from: &Path, file: &str) -> Result<PathBuf> {
        let name = Owner::ours()?.fresh_name();
        self.programs.lock().unwrap_or_else(PoisonError::into_inner).push(name.clone());
        program::put(&self.client, &self.container, from, (&name, file))
    }

    fn end(&mut self) -> Result<()> {
        let programs = self.programs.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (client, container) = (&self.client, &self.container);
        // One that cannot be removed is no reason to leave the others.
        let removed: Vec<Result<()>> =
            programs.drain(..).map(|name| program::remove(client, container, &name)).collect();
        removed.into_iter().collect()
    }
}

impl Drop for Existing {
    fn drop(&mut self) {
        // Whoever wants to know calls `remove`; what stays here is swept by the next run.
        let _swept_later = self.end();
    }
}

/// How often an engine is asked about a command that is about to begin or to end: it has no call
/// that waits. Beginning takes some 50 ms, and the output nearly always ends with the command.
const ASK_AGAIN: Duration = Duration::from_millis(5);

/// A command in a container of somebody else's.
#[derive(Debug)]
struct Exec {
    client: Client,
    id: String,
    program: String,
}

impl Exec {
    async fn inspect(&self) -> Result<ExecInspectResponse> {
        let found = self.client.docker().inspect_exec(&self.id).await;
        found.map_err(|reply| self.client.error("inspect a command", &reply))
    }

    /// The command's process, once it was made; `None` when it could not be. The engine answers a
    /// start before its runtime has made the process.
    async fn process(&self) -> Result<Option<Pid>> {
        loop {
            let found = self.inspect().await?;
            let pid = found.pid.and_then(|p| u32::try_from(p).ok()).filter(|p| *p > 0);
            if pid.is_some() || found.exit_code.is_some() {
                return Ok(pid.map(Pid));
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }
}

async fn all_of(mut output: Output) -> String {
    let mut text = String::new();
    while let Some(Ok(part)) = output.next().await {
        text.push_str(&part.to_string());
    }
    text.trim().to_owned()
}

impl Subject for Exec {
    fn attach(&self) -> Calling<'_, Option<(Output, Input)>> {
        Box::pin(async { Ok(None) })
    }

    fn begin(&self) -> Calling<'_, Option<(Output, Input)>> {
        Box::pin(async {
            let refused = |words: &str| refusal::error(&self.client, &self.program, None, words);
            let options = StartExecOptions::default();
            let started = self.client.docker().start_exec(&self.id, Some(options)).await;
            let streams = match started.map_err(|reply| refused(&words(&reply)))? {
                StartExecResults::Attached { output, input } => (output, input),
                StartExecResults::Detached => return Ok(None),
            };
            if self.process().await?.is_none() {
                // Nothing of the command ran, so what is in its output are the runtime's words.
                return Err(refused(&all_of(streams.0).await));
            }
            Ok(Some(streams))
        })
    }

    fn pid(&self) -> Calling<'_, Option<Pid>> {
        Box::pin(self.process())
    }

    fn end(&self) -> Calling<'_, Exit> {
        Box::pin(async {
            loop {
                let found = self.inspect().await?;
                if found.running != Some(true) {
                    return exit(found.exit_code);
                }
                tokio::time::sleep(ASK_AGAIN).await;
            }
        })
    }

    fn signal(&self, pid: Option<Pid>, signal: Signal) -> Result<()> {
        // Engines send signals to a container's first process only; ours goes to the process.
        let Some(pid) = pid else {
            let what = "send a signal: the process id is unknown";
            return Err(Error::Unsupported { place: self.client.kind.to_string(), what });
        };
        match open_pidfd(pid) {
            Ok(pidfd) => send(&pidfd, pid, signal),
            Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(e) => Err(Error::Signal { signal, pid, source: e.into() }),
        }
    }

    /// A command in somebody's container is not ours to end when nobody looks any more, as on the
    /// host; one that was never started does not exist.
    fn discard(&self) {}
}
