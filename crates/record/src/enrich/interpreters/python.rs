//! One process's CPython.

use std::sync::Arc;

use culprit_model::Tid;
use culprit_place::procfs::{self, Mapping};
use culprit_symbols::Svma;
use culprit_symbols::runtimes::Unreadable;
use culprit_symbols::runtimes::cpython::{
    CPython, CPythonProgram, CodeId, LOOP, PyFrame, PyInstructions, find_asyncio, find_cpython,
};
use rustc_hash::FxHashMap;

use super::memory::Memory;
use super::programs::{Programs, candidates};
use super::watched::{Look, Seen, Watched};
use super::{Interpreted, Interpreter, Trouble};
use crate::enrich::bytecode::{Bytecode, BytecodeLoop};
use crate::symbolize::modules::kernel_pid;

/// The kind of event loop whose tasks are read.
const EVENT_LOOP: &str = "asyncio";

/// Calls in which event loops wait for the next event. A callback that blocks is in another one: the
/// loop awaits nothing then.
const EVENT_CALLS: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_io_uring_enter,
];

/// An interpreter, and the functions that were met: name and file.
#[derive(Debug)]
struct Python {
    python: CPython,
    functions: FxHashMap<CodeId, (Arc<str>, Arc<str>)>,
    /// Files with the module that has the tasks.
    asyncio: Programs<Svma>,
    /// Whether the process may have mapped that module since it was looked for.
    has_mapped: bool,
    /// Its loop.
    runner: BytecodeLoop,
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
            .map_err(|error| Trouble::of(&error, &map.path))?;
        let loops = found.program.loops.iter();
        let loops = loops.map(|it| found.address(map, it.start)..found.address(map, it.end));
        let runner = BytecodeLoop { name: LOOP.into(), code: loops.collect() };
        let (functions, asyncio) = (FxHashMap::default(), Programs::default());
        let look = Python { python, functions, asyncio, has_mapped: true, runner };
        return Ok(Some(Box::new(Watched::new(memory, look))));
    }
    Ok(None)
}

/// Whether a thread is blocked where an event loop waits for the next event.
fn waits_for_events(pid: i32, tid: i32) -> bool {
    let tid = Tid(kernel_pid(tid).0);
    let call = procfs::current_syscall(kernel_pid(pid), tid).ok().flatten();
    call.is_some_and(|call| EVENT_CALLS.contains(&i64::from(call)))
}

impl Python {
    /// A function's name and file.
    fn names(&mut self, code: CodeId) -> Option<(Arc<str>, Arc<str>)> {
        let Self { python, functions, .. } = self;
        let (name, file) = match functions.get(&code) {
            Some(known) => known,
            None => {
                let found = python.code(code)?;
                let names = (found.qualname.as_str().into(), found.file.as_str().into());
                functions.entry(code).or_insert(names)
            }
        };
        Some((Arc::clone(name), Arc::clone(file)))
    }

    /// Looks for the module that has the tasks. A library has it, or the program itself.
    fn find_asyncio(&mut self, memory: &Memory) {
        let Ok(maps) = procfs::maps(kernel_pid(memory.pid)) else { return };
        let parse = |file, path: &str| find_asyncio(file, path).ok().flatten();
        let is_library =
            |name: &str| name.starts_with("_asyncio.") || name.starts_with("libpython");
        for map in candidates(&maps, is_library) {
            let Some(found) = self.asyncio.of(memory.pid, map, parse) else { continue };
            let table = found.address(map, found.program.0);
            if self.python.set_asyncio(memory, table).is_ok() {
                return;
            }
        }
    }
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
            Ok(Some(_)) if frames.is_empty() => Ok(Seen::RanOn),
            Ok(Some(_)) => Ok(Seen::Outermost),
            Err(error) => Seen::of_error(&error),
        }
    }

    fn name(&mut self, _memory: &Memory, frame: &PyFrame) -> Option<Interpreted> {
        let PyFrame::Code { code, line } = *frame else {
            return Some(Interpreted::Loop(Arc::clone(&self.runner.name)));
        };
        let (name, file) = self.names(code)?;
        Some(Interpreted::Function { name, file, line })
    }

    fn met(&mut self) -> Option<(BytecodeLoop, Vec<Bytecode>)> {
        let met = self.python.take_instructions();
        let functions = met.into_iter().filter_map(|PyInstructions { code, range }| {
            let (name, file) = self.names(code)?;
            Some(Bytecode { name, file, range })
        });
        let functions = functions.collect();
        Some((self.runner.clone(), functions))
    }

    fn awaited(
        &mut self,
        memory: &Memory,
        tid: i32,
        thread: u32,
    ) -> Result<Vec<Interpreted>, Unreadable> {
        if !self.python.has_readable_tasks() || !waits_for_events(memory.pid, tid) {
            return Ok(Vec::new());
        }
        if std::mem::take(&mut self.has_mapped) {
            self.find_asyncio(memory);
        }
        let mut frames = Vec::new();
        if let Err(error) = self.python.look_at_tasks(memory, thread, &mut frames) {
            Seen::of_error(&error)?;
        }
        let mark = (!frames.is_empty()).then_some(Interpreted::Awaits(EVENT_LOOP));
        let named = frames.iter().filter_map(|frame| self.name(memory, frame));
        Ok(mark.into_iter().chain(named).collect())
    }

    fn mapped(&mut self) {
        self.has_mapped = true;
    }
}
