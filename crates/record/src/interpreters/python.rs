//! One process's CPython.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use culprit_place::procfs::{self, Mapping};
use culprit_symbols::runtimes::cpython::{
    CPython, CPythonError, CPythonProgram, CodeId, PyFrame, find_cpython,
};
use culprit_symbols::runtimes::{MemoryPiece, ProcessMemory, Unreadable};
use culprit_symbols::{FileOffset, ModuleImage};
use rustc_hash::FxHashMap;

use super::{Interpreted, LONGEST, MILLISECOND, SHORTEST};
use crate::clock::monotonic_ns;
use crate::decode::Task;
use crate::modules::kernel_pid;
use crate::poller::{Polled, Reading};
use crate::sys::read_process;

/// So often the threads of a process are listed.
const LIST: u64 = 10 * MILLISECOND;

/// The function that runs Python's code: on the native stack once a call from C to Python.
const LOOP: &str = "_PyEval_EvalFrameDefault";

/// What files have an interpreter in them, by device and number: each is looked at once.
#[derive(Debug, Default)]
pub(super) struct Programs(FxHashMap<((u32, u32), u64), Option<Found>>);

/// An interpreter in a file.
#[derive(Debug, Clone, Copy)]
struct Found {
    program: CPythonProgram,
    /// Where the file's first executable piece belongs, as its own symbols count.
    text: (u64, u64),
}

/// A process's memory.
#[derive(Debug)]
struct Memory {
    pid: i32,
    /// `/proc/PID/mem`: of the program that the process ran when it was opened.
    file: File,
}

/// Parts that one call reads (`IOV_MAX`).
const MOST_PIECES: usize = 1024;

impl ProcessMemory for Memory {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        self.read_pieces(&mut [MemoryPiece { address, into }])
    }

    fn read_pieces(&self, pieces: &mut [MemoryPiece<'_>]) -> Result<(), Unreadable> {
        for pieces in pieces.chunks_mut(MOST_PIECES) {
            let wanted: usize = pieces.iter().map(|piece| piece.into.len()).sum();
            let read = read_process(self.pid, pieces);
            if read.ok() != Some(wanted) {
                return Err(self.why(pieces));
            }
        }
        Ok(())
    }
}

impl Memory {
    /// Why parts cannot be read. The file says whether the address space is gone: the process's number
    /// leads to that of the next program.
    fn why(&self, pieces: &mut [MemoryPiece<'_>]) -> Unreadable {
        let failed = pieces.iter_mut().find_map(|piece| {
            self.file.read_exact_at(piece.into, piece.address).err().map(|error| error.kind())
        });
        match failed {
            Some(std::io::ErrorKind::UnexpectedEof) => Unreadable::Ended,
            Some(std::io::ErrorKind::PermissionDenied) => Unreadable::Denied,
            _ => Unreadable::Unmapped,
        }
    }
}

/// An interpreter that is read.
#[derive(Debug)]
pub(super) struct Python {
    memory: Memory,
    python: CPython,
    /// The process's threads, and when they are listed next.
    tids: BTreeSet<i32>,
    list_due: u64,
    threads: FxHashMap<i32, Thread>,
    functions: FxHashMap<CodeId, (Arc<str>, Arc<str>)>,
    scratch: Vec<PyFrame>,
}

/// What is known of a thread.
#[derive(Debug)]
struct Thread {
    /// Its number as its own namespace counts.
    own: u32,
    /// When it is read next, and the pause after that.
    due: u64,
    pause: u64,
    frames: Vec<PyFrame>,
    told: Arc<[Interpreted]>,
}

/// The interpreter of a process; none where it has none, or has not started it yet.
///
/// # Errors
/// Why the interpreter cannot be read, in words.
pub(super) fn find(pid: i32, programs: &mut Programs) -> Result<Option<Python>, String> {
    let Ok(maps) = procfs::maps(kernel_pid(pid)) else { return Ok(None) };
    let code = maps.iter().filter(|map| map.execute && map.path.starts_with('/'));
    let main = code.clone().next().map(|map| &map.path);
    let wanted = code.filter(|map| Some(&map.path) == main || names_python(&map.path));
    for map in wanted {
        let Some(found) = programs.of(pid, map) else { continue };
        let (offset, address) = found.text;
        let moved = map.range.start.wrapping_sub(map.offset).wrapping_add(offset);
        let runtime = moved.wrapping_sub(address).wrapping_add(found.program.runtime.0);
        return match open(pid, runtime, found.program.version) {
            Ok(python) => Ok(Some(python)),
            Err(Trouble::Later) => Ok(None),
            Err(Trouble::Never(why)) => Err(format!("{}: {why}", map.path)),
        };
    }
    Ok(None)
}

/// Why an interpreter is not read.
enum Trouble {
    /// It may have started later.
    Later,
    Never(String),
}

fn open(pid: i32, runtime: u64, version: Option<(u8, u8)>) -> Result<Python, Trouble> {
    let memory = match procfs::memory(kernel_pid(pid)) {
        Ok(file) => Memory { pid, file },
        Err(culprit_place::Error::NoProcess { .. }) => return Err(Trouble::Later),
        Err(error) => return Err(Trouble::Never(error.to_string())),
    };
    let python = CPython::find(&memory, runtime, version).map_err(|error| {
        if error.is_transient() { Trouble::Later } else { Trouble::Never(error.to_string()) }
    })?;
    Ok(Python {
        memory,
        python,
        tids: BTreeSet::new(),
        list_due: 0,
        threads: FxHashMap::default(),
        functions: FxHashMap::default(),
        scratch: Vec::new(),
    })
}

fn names_python(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.contains("python"))
}

impl Programs {
    fn of(&mut self, pid: i32, map: &Mapping) -> Option<Found> {
        let key = (map.device, map.inode);
        *self.0.entry(key).or_insert_with(|| look(pid, map))
    }
}

fn look(pid: i32, map: &Mapping) -> Option<Found> {
    let root = procfs::root_of(kernel_pid(pid)).ok()?;
    let open = || procfs::open_in_root(&root, Path::new(&map.path)).ok();
    let program = find_cpython(open()?, &map.path).ok()??;
    let image = ModuleImage::open(open()?, &map.path, None).ok()?;
    let text = image.mapping_svma(FileOffset(map.offset))?;
    Some(Found { program, text: (map.offset, text.0) })
}

impl Python {
    /// What the threads run that are due.
    ///
    /// # Errors
    /// When the process's memory is gone.
    pub(super) fn read(&mut self, readings: &mut Vec<Reading>) -> Result<(), Unreadable> {
        let pid = self.memory.pid;
        let now = monotonic_ns();
        if now >= self.list_due {
            self.list_due = now + LIST;
            let listed = procfs::threads(kernel_pid(pid)).map_err(|_| Unreadable::Ended)?;
            self.tids = listed.into_iter().filter_map(|tid| i32::try_from(tid.0).ok()).collect();
            self.threads.retain(|tid, _| self.tids.contains(tid));
        }
        let tids = std::mem::take(&mut self.tids);
        let mut read = || {
            for tid in &tids {
                readings.extend(self.read_thread(Task { pid, tid: *tid })?);
            }
            Ok(())
        };
        let result = read();
        self.tids = tids;
        result
    }

    /// What a thread runs; none when it is not due, or runs no Python, or ran on while it was read.
    fn read_thread(&mut self, task: Task) -> Result<Option<Reading>, Unreadable> {
        let Some(thread) = self.thread(task) else { return Ok(None) };
        let began = monotonic_ns();
        if began < thread.due {
            return Ok(None);
        }
        let own = thread.own;
        let mut frames = std::mem::take(&mut self.scratch);
        let look = self.python.look_at(&self.memory, own, &mut frames);
        let at = monotonic_ns();
        let whole = match &look {
            Err(CPythonError::Memory { reason, .. }) if *reason != Unreadable::Unmapped => {
                return Err(*reason);
            }
            Ok(Some(look)) => !look.changed,
            _ => false,
        };
        let same = self.threads.get(&task.tid).is_some_and(|known| known.frames == frames);
        let told = if whole && !same { Some(self.told(&frames)) } else { None };
        let Some(thread) = self.threads.get_mut(&task.tid) else { return Ok(None) };
        let calm = same || !matches!(look, Ok(Some(_)));
        thread.pause = if calm { (2 * thread.pause).min(LONGEST) } else { SHORTEST };
        thread.due = at + thread.pause;
        if let Some(told) = told {
            thread.told = told;
            std::mem::swap(&mut thread.frames, &mut frames);
        }
        let what = Polled::Interpreted {
            task,
            took: at.saturating_sub(began),
            frames: Arc::clone(&thread.told),
        };
        self.scratch = frames;
        Ok(whole.then_some(Reading { at: began, what }))
    }

    fn thread(&mut self, task: Task) -> Option<&Thread> {
        match self.threads.entry(task.tid) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(place) => {
                let numbers = procfs::namespace_pids(kernel_pid(task.tid)).ok()?;
                Some(place.insert(Thread {
                    own: numbers.last()?.0,
                    due: 0,
                    pause: SHORTEST,
                    frames: Vec::new(),
                    told: Arc::new([]),
                }))
            }
        }
    }

    /// The frames with their names.
    fn told(&mut self, frames: &[PyFrame]) -> Arc<[Interpreted]> {
        let Self { python, functions, .. } = self;
        let frame = |frame: &PyFrame| match *frame {
            PyFrame::Entry => Some(Interpreted::Loop(LOOP)),
            PyFrame::Code { code, line } => {
                let known = match functions.get(&code) {
                    Some(known) => known,
                    None => {
                        let found = python.code(code)?;
                        let names = (found.qualname.as_str().into(), found.file.as_str().into());
                        functions.entry(code).or_insert(names)
                    }
                };
                let (name, file) = (Arc::clone(&known.0), Arc::clone(&known.1));
                Some(Interpreted::Function { name, file, line })
            }
        };
        frames.iter().filter_map(frame).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::names_python;

    #[test]
    fn libraries_of_python_are_known_by_name() {
        assert!(names_python("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0"));
        assert!(names_python("/usr/bin/python3"));
        assert!(!names_python("/opt/python/lib/libc.so.6"));
    }
}
