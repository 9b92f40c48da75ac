//! The folders of a clean-up at the level `store`. `D` is the first part of the plan's digest.
//!
//! ```text
//! STORE             what reports read: the old store or the rebuilt one
//! STORE.new-D       the rebuilt store while it is written
//! STORE.swap-D      a whole store that changes places with STORE, just before that step or after it
//! STORE.before-D    the old store, whole
//! STORE.deleted-D   a folder that is being deleted; nothing reads it
//! ```
//!
//! A folder gets another name in one step, and only when it is what that name says. So what is to be
//! done next follows from the names and from the digests of the stores' lists of files, wherever a
//! run was killed.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::error::CleanError;
use super::folder::{PlanFolder, digest};
use super::journal::Event;
use crate::error::Error;
use crate::store::{MANIFEST, Store};

/// The store of a plan and what may stand beside it.
#[derive(Debug)]
pub(super) struct StoreFolders {
    pub(super) store: PathBuf,
    pub(super) new: PathBuf,
    pub(super) swap: PathBuf,
    pub(super) before: PathBuf,
    deleted: PathBuf,
    /// Digest of the old store's list of files.
    old: String,
    /// Those of the stores that were made from it.
    rebuilt: Vec<String>,
}

impl StoreFolders {
    pub(super) fn new(folder: &PlanFolder, events: &[Event]) -> Self {
        let store = Path::new(&folder.plan.store.path).to_owned();
        let name = store.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let short = &folder.plan.digest[..8];
        let beside = |what: &str| store.with_file_name(format!("{name}.{what}-{short}"));
        let digest = |event: &Event| match event {
            Event::Rebuilt { digest, .. } => Some(digest.clone()),
            _ => None,
        };
        Self {
            new: beside("new"),
            swap: beside("swap"),
            before: beside("before"),
            deleted: beside("deleted"),
            store,
            old: folder.plan.store.digest.clone(),
            rebuilt: events.iter().filter_map(digest).collect(),
        }
    }

    /// True when the store at its place is the old one.
    pub(super) fn is_old(&self) -> Result<bool, CleanError> {
        Ok(self.digest_at_place()? == self.old)
    }

    /// True when the store at its place is a rebuilt one.
    pub(super) fn is_rebuilt(&self) -> Result<bool, CleanError> {
        Ok(self.rebuilt.contains(&self.digest_at_place()?))
    }

    fn digest_at_place(&self) -> Result<String, CleanError> {
        super::make::store_digest(&self.store)
    }

    /// The old store beside the one at its place, if it is whole. A run of an earlier version that was
    /// killed left it as `.new`.
    pub(super) fn old_store(&self) -> Option<&Path> {
        let whole = |path: &&PathBuf| {
            list_digest(path).is_ok_and(|digest| digest.as_ref() == Some(&self.old))
                && Store::open(path).is_ok_and(|store| store.missing_file().is_none())
        };
        [&self.before, &self.swap, &self.new].into_iter().find(whole).map(PathBuf::as_path)
    }

    /// A folder that a killed run left and that nothing needs.
    pub(super) fn left_over(&self) -> Option<&Path> {
        let useless = |path: &&PathBuf| self.is_useless(path).unwrap_or(false);
        self.beside().into_iter().find(useless).map(PathBuf::as_path)
    }

    /// Deletes what killed runs left and nothing needs. True when there was anything.
    pub(super) fn clean(&self) -> Result<bool, CleanError> {
        let mut found = false;
        for path in self.beside() {
            if self.is_useless(path)? {
                self.delete(path)?;
                found = true;
            }
        }
        Ok(found)
    }

    fn beside(&self) -> [&PathBuf; 4] {
        [&self.deleted, &self.new, &self.swap, &self.before]
    }

    /// True for a folder that can be made again, or that was being deleted. The old store is needed,
    /// and so is what may be left of it. So is another store: somebody may have imported into the old
    /// one. `.new` is written by us only.
    fn is_useless(&self, path: &Path) -> Result<bool, CleanError> {
        if !exists(path)? {
            return Ok(false);
        }
        if path == self.deleted {
            return Ok(true);
        }
        Ok(match list_digest(path)? {
            None => path == self.new || self.is_old()? || self.old_store().is_some(),
            Some(digest) if digest == self.old => false,
            Some(digest) => path == self.new || self.rebuilt.contains(&digest),
        })
    }

    /// A store under a name that `apply` needs. It is not deleted: it may be the only one.
    pub(super) fn in_the_way(&self) -> Result<Option<&Path>, CleanError> {
        for path in [&self.new, &self.swap, &self.before] {
            if exists(path)? {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Deletes a folder: it loses its name first, so that no state takes a part of it for a store.
    pub(super) fn delete(&self, path: &Path) -> Result<(), CleanError> {
        if path != self.deleted {
            remove(&self.deleted)?;
            rename(path, &self.deleted)?;
        }
        remove(&self.deleted)
    }

    /// Gives the old store beside the one at its place the name `.before`.
    pub(super) fn name_old_store(&self) -> Result<(), CleanError> {
        match self.old_store() {
            Some(path) if path != self.before && !exists(&self.before)? => {
                rename(path, &self.before)
            }
            _ => Ok(()),
        }
    }

    /// Gives the old store beside the one at its place the name from which it goes there.
    pub(super) fn take_old_store(&self, old: &Path) -> Result<(), CleanError> {
        if old == self.swap { Ok(()) } else { rename(old, &self.swap) }
    }

    /// Lets `.swap` and the store change places in one step.
    pub(super) fn exchange(&self) -> Result<(), CleanError> {
        renameat_with(CWD, &self.swap, CWD, &self.store, RenameFlags::EXCHANGE)
            .map_err(|error| Error::io("exchange", &self.store, error.into()))?;
        on_disk(&self.store)
    }
}

/// SHA-256 of a store's list of files; none without a list.
fn list_digest(store: &Path) -> Result<Option<String>, CleanError> {
    let path = store.join(MANIFEST);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(Some(digest(&bytes))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Error::io("read", &path, error).into()),
    }
}

/// Whether a name is taken.
fn exists(path: &Path) -> Result<bool, CleanError> {
    Ok(path.try_exists().map_err(|error| Error::io("read", path, error))?)
}

/// Gives a folder another name.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), CleanError> {
    std::fs::rename(from, to).map_err(|error| Error::io("rename", from, error))?;
    on_disk(to)
}

/// Waits until the disk has the name of a folder.
fn on_disk(path: &Path) -> Result<(), CleanError> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    File::open(parent)
        .and_then(|parent| parent.sync_all())
        .map_err(|error| Error::io("write", parent, error))?;
    #[cfg(test)]
    super::stops::after_step()?;
    Ok(())
}

/// Deletes a folder with what is in it, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), CleanError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::io("remove", path, error).into())
        }
        _ => Ok(()),
    }
}
