//! Which cgroup trees there are and where a process sits in each (`cgroups(7)`).
//!
//! A machine has one tree (v2), or one a controller (v1), or both kinds at once (hybrid). Perf
//! events go by the v1 tree that carries `perf_event` where one is mounted, else by the v2 tree,
//! also on a hybrid machine whose engine uses v1: so the mounts are looked at, nothing is assumed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use culprit_model::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::{Error, Result};
use crate::mounts::{Mount, mounts};
use crate::procfs;

/// One mounted tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hierarchy {
    /// The v1 controllers or `name=...`; `None` is the v2 tree.
    controllers: Option<Vec<String>>,
    point: PathBuf,
    /// Which folder of the tree is mounted there.
    root: PathBuf,
}

impl Hierarchy {
    fn of(mount: &Mount) -> Option<Self> {
        let controllers = match mount.fs_type.as_str() {
            "cgroup2" => None,
            "cgroup" => Some(mount.super_options.clone()),
            _ => return None,
        };
        Some(Self { controllers, point: mount.point.clone(), root: mount.root.clone() })
    }

    fn carries(&self, controller: &str) -> bool {
        self.controllers.as_ref().is_some_and(|c| c.iter().any(|c| c == controller))
    }

    pub(super) fn is_v2(&self) -> bool {
        self.controllers.is_none()
    }

    /// The folder of the cgroup that the tree calls `path`; `None` when it lies outside of what is
    /// mounted.
    pub(super) fn folder(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(&self.root).ok()?;
        // A path with `..` is that of a process outside our cgroup namespace.
        let inside = !below.components().any(|c| c == std::path::Component::ParentDir);
        inside.then(|| self.point.join(below))
    }

    pub(super) fn point(&self) -> &Path {
        &self.point
    }

    /// The path of `pid`'s cgroup in this tree, from its lines in `/proc/PID/cgroup`.
    fn path_in<'a>(&self, memberships: &'a [Membership]) -> Option<&'a Path> {
        let found = memberships.iter().find(|m| match &self.controllers {
            None => m.controllers.is_empty(),
            Some(ours) => m.controllers.iter().any(|c| ours.contains(c)),
        });
        found.map(|m| m.path.as_path())
    }
}

/// A line of `/proc/PID/cgroup`: `4:memory:/a/b`, `0::/a/b`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Membership {
    /// Empty for the v2 tree.
    controllers: Vec<String>,
    path: PathBuf,
}

impl Membership {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.splitn(3, ':');
        let controllers =
            fields.nth(1)?.split(',').filter(|c| !c.is_empty()).map(str::to_owned).collect();
        Some(Self { controllers, path: PathBuf::from(fields.next()?) })
    }

    /// Where `pid` sits.
    pub(super) fn of(pid: Pid) -> Result<Vec<Self>> {
        let text = procfs::read(pid, "cgroup")?;
        Ok(String::from_utf8_lossy(&text).lines().filter_map(Self::parse).collect())
    }
}

/// All mounted trees.
#[derive(Debug, Clone)]
pub(super) struct Hierarchies(Vec<Hierarchy>);

impl Hierarchies {
    /// Those of this machine, as they are now. The mounts are read again only when they have
    /// changed, which the kernel tells whoever has the list open (`proc_pid_mountinfo(5)`).
    pub(super) fn mounted() -> Result<Arc<Self>> {
        static KNOWN: Mutex<Option<(File, Arc<Hierarchies>)>> = Mutex::new(None);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((list, trees)) = &*known
            && !has_changed(list)
        {
            return Ok(Arc::clone(trees));
        }
        // Opened first: a change while it is read is told at the next look.
        let path = "/proc/self/mountinfo";
        let list = File::open(path).map_err(|e| Error::file("open", path, e))?;
        let trees = Arc::new(Self::among(&mounts(None)?));
        *known = Some((list, Arc::clone(&trees)));
        Ok(trees)
    }

    fn among(mounts: &[Mount]) -> Self {
        Self(mounts.iter().filter_map(Hierarchy::of).collect())
    }

    /// The tree that perf events go by.
    pub(super) fn perf(&self) -> Result<&Hierarchy> {
        self.v1("perf_event").or_else(|| self.v2()).ok_or(Error::NoPerfCgroup)
    }

    /// The v1 tree of a controller.
    pub(super) fn v1(&self, controller: &str) -> Option<&Hierarchy> {
        self.0.iter().find(|h| h.carries(controller))
    }

    pub(super) fn v2(&self) -> Option<&Hierarchy> {
        self.0.iter().find(|h| h.is_v2())
    }

    /// The folder, in the tree that perf events go by, of the cgroup that has a folder in some tree or is
    /// named by its path in one: engines make the same path in every tree.
    pub(super) fn perf_folder(&self, path: &Path) -> Result<PathBuf> {
        let perf = self.perf()?;
        let below = |tree: &Hierarchy| Some(perf.point.join(path.strip_prefix(&tree.point).ok()?));
        // Trees are mounted within each other's parents: the innermost one is meant.
        let deepest = |tree: &&Hierarchy| tree.point.components().count();
        let holders = self.0.iter().filter(|tree| path.starts_with(&tree.point));
        let folder = holders.max_by_key(deepest).and_then(below).or_else(|| perf.folder(path));
        folder.ok_or(Error::NoPerfCgroup)
    }

    /// Every mounted tree.
    pub(super) fn all(&self) -> impl Iterator<Item = &Hierarchy> {
        self.0.iter()
    }

    /// The folder of a process in one of the trees.
    pub(super) fn folder_of(
        &self,
        hierarchy: &Hierarchy,
        memberships: &[Membership],
    ) -> Option<PathBuf> {
        hierarchy.folder(hierarchy.path_in(memberships)?)
    }
}

/// Whether the mounts are others than when the list was opened.
fn has_changed(list: &File) -> bool {
    let mut look = [PollFd::new(list, PollFlags::PRI)];
    let asked = poll(&mut look, Some(&Timespec::default()));
    asked.is_err() || look[0].revents().intersects(PollFlags::PRI | PollFlags::ERR)
}

#[cfg(test)]
mod tests {
    use super::{Hierarchies, Membership};
    use crate::mounts::Mount;
    use std::path::{Path, PathBuf};

    fn mount(fs_type: &str, point: &str, root: &str, options: &str) -> Mount {
        Mount {
            id: 0,
            root: root.into(),
            point: point.into(),
            options: Vec::new(),
            fs_type: fs_type.into(),
            source: String::new(),
            super_options: options.split(',').map(str::to_owned).collect(),
        }
    }

    fn perf_folder(mounts: &[Mount], memberships: &str) -> Option<PathBuf> {
        let trees = Hierarchies::among(mounts);
        let memberships: Vec<_> = memberships.lines().filter_map(Membership::parse).collect();
        trees.folder_of(trees.perf().unwrap(), &memberships)
    }

    #[test]
    fn a_folder_of_any_tree_is_found_in_the_one_of_perf_events() {
        let trees = Hierarchies::among(&[
            mount("cgroup", "/sys/fs/cgroup/cpu,cpuacct", "/", "rw,cpu,cpuacct"),
            mount("cgroup", "/sys/fs/cgroup/perf_event", "/", "rw,perf_event"),
        ]);
        for path in ["/sys/fs/cgroup/cpu,cpuacct/a/b", "/sys/fs/cgroup/perf_event/a/b", "/a/b"] {
            let folder = trees.perf_folder(Path::new(path)).ok();
            assert_eq!(
                folder.as_deref(),
                Some(Path::new("/sys/fs/cgroup/perf_event/a/b")),
                "{path}"
            );
        }
    }

    #[test]
    fn perf_events_go_by_their_v1_tree_where_there_is_one() {
        let unified = mount("cgroup2", "/sys/fs/cgroup/unified", "/", "rw");
        let perf = mount("cgroup", "/sys/fs/cgroup/perf_event", "/", "rw,perf_event");
        let lines = "4:perf_event:/docker/a\n0::/b:c";
        let folder = perf_folder(&[unified.clone(), perf], lines);
        assert_eq!(folder.as_deref(), Some(Path::new("/sys/fs/cgroup/perf_event/docker/a")));
        let folder = perf_folder(&[unified], lines);
        assert_eq!(folder.as_deref(), Some(Path::new("/sys/fs/cgroup/unified/b:c")));
        assert!(Hierarchies::among(&[]).perf().is_err());
    }

    #[test]
    fn a_part_of_a_tree_may_be_mounted() {
        let mounts = [mount("cgroup2", "/sys/fs/cgroup", "/docker/a", "rw")];
        assert_eq!(
            perf_folder(&mounts, "0::/docker/a/x").as_deref(),
            Some(Path::new("/sys/fs/cgroup/x"))
        );
        assert_eq!(perf_folder(&mounts, "0::/elsewhere"), None);
        let mounts = [mount("cgroup2", "/sys/fs/cgroup", "/", "rw")];
        assert_eq!(perf_folder(&mounts, "0::/../x"), None, "outside our cgroup namespace");
    }
}
