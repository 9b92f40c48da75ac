//! Opens the files of executable mappings while their processes live.
//!
//! A container's program is reachable only through a process that lives in it, and a short process
//! may be gone within microseconds of its mapping. So the reader thread opens each new file at
//! once, through the process's own root with RESOLVE_IN_ROOT, and hands the descriptor on; it is
//! read later. A file is opened once per build id, not once per process.

use std::fs::File;
use std::path::Path;

use culprit_model::Pid;
use culprit_place::procfs;
use rustc_hash::FxHashSet;

/// A mapped file, opened or not.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    /// Whose mapping it was.
    pub(crate) pid: i32,
    /// Path as that process's root sees it.
    pub(crate) path: String,
    /// Build id that the kernel read from the mapped file itself; empty when unknown.
    pub(crate) build_id: Vec<u8>,
    /// The file, or why it could not be opened.
    pub(crate) file: Result<File, culprit_place::Error>,
}

/// Remembers what has been opened.
#[derive(Debug, Default)]
pub(crate) struct FileOpener {
    by_build_id: FxHashSet<Box<[u8]>>,
    by_process: FxHashSet<(i32, Box<[u8]>)>,
    fallback_roots: Vec<i32>,
}

impl FileOpener {
    /// Processes through whose roots a file is looked for when its own process is gone: those that
    /// live as long as the recording.
    pub(crate) fn with_fallback_roots(pids: Vec<i32>) -> Self {
        Self { fallback_roots: pids, ..Self::default() }
    }

    /// A process mapped a file: opens it unless that has been done. None for what is no file.
    pub(crate) fn see(&mut self, pid: i32, build_id: &[u8], path: &[u8]) -> Option<OpenedFile> {
        if !path.starts_with(b"/") || path.starts_with(b"//anon") || path.starts_with(b"/memfd:") {
            return None;
        }
        let new = if build_id.is_empty() {
            self.by_process.insert((pid, path.into()))
        } else {
            self.by_build_id.insert(build_id.into())
        };
        if !new {
            return None;
        }
        let path = String::from_utf8_lossy(path).into_owned();
        let file = self.open(pid, build_id, Path::new(&path));
        if file.is_err() && !build_id.is_empty() {
            // Another process may map it while it lives.
            self.by_build_id.remove(build_id);
        }
        Some(OpenedFile { pid, path, build_id: build_id.to_vec(), file })
    }

    /// Tries the process itself, then the others: the build id tells later whether it is the same
    /// file, so without one only the process's own root will do.
    fn open(&self, pid: i32, build_id: &[u8], path: &Path) -> Result<File, culprit_place::Error> {
        let own = open_through(pid, path);
        if own.is_ok() || build_id.is_empty() {
            return own;
        }
        let others = self.fallback_roots.iter().map(|other| open_through(*other, path));
        others.filter_map(Result::ok).next().ok_or(()).or(own)
    }
}

fn open_through(pid: i32, path: &Path) -> Result<File, culprit_place::Error> {
    let root = procfs::root_of(Pid(u32::try_from(pid).unwrap_or(0)))?;
    procfs::open_in_root(root, path)
}

/// Opens a file that a process which lives has mapped. None for what is no file.
pub(crate) fn open_now(pid: i32, path: &str) -> Option<OpenedFile> {
    FileOpener::default().see(pid, &[], path.as_bytes())
}
