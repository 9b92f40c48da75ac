//! What can stop a recording, and the way out of each.
//!
//! Only what makes recording impossible is an error. What merely costs evidence is a sentence in
//! [`Plan::degraded`](crate::Plan::degraded) or a row of the loss table.

use std::io;
use std::path::PathBuf;

use culprit_model::Pid;
use thiserror::Error;

/// Why nothing could be recorded, or why a recording had to end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel refuses every way of recording this target.
    #[error("cannot record {target}: {reason}")]
    Refused {
        /// What was to be recorded, in words.
        target: String,
        /// What the kernel said, in words.
        reason: String,
        /// What would lift it; commands stand in backticks.
        hints: Vec<String>,
    },
    /// A process to attach to does not exist.
    #[error("process {0} does not exist")]
    NoSuchProcess(Pid),
    /// No thread of a running process could be attached to: it has ended, or is another user's.
    #[error("no thread of process {pid} can be recorded: {source}")]
    NotAttached {
        /// The process.
        pid: i32,
        /// What the kernel said.
        source: io::Error,
    },
    /// A cgroup to attach to does not exist or is none.
    #[error("cannot open the cgroup `{path}`: {source}")]
    Cgroup {
        /// Its directory.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// An event that the plan had tried out could not be opened.
    #[error("cannot open the event {event} on CPU {cpu}: {source}")]
    Open {
        /// What the event is for.
        event: String,
        /// Which CPU.
        cpu: u32,
        /// What the kernel said.
        source: io::Error,
    },
    /// Ring memory could not be mapped.
    #[error("cannot map a ring buffer of {bytes} bytes: {source}")]
    Map {
        /// The size that was tried last, in bytes.
        bytes: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// A file of the kernel's could not be read.
    #[error("cannot read `{path}`: {source}")]
    Read {
        /// Which.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A thread of the recorder could not be started, or the kernel refused to wait.
    #[error("the recorder could not {what}: {source}")]
    Recorder {
        /// What it wanted to do.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The recording could not be written.
    #[error(transparent)]
    Write(#[from] culprit_recording::Error),
}

impl Error {
    /// What the user can do about it, one sentence each; empty where nothing general helps.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Refused { hints, .. } => hints.clone(),
            Self::Map { .. } => vec![
                "raise the limit on locked memory: `ulimit -l unlimited`, or `sysctl \
                 kernel.perf_event_mlock_kb=16384`"
                    .to_owned(),
            ],
            Self::Open { source, .. } if source.raw_os_error() == Some(libc::EMFILE) => {
                vec!["raise the limit on open files: `ulimit -n 1048576`".to_owned()]
            }
            Self::NotAttached { source, .. } if source.raw_os_error() == Some(libc::ESRCH) => {
                vec!["the process has ended: `ps -e` lists the processes that run".to_owned()]
            }
            Self::NotAttached { .. } => {
                vec![
                    "run as root, or with CAP_PERFMON; `culprit doctor` lists what is missing"
                        .to_owned(),
                ]
            }
            _ => Vec::new(),
        }
    }
}
