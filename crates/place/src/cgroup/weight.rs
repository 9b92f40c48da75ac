//! How a CPU is divided between two processes that both want all of it: by the weights of the groups
//! in which they differ.
//!
//! ```text
//!   /            a, b alone weigh 1 each         c and d weigh what `busy` weighs, however many
//!   ├─ a         threads they have               (cpu.shares of v1 by 1024, cpu.weight of v2 by 100)
//!   ├─ b
//!   └─ busy ─ c, d
//! ```
//!
//! Sources: `Documentation/scheduler/sched-design-CFS.rst`, `admin-guide/cgroup-v2.rst` (CPU), sched(7)
//! on autogroups.

use std::path::Path;

use culprit_model::Pid;

use super::hierarchy::{Hierarchies, Membership};
use crate::error::{Error, Result};
use crate::procfs;

/// The groups through which a process gets its share of a CPU, from the top of the tree. Weights
/// count in threads that have not been made nice.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuGroups(Vec<CpuGroup>);

#[derive(Debug, Clone, PartialEq)]
struct CpuGroup {
    name: String,
    weight: f64,
}

impl CpuGroups {
    /// Those of a process.
    ///
    /// # Errors
    /// [`Error::NoProcess`] when it has ended; [`Error::NoPerfCgroup`] when its cgroup cannot be seen
    /// from here.
    pub fn of_process(pid: Pid) -> Result<Self> {
        let (trees, memberships) = (Hierarchies::mounted()?, Membership::of(pid)?);
        let tree = trees.v1("cpu").or_else(|| trees.v2()).ok_or(Error::NoPerfCgroup)?;
        let folder = trees.folder_of(tree, &memberships).ok_or(Error::NoPerfCgroup)?;
        let below = folder.strip_prefix(tree.point()).unwrap_or(Path::new(""));
        let mut groups = cgroups(tree.point(), below);
        if groups.is_empty() {
            // Sessions divide what nobody else has grouped.
            groups.extend(autogroup(pid));
        }
        Ok(Self(groups))
    }

    /// The share that threads of these weights in all get here, beside others that never rest.
    #[must_use]
    pub fn share(&self, threads: f64, other: &Self, others: f64) -> f64 {
        let pairs = self.0.iter().zip(&other.0);
        let common = pairs.take_while(|(mine, theirs)| mine.name == theirs.name).count();
        let side = |groups: &Self, threads| groups.0.get(common).map_or(threads, |g| g.weight);
        let (mine, theirs) = (side(self, threads), side(other, others));
        mine / (mine + theirs)
    }
}

/// The cgroups on the way down that divide CPU time. In v2 the controller may end on the way.
fn cgroups(point: &Path, below: &Path) -> Vec<CpuGroup> {
    let mut folder = point.to_path_buf();
    let group = |name: &std::ffi::OsStr| {
        folder.push(name);
        let name = name.to_string_lossy().into_owned();
        weight_of(&folder).map(|weight| CpuGroup { name, weight })
    };
    below.iter().map_while(group).collect()
}

fn weight_of(folder: &Path) -> Option<f64> {
    let number = |file: &str| -> Option<f64> {
        std::fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
    };
    let v1 = number("cpu.shares").map(|shares| shares / 1024.0);
    v1.or_else(|| number("cpu.weight").map(|weight| weight / 100.0))
}

/// The session's group, of a process that is in no cgroup, where the kernel makes such groups.
fn autogroup(pid: Pid) -> Option<CpuGroup> {
    let enabled = std::fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled").ok()?;
    let text = procfs::read(pid, "autogroup").ok().filter(|_| enabled.trim() != "0")?;
    parse_autogroup(&String::from_utf8_lossy(&text))
}

/// `/autogroup-12 nice 0`; empty for a process that is in none.
fn parse_autogroup(text: &str) -> Option<CpuGroup> {
    let (name, nice) = text.trim().split_once(" nice ")?;
    let nice: i32 = nice.parse().ok()?;
    Some(CpuGroup { name: name.to_owned(), weight: 1.25_f64.powi(-nice) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(all: &[(&str, f64)]) -> CpuGroups {
        let group =
            |(name, weight): &(&str, f64)| CpuGroup { name: (*name).into(), weight: *weight };
        CpuGroups(all.iter().map(group).collect())
    }

    #[track_caller]
    fn check(mine: &[(&str, f64)], theirs: &[(&str, f64)], expected: f64) {
        let share = groups(mine).share(4.0, &groups(theirs), 2.0);
        assert!((share - expected).abs() < 1e-9, "{share}");
    }

    #[test]
    fn threads_of_one_group_count_and_groups_weigh() {
        check(&[], &[], 4.0 / 6.0);
        check(&[("a", 3.0)], &[("a", 3.0)], 4.0 / 6.0);
        check(&[("a", 1.0)], &[], 1.0 / 3.0);
        check(&[("a", 1.0), ("b", 9.0)], &[("a", 1.0)], 9.0 / 11.0);
        check(&[("a", 1.0), ("b", 9.0)], &[("c", 3.0)], 0.25);
        check(&[], &[("a", 2.0)], 4.0 / 6.0);
    }

    #[test]
    fn weights_are_read_as_both_kinds_of_trees_write_them() {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(top.path().join("a/b/c")).unwrap();
        for (file, text) in [("a/cpu.weight", "50\n"), ("a/b/cpu.shares", "2048\n")] {
            std::fs::write(top.path().join(file), text).unwrap();
        }
        let found = CpuGroups(cgroups(top.path(), Path::new("a/b/c")));
        assert_eq!(found, groups(&[("a", 0.5), ("b", 2.0)]), "the controller ends above c");
    }

    #[test]
    fn a_session_weighs_by_how_nice_it_is() {
        let found = parse_autogroup("/autogroup-12 nice 0\n").unwrap();
        assert_eq!((found.name.as_str(), found.weight), ("/autogroup-12", 1.0));
        assert!(parse_autogroup("/autogroup-1 nice 10").unwrap().weight < 0.11);
        assert_eq!(parse_autogroup(""), None);
    }
}
