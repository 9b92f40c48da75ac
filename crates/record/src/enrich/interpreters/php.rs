//! One process's PHP.

use culprit_model::Pid;
use culprit_place::procfs::{self, Mapping};
use culprit_symbols::runtimes::php::{LOOP, Php, PhpProgram, find_php};
use culprit_symbols::runtimes::{InterpretedFrame, InterpreterError, Unreadable};

use super::memory::Memory;
use super::names::Names;
use super::programs::{Programs, candidates};
use super::watched::{Look, Seen, Watched};
use super::{Interpreted, Interpreter, Trouble};
use crate::symbolize::modules::kernel_pid;

/// Why a build with thread safety is not read.
const BY_THREAD: InterpreterError = InterpreterError::UnsupportedBuild(
    "PHP with thread safety (ZTS) is not supported: only builds without (NTS) are",
);

/// An interpreter, and the functions that were met.
#[derive(Debug)]
struct PhpProcess {
    php: Php,
    /// The process's first thread, as its own namespace counts: it runs the interpreter.
    thread: u32,
    names: Names,
}

/// The interpreter of a process; none where it has none.
///
/// # Errors
/// Why the interpreter cannot be read, or not yet.
pub(super) fn find(
    pid: i32,
    maps: &[Mapping],
    programs: &mut Programs<PhpProgram>,
) -> Result<Option<Box<dyn Interpreter>>, Trouble> {
    let parse = |file, path: &str| find_php(file, path).ok().flatten();
    for map in candidates(maps, |name| name.contains("php")) {
        let Some(found) = programs.of(pid, map, parse) else { continue };
        let PhpProgram { executor, version } = found.program;
        let memory = Memory::open(pid)?;
        let numbers = procfs::namespace_pids(kernel_pid(pid));
        let numbers = numbers.map_err(|error| Trouble::Later(error.to_string()))?;
        let Some(Pid(thread)) = numbers.last().copied() else { return Ok(None) };
        let executor = executor.map(|executor| found.address(map, executor.0)).ok_or(BY_THREAD);
        let version = version.ok_or(InterpreterError::UnknownVersion("PHP"));
        let php = executor.and_then(|executor| Php::find(&memory, executor, version?));
        let php = php.map_err(|error| Trouble::of(&error, &map.path))?;
        let look = PhpProcess { php, thread, names: Names::new(LOOP, "php") };
        return Ok(Some(Box::new(Watched::new(memory, look))));
    }
    Ok(None)
}

impl Look for PhpProcess {
    type Frame = InterpretedFrame;

    fn look(
        &mut self,
        memory: &Memory,
        thread: u32,
        frames: &mut Vec<InterpretedFrame>,
    ) -> Result<Seen, Unreadable> {
        if thread != self.thread {
            frames.clear();
            return Ok(Seen::Nothing);
        }
        match self.php.look(memory, frames) {
            Ok(look) => Ok(Seen::of_look(look, frames)),
            Err(error) => Seen::of_error(&error),
        }
    }

    fn name(&mut self, _memory: &Memory, frame: &InterpretedFrame) -> Option<Interpreted> {
        let Self { php, names, .. } = self;
        names.name(frame, |id| php.function(id))
    }
}
