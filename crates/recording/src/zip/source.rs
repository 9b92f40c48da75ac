//! Where the bytes of a recording come from: a file, or memory.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

/// Bytes that can be read at any place. Cloning shares the file.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// An open file, and its length when it was opened.
    File(Arc<File>, u64),
    /// Bytes in memory.
    Memory(Bytes),
}

impl Source {
    /// Opens a file.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self::File(Arc::new(file), length))
    }

    /// True when another process (or handle) has locked the file: its recorder still lives.
    pub(crate) fn is_locked(&self) -> bool {
        match self {
            // Shared, so that readers do not take each other for recorders.
            Self::File(file, _) => match file.try_lock_shared() {
                Ok(()) => file.unlock().is_err(),
                Err(error) => matches!(error, TryLockError::WouldBlock),
            },
            Self::Memory(_) => false,
        }
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::File(_, length) => *length,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// `length` bytes from `offset` on. A range that ends past the end is an error and allocates
    /// nothing, so no header can make this ask for more memory than the file has bytes.
    pub(crate) fn read(&self, offset: u64, length: u64) -> io::Result<Bytes> {
        let end = offset.checked_add(length).filter(|end| *end <= self.len());
        let (Some(end), Ok(size)) = (end, usize::try_from(length)) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        match self {
            Self::File(file, _) => {
                let mut bytes = vec![0; size];
                read_at(file, &mut bytes, offset)?;
                Ok(bytes.into())
            }
            Self::Memory(bytes) => {
                let at = |n: u64| usize::try_from(n).map_err(io::Error::other);
                Ok(bytes.slice(at(offset)?..at(end)?))
            }
        }
    }

    /// At most `length` bytes from `offset` on; fewer at the end.
    pub(crate) fn read_some(&self, offset: u64, length: u64) -> io::Result<Bytes> {
        self.read(offset, length.min(self.len().saturating_sub(offset)))
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

/// A browser has no files.
#[cfg(not(unix))]
fn read_at(_: &File, _: &mut [u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
