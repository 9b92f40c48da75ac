//! Which recordings are asked: files and folders to named recordings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// What the names of recordings end in.
const EXTENSION: &str = "culprit";

/// A recording and the name that its rows carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The value of the column `recording`.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

/// The recordings of some files, and of folders, whose `*.culprit` files they stand for in the order
/// of their names. Each is named by its file's name without the ending; where two would have one
/// name, by their paths. A file named twice is one recording.
///
/// # Errors
/// When a folder cannot be listed or holds no recording.
pub fn sources(paths: &[PathBuf]) -> Result<Vec<Source>, Error> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in paths {
        let found = if path.is_dir() { listed(path)? } else { vec![path.clone()] };
        for file in found {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    files.iter().for_each(|file| *uses.entry(stem(file)).or_default() += 1);
    let name = |file: &Path| match uses.get(&stem(file)) {
        Some(1) => stem(file),
        _ => file.with_extension("").display().to_string(),
    };
    Ok(files.into_iter().map(|path| Source { name: name(&path), path }).collect())
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Folder { path: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|ending| ending == EXTENSION) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(Error::NoRecording { path: folder.to_owned() }),
        false => Ok(files),
    }
}

fn stem(file: &Path) -> String {
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    name.strip_suffix(&format!(".{EXTENSION}")).unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[PathBuf]) -> Vec<String> {
        sources(paths).unwrap().into_iter().map(|source| source.name).collect()
    }

    #[test]
    fn recordings_are_named_by_their_files_and_by_their_paths_where_these_are_alike() {
        let paths: Vec<PathBuf> =
            ["a/run.culprit", "b/run.culprit", "other.culprit", "other.culprit"]
                .map(Into::into)
                .into();
        assert_eq!(names(&paths), ["a/run", "b/run", "other"]);
    }

    #[test]
    fn a_folder_stands_for_its_recordings() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        assert!(matches!(sources(std::slice::from_ref(&path)), Err(Error::NoRecording { .. })));
        for name in ["2.culprit", "1.culprit", "notes.txt"] {
            std::fs::write(path.join(name), "").unwrap();
        }
        std::fs::create_dir(path.join("3.culprit")).unwrap();
        assert_eq!(names(&[path]), ["1", "2"]);
    }
}
