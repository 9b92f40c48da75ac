//! Another process's file system, opened so that no path leads out of it.
//!
//! `/proc/PID/root` is a door into the process's mount namespace; `openat2` with RESOLVE_IN_ROOT
//! takes every `..` and every absolute symbolic link as the process itself would, so that neither
//! a hostile link nor an innocent one leads to a file of the host.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use culprit_model::Pid;
use rustix::fs::{
    Access, AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, StatVfsMountFlags, StatxFlags,
    accessat, fstat, fstatvfs, openat, openat2, statx, unlinkat,
};

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

/// The working folder of a process. The descriptor keeps it reachable when the process has ended.
///
/// # Errors
/// As [`root_of`].
pub fn work_folder_of(pid: Pid) -> Result<OwnedFd> {
    let path = format!("/proc/{pid}/cwd");
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

/// A folder as a process with this root names it. The descriptor keeps it reachable when the process
/// and its mounts are gone.
///
/// # Errors
/// [`Error::File`] when there is none.
pub fn folder_in_root(root: impl AsFd, path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat2(&root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT);
    opened.map_err(|e| Error::file("open", path, e))
}

/// Whether we could make files in a folder of a process; false when one of them is gone.
pub(crate) fn can_write(pid: Pid, folder: &Path) -> bool {
    let folder = root_of(pid).and_then(|root| folder_in_root(root, folder));
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    folder.is_ok_and(|folder| accessat(folder, ".", wanted, AtFlags::EACCESS).is_ok())
}

/// Whether anybody (or root, where `as_root`) can make files in a folder of a process; false when one of
/// them is gone.
pub(crate) fn is_open(pid: Pid, folder: &Path, as_root: bool) -> bool {
    let folder = root_of(pid).and_then(|root| folder_in_root(root, folder));
    let Ok(folder) = folder else { return false };
    let mode = fstat(&folder).map(|stat| Mode::from_raw_mode(stat.st_mode));
    let mount = fstatvfs(&folder).map(|mount| mount.f_flag);
    let allowed = as_root || mode.is_ok_and(|mode| mode.contains(Mode::WOTH | Mode::XOTH));
    allowed && mount.is_ok_and(|flags| !flags.contains(StatVfsMountFlags::RDONLY))
}

/// When a regular file of a folder was made: `CLOCK_REALTIME`, ns. None where there is no such file, it
/// is something else, or the file system does not tell.
pub fn born_in(folder: impl AsFd, name: &str) -> Option<u64> {
    let wanted = StatxFlags::BTIME | StatxFlags::TYPE;
    let found = statx(&folder, name, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
    let told = StatxFlags::from_bits_truncate(found.stx_mask).contains(wanted);
    let regular = FileType::from_raw_mode(found.stx_mode.into()) == FileType::RegularFile;
    let seconds = u64::try_from(found.stx_btime.tv_sec).ok().filter(|_| told && regular)?;
    seconds.checked_mul(1_000_000_000)?.checked_add(found.stx_btime.tv_nsec.into())
}

/// The names of what is in a folder; none where it may not be read.
pub fn names_in(folder: impl AsFd) -> Vec<String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat(&folder, ".", flags, Mode::empty());
    let Ok(entries) = opened.and_then(Dir::new) else { return Vec::new() };
    let entries = entries.map_while(|entry| entry.ok());
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Removes a file of a folder.
///
/// # Errors
/// [`Error::File`] when it is not there or may not be removed.
pub fn remove_from(folder: impl AsFd, name: &str) -> Result<()> {
    unlinkat(&folder, name, AtFlags::empty()).map_err(|e| Error::file("remove", name, e))
}

#[cfg(test)]
mod tests {
    use super::{
        File, born_in, can_write, folder_in_root, is_open, names_in, open_in_root, remove_from,
        root_of, work_folder_of,
    };
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
    fn a_file_of_a_folder_has_an_age_and_can_be_removed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "x").unwrap();
        std::os::unix::fs::symlink("a", folder.path().join("link")).unwrap();
        let root = root_of(Pid(std::process::id())).unwrap();
        let opened = folder_in_root(&root, folder.path()).unwrap();
        assert!(folder_in_root(&root, &folder.path().join("a")).is_err());
        // Where the file system tells it: since 2020.
        assert!(born_in(&opened, "a").is_none_or(|born| born > 1_577_836_800_000_000_000));
        assert_eq!(born_in(&opened, "link"), None);
        assert_eq!(born_in(&opened, "no"), None);
        assert!(names_in(&opened).contains(&"a".to_owned()));
        remove_from(&opened, "a").unwrap();
        assert!(remove_from(&opened, "a").is_err());
        assert!(!folder.path().join("a").exists());
    }

    #[test]
    fn our_own_folder_for_temporary_files_is_open() {
        let us = Pid(std::process::id());
        let file = tempfile::NamedTempFile::new_in("/tmp");
        let tmp = Path::new("/tmp");
        assert_eq!(can_write(us, tmp), file.is_ok());
        assert!(!can_write(Pid(u32::MAX), tmp) && !is_open(Pid(u32::MAX), tmp, true));
        assert!(is_open(us, tmp, true) || !is_open(us, tmp, false));
        let here = names_in(work_folder_of(us).unwrap());
        assert!(here.contains(&"Cargo.toml".to_owned()), "{here:?}");
        let missing = Path::new("/no such folder");
        assert!(!can_write(us, missing) && !is_open(us, missing, true));
    }

    #[test]
    fn our_own_root_has_our_own_files() {
        let root = root_of(Pid(std::process::id())).unwrap();
        assert!(open_in_root(&root, Path::new("/proc/self/stat")).is_ok());
    }
}
