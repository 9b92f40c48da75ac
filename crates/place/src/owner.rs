//! Who made a thing that outlives a crash: the name under which cgroups, folders, containers and
//! images of ours are known, and whether their maker still lives.
//!
//! A name is `culprit_PIDNS_PID_START_SERIAL`. The pid alone would not do, because pids are
//! reused; the start time (in clock ticks since boot, `/proc/PID/stat` field 22) tells two bearers
//! of a number apart. The pid namespace's inode tells two machines' or containers' numbers apart
//! that share one engine or cgroup tree: from another namespace nobody can know whether the maker
//! lives, so its things are left alone.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use culprit_model::Pid;

use crate::error::{Error, Result};
use crate::procfs;

/// What every name of ours begins with. Without a dash, which systemd would take as a level of
/// its slice tree.
pub(crate) const PREFIX: &str = "culprit_";

/// The maker of a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pid_namespace: u64,
    pid: Pid,
    start_ticks: u64,
}

impl Owner {
    /// This process.
    pub(crate) fn ours() -> Result<Self> {
        static OURS: OnceLock<Owner> = OnceLock::new();
        if let Some(ours) = OURS.get() {
            return Ok(*ours);
        }
        let pid = Pid(std::process::id());
        let start_ticks = procfs::stat(pid)?.start_ticks;
        let ours = Self { pid_namespace: pid_namespace()?, pid, start_ticks };
        Ok(*OURS.get_or_init(|| ours))
    }

    /// A name that nothing else in this process has.
    pub(crate) fn fresh_name(self) -> String {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        format!("{self}_{}", SERIAL.fetch_add(1, Ordering::Relaxed))
    }

    /// The maker of the thing with this name; `None` when it is not a name of ours.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        name.rsplit_once('_').and_then(|(owner, _serial)| owner.parse().ok())
    }

    /// Whether the maker may still need its things.
    pub(crate) fn is_alive(self) -> bool {
        let elsewhere = pid_namespace().map_or(true, |ours| ours != self.pid_namespace);
        elsewhere || procfs::stat(self.pid).is_ok_and(|s| s.start_ticks == self.start_ticks)
    }
}

/// A name for a thing of this process that outlives a crash, which nothing else has.
///
/// # Errors
/// When `/proc` does not tell who we are.
pub fn fresh_name() -> Result<String> {
    Ok(Owner::ours()?.fresh_name())
}

/// Whether the maker of the thing with this name may still need it; `None` when it is no name of
/// ours.
#[must_use]
pub fn maker_lives(name: &str) -> Option<bool> {
    Owner::of_name(name).map(Owner::is_alive)
}

fn pid_namespace() -> Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let path = "/proc/self/ns/pid";
    Ok(std::fs::metadata(path).map_err(|e| Error::file("inspect", path, e))?.ino())
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}_{}_{}", self.pid_namespace, self.pid, self.start_ticks)
    }
}

impl FromStr for Owner {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let mut numbers =
            text.strip_prefix(PREFIX).ok_or(())?.split('_').map(|n| n.parse::<u64>().map_err(drop));
        let mut next = || numbers.next().unwrap_or(Err(()));
        let owner = Self {
            pid_namespace: next()?,
            pid: Pid(u32::try_from(next()?).map_err(drop)?),
            start_ticks: next()?,
        };
        if numbers.next().is_some() { Err(()) } else { Ok(owner) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Owner, PREFIX};
    use culprit_model::Pid;

    #[test]
    fn a_name_leads_back_to_its_maker() {
        let ours = Owner::ours().unwrap();
        let (a, b) = (ours.fresh_name(), ours.fresh_name());
        assert_ne!(a, b);
        assert_eq!(Owner::of_name(&a), Some(ours));
        assert!(ours.is_alive());
        for other in
            ["culprit_", "culprit_1_2_3", "culprit_1_2_x_0", "docker_1_2_3_4", "culprit_1_2_3_4_5"]
        {
            assert_eq!(Owner::of_name(other), None, "{other}");
        }
        assert!(a.starts_with(PREFIX));
    }

    #[test]
    fn a_reused_number_is_not_its_former_bearer() {
        let ours = Owner::ours().unwrap();
        assert!(!Owner { start_ticks: ours.start_ticks + 1, ..ours }.is_alive());
        assert!(!Owner { pid: Pid(u32::MAX), ..ours }.is_alive());
        let elsewhere = Owner { pid_namespace: 1, pid: Pid(u32::MAX), ..ours };
        assert!(elsewhere.is_alive(), "nobody here can know");
    }
}
