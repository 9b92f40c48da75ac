//! What is to be known about a place before its times are compared with another's: file systems,
//! limits, filters.
//!
//! Everything is read from outside through one process that lives in the place (`/proc/PID/...`),
//! so that no program of ours has to run inside.

use std::fmt;
use std::path::{Path, PathBuf};

use culprit_model::Pid;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, StatxFlags, fstatfs, openat2, statx};

use crate::cgroup::CounterReader;
use crate::error::{Error, Result};
use crate::mounts::{Mount, mount_of, mounts};
use crate::procfs::{self, root_of, status_field};
use crate::spec::PlaceSpec;

/// `f_type` of overlayfs, OVERLAYFS_SUPER_MAGIC in `linux/magic.h`.
pub const OVERLAY_MAGIC: u64 = 0x794c_7630;

/// A place as its commands find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceFacts {
    /// Its name.
    pub place: PlaceSpec,
    /// Where commands work, as they name it.
    pub work_dir: PathBuf,
    /// The file system of the work folder; `None` before an engine has made it.
    pub work: Option<FileSystem>,
    /// The file system of the root.
    pub root: Option<FileSystem>,
    /// Release of the kernel, `6.18.1`.
    pub kernel: String,
    /// CPUs that its commands may use.
    pub cpus: u32,
    /// The strictest CPU quota above its commands, as (time, period) in ns; `None` without one.
    pub cpu_quota_ns: Option<(u64, u64)>,
    /// The strictest memory limit above its commands, bytes; `None` without one.
    pub memory_limit_bytes: Option<u64>,
    /// Filter on system calls.
    pub seccomp: Seccomp,
    /// The network that its commands find: `host`, or of their own and what it has.
    pub network: String,
    /// What else is out of the ordinary: one sentence each.
    pub notes: Vec<String>,
}

/// The file system that a folder lies on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// Its type's name: `ext4`, `overlay`, `tmpfs`.
    pub kind: String,
    /// Its type's number (`statfs(2)` `f_type`), by which programs such as tail know it.
    pub magic: u64,
    /// Where it is mounted, as the place names it.
    pub mount_point: PathBuf,
    /// What is mounted there.
    pub source: String,
    /// Options of the mount, then those of the file system.
    pub options: Vec<String>,
}

impl FileSystem {
    /// Whether it is an overlay of layers.
    #[must_use]
    pub const fn is_overlay(&self) -> bool {
        self.magic == OVERLAY_MAGIC
    }

    fn new(magic: u64, mount: Option<&Mount>) -> Self {
        let word = |get: fn(&Mount) -> &String| {
            mount.map_or_else(|| "unknown".to_owned(), |m| get(m).clone())
        };
        Self {
            kind: word(|m| &m.fs_type),
            magic,
            mount_point: mount.map(|m| m.point.clone()).unwrap_or_default(),
            source: word(|m| &m.source),
            options: mount
                .map(|m| [m.options.as_slice(), &m.super_options].concat())
                .unwrap_or_default(),
        }
    }
}

/// Which filter a process's system calls pass through (`/proc/PID/status`, `Seccomp`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seccomp {
    /// None.
    Off,
    /// Only read, write and exit.
    Strict,
    /// A program decides on every call, which costs time on every call.
    Filter,
    /// The kernel or the engine does not tell.
    Unknown,
}

impl fmt::Display for Seccomp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Strict => "strict",
            Self::Filter => "filter",
            Self::Unknown => "unknown",
        })
    }
}

impl Seccomp {
    pub(crate) fn of(pid: Pid) -> Result<Self> {
        Ok(match status_field(pid, "Seccomp")?.as_deref() {
            Some("0") => Self::Off,
            Some("1") => Self::Strict,
            Some("2") => Self::Filter,
            _ => Self::Unknown,
        })
    }
}

impl PlaceFacts {
    /// What `pid`, which lives in the place, sees; `work_dir` as it names it.
    ///
    /// # Errors
    /// [`Error::NoProcess`] when it has ended; [`Error::File`] when we may not look or the work
    /// folder is not there.
    pub fn observe(place: &PlaceSpec, pid: Pid, work_dir: &Path) -> Result<Self> {
        let limits = CounterReader::of_process(pid)?.limits();
        Ok(Self {
            place: place.clone(),
            work_dir: work_dir.to_path_buf(),
            work: Some(file_system(pid, work_dir)?),
            root: Some(file_system(pid, Path::new("/"))?),
            kernel: kernel(),
            cpus: cpus(pid)?,
            cpu_quota_ns: limits.cpu_quota_ns,
            memory_limit_bytes: limits.memory_bytes,
            seccomp: Seccomp::of(pid)?,
            network: network(pid)?,
            notes: Vec::new(),
        })
    }
}

/// The file system on which a process finds `path`.
///
/// # Errors
/// As [`PlaceFacts::observe`].
pub fn file_system(pid: Pid, path: &Path) -> Result<FileSystem> {
    let error = |e: rustix::io::Errno| Error::file("inspect", path, e);
    let root = root_of(pid)?;
    let folder =
        openat2(root, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::IN_ROOT);
    let folder = folder.map_err(error)?;
    // The type of f_type differs between machines, its bits do not.
    let magic = u64::from_ne_bytes(fstatfs(&folder).map_err(error)?.f_type.to_ne_bytes());
    let mounts = mounts(Some(pid))?;
    // Kernels before 5.8 give no mount number; there the path must do.
    let numbered =
        statx(&folder, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok().map(|s| s.stx_mnt_id);
    let mount = mounts.iter().find(|m| Some(m.id) == numbered).or_else(|| mount_of(&mounts, path));
    Ok(FileSystem::new(magic, mount))
}

/// The network namespace of a process in words: `host` for ours, else its own with its interfaces but
/// loopback.
fn network(pid: Pid) -> Result<String> {
    let namespace = |who: &str| {
        let path = format!("/proc/{who}/ns/net");
        std::fs::read_link(&path).map_err(|e| Error::file("read", path, e))
    };
    if namespace(&pid.to_string())? == namespace("self")? {
        return Ok("host".to_owned());
    }
    let path = format!("/proc/{pid}/net/dev");
    let table = std::fs::read_to_string(&path).map_err(|e| Error::file("read", path, e))?;
    Ok(own_network(&table))
}

/// A network of its own, by the kernel's table of interfaces (`proc_pid_net(5)`): two lines of head,
/// then a name before a colon each.
fn own_network(table: &str) -> String {
    let names = table.lines().skip(2).filter_map(|line| line.split_once(':'));
    let names: Vec<&str> = names.map(|(name, _)| name.trim()).filter(|n| *n != "lo").collect();
    if names.is_empty() {
        "own, loopback only".to_owned()
    } else {
        format!("own, {}", names.join(" and "))
    }
}

/// The running kernel's release.
pub(crate) fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// How many CPUs a process may use.
fn cpus(pid: Pid) -> Result<u32> {
    Ok(procfs::allowed_cpus(&procfs::status(pid)?).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::{PlaceFacts, Seccomp, file_system, own_network};
    use crate::spec::PlaceSpec;
    use culprit_model::Pid;
    use std::path::Path;

    #[test]
    fn our_own_place_is_observed() {
        let facts =
            PlaceFacts::observe(&PlaceSpec::HOST, Pid(std::process::id()), Path::new("/proc"))
                .unwrap();
        let work = facts.work.unwrap();
        assert_eq!((work.kind.as_str(), work.magic), ("proc", 0x9fa0));
        assert_eq!(work.mount_point, Path::new("/proc"));
        assert!(facts.cpus >= 1);
        assert!(facts.kernel.contains('.'));
        assert_ne!(facts.seccomp, Seccomp::Unknown);
        assert_eq!(facts.network, "host");
    }

    #[test]
    fn a_network_of_its_own_is_told_by_its_interfaces() {
        let head = "Inter-| Receive\n face |bytes\n    lo: 0 0\n";
        assert_eq!(own_network(head), "own, loopback only");
        assert_eq!(own_network(&format!("{head}  eth0: 1 2\n")), "own, eth0");
        assert_eq!(own_network(""), "own, loopback only");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = file_system(Pid(std::process::id()), Path::new("/no/such")).unwrap_err();
        assert!(error.to_string().contains("/no/such"), "{error}");
    }
}
