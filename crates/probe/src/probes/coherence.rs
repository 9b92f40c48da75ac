//! What somebody sees who came before the copy: the part of [`copy_up`](super::copy_up) that is not
//! about time.
//!
//! After an overlay has copied a file, its name stands for the copy. A descriptor that was opened for
//! reading before follows (`ovl_real_file` of `fs/overlayfs/file.c`); a mapping made before does not,
//! and shows the old file for ever: the pages are those of the lower file (`ovl_mmap`). And a folder of a
//! lower layer cannot be renamed without `redirect_dir`: the kernel says EXDEV, as between two file
//! systems.
//!
//! ```text
//!   open for reading, map ── open for writing (copies), write ── read both again
//!   moved/ ── rename ── moved-away/
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use culprit_model::Unit;
use culprit_place::LowerFile;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use serde::{Deserialize, Serialize};

use crate::inside::Fault;
use crate::metric::Metric;
use crate::sample::Sample;

const fn share(id: &'static str, name: &'static str) -> Metric {
    Metric::shown_fact(id, name, Unit::Share)
}

const DESCRIPTOR: Metric = share("fresh.fd", "new data through an old descriptor");
const MAPPING: Metric = share("fresh.mapping", "new data through an old mapping");
const INODE: Metric = share("inode_kept", "same inode number after the copy");
const RENAME: Metric = share("rename_dir", "folder can be renamed");

/// What is told: 1 for yes and 0 for no in a round.
pub(super) const METRICS: [Metric; 4] = [DESCRIPTOR, MAPPING, INODE, RENAME];

const READ: &str = "read-before";
const MOVED: &str = "moved";
/// The mapped part of the file, and all of it.
const BYTES: usize = 4096;

/// The file and the folder that are looked at.
pub(super) fn files(folder: &Path) -> [LowerFile; 2] {
    [
        LowerFile { path: folder.join(READ), bytes: BYTES as u64, count: None, copy_of: None },
        LowerFile { path: folder.join(MOVED), bytes: 1, count: Some(1), copy_of: None },
    ]
}

/// What was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    descriptor: bool,
    mapping: bool,
    inode: bool,
    rename: bool,
}

impl Seen {
    /// The sample with what was seen here.
    pub(super) fn add_to(self, sample: Sample) -> Sample {
        let of = |seen: bool| f64::from(u8::from(seen));
        sample
            .with(DESCRIPTOR.id, of(self.descriptor))
            .with(MAPPING.id, of(self.mapping))
            .with(INODE.id, of(self.inode))
            .with(RENAME.id, of(self.rename))
    }
}

/// Writes to the file for the first time, and renames the folder.
pub(super) fn look(folder: &Path) -> Result<Seen, Fault> {
    let path = folder.join(READ);
    let (descriptor, mapping, inode) =
        copied(&path).map_err(|error| Fault::io("read and write", &path, &error))?;
    let moved = folder.join(MOVED);
    let rename = match fs::rename(&moved, folder.join(format!("{MOVED}-away"))) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::CrossesDevices => false,
        Err(error) => return Err(Fault::io("rename", &moved, &error)),
    };
    Ok(Seen { descriptor, mapping, inode, rename })
}

/// Whether the descriptor, and whether the mapping shows what is written, and whether the number of the
/// file system and of the inode is the same.
fn copied(path: &Path) -> std::io::Result<(bool, bool, bool)> {
    let number = || fs::metadata(path).map(|of| (of.dev(), of.ino()));
    let before = File::open(path)?;
    let mapping = Mapping::of(&before)?;
    let (old, number_before) = (mapping.first(), number()?);
    // Another value, whatever was there.
    OpenOptions::new().write(true).open(path)?.write_all_at(&[!old], 0)?;
    let mut now = [old];
    before.read_exact_at(&mut now, 0)?;
    Ok((now[0] != old, mapping.first() != old, number()? == number_before))
}

/// The first bytes of a file, mapped shared. The file is not shortened while they are.
struct Mapping {
    start: *mut std::ffi::c_void,
}

impl Mapping {
    #[expect(unsafe_code, reason = "a file is mapped by hand to see what the mapping shows")]
    fn of(file: &File) -> std::io::Result<Self> {
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start = unsafe {
            mmap(std::ptr::null_mut(), BYTES, ProtFlags::READ, MapFlags::SHARED, file, 0)
        }?;
        Ok(Self { start })
    }

    #[expect(unsafe_code, reason = "what others write is read by address")]
    fn first(&self) -> u8 {
        // SAFETY: inside of the mapping, and the file is as long.
        unsafe { self.start.cast::<u8>().read_volatile() }
    }
}

impl Drop for Mapping {
    #[expect(unsafe_code, reason = "what was mapped by hand is unmapped by hand")]
    fn drop(&mut self) {
        // SAFETY: the mapping of this value; nothing points into it any more. It cannot fail for an
        // address and length that mmap has given.
        let _ = unsafe { munmap(self.start, BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_layers_everything_is_as_it_should_be() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        for file in files(dir.path()) {
            for path in file.paths() {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, file.blocks().flatten().collect::<Vec<_>>()).unwrap();
            }
        }
        let seen = look(dir.path()).unwrap();
        assert_eq!(seen, Seen { descriptor: true, mapping: true, inode: true, rename: true });
        let sample = seen.add_to(Sample::default());
        assert_eq!(sample.values.len(), METRICS.len());
        assert!(METRICS.iter().all(|metric| (sample.values[metric.id] - 1.0).abs() < 1e-9));
        assert!(look(dir.path()).is_err(), "the folder has another name now");
    }
}
