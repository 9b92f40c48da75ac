//! Everything that can go wrong between a command and its place, as one enum.
//!
//! A variant is named for what was being attempted and carries the values. What the reader can do
//! about it is data ([`Error::hints`]), not part of the sentence. [`Error::is_refusal`] tells the
//! machine's refusals (no right, no engine) from bad input, because the program's exit status does.

use std::io;
use std::path::PathBuf;

use crate::command::Signal;
use crate::spawn::Stage;
use crate::spec::{EngineKind, PlaceSpec, SpecError};
use culprit_model::Pid;

/// What this crate's functions return.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a place could not be made, used or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text does not name a place.
    #[error(transparent)]
    Spec(#[from] SpecError),

    /// A command without a program.
    #[error("the command is missing")]
    NoCommand,

    /// An argument, variable or path that cannot be handed to the kernel.
    #[error("cannot pass {what} to the kernel: it contains a NUL byte")]
    Nul {
        /// Which kind of text it is.
        what: &'static str,
    },

    /// The process could not be made.
    #[error("cannot create a process for `{program}`: {source}")]
    Fork {
        /// The program that was to run in it.
        program: String,
        /// The kernel's answer.
        source: io::Error,
    },

    /// The process was made, but did not get as far as its command.
    #[error("cannot {stage} `{program}`: {source}")]
    Start {
        /// The program as it was given.
        program: String,
        /// How far the process got.
        stage: Stage,
        /// The kernel's answer.
        source: io::Error,
        /// The same place with what it lacks, where this machine has it.
        better: Option<Box<PlaceSpec>>,
    },

    /// The end of a process could not be waited for.
    #[error("cannot wait for process {pid}: {source}")]
    Wait {
        /// The process.
        pid: Pid,
        /// The kernel's answer.
        source: io::Error,
    },

    /// A signal could not be sent.
    #[error("cannot send {signal} to process {pid}: {source}")]
    Signal {
        /// The signal.
        signal: Signal,
        /// The process.
        pid: Pid,
        /// The kernel's answer.
        source: io::Error,
    },

    /// No process has this number (any more).
    #[error("process {pid} does not exist")]
    NoProcess {
        /// The number.
        pid: Pid,
    },

    /// A file or folder could not be used.
    #[error("cannot {doing} `{}`: {source}", path.display())]
    File {
        /// What was being done: a verb such as `read` or `create`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },

    /// A line of one of the kernel's text files is not as its manual says.
    #[error("cannot read `{path}`: expected {why}")]
    Kernel {
        /// The file.
        path: String,
        /// What was expected.
        why: &'static str,
    },

    /// No cgroup hierarchy carries perf events.
    #[error("no cgroup hierarchy with perf events is mounted")]
    NoPerfCgroup,

    /// A cgroup could not be made or changed.
    #[error("cannot {doing} cgroup `{}`: {source}", path.display())]
    Cgroup {
        /// A verb such as `create` or `add process 12 to`.
        doing: String,
        /// The cgroup's folder.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },

    /// The sandbox could not be built.
    #[error("cannot build the sandbox: {step}: {source}")]
    Sandbox {
        /// The step that was refused, in words.
        step: String,
        /// The kernel's answer.
        source: io::Error,
    },

    /// No engine answers.
    #[error("cannot connect to {engine}: {why}")]
    EngineUnavailable {
        /// Which engine was asked.
        engine: EngineKind,
        /// The sockets that were tried and what each said.
        why: String,
    },

    /// The engine answered with an error.
    #[error("{engine} cannot {doing}: {why}")]
    Engine {
        /// Which engine.
        engine: EngineKind,
        /// What was asked of it.
        doing: String,
        /// Its own words.
        why: String,
    },

    /// The engine went away before it told how a command ended.
    #[error("the exit status of the command is unknown: {why}")]
    EngineLost {
        /// What was said when it was asked.
        why: String,
    },

    /// The image is not on this machine; Culprit never fetches one.
    #[error("{engine} has no local image `{image}`")]
    ImageMissing {
        /// Which engine was asked.
        engine: EngineKind,
        /// The image's name as it was given.
        image: String,
        /// The names of the images that are there, sorted.
        local: Vec<String>,
    },

    /// No engine knows this container.
    #[error("cannot find the container `{name}`: {why}")]
    ContainerMissing {
        /// The name or id as it was given.
        name: String,
        /// What each engine said.
        why: String,
    },

    /// The container exists and does not run.
    #[error("container `{name}` is not running (it is {state})")]
    ContainerStopped {
        /// The name or id as it was given.
        name: String,
        /// Its state in the engine's word.
        state: String,
    },

    /// A program could not be put into a container that exists.
    #[error("cannot copy Culprit into the container `{container}`: {why}")]
    Put {
        /// The container's name.
        container: String,
        /// The image that it was made from.
        image: String,
        /// Whose it is.
        engine: EngineKind,
        /// What the engine said.
        why: String,
    },

    /// What was put into a container is still there, and we may not remove it.
    #[error("cannot remove `{}` from the container `{container}`: this user may not change its \
             files", path.display())]
    Left {
        /// The container's name.
        container: String,
        /// The folder as the container names it.
        path: PathBuf,
    },

    /// A place cannot do what was asked of it.
    #[error("{place} cannot {what}")]
    Unsupported {
        /// The place.
        place: String,
        /// What it cannot do.
        what: &'static str,
    },
}

impl Error {
    /// A failed use of a file.
    pub(crate) fn file(
        doing: &'static str,
        path: impl Into<PathBuf>,
        source: impl Into<io::Error>,
    ) -> Self {
        Self::File { doing, path: path.into(), source: source.into() }
    }

    /// Whether the machine refused (rights, a missing engine), rather than the input being wrong.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Spec(_)
            | Self::NoCommand
            | Self::Nul { .. }
            | Self::NoProcess { .. }
            | Self::ImageMissing { .. }
            | Self::ContainerMissing { .. }
            | Self::ContainerStopped { .. }
            | Self::Unsupported { .. } => false,
            Self::Start { source, .. } | Self::File { source, .. } => {
                source.kind() == io::ErrorKind::PermissionDenied
            }
            _ => true,
        }
    }

    /// What the reader can do about it: one sentence each, without full stop; may be empty.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Spec(error) => error.hint().into_iter().collect(),
            Self::Start { better: Some(place), .. } => vec![format!(
                "the container does not contain this folder of the host; add it with `--place \
                 {place}`"
            )],
            Self::Start { program, stage, source, better: None } => {
                start_hints(program, *stage, source)
            }
            Self::NoPerfCgroup => vec![
                "run `mount -t cgroup2 none /sys/fs/cgroup` as root, or record processes with \
                 `--pid`"
                    .into(),
            ],
            Self::Cgroup { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                vec!["run as root, or in a cgroup that is delegated to this user".into()]
            }
            Self::Cgroup { source, .. } if source.kind() == io::ErrorKind::NotFound => vec![
                "create this cgroup and write the process ids to its `cgroup.procs`, or record \
                 the processes with `--pid`"
                    .into(),
            ],
            Self::Sandbox { source, .. } => sandbox_hints(source),
            Self::EngineUnavailable { engine, why } => vec![
                if why.contains("denied") { engine.access_hint() } else { engine.start_hint() }
                    .into(),
                "`--place sandbox` has an overlay file system and namespaces without an engine"
                    .into(),
            ],
            Self::ImageMissing { engine, local, .. } => image_hints(*engine, local),
            Self::ContainerStopped { name, .. } => {
                vec![format!("start it first: `docker start {name}`")]
            }
            Self::Put { image, engine, .. } => vec![
                "run as root: then Culprit uses `/dev` of the container, even if its files are \
                 read-only"
                    .into(),
                format!("or use a new container of the same image: `--place {engine}:{image}`"),
            ],
            Self::Left { container, path } => vec![format!(
                "remove it with `docker exec -u 0 {container} rm -r {}`; the next run as root \
                 removes it too",
                path.display()
            )],
            _ => Vec::new(),
        }
    }
}

fn start_hints(program: &str, stage: Stage, source: &io::Error) -> Vec<String> {
    match (stage, source.raw_os_error()) {
        (Stage::Execute, Some(libc::ENOENT)) if !program.contains('/') => {
            vec![format!(
                "check that `{program}` is installed in this place and that `PATH` contains its \
                 folder"
            )]
        }
        (Stage::Execute, Some(libc::ENOENT)) => {
            vec![
                "check the path: it starts at the working folder of the command. In a container, \
                 add a folder of the host with `volume=/dir:/dir`"
                    .into(),
            ]
        }
        (Stage::Execute, Some(libc::ENOEXEC)) => {
            vec![format!("give the script a first line such as `#!/bin/sh`, or run `sh {program}`")]
        }
        (Stage::Execute, Some(libc::EACCES)) => {
            vec![format!("make it executable: `chmod +x {program}`")]
        }
        _ => Vec::new(),
    }
}

fn sandbox_hints(source: &io::Error) -> Vec<String> {
    match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => vec![
            "without root, the sandbox needs user namespaces: `sysctl \
             kernel.unprivileged_userns_clone=1`, on Ubuntu `sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0`"
                .into(),
            "inside a container, start it with `--security-opt seccomp=unconfined` or `--cap-add \
             SYS_ADMIN`"
                .into(),
        ],
        Some(libc::ENOSPC) => {
            vec!["raise `sysctl user.max_user_namespaces` and `user.max_mnt_namespaces`".into()]
        }
        _ => Vec::new(),
    }
}

fn image_hints(engine: EngineKind, local: &[String]) -> Vec<String> {
    let images = match local {
        [] => "this machine has no local images".to_owned(),
        some => format!("local images: {}", some.join(", ")),
    };
    vec![
        images,
        format!(
            "`{engine}:@host` runs this machine's own programs in a container, without an image"
        ),
    ]
}
