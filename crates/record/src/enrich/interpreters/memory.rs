//! The memory of a recorded process.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use culprit_place::procfs;
use culprit_symbols::runtimes::{MemoryPiece, ProcessMemory, Unreadable};

use super::Trouble;
use crate::symbolize::modules::kernel_pid;
use crate::sys::read_process;

/// Parts that one call reads (`IOV_MAX`).
const MOST_PIECES: usize = 1024;

/// A process's memory.
#[derive(Debug)]
pub(super) struct Memory {
    /// Whose.
    pub(super) pid: i32,
    /// `/proc/PID/mem`: of the program that the process ran when it was opened.
    file: File,
}

impl Memory {
    /// That of a process, and of the program that it runs now.
    pub(super) fn open(pid: i32) -> Result<Self, Trouble> {
        match procfs::memory(kernel_pid(pid)) {
            Ok(file) => Ok(Self { pid, file }),
            Err(error @ culprit_place::Error::NoProcess { .. }) => {
                Err(Trouble::Later(error.to_string()))
            }
            Err(error) => Err(Trouble::Never(error.to_string())),
        }
    }

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
