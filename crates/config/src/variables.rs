//! The variables of one place at one time: of an image, a container, a process as it started, a process
//! now.
//!
//! ```text
//! image ENV ──> container, as created ──> process, as started ──> process, in memory now
//! ```
//!
//! Each arrow may change, add and remove variables. None of the sets is read from another one.

use culprit_model::Pid;
use culprit_place::procfs::{
    Stat, command_line, environment, executable, namespace_pids, started_since_epoch, stat,
    work_folder,
};
use culprit_place::{Error, InspectedContainer, InspectedImage};

use crate::memory::{NotInMemory, environment_in_memory};
use crate::provenance::{SourceKind, SourceState};
use crate::value::Raw;

/// The variables of one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableSet {
    /// What it is.
    pub kind: SourceKind,
    /// What it is called: ``image `app:1` ``, `created-with`, `PID 1`.
    pub name: String,
    /// Whether it was read.
    pub state: SourceState,
    /// Why not, or what is odd; empty if there is nothing to say.
    pub why: String,
    /// The variables, in their order; empty if they were not read.
    pub variables: Vec<(String, Raw)>,
    /// The process that they belong to; none of images and containers.
    pub pid: Option<Pid>,
}

/// The part of a process in its container or process tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessRole {
    /// The one that was asked for: PID 1 of a container.
    Main,
    /// A descendant of it.
    Worker,
    /// Started in the container from outside, as by `docker exec`.
    Visitor,
}

/// A running process, and the variables that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedProcess {
    /// Its number here.
    pub pid: Pid,
    /// Its number in its own pid namespace.
    pub own_pid: Pid,
    /// When it started, in clock ticks since boot: with `pid` it identifies the process.
    pub start_ticks: u64,
    /// When it started, in seconds since 1970.
    pub started_unix_s: u64,
    /// Its name.
    pub name: String,
    /// The file that it executes; empty where we may not look.
    pub executable: String,
    /// Its working folder, as its root names it; empty where we may not look.
    pub work_folder: String,
    /// Its arguments, which may hold secrets.
    pub arguments: Vec<Raw>,
    /// Its part.
    pub role: ProcessRole,
    /// The variables that it was started with.
    pub initial: VariableSet,
    /// The variables in its memory now.
    pub now: VariableSet,
}

/// Why a process could not be observed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotObserved {
    /// It has ended, or we may not look.
    #[error(transparent)]
    Process(#[from] Error),
    /// Its number belongs to another process now.
    #[error("process {pid} ended while it was read, and its number belongs to another process now")]
    Reused {
        /// The number.
        pid: Pid,
    },
}

/// Looks at a process: who it is, and its variables as it started and now. What may not be read is a set
/// with that state.
///
/// # Errors
/// When it has ended, or its number was given to another process meanwhile.
pub fn observe_process(pid: Pid, role: ProcessRole) -> Result<ObservedProcess, NotObserved> {
    let before = stat(pid)?;
    let own_pid = namespace_pids(pid)?.last().copied().unwrap_or(pid);
    let label = label(own_pid, &before, role);
    let path = |path: Result<std::path::PathBuf, Error>| {
        path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let observed = ObservedProcess {
        pid,
        own_pid,
        start_ticks: before.start_ticks,
        started_unix_s: started_since_epoch(pid)?.as_secs(),
        name: before.comm.clone(),
        executable: path(executable(pid)),
        work_folder: path(work_folder(pid)),
        arguments: command_line(pid)?.into_iter().map(Raw::new).collect(),
        role,
        initial: initial(pid, &label),
        now: now(pid, &label),
    };
    match stat(pid)?.start_ticks == before.start_ticks {
        true => Ok(observed),
        false => Err(NotObserved::Reused { pid }),
    }
}

fn label(own_pid: Pid, stat: &Stat, role: ProcessRole) -> String {
    let more = if role == ProcessRole::Visitor { ", from outside" } else { "" };
    format!("PID {own_pid} ({}{more})", stat.comm)
}

fn initial(pid: Pid, label: &str) -> VariableSet {
    let set = VariableSet {
        kind: SourceKind::InitialEnvironment,
        name: format!("{label} at start"),
        state: SourceState::Read,
        why: String::new(),
        variables: Vec::new(),
        pid: Some(pid),
    };
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    match environment(pid) {
        Ok(found) => VariableSet {
            variables: found
                .into_iter()
                .map(|(name, value)| (text(name), Raw::new(text(value))))
                .collect(),
            ..set
        },
        Err(error) => VariableSet { state: SourceState::Denied, why: right(&error), ..set },
    }
}

fn now(pid: Pid, label: &str) -> VariableSet {
    let set = VariableSet {
        kind: SourceKind::ProcessMemory,
        name: format!("{label} now"),
        state: SourceState::Read,
        why: String::new(),
        variables: Vec::new(),
        pid: Some(pid),
    };
    match environment_in_memory(pid) {
        Ok(lines) => {
            let lines = lines.iter().map(|line| String::from_utf8_lossy(line).into_owned());
            VariableSet { variables: lines.filter_map(|line| variable(&line)).collect(), ..set }
        }
        Err(error @ NotInMemory::NoSymbol) => {
            VariableSet { state: SourceState::Unread, why: error.to_string(), ..set }
        }
        Err(NotInMemory::Process(error)) => {
            VariableSet { state: SourceState::Denied, why: right(&error), ..set }
        }
        Err(error) => VariableSet { state: SourceState::Denied, why: error.to_string(), ..set },
    }
}

/// The reason with the right that is missing.
fn right(error: &Error) -> String {
    let Error::File { source, .. } = error else { return error.to_string() };
    if source.kind() != std::io::ErrorKind::PermissionDenied {
        return error.to_string();
    }
    let yama = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    let scope = yama.map(|scope| scope.trim().to_owned()).unwrap_or_default();
    let yama = match scope.as_str() {
        "" | "0" => String::new(),
        scope => format!(" (`kernel.yama.ptrace_scope` is {scope})"),
    };
    format!("{error}: this needs root, or the capability CAP_SYS_PTRACE{yama}")
}

/// `NAME=value`; none without a `=`.
pub(crate) fn variable(line: &str) -> Option<(String, Raw)> {
    line.split_once('=').map(|(name, value)| (name.to_owned(), Raw::new(value)))
}

fn variables(lines: &[String]) -> Vec<(String, Raw)> {
    lines.iter().filter_map(|line| variable(line)).collect()
}

/// The variables that a container was created with.
#[must_use]
pub fn created_with(container: &InspectedContainer) -> VariableSet {
    VariableSet {
        kind: SourceKind::ContainerEnvironment,
        name: "created-with".to_owned(),
        state: SourceState::Read,
        why: String::new(),
        variables: variables(&container.environment),
        pid: None,
    }
}

/// The variables of an image.
#[must_use]
pub fn image_variables(name: &str, image: &InspectedImage) -> VariableSet {
    VariableSet { variables: variables(&image.environment), ..image_not_read(name, "") }
        .with_state(SourceState::Read)
}

/// An image whose variables are not known.
#[must_use]
pub fn image_not_read(name: &str, why: &str) -> VariableSet {
    VariableSet {
        kind: SourceKind::ImageEnvironment,
        name: format!("image {name}"),
        state: SourceState::Denied,
        why: why.to_owned(),
        variables: Vec::new(),
        pid: None,
    }
}

impl VariableSet {
    fn with_state(self, state: SourceState) -> Self {
        Self { state, ..self }
    }

    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&Raw> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_observed_with_our_variables() {
        let us = observe_process(Pid(std::process::id()), ProcessRole::Main).unwrap();
        let path = std::env::var_os("PATH").unwrap().to_string_lossy().into_owned();
        assert_eq!(us.initial.get("PATH"), Some(&Raw::new(path.as_str())));
        assert_eq!(us.now.get("PATH"), Some(&Raw::new(path.as_str())));
        assert!(us.initial.name.starts_with("PID ") && us.initial.name.ends_with(" at start"));
        assert!(!format!("{us:?}").contains(&path), "values are not printed");
        assert!(observe_process(Pid(u32::MAX), ProcessRole::Main).is_err());
    }
}
