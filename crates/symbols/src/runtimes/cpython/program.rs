//! The interpreter in a program or library file: where its state is, and which release it is.

use std::fs::File;
use std::ops::Range;

use crate::image::{Elf, Source, find_data, find_pieces};
use crate::{Error, Svma};

/// Where a program or library has the state of a CPython interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CPythonProgram {
    /// Address of `_PyRuntime` in the module.
    pub runtime: Svma,
    /// Major and minor number of the release, where the file says it. From 3.13 on the process says
    /// it, too.
    pub version: Option<(u8, u8)>,
    /// Addresses of the interpreter's loop in the module; empty where its name was stripped.
    pub loops: Vec<Range<u64>>,
}

/// The function that runs Python's code: on the native stack once a call from C to Python.
pub const LOOP: &str = "_PyEval_EvalFrameDefault";

/// The CPython interpreter in a file; `None` where there is none, as in a program that has it in a
/// library (`libpython3.11.so.1.0`).
/// Linear in the file's symbols; nothing is kept.
///
/// # Errors
/// When the file cannot be read or is no ELF file.
pub fn find_cpython(file: File, path: &str) -> Result<Option<CPythonProgram>, Error> {
    let (source, _) = Source::from_file(file, path)?;
    let elf = Elf::parse(&source)?;
    if !elf.wide {
        return Ok(None);
    }
    let mut symbols = find_data(&elf, &source, &["_PyRuntime", "Py_Version"]);
    let version = symbols.pop().flatten();
    let symbol = symbols.pop().flatten();
    // From 3.10 on the state has a section, which no `strip` removes.
    let section = || elf.section(".PyRuntime").map(|section| section.address);
    let Some(runtime) = symbol.or_else(section) else { return Ok(None) };
    let version = version
        .and_then(|address| stated_version(&elf, &source, address))
        .or_else(|| version_in(file_name(path).as_bytes()))
        .or_else(|| version_in_constants(&elf, &source));
    let loops = find_pieces(&elf, &source, LOOP);
    Ok(Some(CPythonProgram { runtime: Svma(runtime), version, loops }))
}

/// Where a program or library has the table of offsets of the module `_asyncio` ([`CPython::set_asyncio`]
/// takes its address in the process); `None` where it does not have that module, or one from before
/// Python 3.14.
///
/// # Errors
/// When the file cannot be read or is no ELF file.
///
/// [`CPython::set_asyncio`]: super::CPython::set_asyncio
pub fn find_asyncio(file: File, path: &str) -> Result<Option<Svma>, Error> {
    let (source, _) = Source::from_file(file, path)?;
    let elf = Elf::parse(&source)?;
    let section = elf.section(".AsyncioDebug").filter(|_| elf.wide);
    Ok(section.map(|section| Svma(section.address)))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `Py_Version`, from 3.11 on: 0x030B07F0 is 3.11.7.
fn stated_version(elf: &Elf, source: &Source, address: u64) -> Option<(u8, u8)> {
    let (offset, _) = elf.loaded_bytes(address)?;
    let bytes = source.read("Py_Version", offset, 4).ok()?;
    match *bytes.as_slice() {
        [_, _, minor, major] if elf.endian == object::Endianness::Little => Some((major, minor)),
        [major, minor, _, _] => Some((major, minor)),
        _ => None,
    }
    .filter(|(major, _)| *major == 3)
}

/// Paths of the library (`lib/python3.9`) are constants of the interpreter.
fn version_in_constants(elf: &Elf, source: &Source) -> Option<(u8, u8)> {
    let bytes = elf.bytes_of(source, ".rodata").ok()?;
    version_in(&bytes)
}

/// The number behind the first `python3.`.
fn version_in(bytes: &[u8]) -> Option<(u8, u8)> {
    const NAME: &[u8] = b"python3.";
    let start = bytes.windows(NAME.len()).position(|window| window == NAME)? + NAME.len();
    let digits = bytes.get(start..)?.iter().take(2).take_while(|byte| byte.is_ascii_digit());
    let minor = digits.fold(None, |minor: Option<u8>, digit| {
        minor.unwrap_or_default().checked_mul(10)?.checked_add(digit - b'0')
    });
    Some((3, minor?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_say_the_release() {
        let version = |name: &str| version_in(file_name(name).as_bytes());
        assert_eq!(version("/usr/bin/python3.9"), Some((3, 9)));
        assert_eq!(version("/usr/lib/libpython3.10.so.1.0"), Some((3, 10)));
        assert_eq!(version("/opt/python3.8/bin/uwsgi"), None);
        assert_eq!(version("/usr/bin/python3"), None);
        assert_eq!(version("python3."), None);
    }

    #[test]
    fn other_programs_have_no_interpreter() {
        let own = std::env::current_exe().and_then(File::open).expect("it runs");
        assert_eq!(find_cpython(own, "own").expect("an ELF file"), None);
        assert!(find_cpython(tempfile::tempfile().expect("room"), "empty").is_err());
    }
}
