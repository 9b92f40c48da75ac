//! New files of a store, from their making to the commit.

use std::collections::BTreeSet;
use std::fs::{File, create_dir_all, remove_file, rename};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use culprit_model::Row;
use culprit_query::TableFile;

use super::manifest::{MANIFEST, Manifest, StoreFile};
use crate::error::Error;
use crate::time::{DAY_MS, put_date};

/// What the names of files end with until the commit.
const NEW: &str = ".new";
/// Files that are in no list yet, and the lock.
const PARTS: &str = ".parts";
const LOCK: &str = ".lock";
/// The list of an interrupted import.
const RESUME: &str = ".resume.json";

/// Where rows of a table belong.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// Folders by day: `Some(None)` is the folder of rows without a day.
    pub(crate) day: Option<Option<i64>>,
    pub(crate) shard: Option<u32>,
    /// What the file's name begins with.
    pub(crate) name: Option<String>,
}

impl StoreFile {
    /// True until the commit: the file was written for the next state.
    pub(crate) fn is_new(&self) -> bool {
        self.path.ends_with(NEW)
    }

    /// Where it belongs, of a table that is partitioned by shard.
    pub(crate) fn shard_place(&self) -> Place {
        let name = Path::new(&self.path).file_name().unwrap_or_default().to_string_lossy();
        let name = name.rsplit_once("-g").map(|(name, _)| name.to_owned());
        Place { day: None, shard: self.shard, name }
    }
}

impl Place {
    fn path(&self, table: &str, generation: u64) -> String {
        let mut path = table.to_owned();
        if let Some(day) = self.day {
            path.push_str("/day=");
            match day {
                None => path.push_str("unknown"),
                Some(day) => {
                    let mut text = Vec::new();
                    put_date(&mut text, day.saturating_mul(DAY_MS));
                    path.push_str(&String::from_utf8_lossy(&text));
                }
            }
        }
        if let Some(shard) = self.shard {
            path.push_str(&format!("/shard={shard}"));
        }
        let name = self.name.as_ref().map(|name| format!("{name}-")).unwrap_or_default();
        format!("{path}/{name}g{generation}.parquet")
    }

    /// True when a file of the store is the one of this place.
    pub(crate) fn is_of(&self, file: &StoreFile) -> bool {
        let named = Path::new(&file.path).file_name().and_then(|name| name.to_str()).unwrap_or("");
        let begins = match &self.name {
            Some(name) => {
                named.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with("-g"))
            }
            None => named.starts_with('g'),
        };
        file.day == self.day.flatten() && file.shard == self.shard && begins
    }
}

/// Whether a folder is a store, or may become one: then it is empty or does not exist. An import removes
/// files below folders that are named like its tables, so those of others must not be there.
///
/// # Errors
/// When something else is there.
pub(crate) fn expect_place(folder: &Path) -> Result<(), Error> {
    let occupied = |why| Err(Error::Occupied { path: folder.to_owned(), why });
    let mut entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return occupied("it is a file, or below one");
        }
        Err(error) => return Err(Error::io("read", folder, error)),
    };
    if is_begun(folder) || folder.join(MANIFEST).exists() || entries.next().is_none() {
        return Ok(());
    }
    occupied("it has other files")
}

/// True when an import has begun to write to a folder: it leaves the lock there, however it ends.
pub(crate) fn is_begun(folder: &Path) -> bool {
    folder.join(LOCK).exists()
}

/// The next state of a store, under way. It holds the lock.
#[derive(Debug)]
pub(crate) struct Draft {
    folder: PathBuf,
    lock: File,
    next: Mutex<Manifest>,
    generation: u64,
}

impl Draft {
    /// Locks the store's folder, which is made when there is none, and begins its next state; what
    /// a killed import left is removed. `base` gets the list as it is and, where an import was
    /// interrupted, its list.
    pub(crate) fn begin(
        folder: &Path,
        base: impl FnOnce(Option<Manifest>, Option<Manifest>) -> Result<Manifest, Error>,
    ) -> Result<Self, Error> {
        create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
        let path = folder.join(LOCK);
        let lock = File::create(&path).map_err(|error| Error::io("create", &path, error))?;
        if lock.try_lock().is_err() {
            return Err(Error::Busy { path: folder.to_owned() });
        }
        let stored = Manifest::read(&folder.join(MANIFEST))?;
        // A damaged list of an interrupted import is as good as none.
        let resume = Manifest::read(&folder.join(RESUME)).ok().flatten();
        let next = base(stored.clone(), resume)?;
        let generation = next.generation + 1;
        let draft = Self { folder: folder.to_owned(), lock, next: Mutex::new(next), generation };
        draft.remove_strays(stored.as_ref())?;
        let parts = draft.parts();
        create_dir_all(&parts).map_err(|error| Error::io("create", &parts, error))?;
        Ok(draft)
    }

    /// The state as it is now.
    pub(crate) fn manifest(&self) -> Manifest {
        self.locked().clone()
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Manifest> {
        self.next.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The folder for files that end with the import.
    pub(crate) fn parts(&self) -> PathBuf {
        self.folder.join(PARTS)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Changes what the list says besides files.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Manifest)) {
        change(&mut self.locked());
    }

    /// Writes the file of a place anew; the one before leaves the list. No rows make no file.
    pub(crate) fn replace<R: Row>(&self, place: &Place, rows: &[R]) -> Result<(), Error> {
        let table = R::TABLE.name;
        let mut file = None;
        if !rows.is_empty() {
            let path = place.path(table, self.generation);
            let bytes = culprit_recording::rows_to_parquet(rows).map_err(Error::Encode)?;
            write_file(&self.folder.join(format!("{path}{NEW}")), &bytes)?;
            file = Some(StoreFile {
                table: table.to_owned(),
                path: format!("{path}{NEW}"),
                day: place.day.flatten(),
                shard: place.shard,
                rows: rows.len() as u64,
                bytes: bytes.len() as u64,
                digest: Some(TableFile::digest_of(&bytes)),
            });
        }
        let mut next = self.locked();
        next.files.retain(|old| old.table != table || !place.is_of(old));
        next.files.extend(file);
        Ok(())
    }

    /// Makes the next state the store. Up to the renaming of the list the old store is whole.
    pub(crate) fn commit(self) -> Result<(), Error> {
        let mut next = self.manifest();
        next.generation = self.generation;
        next.resume = None;
        for file in &mut next.files {
            let Some(name) = file.path.strip_suffix(NEW) else { continue };
            let (from, to) = (self.folder.join(&file.path), self.folder.join(name));
            rename(&from, &to).map_err(|error| Error::io("rename", &from, error))?;
            file.path = name.to_owned();
        }
        next.files.sort();
        next.write(&self.folder.join(MANIFEST))?;
        self.remove_strays(Some(&next))
    }

    /// Keeps the next state for the import that goes on where this one was.
    pub(crate) fn suspend(self, resume: super::Resume) -> Result<(), Error> {
        let mut next = self.manifest();
        next.generation = self.generation;
        next.resume = Some(resume);
        next.write(&self.folder.join(RESUME))
    }

    /// Drops the next state.
    pub(crate) fn abandon(self) -> Result<(), Error> {
        let stored = Manifest::read(&self.folder.join(MANIFEST))?;
        self.change(|next| *next = stored.clone().unwrap_or_else(|| Manifest::new(1)));
        self.remove_strays(stored.as_ref())?;
        if stored.is_none() {
            // Only what an import makes; a folder that has anything else stays.
            remove_file(self.folder.join(LOCK)).ok();
            std::fs::remove_dir(&self.folder).ok();
        }
        Ok(())
    }

    /// Removes files that are neither in the store's list nor in the next one.
    fn remove_strays(&self, stored: Option<&Manifest>) -> Result<(), Error> {
        let next = self.manifest();
        let lists = stored.into_iter().chain([&next]);
        let kept: BTreeSet<PathBuf> =
            lists.flat_map(|list| &list.files).map(|file| self.folder.join(&file.path)).collect();
        if next.resume.is_none() {
            remove_file(self.folder.join(RESUME)).ok();
        }
        let parts = self.parts();
        if parts.exists() {
            std::fs::remove_dir_all(&parts).map_err(|e| Error::io("remove", &parts, e))?;
        }
        for table in crate::schema::TABLES {
            let folder = self.folder.join(table.table.name);
            remove_others(&folder, &kept)?;
            // Only one that is empty goes.
            std::fs::remove_dir(&folder).ok();
        }
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        self.lock.unlock().ok();
    }
}

/// Removes the files below a folder that are not kept, and folders that become empty.
fn remove_others(folder: &Path, kept: &BTreeSet<PathBuf>) -> Result<(), Error> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_others(&path, kept)?;
            std::fs::remove_dir(&path).ok();
        } else if !kept.contains(&path) {
            remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
        }
    }
    Ok(())
}

/// Writes a file, making its folder.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |error| Error::io("write", path, error);
    if let Some(folder) = path.parent() {
        create_dir_all(folder).map_err(failed)?;
    }
    File::create(path).and_then(|mut file| file.write_all(bytes)).map_err(failed)
}

#[cfg(test)]
mod tests {
    use culprit_model::Text;

    use super::*;
    use crate::schema::ImportRun;

    /// Else the folder of a first import that failed would have other files than a store's.
    #[test]
    fn a_first_import_that_fails_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let draft = Draft::begin(&path, |_, _| Ok(Manifest::new(1))).unwrap();
        let run = ImportRun {
            run_id: 1,
            command: "import".into(),
            rule_version: Text::default(),
            thresholds: Text::default(),
            counts: Text::default(),
            watermark: None,
        };
        draft.replace(&Place::default(), &[run]).unwrap();
        draft.abandon().unwrap();
        assert!(!path.exists());
    }
}
