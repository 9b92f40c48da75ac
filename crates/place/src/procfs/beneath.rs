//! Files below a folder that another process has: no link and no `..` leads out of the folder.
//!
//! `openat2(2)` with RESOLVE_BENEATH walks the path in the kernel, so that nobody can exchange a part of
//! it between a check and the opening. The folder is a descriptor: it stays the same when the process
//! changes its working folder or ends.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat2, readlinkat};
use rustix::io::Errno;

/// What a path below a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A device, a pipe or a socket.
    Other,
}

fn open(folder: impl AsFd, path: &Path, flags: OFlags) -> io::Result<File> {
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    // EAGAIN: something was renamed while the path was walked (openat2(2)).
    for _ in 0..8 {
        match openat2(&folder, path, flags | OFlags::CLOEXEC, Mode::empty(), beneath) {
            Ok(opened) => return Ok(File::from(opened)),
            Err(Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::AGAIN.into())
}

/// Opens a regular file below a folder for reading.
///
/// # Errors
/// [`io::ErrorKind::CrossesDevices`] if the path leads out of the folder; otherwise what the kernel
/// answers. What is not a regular file is [`io::ErrorKind::InvalidInput`].
pub fn open_beneath(folder: impl AsFd, path: &Path) -> io::Result<File> {
    // A pipe or a device is recognised before it is opened for reading.
    if entry_beneath(&folder, path)? != EntryKind::File {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    open(folder, path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)
}

/// What a path below a folder leads to; links are followed.
///
/// # Errors
/// As [`open_beneath`].
pub fn entry_beneath(folder: impl AsFd, path: &Path) -> io::Result<EntryKind> {
    let opened = open(folder, path, OFlags::PATH)?;
    Ok(match FileType::from_raw_mode(fstat(&opened)?.st_mode) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        _ => EntryKind::Other,
    })
}

/// What a link below a folder leads to, as it stands in the link; none if the path has no link.
///
/// # Errors
/// As [`open_beneath`].
pub fn link_beneath(folder: impl AsFd, path: &Path) -> io::Result<Option<PathBuf>> {
    let opened = open(folder, path, OFlags::PATH | OFlags::NOFOLLOW)?;
    if FileType::from_raw_mode(fstat(&opened)?.st_mode) != FileType::Symlink {
        return Ok(None);
    }
    let target = readlinkat(&opened, "", Vec::new())?;
    Ok(Some(PathBuf::from(OsString::from_vec(target.into_bytes()))))
}

/// Whether every user can read a file, as a process with this root names it: by its mode, and by those of
/// the folders that lead to it. What an access control list allows is not seen.
///
/// # Errors
/// What the kernel answers, where a part of the path is not there or may not be looked at.
pub fn is_open_to_all(root: impl AsFd, path: &Path) -> io::Result<bool> {
    let mode = |path: &Path, flags: OFlags| -> io::Result<Mode> {
        let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
        let opened = openat2(&root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)?;
        Ok(Mode::from_raw_mode(fstat(&opened)?.st_mode))
    };
    for folder in path.ancestors().skip(1) {
        let folder = if folder.as_os_str().is_empty() { Path::new("/") } else { folder };
        if !mode(folder, OFlags::DIRECTORY)?.contains(Mode::XOTH) {
            return Ok(false);
        }
    }
    Ok(mode(path, OFlags::empty())?.contains(Mode::ROTH))
}

/// The names in a folder below a folder, sorted.
///
/// # Errors
/// As [`open_beneath`].
pub fn names_beneath(folder: impl AsFd, path: &Path) -> io::Result<Vec<String>> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let opened = open(folder, path, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let entries = Dir::read_from(&opened)?.filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
    let mut names: Vec<String> = names.filter(|name| name != "." && name != "..").collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn paths_stay_below_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("in");
        std::fs::create_dir_all(inside.join("sub")).unwrap();
        std::fs::write(inside.join("sub/a"), "text").unwrap();
        std::fs::write(folder.path().join("outside"), "x").unwrap();
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(to, inside.join(name)).unwrap();
        };
        link("sub/a", "good");
        link("../outside", "up");
        link("/etc/passwd", "absolute");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            inside.join("pipe"),
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        let root = File::open(&inside).unwrap();
        let mut text = String::new();
        open_beneath(&root, Path::new("good")).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        for name in ["up", "absolute", "../outside", "sub/../../outside"] {
            let error = open_beneath(&root, Path::new(name)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::CrossesDevices, "{name}");
        }
        let error = open_beneath(&root, Path::new("pipe")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(entry_beneath(&root, Path::new("sub")).unwrap(), EntryKind::Folder);
        assert_eq!(names_beneath(&root, Path::new("")).unwrap().len(), 5);
        assert_eq!(names_beneath(&root, Path::new("sub")).unwrap(), ["a"]);
    }

    #[test]
    fn a_file_is_open_to_all_if_its_folders_are() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let file = folder.path().join("a");
        std::fs::write(&file, "text").unwrap();
        let root = File::open("/").unwrap();
        for (of_folder, of_file, open) in
            [(0o755, 0o644, true), (0o755, 0o640, false), (0o750, 0o644, false)]
        {
            let set = |path: &Path, mode| {
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
            };
            set(folder.path(), of_folder);
            set(&file, of_file);
            assert_eq!(is_open_to_all(&root, &file).unwrap(), open, "{of_folder:o} {of_file:o}");
        }
        assert!(is_open_to_all(&root, Path::new("/no such file")).is_err());
    }
}
