//! What was read of a process, kept to see later whether it is still the same.
//!
//! Whatever follows from the bytes alone need not be worked out again while they stay the same, and
//! bytes that stayed the same while others were read belong to one moment.

use super::super::{MemoryPiece, ProcessMemory};
use super::InterpreterError;

/// Reads that are kept. The tasks and coroutines of the largest chains that are followed take some
/// thousand.
const MOST_READS: usize = 4096;
/// Bytes of one read: the largest structs that are read as one piece.
const LARGEST_READ: usize = 4096;

/// Parts of a process's memory, in the order of their reads.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// Address and length of each.
    places: Vec<(u64, usize)>,
    /// The bytes of all, one behind the other.
    bytes: Vec<u8>,
}

impl Reads {
    /// The bytes from an address on.
    ///
    /// # Errors
    /// When they cannot be read, or too much was read already.
    pub(super) fn read(
        &mut self,
        memory: &dyn ProcessMemory,
        what: &'static str,
        address: u64,
        length: usize,
    ) -> Result<&[u8], InterpreterError> {
        if self.places.len() >= MOST_READS || length > LARGEST_READ {
            return Err(InterpreterError::malformed(what, address, "there is too much of it"));
        }
        let start = self.bytes.len();
        self.bytes.resize(start + length, 0);
        let (_, into) = self.bytes.split_at_mut(start);
        if let Err(reason) = memory.read(address, into) {
            self.bytes.truncate(start);
            return Err(InterpreterError::Memory { what, address, reason });
        }
        self.places.push((address, length));
        Ok(self.bytes.get(start..).unwrap_or_default())
    }

    /// A pointer.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(super) fn word(
        &mut self,
        memory: &dyn ProcessMemory,
        what: &'static str,
        address: u64,
    ) -> Result<u64, InterpreterError> {
        let bytes = self.read(memory, what, address, size_of::<u64>())?;
        Ok(super::Struct::new(bytes).word(0))
    }

    /// Reads all parts again, at once: whether all are as they were.
    pub(super) fn is_same(&self, memory: &dyn ProcessMemory) -> bool {
        let mut again = vec![0; self.bytes.len()];
        let mut rest = again.as_mut_slice();
        let mut pieces = Vec::with_capacity(self.places.len());
        for (address, length) in &self.places {
            let Some((into, behind)) = rest.split_at_mut_checked(*length) else { return false };
            pieces.push(MemoryPiece { address: *address, into });
            rest = behind;
        }
        memory.read_pieces(&mut pieces).is_ok() && again == self.bytes
    }
}
