//! Another process's file system, opened so that no path leads out of it.
//!
//! `/proc/PID/root` is a door into the process's mount namespace; `openat2` with RESOLVE_IN_ROOT
//! takes every `..` and every absolute symbolic link as the process itself would, so that neither
//! a hostile link nor an innocent one leads to a file of the host.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use culprit_model::Pid;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};

use super::gone;
use crate::error::{Error, Result};

/// The root folder of a process. The descriptor keeps its file system reachable when the process
/// has ended.
///
/// # Errors
/// [`Error::NoProcess`] when it has ended; [`Error::File`] when it is another user's and we may
/// not look (that takes CAP_SYS_PTRACE).
pub fn root_of(pid: Pid) -> Result<OwnedFd> {
    let path = format!("/proc/{pid}/root");
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path.as_str(), flags, Mode::empty()).map_err(|e| gone(pid, path, e.into()))
}

/// Opens a file for reading as a process with this root names it. Waits for nothing: a FIFO or a
/// device behind the name is opened without blocking.
///
/// # Errors
/// [`Error::File`] when there is none, or it may not be read.
pub fn open_in_root(root: impl AsFd, path: &Path) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    // EAGAIN: something was renamed while the path was walked (openat2(2)); a few tries will do.
    let mut tries = 0;
    loop {
        match openat2(&root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
            Ok(fd) => return Ok(File::from(fd)),
            Err(rustix::io::Errno::AGAIN) if tries < 8 => tries += 1,
            Err(e) => return Err(Error::file("open", path, e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{File, open_in_root, root_of};
    use culprit_model::Pid;
    use std::io::Read;
    use std::path::Path;

    #[test]
    fn no_path_leads_out_of_the_root() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("inside"), "in").unwrap();
        std::os::unix::fs::symlink("/inside", folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("out")).unwrap();
        let root = File::open(folder.path()).unwrap();
        for path in ["inside", "/inside", "../../inside", "/link"] {
            let mut text = String::new();
            open_in_root(&root, Path::new(path)).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "in", "{path}");
        }
        assert!(open_in_root(&root, Path::new("/out")).is_err());
        assert!(open_in_root(&root, Path::new("../etc/passwd")).is_err());
    }

    #[test]
    fn our_own_root_has_our_own_files() {
        let root = root_of(Pid(std::process::id())).unwrap();
        assert!(open_in_root(&root, Path::new("/proc/self/stat")).is_ok());
    }
}
