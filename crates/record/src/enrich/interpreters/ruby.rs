//! One process's Ruby.

use culprit_place::procfs::Mapping;
use culprit_symbols::Svma;
use culprit_symbols::runtimes::ruby::{Ruby, RubyPlace, RubyProgram, find_ruby};
use culprit_symbols::runtimes::{InterpretedFrame, InterpreterError, Unreadable};

use super::memory::Memory;
use super::names::Names;
use super::programs::{Programs, candidates};
use super::watched::{Look, Seen, Watched};
use super::{Interpreted, Interpreter, Trouble};

/// An interpreter, and the functions that were met.
#[derive(Debug)]
struct RubyProcess {
    ruby: Ruby,
    names: Names,
}

/// The interpreter of a process; none where it has none.
///
/// # Errors
/// Why the interpreter cannot be read, or not yet.
pub(super) fn find(
    pid: i32,
    maps: &[Mapping],
    programs: &mut Programs<RubyProgram>,
) -> Result<Option<Box<dyn Interpreter>>, Trouble> {
    let parse = |file, path: &str| find_ruby(file, path).ok().flatten();
    for map in candidates(maps, |name| name.contains("ruby")) {
        let Some(found) = programs.of(pid, map, parse) else { continue };
        let at = |address: Svma| found.address(map, address.0);
        let program = &found.program;
        let place = RubyPlace {
            vm: program.vm.map(at),
            symbols: program.symbols.map(at),
            data: at(program.data.start)..at(program.data.end),
        };
        let memory = Memory::open(pid)?;
        let version = program.version.ok_or(InterpreterError::UnknownVersion("Ruby"));
        let ruby = version.and_then(|version| Ruby::find(&memory, &place, version));
        let ruby = ruby.map_err(|error| Trouble::of(&error, &map.path))?;
        let look = RubyProcess { ruby, names: Names::new(&program.loop_name, "ruby") };
        return Ok(Some(Box::new(Watched::new(memory, look))));
    }
    Ok(None)
}

impl Look for RubyProcess {
    type Frame = InterpretedFrame;

    fn look(
        &mut self,
        memory: &Memory,
        thread: u32,
        frames: &mut Vec<InterpretedFrame>,
    ) -> Result<Seen, Unreadable> {
        match self.ruby.look_at(memory, thread, frames) {
            Ok(None) => Ok(Seen::Nothing),
            Ok(Some(look)) => Ok(Seen::of_look(look, frames)),
            Err(error) => Seen::of_error(&error),
        }
    }

    fn name(&mut self, _memory: &Memory, frame: &InterpretedFrame) -> Option<Interpreted> {
        let Self { ruby, names } = self;
        names.name(frame, |id| ruby.function(id))
    }
}
