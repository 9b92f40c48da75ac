//! One process's CPython.

use std::sync::Arc;

use culprit_place::procfs::Mapping;
use culprit_symbols::runtimes::Unreadable;
use culprit_symbols::runtimes::cpython::{
    CPython, CPythonError, CPythonProgram, CodeId, PyFrame, find_cpython,
};
use rustc_hash::FxHashMap;

use super::memory::Memory;
use super::programs::{Programs, candidates};
use super::watched::{Look, Seen, Watched};
use super::{Interpreted, Interpreter, Trouble};

/// The function that runs Python's code: on the native stack once a call from C to Python.
const LOOP: &str = "_PyEval_EvalFrameDefault";

/// An interpreter, and the functions that were met: name and file.
#[derive(Debug)]
struct Python {
    python: CPython,
    functions: FxHashMap<CodeId, (Arc<str>, Arc<str>)>,
}

/// The interpreter of a process; none where it has none.
///
/// # Errors
/// Why the interpreter cannot be read, or not yet.
pub(super) fn find(
    pid: i32,
    maps: &[Mapping],
    programs: &mut Programs<CPythonProgram>,
) -> Result<Option<Box<dyn Interpreter>>, Trouble> {
    let parse = |file, path: &str| find_cpython(file, path).ok().flatten();
    for map in candidates(maps, |name| name.contains("python")) {
        let Some(found) = programs.of(pid, map, parse) else { continue };
        let memory = Memory::open(pid)?;
        let runtime = found.address(map, found.program.runtime.0);
        let python = CPython::find(&memory, runtime, found.program.version)
            .map_err(|error| trouble(&error, &map.path))?;
        let look = Python { python, functions: FxHashMap::default() };
        return Ok(Some(Box::new(Watched::new(memory, look))));
    }
    Ok(None)
}

fn trouble(error: &CPythonError, path: &str) -> Trouble {
    if error.is_transient() { Trouble::Later } else { Trouble::Never(format!("{path}: {error}")) }
}

impl Look for Python {
    type Frame = PyFrame;

    fn look(
        &mut self,
        memory: &Memory,
        thread: u32,
        frames: &mut Vec<PyFrame>,
    ) -> Result<Seen, Unreadable> {
        match self.python.look_at(memory, thread, frames) {
            Ok(None) => Ok(Seen::Nothing),
            Ok(Some(look)) if !look.changed => Ok(Seen::Whole),
            Err(CPythonError::Memory { reason, .. }) if reason != Unreadable::Unmapped => {
                Err(reason)
            }
            // What makes no sense was read while the thread ran.
            Ok(Some(_)) | Err(_) => Ok(Seen::RanOn),
        }
    }

    fn name(&mut self, _memory: &Memory, frame: &PyFrame) -> Option<Interpreted> {
        let PyFrame::Code { code, line } = *frame else { return Some(Interpreted::Loop(LOOP)) };
        let Self { python, functions } = self;
        let (name, file) = match functions.get(&code) {
            Some(known) => known,
            None => {
                let found = python.code(code)?;
                let names = (found.qualname.as_str().into(), found.file.as_str().into());
                functions.entry(code).or_insert(names)
            }
        };
        Some(Interpreted::Function { name: Arc::clone(name), file: Arc::clone(file), line })
    }
}
