//! The file that is worked on: every byte of it was written before.
//!
//! A file that is only declared as long (`ftruncate`, `fallocate`) answers reads with zeros and no
//! disk, and its first overwrite pays for what was left out.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use culprit_engine::stats::Random;
use rustix::fs::{Advice, fadvise, statvfs};

use super::spec::{Cache, Spec, size};
use crate::inside::{Fault, stopped};

/// Bytes that are written at once.
const CHUNK: u64 = 1 << 20;

/// Memory whose content no file system can compress or share, at an address that `O_DIRECT` takes.
#[derive(Debug)]
pub(super) struct Buffer {
    memory: Vec<u8>,
    begin: usize,
    length: usize,
}

/// What `O_DIRECT` wants of addresses at most.
const ALIGNED: usize = 4096;

impl Buffer {
    pub(super) fn new(bytes: u64, random: &mut Random) -> Self {
        let length = usize::try_from(bytes).unwrap_or(usize::MAX - ALIGNED);
        let memory = vec![0; length + ALIGNED];
        let begin = memory.as_ptr().align_offset(ALIGNED);
        let mut buffer = Self { memory, begin, length };
        buffer.fill(random);
        buffer
    }

    /// Gives it other content.
    fn fill(&mut self, random: &mut Random) {
        for word in self.bytes_mut().chunks_mut(8) {
            let bytes = random.bits().to_ne_bytes();
            word.copy_from_slice(&bytes[..word.len()]);
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.begin..self.begin + self.length]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.begin..self.begin + self.length]
    }
}

/// Whether so many such files can be written into a folder, asked before the first of them fills the disk.
///
/// # Errors
/// When there is less space.
pub(super) fn check_space(folder: &Path, spec: &Spec, files: u64) -> Result<(), Fault> {
    // What tells no space has as much as it has: writing will show.
    let Ok(told) = statvfs(folder) else { return Ok(()) };
    let free = told.f_bavail.saturating_mul(told.f_frsize);
    if told.f_blocks == 0 || spec.size.saturating_mul(files) <= free {
        return Ok(());
    }
    let what = match files {
        1 => format!("a file of {}", size(spec.size)),
        files => format!("{files} files of {} (one per row of the result)", size(spec.size)),
    };
    let (folder, free) = (folder.display(), size(free >> 20 << 20));
    let hint = match files {
        1 => {
            "give a smaller `--size`, free some space there, or choose another folder, such as \
             `--place host:/DIR`"
        }
        _ => {
            "give a smaller `--size`, `--same-file` (one file) or `--no-control` (fewer files); \
             or free some space there, or choose another folder, such as `--place host:/DIR`"
        }
    };
    Err(Fault::new(format!("cannot write {what} in `{folder}`: only {free} are free")).hint(hint))
}

/// Writes the file and brings it to the disk.
///
/// # Errors
/// The kernel's, and when there is too little space; what was written so far goes with the folder.
pub(super) fn write(path: &Path, spec: &Spec) -> Result<(), Fault> {
    let failed = |error: std::io::Error| Fault::io("write", path, &error);
    let mut file = File::create(path).map_err(failed)?;
    let mut random = Random::new(spec.seed);
    let mut chunk = Buffer::new(spec.size.min(CHUNK), &mut random);
    let mut left = spec.size;
    while left > 0 && !stopped() {
        let part = chunk.bytes().len().min(usize::try_from(left).unwrap_or(usize::MAX));
        file.write_all(&chunk.bytes()[..part]).map_err(failed)?;
        left -= part as u64;
        chunk.fill(&mut random);
    }
    file.sync_all().map_err(failed)
}

/// Opens the file as the workload wants it.
///
/// # Errors
/// The kernel's.
pub(super) fn open(path: &Path, spec: &Spec) -> Result<File, Fault> {
    let mut flags = 0;
    if spec.cache.is_direct() {
        flags |= libc::O_DIRECT;
    }
    if spec.cache.writes_through() {
        flags |= libc::O_DSYNC;
    }
    let mut options = File::options();
    // A mapping that is written to must be readable, too.
    options.read(true).write(spec.write_share > 0.0);
    // Times of reading need not be kept; only a file's owner may say so.
    let file = match options.custom_flags(flags | libc::O_NOATIME).open(path) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
            options.custom_flags(flags).open(path)
        }
        other => other,
    };
    let file = file.map_err(|error| match error.raw_os_error() {
        Some(libc::EINVAL) if spec.cache.is_direct() => Fault::new(format!(
            "cannot bypass the page cache for `{}`: this file system has no O_DIRECT",
            path.display()
        ))
        .hint("use `--cache cached` or another folder"),
        _ => Fault::io("open", path, &error),
    })?;
    if spec.drop_cache && matches!(spec.cache, Cache::Cached | Cache::WriteThrough) {
        // Pages that are not on the disk yet are not dropped.
        file.sync_data()
            .and_then(|()| Ok(fadvise(&file, 0, None, Advice::DontNeed)?))
            .map_err(|error| Fault::io("drop the cache of", path, &error))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_blocks_for_all_of_its_bytes() {
        use std::os::unix::fs::MetadataExt as _;
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let (path, spec) = (dir.path().join("file"), Spec { size: 3_000_001, ..Spec::default() });
        write(&path, &spec).unwrap();
        let told = std::fs::metadata(&path).unwrap();
        assert!(told.len() == 3_000_001 && told.blocks() * 512 >= 3_000_001, "{told:?}");
        let content = std::fs::read(&path).unwrap();
        let mut blocks: Vec<&[u8]> = content.chunks(4096).collect();
        assert!(blocks.iter().all(|block| block.iter().any(|byte| *byte != 0)));
        let all = blocks.len();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), all, "no block is another's copy, which a file system may share");
    }

    #[test]
    fn what_does_not_fit_is_refused_before_a_byte_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let asked = |size: u64, files: u64| {
            check_space(dir.path(), &Spec { size, ..Spec::default() }, files)
        };
        assert_eq!(asked(4096, 3), Ok(()));
        let fault = asked(1 << 60, 1).unwrap_err();
        assert!(fault.what.starts_with("cannot write a file of 1073741824 GiB in"), "{fault}");
        assert!(fault.what.ends_with(" are free") && fault.hint.is_some(), "{fault}");
        let fault = asked(1 << 60, 3).unwrap_err();
        assert!(fault.what.contains("3 files") && fault.hint.unwrap().contains("--same-file"));
    }

    #[test]
    fn buffers_are_aligned() {
        let buffer = Buffer::new(5000, &mut Random::new(1));
        assert_eq!((buffer.bytes().as_ptr().align_offset(4096), buffer.bytes().len()), (0, 5000));
    }
}
