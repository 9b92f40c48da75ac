//! The bytes of a module: an open file or a buffer, read in bounded pieces.
//!
//! Files are read, not mapped: a mapped file that its owner truncates would end the recorder with
//! SIGBUS, and the files come from containers that nobody vouches for. Every piece is checked against
//! the length taken at opening and against [`LARGEST_PIECE`] before any memory is asked for.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use rustix::buffer::spare_capacity;

use crate::Error;

/// Largest single piece that is read. The largest section seen in the wild is the `.debug_info` of a
/// browser (1.1 GiB in an official Chromium build, `.symtab` below 0.2 GiB); at half of this limit that
/// one would lose its lines, at double the recorder could take 4 GiB for one file.
pub(crate) const LARGEST_PIECE: u64 = 2 << 30;

/// Where a module's bytes come from, with the name to use in messages.
#[derive(Debug)]
pub(crate) struct Source {
    path: String,
    length: u64,
    backing: Backing,
}

#[derive(Debug)]
enum Backing {
    File(File),
    Bytes(Arc<[u8]>),
}

/// What tells two files apart when neither has a build id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// Device number of the file system (`st_dev`).
    pub device: u64,
    /// Inode number on it.
    pub inode: u64,
    /// Last change of the content, nanoseconds since 1970.
    pub modified_ns: i128,
    /// Length in bytes.
    pub size: u64,
}

impl FileIdentity {
    /// The identity that `fstat` reports.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            modified_ns: i128::from(metadata.mtime()) * 1_000_000_000
                + i128::from(metadata.mtime_nsec()),
            size: metadata.size(),
        }
    }
}

impl Source {
    /// Takes an open regular file; anything else (a FIFO, a device) is refused, as reading it could block.
    pub(crate) fn from_file(file: File, path: &str) -> Result<(Self, FileIdentity), Error> {
        let metadata = file.metadata().map_err(|source| Error::Read {
            path: path.to_owned(),
            offset: 0,
            source,
        })?;
        if !metadata.is_file() {
            return Err(Error::Malformed {
                path: path.to_owned(),
                reason: "not a regular file".to_owned(),
            });
        }
        let source =
            Self { path: path.to_owned(), length: metadata.size(), backing: Backing::File(file) };
        Ok((source, FileIdentity::of(&metadata)))
    }

    pub(crate) fn from_bytes(bytes: Arc<[u8]>, path: &str) -> Self {
        Self { path: path.to_owned(), length: bytes.len() as u64, backing: Backing::Bytes(bytes) }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Bytes of the whole.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn malformed(&self, reason: impl Into<String>) -> Error {
        Error::Malformed { path: self.path.clone(), reason: reason.into() }
    }

    /// `size` bytes from `offset`; `what` names them in the error.
    pub(crate) fn read(&self, what: &str, offset: u64, size: u64) -> Result<Vec<u8>, Error> {
        let end = offset.checked_add(size).filter(|&end| end <= self.length);
        let Some(end) = end else {
            return Err(self.malformed(format!(
                "{what} at {offset:#x} with {size} bytes ends behind the end of the file at {:#x}",
                self.length
            )));
        };
        if size > LARGEST_PIECE {
            return Err(Error::TooLarge {
                path: self.path.clone(),
                what: what.to_owned(),
                size,
                limit: LARGEST_PIECE,
            });
        }
        match &self.backing {
            Backing::Bytes(bytes) => {
                let range = usize::try_from(offset).ok().zip(usize::try_from(end).ok());
                Ok(range
                    .and_then(|(start, end)| bytes.get(start..end))
                    .unwrap_or_default()
                    .to_vec())
            }
            Backing::File(file) => self.read_file(file, offset, size),
        }
    }

    fn read_file(&self, file: &File, offset: u64, size: u64) -> Result<Vec<u8>, Error> {
        let failed = |source| Error::Read { path: self.path.clone(), offset, source };
        let size = usize::try_from(size).map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
        // Into memory that nobody has cleared before: for sections of megabytes that took as long as the copy.
        while bytes.len() < size {
            let at = offset + bytes.len() as u64;
            match rustix::io::pread(file, spare_capacity(&mut bytes), at) {
                Ok(0) => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(failed(error.into())),
            }
        }
        bytes.truncate(size);
        Ok(bytes)
    }

    /// CRC-32 of the whole content, as `.gnu_debuglink` states it for the debug file.
    pub(crate) fn crc32(&self) -> Result<u32, Error> {
        const STEP: u64 = 1 << 20;
        let mut hasher = crc32fast::Hasher::new();
        let mut offset = 0;
        while offset < self.length {
            let size = STEP.min(self.length - offset);
            hasher.update(&self.read("content", offset, size)?);
            offset += size;
        }
        Ok(hasher.finalize())
    }
}
