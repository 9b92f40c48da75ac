//! Files in a layer below a container's own: `lower=/path:SIZE`, `lower=/folder:SIZE:COUNT`, or with
//! what a file of this machine holds, `lower=/path:/its/path`.

use std::fmt;
use std::path::PathBuf;

use super::options::{Memory, wrong};
use super::{SpecProblem, absolute};

/// A file that is made for a container and lies in a layer below the one that it writes to, or a
/// folder of such files.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LowerFile {
    /// Its absolute path in the container.
    pub path: PathBuf,
    /// Its size; of a copy it is what the file has when the image is made.
    pub bytes: u64,
    /// `None` for one file; else `path` is a folder of so many, called `0`, `1` and so on.
    pub count: Option<u32>,
    /// The file of this machine that it is a copy of; `None` for one without a meaning.
    pub copy_of: Option<PathBuf>,
}

/// What is written at once.
const BLOCK: usize = 1 << 20;

impl LowerFile {
    pub(super) fn parse(text: &str) -> Result<Self, SpecProblem> {
        let error = || wrong("lower", text, "lower=/file:64m or lower=/folder:1k:2000");
        let mut parts = text.split(':');
        let path = absolute(parts.next().ok_or_else(error)?)?;
        let size = parts.next().ok_or_else(error)?;
        if size.starts_with('/') && parts.next().is_none() {
            return Ok(Self::copy(path, absolute(size)?));
        }
        let Memory(bytes) = Memory::parse(size).map_err(|_| error())?;
        let count = parts.next().map(|count| count.parse().map_err(|_| error())).transpose()?;
        match parts.next() {
            Some(_) => Err(error()),
            None => Ok(Self { path, bytes, count, copy_of: None }),
        }
    }

    /// A copy of a file of this machine.
    #[must_use]
    pub const fn copy(path: PathBuf, of: PathBuf) -> Self {
        Self { path, bytes: 0, count: None, copy_of: Some(of) }
    }

    /// All files that it stands for.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> {
        let one = self.count.is_none().then(|| self.path.clone());
        let folder = 0..self.count.unwrap_or(0);
        one.into_iter().chain(folder.map(|number| self.path.join(number.to_string())))
    }

    /// What each file holds, block by block: numbers without a pattern, so that no file system can
    /// keep them in less room than they take.
    pub fn blocks(&self) -> impl Iterator<Item = Vec<u8>> + use<> {
        let bytes = self.bytes;
        let mut random = bytes | 1;
        (0..bytes.div_ceil(BLOCK as u64)).map(move |number| {
            let left = bytes - number * BLOCK as u64;
            let length = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
            let mut block = Vec::with_capacity(length + 8);
            while block.len() < length {
                // xorshift64 (Marsaglia 2003).
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                block.extend_from_slice(&random.to_le_bytes());
            }
            block.truncate(length);
            block
        })
    }
}

impl fmt::Display for LowerFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(of) = &self.copy_of {
            return write!(f, "{}:{}", self.path.display(), of.display());
        }
        write!(f, "{}:{}", self.path.display(), Memory(self.bytes))?;
        self.count.map_or(Ok(()), |count| write!(f, ":{count}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_each_others_inverse_with_their_text() {
        for text in ["/a/b:64m", "/tree:1k:2000", "/a:/usr/bin/b"] {
            assert_eq!(LowerFile::parse(text).unwrap().to_string(), text);
        }
        for text in ["/a", "a:1k", "/a:x", "/a:1k:y", "/a:1k:1:1", "/a:/b:1"] {
            assert!(LowerFile::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn contents_have_the_size_and_no_pattern() {
        let file = LowerFile::parse("/tree:1025k:3").unwrap();
        let sizes: Vec<usize> = file.blocks().map(|block| block.len()).collect();
        assert_eq!((sizes, file.paths().count()), (vec![1 << 20, 1 << 10], 3));
        let block = file.blocks().next().unwrap();
        let mut words: Vec<&[u8]> = block.chunks(8).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 1 << 17, "no word comes twice");
    }
}
