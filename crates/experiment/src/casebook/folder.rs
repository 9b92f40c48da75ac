//! A folder of a case's own: its files, its built programs, the recordings.

use std::path::{Path, PathBuf};

use crate::error::{Context as _, Result};

/// On a disk by the file system's conventions; in a memory file system nothing is ever read from a
/// disk or flushed to one, which is what some cases are about.
const BASE: &str = "/var/tmp";

/// A folder that is removed when it is dropped, unless it was asked for.
#[derive(Debug)]
pub(crate) struct CaseFolder {
    path: PathBuf,
    kept: bool,
}

impl CaseFolder {
    /// A folder for a case: below `keep` where that is given, else one that goes again.
    ///
    /// # Errors
    /// When it cannot be made, or is there already.
    pub(crate) fn make(name: &str, keep: Option<&Path>) -> Result<Self> {
        let (path, kept) = match keep {
            Some(keep) => {
                let what = || format!("cannot write into the folder `{}`", keep.display());
                std::fs::create_dir_all(keep).or_refused(what)?;
                (keep.canonicalize().or_refused(what)?.join(name), true)
            }
            None => (scratch()?, false),
        };
        let made = std::fs::create_dir(&path);
        made.or_refused(|| format!("cannot create the folder `{}`", path.display())).map_err(
            |error| error.hint("give a `--keep` folder that does not yet contain this case"),
        )?;
        Ok(Self { path, kept })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the recordings of a case are that is run in a folder.
    pub(crate) fn recordings_in(folder: &Path) -> PathBuf {
        folder.join("recordings")
    }

    /// Whether it stays.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept
    }

    /// Where the recordings stay; none where they go.
    pub(crate) fn kept_recordings(&self) -> Option<PathBuf> {
        self.kept.then(|| Self::recordings_in(&self.path))
    }
}

impl Drop for CaseFolder {
    fn drop(&mut self) {
        if !self.kept {
            // What stays is swept by the next run.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// A path that nobody has; what runs that were killed have left behind goes first.
fn scratch() -> Result<PathBuf> {
    let usual = PathBuf::from(BASE);
    let base = if usual.is_dir() { usual } else { std::env::temp_dir() };
    for entry in std::fs::read_dir(&base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
        if maker.and_then(culprit_place::maker_lives) == Some(false) {
            // Perhaps another user's: then it is theirs to remove.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    let name = culprit_place::fresh_name()
        .or_refused(|| "cannot choose a name for a folder".to_owned())?;
    Ok(base.join(name + SUFFIX))
}

/// Behind the name that says who made it.
const SUFFIX: &str = "-casebook";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_and_one_that_was_asked_for_stays() {
        let folder = CaseFolder::make("x", None).unwrap();
        let path = folder.path().to_owned();
        assert!(path.is_dir() && folder.kept_recordings().is_none());
        drop(folder);
        assert!(!path.exists());
        let keep = tempfile::tempdir().unwrap();
        drop(CaseFolder::make("x", Some(keep.path())).unwrap());
        assert!(keep.path().join("x").is_dir());
        assert!(CaseFolder::make("x", Some(keep.path())).is_err());
    }

    #[test]
    fn what_a_dead_run_has_left_is_swept() {
        let dead = Path::new(BASE).join(format!("{}{SUFFIX}", {
            let name = culprit_place::fresh_name().unwrap();
            // The same process number with another start time: its bearer is gone.
            let mut parts: Vec<&str> = name.split('_').collect();
            parts[3] = "1";
            parts.join("_")
        }));
        std::fs::create_dir(&dead).unwrap();
        drop(CaseFolder::make("x", None).unwrap());
        assert!(!dead.exists());
    }
}
