//! Whom a recording is about: found when it is armed, and known to the worker before any record.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::mpsc::Sender;

use culprit_kernel::Task;
use culprit_model::{Pid, Time};
use culprit_place::{Cgroup, CounterReader, procfs};

use crate::enrich::asleep::{Asleep, RegistersReader};
use crate::enrich::joined::Followed;
use crate::error::Error;
use crate::events::worker::Worker;
use crate::rings::perf::Attachment;
use crate::session::Waiting;
use crate::session::plan::Target;

/// Whom a recording is about.
#[derive(Debug)]
pub(crate) struct Subjects {
    /// Processes whose descendants are recorded too; empty for cgroups and the machine.
    pub(crate) roots: Vec<Pid>,
    /// How they are reached.
    pub(crate) kind: SubjectKind,
    /// A process that has not executed its program yet: what it has mapped is ours, not its own.
    held: Option<Pid>,
    counters: Option<CounterReader>,
}

/// How subjects are reached.
#[derive(Debug)]
pub(crate) enum SubjectKind {
    /// By thread: each process with the threads that it had when it was listed.
    Processes(Vec<(i32, Vec<i32>)>),
    /// By cgroup; its members when it was opened.
    Cgroup(OwnedFd, Vec<Pid>),
    /// Everything.
    Machine,
}

impl Subjects {
    /// Finds them.
    ///
    /// # Errors
    /// When a process or a cgroup does not exist.
    pub(crate) fn find(target: &Target, waiting: Waiting<'_>) -> Result<Self, Error> {
        match (target, waiting.cgroup) {
            (Target::Command, Some(cgroup)) => Self::of_cgroup(cgroup, waiting.pid),
            (Target::Command, None) => {
                let pids: Vec<Pid> = waiting.pid.into_iter().collect();
                let kind = SubjectKind::Processes(processes_with_threads(&pids));
                let counters = pids.first().and_then(|pid| CounterReader::of_process(*pid).ok());
                Ok(Self { roots: pids, kind, held: waiting.pid, counters })
            }
            (Target::Processes(pids), _) => Self::of_processes(pids),
            (Target::Cgroup(path), _) => {
                let cgroup = Cgroup::open(path).map_err(|error| no_cgroup(path, &error))?;
                Self::of_cgroup(&cgroup, None)
            }
            (Target::Machine, _) => Ok(Self {
                roots: Vec::new(),
                kind: SubjectKind::Machine,
                held: None,
                counters: None,
            }),
        }
    }

    fn of_cgroup(cgroup: &Cgroup, held: Option<Pid>) -> Result<Self, Error> {
        let folder = cgroup.folder().to_owned();
        let fd = cgroup
            .fd()
            .try_clone_to_owned()
            .map_err(|source| Error::Cgroup { path: folder.clone(), source })?;
        let mut members = cgroup.members().map_err(|error| no_cgroup(&folder, &error))?;
        members.extend(held.filter(|pid| !members.contains(pid)));
        let counters = cgroup.counters().ok();
        Ok(Self { roots: Vec::new(), kind: SubjectKind::Cgroup(fd, members), held, counters })
    }

    fn of_processes(pids: &[Pid]) -> Result<Self, Error> {
        if let Some(missing) = pids.iter().find(|pid| procfs::stat(**pid).is_err()) {
            return Err(Error::NoSuchProcess(*missing));
        }
        let kind = SubjectKind::Processes(processes_with_threads(pids));
        let counters = pids.first().and_then(|pid| CounterReader::of_process(*pid).ok());
        Ok(Self { roots: pids.to_vec(), kind, held: None, counters })
    }

    /// What the events are opened on.
    ///
    /// # Errors
    /// When there are no more descriptors.
    pub(crate) fn attachment(&self) -> Result<Attachment, Error> {
        Ok(match &self.kind {
            SubjectKind::Processes(processes) => Attachment::Threads(tids(processes).collect()),
            SubjectKind::Cgroup(fd, _) => {
                let copy = fd.try_clone();
                let failed = |source| Error::Recorder { what: "keep a cgroup open", source };
                Attachment::Cgroup(copy.map_err(failed)?)
            }
            SubjectKind::Machine => Attachment::Machine,
        })
    }

    /// Who reads the registers of those that run already; none where nobody does.
    pub(crate) fn registers_reader(&self) -> Option<RegistersReader> {
        let running = self.pids().iter().any(|pid| !self.is_held(*pid));
        if running { RegistersReader::prepare() } else { None }
    }

    fn is_held(&self, pid: i32) -> bool {
        self.held.is_some_and(|held| i64::from(held.0) == i64::from(pid))
    }

    /// Tells the worker about those that exist already.
    pub(crate) fn adopt(&self, worker: &mut Worker, reader: Option<&RegistersReader>) {
        let existing = self.existing();
        // At once: reading what is mapped takes longer than many a wait.
        let tasks = existing.iter().filter(|(pid, _)| !self.is_held(*pid));
        let tasks =
            tasks.flat_map(|(pid, tids)| tids.iter().map(|tid| Task { pid: *pid, tid: *tid }));
        let asleep = Asleep::look(tasks, reader);
        for (pid, tids) in existing {
            let maps = if self.is_held(pid) {
                Vec::new()
            } else {
                procfs::maps(crate::symbolize::modules::kernel_pid(pid)).unwrap_or_default()
            };
            worker.adopt(pid, &tids, &maps);
        }
        worker.handler.adopt_sleepers(asleep, Time::START);
    }

    /// The processes that exist already, by number.
    pub(crate) fn pids(&self) -> Vec<i32> {
        self.existing().into_iter().map(|(pid, _)| pid).collect()
    }

    /// The files that count for the recorded cgroup, where there is one.
    pub(crate) fn counters(&self) -> Option<CounterReader> {
        self.counters.clone()
    }

    /// Where the processes of a recorded cgroup go; none where events stay with threads, or see everything.
    pub(crate) fn followed(&self, out: Sender<OwnedFd>) -> Option<Followed> {
        let SubjectKind::Cgroup(fd, _) = &self.kind else { return None };
        let folder = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).ok()?;
        Some(Followed::new(&folder, out))
    }

    fn existing(&self) -> Vec<(i32, Vec<i32>)> {
        match &self.kind {
            SubjectKind::Processes(processes) => processes.clone(),
            SubjectKind::Cgroup(_, members) => with_threads(members),
            SubjectKind::Machine => with_threads(&procfs::processes().unwrap_or_default()),
        }
    }
}

/// These processes and their descendants, with the threads of each.
pub(crate) fn processes_with_threads(roots: &[Pid]) -> Vec<(i32, Vec<i32>)> {
    let mut pids: Vec<Pid> =
        roots.iter().flat_map(|root| procfs::tree(*root).unwrap_or_default()).collect();
    pids.sort_unstable();
    pids.dedup();
    with_threads(&pids)
}

/// The threads of a process that live.
pub(crate) fn tasks_of(pid: i32) -> impl Iterator<Item = Task> {
    let processes = with_threads(&[crate::symbolize::modules::kernel_pid(pid)]);
    processes
        .into_iter()
        .flat_map(move |(_, tids)| tids.into_iter().map(move |tid| Task { pid, tid }))
}

fn with_threads(pids: &[Pid]) -> Vec<(i32, Vec<i32>)> {
    let number = |number: u32| i32::try_from(number).unwrap_or(0);
    let listed = procfs::with_threads(pids).into_iter();
    listed.map(|(pid, tids)| (number(pid.0), tids.iter().map(|t| number(t.0)).collect())).collect()
}

/// All thread numbers of a list of processes.
pub(crate) fn tids(processes: &[(i32, Vec<i32>)]) -> impl Iterator<Item = i32> + '_ {
    processes.iter().flat_map(|(_, tids)| tids.iter().copied())
}

fn no_cgroup(path: &std::path::Path, error: &culprit_place::Error) -> Error {
    let source = std::io::Error::other(error.to_string());
    Error::Cgroup { path: PathBuf::from(path), source }
}
