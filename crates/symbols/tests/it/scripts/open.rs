//! The interpreter of a live Ruby or PHP process. Also used by the example `script_frames`.

use super::live::{LiveMemory, loaded};
use culprit_symbols::runtimes::InterpreterError;
use culprit_symbols::runtimes::php::{Php, find_php};
use culprit_symbols::runtimes::ruby::{Ruby, RubyPlace, RubyProgram, find_ruby};

/// The Ruby interpreter of a process. `by_symbols` says whether symbols may be used, or all has to be
/// found by its shape.
pub(crate) fn ruby(pid: u32, by_symbols: bool) -> Result<(Ruby, RubyProgram), InterpreterError> {
    let found = loaded(pid, |file, path| find_ruby(file, path).ok()?);
    let (moved, program) = found.ok_or(InterpreterError::NotRunning("Ruby"))?;
    let at = |address: u64| address.wrapping_add(moved);
    let symbol = |symbol: Option<culprit_symbols::Svma>| {
        symbol.filter(|_| by_symbols).map(|address| at(address.0))
    };
    let place = RubyPlace {
        vm: symbol(program.vm),
        symbols: symbol(program.symbols),
        data: at(program.data.start.0)..at(program.data.end.0),
    };
    let version = program.version.ok_or(InterpreterError::UnknownVersion("Ruby"))?;
    Ok((Ruby::find(&LiveMemory(pid), &place, version)?, program))
}

/// The PHP interpreter of a process.
pub(crate) fn php(pid: u32) -> Result<Php, InterpreterError> {
    let found = loaded(pid, |file, path| find_php(file, path).ok()?);
    let (moved, program) = found.ok_or(InterpreterError::NotRunning("PHP"))?;
    let executor = program.executor.ok_or(InterpreterError::UnsupportedBuild("ZTS"))?;
    let version = program.version.ok_or(InterpreterError::UnknownVersion("PHP"))?;
    Php::find(&LiveMemory(pid), executor.0.wrapping_add(moved), version)
}
