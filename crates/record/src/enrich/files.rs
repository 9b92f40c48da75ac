//! Opens the files of executable mappings while their processes live.
//!
//! A container's program is reachable only through a process that lives in it, and a short process
//! may be gone within microseconds of its mapping. So the reader thread opens each new file at
//! once, through the process's own root with RESOLVE_IN_ROOT, and hands the descriptor on; it is
//! read later. A file is opened once, not once per process.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use culprit_kernel::MappedFile;
use culprit_model::Pid;
use culprit_place::procfs;
use rustc_hash::FxHashSet;

use crate::symbolize::modules::MEMORY_FILE;

/// A mapped file, opened or not.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    /// Whose mapping it was.
    pub(crate) pid: i32,
    /// Path as that process's root sees it.
    pub(crate) path: String,
    /// What the kernel mapped; none when unknown.
    pub(crate) mapped: Option<MappedFile>,
    /// The file, or why it could not be opened.
    pub(crate) file: Result<File, culprit_place::Error>,
}

/// Remembers what has been opened.
#[derive(Debug, Default)]
pub(crate) struct FileOpener {
    by_file: FxHashSet<(MappedFile, Box<[u8]>)>,
    by_process: FxHashSet<(i32, Box<[u8]>)>,
    roots: Vec<Root>,
}

/// The root of a process that may have ended since: its descriptor keeps the file system reachable.
#[derive(Debug)]
struct Root {
    fd: OwnedFd,
    /// Device and number, by which roots are told apart.
    identity: (u64, u64),
}

/// Roots that are kept: one a container, and a recording has few.
const MOST_ROOTS: usize = 16;

impl FileOpener {
    /// Keeps the roots of these processes, which live now: files are looked for there when the
    /// process that mapped them is gone.
    pub(crate) fn keeping_roots_of(pids: &[i32]) -> Self {
        let mut opener = Self::default();
        pids.iter().filter_map(|pid| root_of(*pid).ok()).for_each(|root| opener.keep(root));
        opener
    }

    fn keep(&mut self, fd: OwnedFd) {
        let Ok(stat) = rustix::fs::fstat(&fd) else { return };
        let identity = (stat.st_dev, stat.st_ino);
        let known = self.roots.iter().any(|root| root.identity == identity);
        if !known && self.roots.len() < MOST_ROOTS {
            self.roots.push(Root { fd, identity });
        }
    }

    /// A process mapped a file: opens it unless that has been done. None for what is no file.
    pub(crate) fn see(
        &mut self,
        pid: i32,
        mapped: Option<MappedFile>,
        path: &[u8],
    ) -> Option<OpenedFile> {
        if !path.starts_with(b"/") || path.starts_with(b"//anon") {
            return None;
        }
        let new = match mapped {
            Some(file) => self.by_file.insert((file, path.into())),
            None => self.by_process.insert((pid, path.into())),
        };
        if !new {
            return None;
        }
        let bytes = path;
        let path = String::from_utf8_lossy(path).into_owned();
        if path.starts_with(MEMORY_FILE) {
            // Code that a program generates lies in such files, too; then there is no program in it.
            let file = Ok(program_in_memory(pid, &path)?);
            return Some(OpenedFile { pid, path, mapped, file });
        }
        let file = self.open(pid, mapped, Path::new(&path));
        if file.is_err()
            && let Some(mapped) = mapped
        {
            // Another process may map it while it lives.
            self.by_file.remove(&(mapped, bytes.into()));
        }
        Some(OpenedFile { pid, path, mapped, file })
    }

    /// Tries the process itself, then the roots that are kept. In those, only a file with the inode that was
    /// mapped will do.
    fn open(
        &mut self,
        pid: i32,
        mapped: Option<MappedFile>,
        path: &Path,
    ) -> Result<File, culprit_place::Error> {
        let own = root_of(pid).and_then(|root| {
            let file = procfs::open_in_root(&root, path);
            self.keep(root);
            file
        });
        let Some(mapped) = mapped.filter(|_| own.is_err()) else { return own };
        let kept = self.roots.iter().filter_map(|root| procfs::open_in_root(&root.fd, path).ok());
        // Not the device: what the kernel gives for files of an overlay is not what fstat gives, before Linux 6.17.
        let is_it = |file: &File| file.metadata().is_ok_and(|found| found.ino() == mapped.inode);
        { kept }.find(is_it).ok_or(()).or(own)
    }
}

/// A program or library that a process runs from a file in memory, as container runtimes run copies
/// of themselves. No path leads to it but those that the kernel shows of the process: its program,
/// and (for root) each of its mappings.
fn program_in_memory(pid: i32, path: &str) -> Option<File> {
    let link = PathBuf::from(format!("/proc/{pid}/exe"));
    let is_it = |link: &PathBuf| std::fs::read_link(link).is_ok_and(|to| to == Path::new(path));
    let of_mapping = || {
        let maps = procfs::maps(Pid(u32::try_from(pid).unwrap_or(0))).ok()?;
        let map = maps.into_iter().find(|map| map.path == path)?;
        let range = format!("/proc/{pid}/map_files/{:x}-{:x}", map.range.start, map.range.end);
        Some(PathBuf::from(range)).filter(is_it)
    };
    let found = Some(link).filter(is_it).or_else(of_mapping)?;
    let file = File::open(found).ok()?;
    let mut magic = [0; 4];
    file.read_exact_at(&mut magic, 0).ok()?;
    (&magic == b"\x7fELF").then_some(file)
}

fn root_of(pid: i32) -> Result<OwnedFd, culprit_place::Error> {
    procfs::root_of(Pid(u32::try_from(pid).unwrap_or(0)))
}

/// Opens a file that a process which lives has mapped. None for what is no file.
pub(crate) fn open_now(pid: i32, path: &str) -> Option<OpenedFile> {
    FileOpener::default().see(pid, None, path.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_process_that_is_gone_is_found_through_a_root_that_is_kept() {
        let ours = i32::try_from(std::process::id()).expect("a number");
        let mut opener = FileOpener::keeping_roots_of(&[ours]);
        let program = std::env::current_exe().expect("a path");
        let inode = std::fs::metadata(&program).expect("it runs").ino();
        let program = program.to_str().expect("UTF-8").as_bytes();
        let mapped = |inode| Some(MappedFile { device: 1, inode, generation: 2 });
        // No process has this number.
        let found = opener.see(i32::MAX, mapped(inode), program).expect("a path");
        assert!(found.file.is_ok());
        let other = opener.see(i32::MAX, mapped(inode + 1), program).expect("a path");
        assert!(other.file.is_err(), "another file has this path now");
        // Nothing tells whether it is the same file.
        let unknown = opener.see(i32::MAX, None, program).expect("a path");
        assert!(unknown.file.is_err());
    }

    /// A program of a file in memory is opened, generated code in one is none.
    #[test]
    fn programs_in_memory_are_told_from_generated_code() {
        use std::io::Write as _;
        use std::os::fd::AsRawFd as _;
        let in_memory = |name: &str, bytes: &[u8]| {
            let flags = rustix::fs::MemfdFlags::CLOEXEC;
            let mut file = File::from(rustix::fs::memfd_create(name, flags).expect("memory"));
            file.write_all(bytes).expect("memory");
            file
        };
        let program = std::fs::read("/bin/sleep").expect("coreutils");
        let file = in_memory("copied", &program);
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        // The descriptor closes with the execve that it is used for.
        #[expect(clippy::disallowed_methods, reason = "a program of no path")]
        let mut child = std::process::Command::new(path).arg("600").spawn().expect("it runs");
        let pid = i32::try_from(child.id()).expect("a number");
        let seen = FileOpener::default().see(pid, None, b"/memfd:copied (deleted)");
        let other = FileOpener::default().see(pid, None, b"/memfd:doublemapper (deleted)");
        child.kill().expect("it lives");
        child.wait().expect("it ends");
        let opened = seen.expect("it is a program").file.expect("it can be read");
        assert_eq!(opened.metadata().expect("it is open").len(), program.len() as u64);
        assert!(other.is_none());
    }
}
