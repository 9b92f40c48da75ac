//! Control groups: what a recording of a whole place is armed on, and whose counters tell of quota
//! and limits.
//!
//! A cgroup of ours is made before the command starts, in the tree that carries perf events, and
//! events armed on it see every process of the command from its first instruction. It sets no
//! limit and enables no controller, so that being in it changes nothing: below our own cgroup for
//! commands of ours, at the top of the tree for an engine's containers (engines name a parent from
//! the top).

mod counters;
mod hierarchy;
mod weight;

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use culprit_model::Pid;

use crate::error::{Error, Result};
use crate::owner::{Owner, PREFIX};
use crate::procfs;

use counters::Elsewhere;
pub use counters::{
    CounterReader, Counters, CpuCounters, IoCounters, Limits, MemoryCounters, Pressure,
};
use hierarchy::{Hierarchies, Membership};
pub use weight::CpuGroups;

/// Where a new cgroup is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Below the cgroup that we are in, so that its members share our limits and our weight.
    BelowOurs,
    /// At the top of the tree, where an engine can be told to put a container below it.
    Top,
}

/// A control group in the tree that carries perf events.
///
/// One that we made is removed when this value is dropped; processes still in it go to the cgroup
/// above it.
#[derive(Debug)]
pub struct Cgroup {
    /// The folder in the perf tree first, then those in other trees that were asked for.
    folders: Vec<PathBuf>,
    /// The folder in the perf tree, opened.
    dir: File,
    /// Where it was made; none when it is not ours.
    made: Option<Position>,
    /// Where we were when it was made.
    ours: Vec<Membership>,
}

impl Cgroup {
    /// Makes a cgroup with a name of its own, in the perf tree only.
    ///
    /// # Errors
    /// [`Error::NoPerfCgroup`] without a tree; [`Error::Cgroup`] when it may not be made.
    pub fn create(position: Position) -> Result<Self> {
        Self::create_in(position, &[])
    }

    /// Makes a cgroup in the perf tree and, where they are separate, in the v1 trees that count
    /// CPU, memory and I/O, so that the command's own use can be told from ours.
    ///
    /// # Errors
    /// As [`Cgroup::create`].
    pub fn create_counting(position: Position) -> Result<Self> {
        Self::create_in(position, &["cpu", "cpuacct", "memory", "blkio"])
    }

    fn create_in(position: Position, controllers: &[&str]) -> Result<Self> {
        let trees = Hierarchies::mounted()?;
        let ours = Membership::of(Pid(std::process::id()))?;
        // A slice to systemd, which as an engine's cgroup driver takes no other name; any folder
        // will do where it is not.
        let name = format!("{}.slice", Owner::ours()?.fresh_name());
        let above = |tree: &hierarchy::Hierarchy| match position {
            Position::Top => Some(tree.point().to_path_buf()),
            Position::BelowOurs => trees.folder_of(tree, &ours),
        };
        let perf = above(trees.perf()?).ok_or(Error::NoPerfCgroup)?.join(&name);
        let beside: Vec<PathBuf> =
            controllers.iter().filter_map(|c| Some(above(trees.v1(c)?)?.join(&name))).collect();
        make(&perf)?;
        // From here on a failure removes what was made.
        let dir = open_folder(&perf)?;
        let mut group = Self { dir, folders: vec![perf], made: Some(position), ours };
        for folder in beside {
            if !group.folders.contains(&folder) {
                make(&folder)?;
                group.folders.push(folder);
            }
        }
        Ok(group)
    }

    /// The cgroup that a process is in. It is not ours: nothing of it is removed.
    ///
    /// # Errors
    /// [`Error::NoProcess`] when the process has ended; [`Error::NoPerfCgroup`] when its cgroup
    /// cannot be seen from here.
    pub fn of_process(pid: Pid) -> Result<Self> {
        let trees = Hierarchies::mounted()?;
        let folder =
            trees.folder_of(trees.perf()?, &Membership::of(pid)?).ok_or(Error::NoPerfCgroup)?;
        Self::existing(folder)
    }

    /// An existing cgroup, by its path in the perf tree (`/docker/1234...`) or by its folder in any tree.
    ///
    /// # Errors
    /// [`Error::Cgroup`] when there is none.
    pub fn open(path: &Path) -> Result<Self> {
        Self::existing(Hierarchies::mounted()?.perf_folder(path)?)
    }

    fn existing(folder: PathBuf) -> Result<Self> {
        let dir = open_folder(&folder)?;
        Ok(Self { dir, folders: vec![folder], made: None, ours: Vec::new() })
    }

    /// The folder's descriptor, as `perf_event_open` takes it with PERF_FLAG_PID_CGROUP.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// The folder in the perf tree.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folders.first().map(PathBuf::as_path).unwrap_or(Path::new(""))
    }

    /// The name that an engine is given as the parent of a container's cgroup: a path for engines
    /// that write the tree themselves, a slice's name for those that ask systemd.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a cgroup that was not made at [`Position::Top`].
    pub fn engine_parent(&self, systemd: bool) -> Result<String> {
        let at_top = Hierarchies::mounted()?.perf()?.point()
            == self.folder().parent().unwrap_or(Path::new(""));
        match self.folder().file_name() {
            Some(name) if at_top && systemd => Ok(name.to_string_lossy().into_owned()),
            Some(name) if at_top => Ok(format!("/{}", name.to_string_lossy())),
            _ => Err(Error::Unsupported {
                place: format!("cgroup `{}`", self.folder().display()),
                what: "contain a container: it is not at the top of the hierarchy",
            }),
        }
    }

    /// Puts a process (all its threads) into the cgroup; what it makes afterwards is born there.
    ///
    /// # Errors
    /// [`Error::Cgroup`] when that is not allowed.
    pub fn add(&self, pid: Pid) -> Result<()> {
        self.folders.iter().try_for_each(|folder| {
            move_to(folder, pid)
                .map_err(|source| cgroup_error(format!("add process {pid} to"), folder, source))
        })
    }

    /// The processes in this cgroup and those below it, sorted.
    ///
    /// # Errors
    /// [`Error::Cgroup`] when it is gone.
    pub fn members(&self) -> Result<Vec<Pid>> {
        let mut found =
            members(self.folder()).map_err(|e| cgroup_error("list".into(), self.folder(), e))?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// What counts the CPU, memory and I/O of this cgroup, in whichever trees do, and of a
    /// container that an engine puts below it. The quota is that of the nearest cgroup above that
    /// has one.
    ///
    /// # Errors
    /// When the mounts cannot be read.
    pub fn counters(&self) -> Result<CounterReader> {
        let elsewhere = match (self.made, self.folder().file_name()) {
            (Some(Position::BelowOurs), _) => Elsewhere::WithUs(&self.ours),
            (Some(Position::Top), Some(name)) => Elsewhere::Twin(name),
            _ => Elsewhere::Unknown,
        };
        CounterReader::of_folders(&self.folders, elsewhere)
    }

    /// Whether we made it, and so every process in it is one of ours.
    #[must_use]
    pub const fn is_ours(&self) -> bool {
        self.made.is_some()
    }

    /// Removes what was made, saying so when it could not be.
    ///
    /// # Errors
    /// [`Error::Cgroup`] when the kernel refuses, for example because a container is still below.
    pub fn remove(mut self) -> Result<()> {
        self.remove_now()
    }

    fn remove_now(&mut self) -> Result<()> {
        let Some(position) = self.made.take() else { return Ok(()) };
        self.folders.iter().rev().try_for_each(|folder| remove_folder(folder))?;
        if position == Position::Top { self.remove_twins() } else { Ok(()) }
    }

    /// An engine that was given this cgroup as a parent makes one of the same name in the other
    /// trees, and leaves it there.
    fn remove_twins(&self) -> Result<()> {
        let Some(name) = self.folder().file_name() else { return Ok(()) };
        let trees = Hierarchies::mounted()?;
        let twins = trees.all().map(|tree| tree.point().join(name)).filter(|f| f.is_dir());
        twins.into_iter().try_for_each(|folder| remove_folder(&folder))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Whoever wants to know calls `remove`; what stays here is swept by the next run.
        let _swept_later = self.remove_now();
    }
}

fn cgroup_error(doing: String, path: &Path, source: io::Error) -> Error {
    Error::Cgroup { doing, path: path.to_path_buf(), source }
}

fn make(folder: &Path) -> Result<()> {
    std::fs::create_dir(folder).map_err(|e| cgroup_error("create".into(), folder, e))
}

fn open_folder(folder: &Path) -> Result<File> {
    File::open(folder).map_err(|e| cgroup_error("open".into(), folder, e))
}

fn move_to(folder: &Path, pid: Pid) -> io::Result<()> {
    File::options()
        .write(true)
        .open(folder.join("cgroup.procs"))?
        .write_all(pid.to_string().as_bytes())
}

fn members(folder: &Path) -> io::Result<Vec<Pid>> {
    let text = procfs::text(folder.join("cgroup.procs"))?;
    let mut found: Vec<Pid> = text.lines().filter_map(|l| l.parse().ok()).map(Pid).collect();
    for below in folders_in(folder) {
        found.extend(members(&below)?);
    }
    Ok(found)
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let folders = entries.flatten().filter(|e| e.file_type().is_ok_and(|t| t.is_dir()));
    folders.map(|e| e.path()).collect()
}

/// How often a busy cgroup is tried again, and after how long: a second in all. A process that is
/// just ending cannot be moved and keeps its cgroup until it has ended (`cgroup_migrate_add_task`
/// in kernel/cgroup/cgroup.c), and one that forks makes it busy again; both are over in
/// milliseconds.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);

/// Removes a cgroup and what is below it; processes in it go to the cgroup above.
fn remove_folder(folder: &Path) -> Result<()> {
    let error = |e| cgroup_error("remove".into(), folder, e);
    // Nearly always nobody is left in it, which its removal tells as well as a look.
    if std::fs::remove_dir(folder).is_ok() {
        return Ok(());
    }
    let mut tries = 0;
    loop {
        folders_in(folder).iter().try_for_each(|below| remove_folder(below))?;
        match empty_and_remove(folder) {
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy && tries < TRIES => tries += 1,
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(error(e)),
            _ => return Ok(()),
        }
        std::thread::sleep(PAUSE);
    }
}

fn empty_and_remove(folder: &Path) -> io::Result<()> {
    let above = folder.parent().unwrap_or(Path::new("/"));
    for pid in members(folder)? {
        // One that ended meanwhile needs no moving, and a refusal shows in the removal.
        let _shown_later = move_to(above, pid);
    }
    std::fs::remove_dir(folder)
}

/// Removes the cgroups that runs which are no more have left, in every tree. Returns how many, and
/// what went wrong.
pub(crate) fn sweep() -> (usize, Vec<Error>) {
    let trees = match Hierarchies::mounted() {
        Ok(trees) => trees,
        Err(error) => return (0, vec![error]),
    };
    let mut left = Vec::new();
    for tree in trees.all() {
        abandoned(tree.point(), &mut left);
    }
    let (gone, failed): (Vec<_>, Vec<_>) =
        left.iter().map(|f| remove_folder(f)).partition(Result::is_ok);
    (gone.len(), failed.into_iter().filter_map(Result::err).collect())
}

fn abandoned(folder: &Path, found: &mut Vec<PathBuf>) {
    for below in folders_in(folder) {
        let name = below.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with(PREFIX) {
            abandoned(&below, found);
        } else if Owner::of_name(name.trim_end_matches(".slice")).is_some_and(|o| !o.is_alive())
            && may_remove(&below)
        {
            found.push(below);
        }
    }
}

/// Root removes what any user has left, others their own.
fn may_remove(folder: &Path) -> bool {
    let us = rustix::process::geteuid();
    us.is_root() || std::fs::metadata(folder).is_ok_and(|m| m.uid() == us.as_raw())
}

#[cfg(test)]
mod tests;
