//! The image behind `@host`: empty but for what a root needs, so that the host's own programs,
//! mounted read-only, run on the engine's layers and in its namespaces.
//!
//! Where the host has `/bin -> usr/bin` the image has the same link; where it has a folder, that
//! folder is mounted. The image is a tar archive of links and empty folders, about 10 KiB, which
//! the engine takes in 0.2 s.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Folders of the host with programs and what they need, where they exist.
const PROGRAMS: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt"];

/// Empty folders that programs expect, with their modes.
const FOLDERS: &[(&str, u32)] = &[
    ("root", 0o700),
    ("run", 0o755),
    ("tmp", 0o1777),
    ("var", 0o755),
    ("var/lib", 0o755),
    ("var/log", 0o755),
    ("var/tmp", 0o1777),
];

/// What the image has and what is mounted into it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HostRoot {
    /// Name below `/` and target of each link.
    links: Vec<(PathBuf, PathBuf)>,
    /// Folders of the host to mount, read-only, at the same place.
    pub(super) mounts: Vec<PathBuf>,
}

impl HostRoot {
    /// Looks at this host.
    pub(super) fn look() -> Result<Self> {
        Self::look_below(Path::new("/"))
    }

    fn look_below(root: &Path) -> Result<Self> {
        let mut found = Self::default();
        for name in PROGRAMS.iter().map(Path::new) {
            let below = name.strip_prefix("/").unwrap_or(name);
            let path = root.join(below);
            match fs::symlink_metadata(&path) {
                Err(_) => {}
                Ok(shown) if shown.is_symlink() => {
                    let to = fs::read_link(&path).map_err(|e| Error::file("read", &path, e))?;
                    found.links.push((below.to_path_buf(), to));
                }
                Ok(_) => found.mounts.push(name.to_path_buf()),
            }
        }
        Ok(found)
    }

    /// The image as a tar archive.
    pub(super) fn archive(&self) -> Vec<u8> {
        let mut tar = Vec::new();
        for (name, mode) in FOLDERS {
            tar.extend(header(Path::new(name), *mode, Kind::Folder));
        }
        for (name, to) in &self.links {
            tar.extend(header(name, 0o777, Kind::Link(to)));
        }
        // Two empty blocks end an archive.
        tar.resize(tar.len() + 2 * BLOCK, 0);
        tar
    }
}

/// Size of everything in a tar archive.
pub(super) const BLOCK: usize = 512;

#[derive(Clone, Copy)]
pub(super) enum Kind<'a> {
    /// With so many bytes.
    File(u64),
    Folder,
    Link(&'a Path),
}

/// A header of the ustar format (POSIX pax, "ustar Interchange Format"). Names here are shorter
/// than its 100 bytes; owner and time are zero, so that the same host gives the same bytes.
pub(super) fn header(name: &Path, mode: u32, kind: Kind<'_>) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_os_str().as_bytes());
    put(100, format!("{mode:07o}").as_bytes());
    for number in [108, 116] {
        put(number, b"0000000");
    }
    let bytes = if let Kind::File(bytes) = kind { bytes } else { 0 };
    put(124, format!("{bytes:011o}").as_bytes());
    put(136, b"00000000000");
    // The sum is taken with its own field as spaces.
    put(148, b"        ");
    match kind {
        Kind::File(_) => put(156, b"0"),
        Kind::Folder => put(156, b"5"),
        Kind::Link(to) => {
            put(156, b"2");
            put(157, to.as_os_str().as_bytes());
        }
    }
    put(257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|b| u32::from(*b)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, HostRoot};
    use std::path::Path;

    #[test]
    fn links_are_copied_and_folders_mounted() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("usr/bin")).unwrap();
        std::fs::create_dir(root.path().join("etc")).unwrap();
        std::os::unix::fs::symlink("usr/bin", root.path().join("bin")).unwrap();
        let found = HostRoot::look_below(root.path()).unwrap();
        assert_eq!(found.links, [("bin".into(), "usr/bin".into())]);
        assert_eq!(found.mounts, [Path::new("/usr"), Path::new("/etc")]);
    }

    #[test]
    fn the_archive_is_whole_blocks_with_right_sums() {
        let root = HostRoot { links: vec![("bin".into(), "usr/bin".into())], mounts: Vec::new() };
        let tar = root.archive();
        assert_eq!(tar.len() % BLOCK, 0);
        assert_eq!(tar, root.archive(), "same input, same bytes");
        let blocks: Vec<_> = tar.chunks(BLOCK).take_while(|b| b[0] != 0).collect();
        let last = blocks.last().unwrap();
        assert!(last.starts_with(b"bin\0") && last[157..].starts_with(b"usr/bin\0"));
        for block in blocks {
            let sum: u32 = block
                .iter()
                .enumerate()
                .map(|(i, b)| match i {
                    148..156 => u32::from(b' '),
                    _ => u32::from(*b),
                })
                .sum();
            assert_eq!(&block[148..154], format!("{sum:06o}").as_bytes());
        }
    }
}
