//! One step on the way from a copy of the host's mounts to the sandbox's root.
//!
//! Steps are planned beforehand and run by the sandbox's first process between fork and its life
//! as pid 1, where only system calls may be made (`signal-safety(7)`): so every path is a C string
//! already, and [`Step::run`] allocates nothing.

use std::ffi::CString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatVfsMountFlags, statvfs};
use rustix::io::{Errno, Result};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};

use crate::error::Error;

/// What is done; each arm is one or two system calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// No mount made from here on shows outside.
    Private,
    /// A file system of its own type on `target`: proc, tmpfs.
    Mount { kind: CString, target: CString, data: CString },
    /// An overlay on `lower`. Where the kernel refuses that layer: `lower` itself, read-only, unless
    /// the work folder lies on it, when nothing else will do.
    Overlay { lower: CString, target: CString, data: CString, needed: bool },
    /// A folder or file of the host with everything mounted below it.
    Bind { source: CString, target: CString },
    /// The same, for reading only; nothing where it is gone meanwhile.
    BindReadOnly { source: CString, target: CString },
    /// A folder in the new root.
    Folder { path: CString, mode: u32 },
    /// An empty file in the new root, for a file to be bound onto.
    File { path: CString },
    /// A symbolic link in the new root.
    Link { to: CString, path: CString },
    /// The new root becomes the root, and the old one is out of reach.
    Enter { root: CString },
}

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// What it says.
    Done,
    /// Its second choice: read-only instead of an overlay, for this reason.
    ReadOnly(Errno),
    /// Nothing, for this reason; the sandbox does without.
    LeftOut(Errno),
}

impl Step {
    /// Does it. An overlay is taken as far as it goes, and what was removed from the host since it was
    /// looked at is left out; every other refusal is an error.
    pub(crate) fn run(&self) -> Result<Outcome> {
        match self {
            Self::Private => {
                mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
            }
            Self::Mount { kind, target, data } => {
                let flags = MountFlags::NOSUID | MountFlags::NODEV;
                mount(kind.as_c_str(), target.as_c_str(), kind.as_c_str(), flags, data.as_c_str())
            }
            Self::Overlay { lower, target, data, needed } => {
                return overlay(lower, target, data, *needed);
            }
            Self::Bind { source, target } => {
                mount_bind_recursive(source.as_c_str(), target.as_c_str())
            }
            Self::BindReadOnly { source, target } => match bind_read_only(source, target) {
                Err(Errno::NOENT) => return Ok(left_out(target)),
                bound => bound,
            },
            Self::Folder { path, mode } => {
                rustix::fs::mkdir(path.as_c_str(), Mode::from_raw_mode(*mode))
            }
            Self::File { path } => {
                let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
                rustix::fs::open(path.as_c_str(), flags, Mode::from_raw_mode(0o644)).map(drop)
            }
            Self::Link { to, path } => rustix::fs::symlink(to.as_c_str(), path.as_c_str()),
            Self::Enter { root } => enter(root),
        }?;
        Ok(Outcome::Done)
    }
}

fn overlay(lower: &CString, target: &CString, data: &CString, needed: bool) -> Result<Outcome> {
    let overlay = c"overlay";
    let flags = MountFlags::empty();
    match mount(overlay, target.as_c_str(), overlay, flags, data.as_c_str()) {
        Ok(()) => Ok(Outcome::Done),
        Err(why) if needed => Err(why),
        Err(why) => Ok(match bind_read_only(lower, target) {
            Ok(()) => Outcome::ReadOnly(why),
            Err(Errno::NOENT) => left_out(target),
            Err(_) => Outcome::LeftOut(why),
        }),
    }
}

/// Takes away what was made for something that the host has no more: an empty file or folder would
/// say that it is there.
fn left_out(target: &CString) -> Outcome {
    for flags in [AtFlags::empty(), AtFlags::REMOVEDIR] {
        // One of both fails; where both do, there is nothing to take away.
        let _ = rustix::fs::unlinkat(CWD, target.as_c_str(), flags);
    }
    Outcome::LeftOut(Errno::NOENT)
}

/// A read-only bind takes two calls (`mount(2)`), and in a user namespace the second must repeat
/// the restrictions that the source has.
fn bind_read_only(source: &CString, target: &CString) -> Result<()> {
    mount_bind_recursive(source.as_c_str(), target.as_c_str())?;
    let has = statvfs(target.as_c_str())?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for (from, to) in [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if has.contains(from) {
            flags |= to;
        }
    }
    mount_remount(target.as_c_str(), flags, c"")
}

/// `pivot_root(2)`, "pivot_root(\".\", \".\")": the old root ends up below the new one, on the same
/// folder, and is taken off from there.
fn enter(root: &CString) -> Result<()> {
    rustix::process::chdir(root.as_c_str())?;
    rustix::process::pivot_root(c".", c".")?;
    unmount(c".", UnmountFlags::DETACH)?;
    rustix::process::chdir(c"/")
}

/// A path as the kernel takes it.
pub(super) fn path(path: &Path) -> std::result::Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::Nul { what: "a path of the sandbox" })
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Private => f.write_str("make the mounts private"),
            Self::Mount { kind, target, .. } => {
                write!(f, "mount {} on {}", kind.display(), target.display())
            }
            Self::Overlay { lower, .. } => write!(f, "mount an overlay on {}", lower.display()),
            Self::Bind { source, .. } => write!(f, "bind {}", source.display()),
            Self::BindReadOnly { source, .. } => write!(f, "bind {} read-only", source.display()),
            Self::Folder { path, .. } => write!(f, "create the folder {}", path.display()),
            Self::File { path } => write!(f, "create the file {}", path.display()),
            Self::Link { path, .. } => write!(f, "create the link {}", path.display()),
            Self::Enter { root } => write!(f, "make {} the root", root.display()),
        }
    }
}

trait Shown {
    fn display(&self) -> std::borrow::Cow<'_, str>;
}

impl Shown for CString {
    fn display(&self) -> std::borrow::Cow<'_, str> {
        self.to_string_lossy()
    }
}

#[cfg(test)]
mod tests {
    use super::{Errno, Outcome, Step, path};

    #[test]
    fn what_is_gone_from_the_host_is_left_out() {
        if !crate::sandbox::state::may_mount().unwrap() {
            return culprit_testkit::skip(
                "what_is_gone_from_the_host_is_left_out",
                "the right to mount (CAP_SYS_ADMIN)",
            );
        }
        let folder = tempfile::tempdir().unwrap();
        let source = path(&folder.path().join("gone")).unwrap();
        for name in ["file", "folder"] {
            let target = path(&folder.path().join(name)).unwrap();
            let make = match name {
                "file" => Step::File { path: target.clone() },
                _ => Step::Folder { path: target.clone(), mode: 0o755 },
            };
            assert_eq!(make.run(), Ok(Outcome::Done));
            let bind = Step::BindReadOnly { source: source.clone(), target };
            assert_eq!(bind.run(), Ok(Outcome::LeftOut(Errno::NOENT)));
            assert!(!folder.path().join(name).exists(), "nothing says that it is there");
        }
    }
}
