//! The recordings that a page shows: one file, or those of one folder.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rustix::fs::{Mode, OFlags, open};
use serde::Serialize;

use crate::Error;

/// How the files of a folder end that are shown.
const ENDING: &str = "culprit";

/// A recording in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Listed {
    /// The file's name; what is no UTF-8 in it is replaced.
    pub(crate) name: String,
    bytes: u64,
    /// Milliseconds since 1970.
    modified_ms: u64,
    #[serde(skip)]
    file: OsString,
}

/// What is shown.
#[derive(Debug)]
pub(crate) struct Library {
    folder: PathBuf,
    /// The one file of the folder that is shown; none where all recordings are.
    only: Option<OsString>,
}

impl Library {
    /// Looks at a recording, or at a folder of them.
    ///
    /// # Errors
    /// When the file is no recording, or the folder has none.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        if path.is_dir() {
            let library = Self { folder: path.to_owned(), only: None };
            if library.list()?.is_empty() {
                return Err(Error::NoRecording(path.to_owned()));
            }
            return Ok(library);
        }
        culprit_recording::peek(path)?;
        // Where a link leads to is what was named.
        let whole = path.canonicalize().map_err(|source| folder_error(path, source))?;
        let folder = whole.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(Self { folder, only: whole.file_name().map(OsStr::to_owned) })
    }

    /// The recordings by name. Links are left out: they may lead out of the folder.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub(crate) fn list(&self) -> Result<Vec<Listed>, Error> {
        let failed = |source| folder_error(&self.folder, source);
        let mut list = Vec::new();
        if let Some(only) = &self.only {
            list.extend(listed(only.clone(), &self.folder.join(only)));
            return Ok(list);
        }
        for entry in std::fs::read_dir(&self.folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            if path.extension().is_some_and(|ending| ending == ENDING) {
                list.extend(listed(entry.file_name(), &path));
            }
        }
        list.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.file.cmp(&b.file)));
        Ok(list)
    }

    /// Opens a recording of the list by its name there, and says how long it is.
    ///
    /// # Errors
    /// When there is none of that name, or it cannot be read.
    pub(crate) fn file(&self, name: &str) -> io::Result<(File, u64)> {
        let list = self.list().map_err(io::Error::other)?;
        let found = list.into_iter().find(|listed| listed.name == name);
        let found = found.ok_or(io::ErrorKind::NotFound)?;
        // It may have become a link, or a pipe that never ends, since it was listed.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(open(self.folder.join(found.file), flags, Mode::empty())?);
        let facts = file.metadata()?;
        if !facts.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok((file, facts.len()))
    }
}

fn folder_error(path: &Path, source: io::Error) -> Error {
    Error::Folder { path: path.to_owned(), source }
}

/// The entry of a regular file; none for all else, and for what is gone again.
fn listed(file: OsString, path: &Path) -> Option<Listed> {
    let facts = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    let modified = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified_ms =
        modified.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    Some(Listed {
        name: file.to_string_lossy().into_owned(),
        bytes: facts.len(),
        modified_ms,
        file,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;

    fn names(library: &Library) -> Vec<String> {
        library.list().unwrap().into_iter().map(|listed| listed.name).collect()
    }

    #[test]
    fn a_folder_shows_its_recordings_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(matches!(Library::open(folder.path()), Err(Error::NoRecording(_))));
        std::fs::write(at("secret"), "s").unwrap();
        std::fs::create_dir(at("sub.culprit")).unwrap();
        std::fs::write(at("b.culprit"), "bb").unwrap();
        let odd = "<img src=x onerror=alert(1)>\"' \u{202e}gnp.culprit";
        std::fs::write(at(odd), "odd").unwrap();
        symlink("/etc/passwd", at("link.culprit")).unwrap();
        symlink(at("secret"), at("own.culprit")).unwrap();
        let bytes = OsStr::from_bytes(b"\xff.culprit");
        std::fs::write(folder.path().join(bytes), "ff").unwrap();
        let library = Library::open(folder.path()).unwrap();
        assert_eq!(names(&library), [odd, "b.culprit", "\u{fffd}.culprit"]);
        let read = |name: &str| {
            let (mut file, length) = library.file(name).ok()?;
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text.len() as u64, length);
            Some(text)
        };
        assert_eq!(read(odd).as_deref(), Some("odd"));
        assert_eq!(read("\u{fffd}.culprit").as_deref(), Some("ff"));
        let long = format!("{}.culprit", "x".repeat(10_000));
        for hidden in
            ["secret", "link.culprit", "own.culprit", "sub.culprit", "../b.culprit", "", ".", &long]
        {
            assert_eq!(read(hidden), None, "{hidden}");
        }
    }

    #[test]
    fn one_file_shows_itself_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        culprit_recording::write(at("a.bin"), &culprit_model::Recording::default()).unwrap();
        std::fs::write(at("b.culprit"), "bb").unwrap();
        symlink(at("a.bin"), at("link")).unwrap();
        for path in ["a.bin", "link"] {
            let library = Library::open(&at(path)).unwrap();
            assert_eq!(names(&library), ["a.bin"]);
            assert!(library.file("a.bin").is_ok() && library.file("b.culprit").is_err());
        }
        for no in ["b.culprit", "nowhere"] {
            assert!(matches!(Library::open(&at(no)), Err(Error::Recording(_))), "{no}");
        }
        // What was a recording when it was named may be anything later.
        let library = Library::open(&at("a.bin")).unwrap();
        std::fs::remove_file(at("a.bin")).unwrap();
        symlink("/etc/passwd", at("a.bin")).unwrap();
        assert!(names(&library).is_empty() && library.file("a.bin").is_err());
    }
}
