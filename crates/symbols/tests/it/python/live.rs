//! A live process: its memory, and the interpreter in it. Also used by the example `python_frames`.

use std::fs::{self, File};
use std::path::PathBuf;

use culprit_symbols::runtimes::InterpreterError;
use culprit_symbols::runtimes::cpython::{CPython, find_asyncio, find_cpython};
use culprit_symbols::runtimes::{MemoryPiece, ProcessMemory, Unreadable};
use culprit_symbols::{FileOffset, ModuleImage};

/// The memory of a process, by `process_vm_readv`.
pub(crate) struct LiveMemory(pub(crate) u32);

/// Pieces that one call takes (`IOV_MAX`).
const MOST_PIECES: usize = 1024;

impl ProcessMemory for LiveMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        self.read_pieces(&mut [MemoryPiece { address, into }])
    }

    fn read_pieces(&self, pieces: &mut [MemoryPiece<'_>]) -> Result<(), Unreadable> {
        pieces.chunks_mut(MOST_PIECES).try_for_each(|pieces| read_together(self.0, pieces))
    }
}

#[expect(unsafe_code, reason = "no safe crate has process_vm_readv")]
fn read_together(pid: u32, pieces: &mut [MemoryPiece<'_>]) -> Result<(), Unreadable> {
    let wanted: usize = pieces.iter().map(|piece| piece.into.len()).sum();
    let (mut local, mut remote) = (Vec::new(), Vec::new());
    for piece in pieces {
        let (iov_base, iov_len) = (piece.into.as_mut_ptr().cast(), piece.into.len());
        local.push(libc::iovec { iov_base, iov_len });
        let iov_base = piece.address as *mut libc::c_void;
        remote.push(libc::iovec { iov_base, iov_len });
    }
    let (count, pid) = (local.len() as libc::c_ulong, pid.cast_signed());
    // SAFETY: `local` points to exclusive buffers of the stated lengths, which outlive the call.
    let read =
        unsafe { libc::process_vm_readv(pid, local.as_ptr(), count, remote.as_ptr(), count, 0) };
    match usize::try_from(read) {
        Ok(read) if read == wanted => Ok(()),
        Ok(_) => Err(Unreadable::Unmapped),
        Err(_) => Err(match std::io::Error::last_os_error().raw_os_error() {
            Some(libc::ESRCH) => Unreadable::Ended,
            Some(libc::EPERM) => Unreadable::Denied,
            _ => Unreadable::Unmapped,
        }),
    }
}

/// What `find` finds in the files of code that a process has mapped, and where that file is: process address
/// minus module address.
pub(crate) fn loaded<T>(pid: u32, find: impl Fn(File, &str) -> Option<T>) -> Option<(u64, T)> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    maps.lines().filter_map(executable_mapping).find_map(|(start, offset, path)| {
        let file = PathBuf::from(format!("/proc/{pid}/root{path}"));
        let found = find(File::open(&file).ok()?, path)?;
        let image = ModuleImage::open(File::open(&file).ok()?, path, None).ok()?;
        let stated = image.mapping_svma(FileOffset(offset))?;
        Some((start.wrapping_sub(stated.0), found))
    })
}

/// Where a process has `_PyRuntime`, and the release if its file says it.
pub(crate) fn runtime(pid: u32) -> Option<(u64, Option<(u8, u8)>)> {
    let (bias, program) = loaded(pid, |file, path| find_cpython(file, path).ok()?)?;
    Some((bias.wrapping_add(program.runtime.0), program.version))
}

/// Where a process has the table of the module `_asyncio`.
pub(crate) fn asyncio(pid: u32) -> Option<u64> {
    let (bias, table) = loaded(pid, |file, path| find_asyncio(file, path).ok()?)?;
    Some(bias.wrapping_add(table.0))
}

fn executable_mapping(line: &str) -> Option<(u64, u64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let (start, _) = words.next()?.split_once('-')?;
    if !words.next()?.contains('x') {
        return None;
    }
    let offset = u64::from_str_radix(words.next()?, 16).ok()?;
    let path = words.nth(2).filter(|path| path.starts_with('/'))?;
    Some((u64::from_str_radix(start, 16).ok()?, offset, path))
}

/// The interpreter of a process.
pub(crate) fn interpreter(pid: u32) -> Result<CPython, InterpreterError> {
    let (runtime, version) = runtime(pid).ok_or(InterpreterError::NotRunning("Python"))?;
    CPython::find(&LiveMemory(pid), runtime, version)
}
