//! The environment in a process's memory: what it is now, after `setenv(3)` and `putenv(3)`.
//!
//! `/proc/PID/environ` shows the block that the kernel laid out when the program was executed. libc keeps
//! a pointer `environ` to an array of pointers, and changes that:
//!
//! ```text
//!   environ (in the program, or in libc) ──> [ pointer, pointer, ..., 0 ] ──> "NAME=value"
//! ```
//!
//! A program that refers to `environ` has the variable itself (a copy relocation), so it is looked up in
//! the program first. Go, Java and others copy the block when they start: their copies are not seen here.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use culprit_model::Pid;
use culprit_place::procfs::{Mapping, executable, maps, memory, open_in_root, root_of};
use object::{Object as _, ObjectSegment as _, ObjectSymbol as _, ReadCache, ReadRef};

/// The names of the variable: POSIX, glibc's and musl's own, and the older one.
const NAMES: &[&str] = &["environ", "__environ", "_environ"];
/// Variables that are read at most; Linux lets a program start with 2 MiB of them.
const MOST_VARIABLES: usize = 100_000;
/// Bytes of one variable that are read at most: MAX_ARG_STRLEN of the kernel.
const MOST_BYTES: usize = 128 << 10;
/// Tries to read an environment that the program is just changing.
const TRIES: usize = 3;

/// Why the environment in memory is not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotInMemory {
    /// The memory, or what is mapped into it, may not be read.
    #[error(transparent)]
    Process(#[from] culprit_place::Error),
    /// There is no such variable.
    #[error("no loaded file has a symbol `environ`: the program keeps its variables elsewhere")]
    NoSymbol,
    /// The memory changed each time it was read.
    #[error("the program changes its variables while they are read")]
    Changing,
    /// The memory cannot be read at these addresses.
    #[error("cannot read the memory at {at:#x}: {source}")]
    Unreadable {
        /// The address.
        at: u64,
        /// The kernel's answer.
        source: std::io::Error,
    },
}

/// The variables of a process as its memory has them now, `NAME=value`, in their order.
///
/// # Errors
/// See [`NotInMemory`].
pub fn environment_in_memory(pid: Pid) -> Result<Vec<Vec<u8>>, NotInMemory> {
    let memory = memory(pid)?;
    let (at, word) = find_environ(pid)?.ok_or(NotInMemory::NoSymbol)?;
    let mut before = read_all(&memory, at, word);
    for _ in 0..TRIES {
        let now = read_all(&memory, at, word);
        match (before, now) {
            (Ok(before), Ok(now)) if before == now => return Ok(now),
            (_, now) => before = now,
        }
    }
    before.and(Err(NotInMemory::Changing))
}

/// A file that is mapped, with its first mapping.
struct Loaded<'a> {
    path: &'a str,
    mappings: Vec<&'a Mapping>,
}

/// The address of the variable `environ`, and the size of a pointer in bytes.
fn find_environ(pid: Pid) -> Result<Option<(u64, usize)>, NotInMemory> {
    let maps = maps(pid)?;
    let program = executable(pid)?;
    let root = root_of(pid)?;
    let mut loaded: Vec<Loaded<'_>> = Vec::new();
    for mapping in maps.iter().filter(|mapping| mapping.path.starts_with('/')) {
        match loaded.iter_mut().find(|one| one.path == mapping.path) {
            Some(known) => known.mappings.push(mapping),
            None => loaded.push(Loaded { path: &mapping.path, mappings: vec![mapping] }),
        }
    }
    loaded.retain(|one| one.mappings.iter().any(|mapping| mapping.execute));
    // The program comes first: it may have libc's variable.
    loaded.sort_by_key(|one| Path::new(one.path) != program);
    for one in &loaded {
        let file = if Path::new(one.path) == program {
            File::open(format!("/proc/{pid}/exe")).ok()
        } else {
            open_in_root(&root, Path::new(one.path)).ok()
        };
        if let Some(found) = file.and_then(|file| environ_in(file, &one.mappings)) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The address of `environ` in a loaded file, and the size of a pointer.
fn environ_in(file: File, mappings: &[&Mapping]) -> Option<(u64, usize)> {
    let cache = ReadCache::new(file);
    let elf = object::File::parse(&cache).ok()?;
    let value = symbol(&elf)?;
    // Where a segment lies against where the file says that it lies.
    let bias = elf.segments().find_map(|segment| {
        let (offset, _) = segment.file_range();
        let page = offset & !0xfff;
        let mapping = mappings.iter().find(|mapping| mapping.offset == page)?;
        Some(mapping.range.start.wrapping_sub(segment.address().wrapping_sub(offset - page)))
    })?;
    Some((value.wrapping_add(bias), if elf.is_64() { 8 } else { 4 }))
}

fn symbol<'data, R: ReadRef<'data>>(elf: &object::File<'data, R>) -> Option<u64> {
    let symbols = elf.dynamic_symbols().chain(elf.symbols());
    let is_environ = |name: &str| NAMES.contains(&name);
    let mut found = symbols
        .filter(|symbol| symbol.is_definition() && symbol.name().is_ok_and(is_environ))
        .map(|symbol| symbol.address());
    found.find(|address| *address != 0)
}

/// The array at `*at`, and its strings.
fn read_all(memory: &File, at: u64, word: usize) -> Result<Vec<Vec<u8>>, NotInMemory> {
    let array = pointer(memory, at, word)?;
    let mut variables = Vec::new();
    if array == 0 {
        // `clearenv(3)`.
        return Ok(variables);
    }
    for index in 0..MOST_VARIABLES {
        let step = u64::try_from(index * word).unwrap_or(u64::MAX);
        match pointer(memory, array.wrapping_add(step), word)? {
            0 => break,
            text => variables.push(string(memory, text)?),
        }
    }
    Ok(variables)
}

fn pointer(memory: &File, at: u64, word: usize) -> Result<u64, NotInMemory> {
    let mut bytes = [0; 8];
    let unreadable = |source| NotInMemory::Unreadable { at, source };
    memory.read_exact_at(&mut bytes[..word], at).map_err(unreadable)?;
    // Processes of this machine have its byte order; 32-bit ones are little-endian on all that run them.
    Ok(if word == 4 { u64::from_le_bytes(bytes) } else { u64::from_ne_bytes(bytes) })
}

/// A string up to its zero. Memory ends at a page: reading goes on page by page.
fn string(memory: &File, at: u64) -> Result<Vec<u8>, NotInMemory> {
    let mut text = Vec::new();
    let mut next = at;
    while text.len() < MOST_BYTES {
        let mut bytes = [0; 4096];
        let length = bytes.len() - usize::try_from(next & 0xfff).unwrap_or(0);
        let unreadable = |source| NotInMemory::Unreadable { at: next, source };
        memory.read_exact_at(&mut bytes[..length], next).map_err(unreadable)?;
        let end = bytes[..length].iter().position(|byte| *byte == 0);
        text.extend_from_slice(&bytes[..end.unwrap_or(length)]);
        if end.is_some() {
            break;
        }
        next = next.wrapping_add(u64::try_from(length).unwrap_or(u64::MAX));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_variables_are_in_our_memory() {
        let found = environment_in_memory(Pid(std::process::id())).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let wanted = [b"PATH=", path.as_encoded_bytes()].concat();
        assert!(found.contains(&wanted), "{} variables", found.len());
    }

    #[test]
    fn a_process_that_is_not_there_is_called_so() {
        let error = environment_in_memory(Pid(u32::MAX)).unwrap_err();
        assert!(
            matches!(error, NotInMemory::Process(culprit_place::Error::NoProcess { .. })),
            "{error}"
        );
    }
}
