//! Cgroups that recorded processes join after the start.
//!
//! A command may write itself into a cgroup (`echo $$ > cgroup.procs; exec ...`), or a manager moves it, as
//! `runc` moves what it starts. The cgroup's limits hold from then on, so they are counted from then on,
//! added to those of the recorded cgroup:
//!
//! ```text
//! recorded cgroup   periods 0 0 0 0 0
//! joined cgroup             7 9 12 15     since it was joined: 0 2 5 8
//! recording                 0 0 2 5 8
//! ```
//!
//! The events of a recorded cgroup do not see what has left it. So events are opened on where it went,
//! if only recorded processes are there.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use culprit_model::Pid;
use culprit_place::{Cgroup, CounterReader, Counters, procfs};

use crate::clock::monotonic_ns;
use crate::symbolize::modules::kernel_pid;

/// Cgroups that are followed at most: a machine's manager may move processes into hundreds.
const MOST_JOINED: usize = 16;

/// The cgroups whose counters a recording has.
#[derive(Debug, Default)]
pub(crate) struct Cgroups {
    recorded: Option<CounterReader>,
    /// The recorder's own, in which a command begins.
    own: Option<CounterReader>,
    joined: Vec<Joined>,
    /// What `/proc/PID/cgroup` said of processes whose cgroups are known: most processes say the same.
    seen: BTreeSet<String>,
    followed: Option<Followed>,
}

/// A cgroup that a recorded process was found in later.
#[derive(Debug)]
struct Joined {
    reader: CounterReader,
    /// What it had counted when it was found.
    before: Counters,
}

impl Cgroups {
    /// Those of a recording whose own cgroup is `recorded`.
    pub(crate) fn new(recorded: Option<CounterReader>, followed: Option<Followed>) -> Self {
        let own = CounterReader::of_process(Pid(std::process::id())).ok();
        Self { recorded, own, followed, ..Self::default() }
    }

    /// Looks where recorded processes and what they have started are now. Gives the cgroups that some have
    /// joined and that had no events.
    pub(crate) fn look(&mut self, recorded: &[i32]) -> Vec<JoinedCgroup> {
        let mut found = Vec::new();
        // Where events stay with threads, what they start is recorded wherever it goes.
        let ours = match self.followed {
            Some(_) => with_descendants(recorded),
            None => recorded.iter().map(|pid| kernel_pid(*pid)).collect(),
        };
        for pid in &ours {
            let file = format!("/proc/{}/cgroup", pid.0);
            let memberships = std::fs::read_to_string(file).unwrap_or_default();
            if self.joined.len() == MOST_JOINED || self.seen.contains(&memberships) {
                continue;
            }
            // One that has ended is nowhere.
            let Ok(reader) = CounterReader::of_process(*pid) else { continue };
            if !self.is_known(&reader) {
                let before = reader.read();
                self.joined.push(Joined { reader, before });
            }
            self.seen.insert(memberships);
            found.extend(self.followed.as_mut().and_then(|followed| followed.look(*pid, &ours)));
        }
        if let Some(followed) = &mut self.followed {
            followed.looked = monotonic_ns();
        }
        found
    }

    fn is_known(&self, reader: &CounterReader) -> bool {
        let joined = self.joined.iter().map(|joined| &joined.reader);
        let known: Vec<&CounterReader> =
            self.recorded.iter().chain(&self.own).chain(joined).collect();
        reader.lies_within(&known)
    }

    /// What all of them count, where any is followed.
    pub(crate) fn read(&self) -> Option<Counters> {
        let recorded = self.recorded.as_ref().map(CounterReader::read);
        let joined = self.joined.iter().map(|joined| joined.reader.read().since(&joined.before));
        recorded.into_iter().chain(joined).reduce(|all, more| all.with(&more))
    }
}

/// The cgroups that have events, in a recording of a cgroup.
#[derive(Debug)]
pub(crate) struct Followed {
    /// Their folders in the tree that perf events go by.
    folders: Vec<PathBuf>,
    /// The recorder's own, in which a command begins.
    own: Option<PathBuf>,
    /// To who opens events.
    out: Sender<OwnedFd>,
    /// When processes were last looked at: `CLOCK_MONOTONIC`, ns.
    looked: u64,
}

/// A cgroup that recorded processes have joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JoinedCgroup {
    /// Its path in the tree that perf events go by.
    folder: PathBuf,
    /// The processes that are recorded there; none where others are there too.
    pub(crate) members: Vec<i32>,
    /// They joined it after this: `CLOCK_MONOTONIC`, ns.
    pub(crate) after: u64,
}

impl JoinedCgroup {
    /// What is lost, in words.
    pub(crate) fn why(&self) -> String {
        let folder = self.folder.display();
        if self.members.is_empty() {
            return format!(
                "a process moved to the cgroup {folder}, which has other processes too"
            );
        }
        format!("while moving to the cgroup {folder}")
    }
}

impl Followed {
    /// Those of a recording of the cgroup with this folder.
    pub(crate) fn new(recorded: &Path, out: Sender<OwnedFd>) -> Self {
        let own = Cgroup::of_process(Pid(std::process::id())).ok();
        let own = own.map(|cgroup| cgroup.folder().to_owned());
        Self { folders: vec![recorded.to_owned()], own, out, looked: monotonic_ns() }
    }

    /// Where a process is, if that has no events. They are opened if all that is there descends from
    /// recorded processes.
    fn look(&mut self, pid: Pid, ours: &BTreeSet<Pid>) -> Option<JoinedCgroup> {
        let cgroup = Cgroup::of_process(pid).ok()?;
        let folder = cgroup.folder().to_owned();
        let known = self.folders.iter().any(|known| folder.starts_with(known));
        if known || self.own.as_ref() == Some(&folder) {
            return None;
        }
        self.folders.push(folder.clone());
        let members = cgroup.members().ok()?;
        let all_ours = members.iter().all(|pid| ours.contains(pid));
        let fd = cgroup.fd().try_clone_to_owned().ok().filter(|_| all_ours);
        let opened = fd.is_some_and(|fd| self.out.send(fd).is_ok());
        let followed = members.iter().filter(|_| opened);
        let members = followed.filter_map(|pid| i32::try_from(pid.0).ok()).collect();
        Some(JoinedCgroup { folder, members, after: self.looked })
    }
}

/// Processes and what they have started, which nothing tells of where that begins in another cgroup.
fn with_descendants(pids: &[i32]) -> BTreeSet<Pid> {
    let mut all: BTreeSet<Pid> = pids.iter().map(|pid| kernel_pid(*pid)).collect();
    let mut unlisted: Vec<Pid> = all.iter().copied().collect();
    while let Some(pid) = unlisted.pop() {
        unlisted.extend(procfs::children(pid).into_iter().filter(|child| all.insert(*child)));
    }
    all
}
