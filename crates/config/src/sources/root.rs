//! Files below one root folder: of this machine, of a process, or of an image.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use culprit_place::procfs::EntryKind;

use super::Request;
use crate::files::Files;
use crate::provenance::SourceState;
use crate::readers::MAX_BYTES;

/// Folders that reading does not leave.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    /// Folders elsewhere that the profile names.
    also: Vec<PathBuf>,
    /// The files, if they are not in that folder of this machine.
    files: Option<Arc<dyn Files>>,
}

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRead {
    /// What became of it.
    pub state: SourceState,
    /// Why; empty if it was read.
    pub why: String,
    /// Its bytes; none if it could not be read.
    pub bytes: Option<Vec<u8>>,
    /// When it changed, in seconds since 1970; none if that is not known.
    pub modified: Option<u64>,
}

impl Root {
    /// The root of a request; the path as typed where it does not exist.
    pub(crate) fn new(path: &Path) -> Self {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { path, also: Vec::new(), files: None }
    }

    /// The root of a request, wherever its files are.
    pub(crate) fn from_request(request: &Request) -> Self {
        match &request.files {
            Some(files) => Self {
                path: request.root.clone(),
                also: Vec::new(),
                files: Some(Arc::clone(files)),
            },
            None => Self::new(&request.root),
        }
    }

    /// Whether the files are those of the folder of this machine.
    pub(crate) fn is_of_this_machine(&self) -> bool {
        self.files.is_none()
    }

    /// A path below the root as one of all files, with links followed where this machine has them; none if
    /// nothing is there.
    pub(crate) fn resolved(&self, path: &str) -> Option<PathBuf> {
        let joined = self.path.join(path);
        match &self.files {
            Some(files) => files.kind(path).map(|_| joined),
            None => joined.canonicalize().ok(),
        }
    }

    /// Whether a path has something: a file, a folder, or a link even to nothing.
    pub(crate) fn is_there(&self, path: &str) -> bool {
        match &self.files {
            Some(files) => files.kind(path).is_some() || files.link(path).is_some(),
            None => self.path.join(path).symlink_metadata().is_ok(),
        }
    }

    /// Whether a path leads to a folder.
    pub(crate) fn is_folder(&self, path: &str) -> bool {
        match &self.files {
            Some(files) => files.kind(path) == Some(EntryKind::Folder),
            None => self.path.join(path).is_dir(),
        }
    }

    /// What a link leads to, as it stands in the link; none if the path has no link.
    pub(crate) fn link(&self, path: &str) -> Option<PathBuf> {
        match &self.files {
            Some(files) => files.link(path),
            None => self.path.join(path).read_link().ok(),
        }
    }

    /// Whether a path has a file of no bytes that is no link.
    pub(crate) fn is_empty_file(&self, path: &str) -> bool {
        match &self.files {
            Some(files) => {
                let bytes = || files.read(Path::new(path)).bytes;
                self.is_plain_file(path) && bytes().is_some_and(|bytes| bytes.is_empty())
            }
            None => {
                let found = self.path.join(path).symlink_metadata();
                found.is_ok_and(|found| found.is_file() && found.len() == 0)
            }
        }
    }

    /// Whether a path has a file that is no link.
    pub(crate) fn is_plain_file(&self, path: &str) -> bool {
        match &self.files {
            Some(files) => files.link(path).is_none() && files.kind(path) == Some(EntryKind::File),
            None => self.path.join(path).symlink_metadata().is_ok_and(|found| found.is_file()),
        }
    }

    /// Also allows what is below a path of this machine that the profile names: a folder, or a file with
    /// its neighbours.
    pub(crate) fn allow(&mut self, path: &Path) {
        if self.files.is_some() {
            return;
        }
        let folder = if path.is_dir() { Some(path) } else { path.parent() };
        // A relative path is below the root.
        let folder = folder.filter(|_| path.is_absolute());
        if let Some(folder) = folder.and_then(|folder| folder.canonicalize().ok()) {
            // The root of all files would allow everything.
            self.also.extend(Some(folder).filter(|folder| folder.parent().is_some()));
        }
    }

    /// Reads a file below the root.
    pub(crate) fn read(&self, name: &Path) -> FileRead {
        if let Some(files) = &self.files {
            return files.read(name);
        }
        let failed =
            |state, why: &str| FileRead { state, why: why.to_owned(), bytes: None, modified: None };
        let path = match self.path.join(name).canonicalize() {
            Ok(path) => path,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return failed(SourceState::Missing, "no such file");
            }
            Err(error) => return failed(SourceState::Denied, &error.to_string()),
        };
        let is_allowed = |folder: &PathBuf| path.starts_with(folder);
        if !is_allowed(&self.path) && !self.also.iter().any(is_allowed) {
            return failed(
                SourceState::Outside,
                "lies outside the root folder; `--root` sets another one",
            );
        }
        let metadata = match path.metadata() {
            Ok(metadata) => metadata,
            Err(error) => return failed(SourceState::Denied, &error.to_string()),
        };
        if !metadata.is_file() {
            return failed(SourceState::Denied, "is not a regular file");
        }
        let too_large =
            || failed(SourceState::TooLarge, &format!("larger than {} MiB", MAX_BYTES >> 20));
        if metadata.len() > MAX_BYTES {
            return too_large();
        }
        let since_epoch =
            metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&path);
        match file.and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)) {
            Err(error) => failed(SourceState::Denied, &error.to_string()),
            // It grew after its size was asked for.
            Ok(length) if length as u64 > MAX_BYTES => too_large(),
            Ok(_) => FileRead {
                state: SourceState::Read,
                why: String::new(),
                bytes: Some(bytes),
                modified: since_epoch.map(|time| time.as_secs()),
            },
        }
    }

    /// Whether a file exists below the root, as a file.
    pub(super) fn has(&self, name: &str) -> bool {
        !self.matching(name).is_empty()
    }

    /// The files that a pattern matches, by name. `*` stands for a part of a name without a dot.
    pub(crate) fn matching(&self, pattern: &str) -> Vec<String> {
        let (start, rest) = match pattern.strip_prefix('/') {
            Some(rest) => ("/", rest),
            None => ("", pattern),
        };
        let mut folders = vec![start.to_owned()];
        let parts: Vec<&str> = rest.split('/').collect();
        for (at, part) in parts.iter().enumerate() {
            let is_last = at + 1 == parts.len();
            folders =
                folders.iter().flat_map(|folder| self.inside(folder, part, is_last)).collect();
        }
        folders
    }

    fn inside(&self, folder: &str, part: &str, is_last: bool) -> Vec<String> {
        let below = |name: &str| match folder {
            "" => name.to_owned(),
            "/" => format!("/{name}"),
            folder => format!("{folder}/{name}"),
        };
        let fits = |name: &str| {
            let path = below(name);
            if is_last {
                !self.is_folder(&path) && self.is_there(&path)
            } else {
                self.is_folder(&path)
            }
        };
        if !part.contains('*') {
            return if fits(part) { vec![below(part)] } else { Vec::new() };
        }
        let mut names: Vec<String> = self
            .names(folder)
            .into_iter()
            .filter(|name| matches(part, name) && fits(name))
            .map(|name| below(&name))
            .collect();
        names.sort();
        names
    }

    /// The files and the folders in a folder, each by name. A folder that is a link is left out: it may
    /// lead back.
    pub(crate) fn entries(&self, folder: &str) -> (Vec<String>, Vec<String>) {
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for name in self.names(folder) {
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let is_folder = match &self.files {
                Some(files) => files.link(&path).is_none() && self.is_folder(&path),
                // One look, which follows no link: there may be thousands of files.
                None => self.path.join(&path).symlink_metadata().is_ok_and(|found| found.is_dir()),
            };
            if is_folder { folders.push(path) } else { files.push(path) }
        }
        files.sort();
        folders.sort();
        (files, folders)
    }

    /// The names in a folder.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        if let Some(files) = &self.files {
            return files.names(folder);
        }
        let Ok(entries) = std::fs::read_dir(self.path.join(folder)) else { return Vec::new() };
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
    }
}

/// Whether a name fits a pattern in which `*` stands for a part without a dot.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            let dot = name.find('.').unwrap_or(name.len());
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.take_while(|at| *at <= dot).any(|at| at > 0 && matches(rest, &name[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_a_part_without_a_dot() {
        assert!(matches("appsettings.*.json", "appsettings.Production.json"));
        assert!(matches("config.*", "config.yaml") && !matches("config.*", "config.local.yaml"));
        assert!(
            !matches("config.*", "config.")
                && !matches("*", ".env")
                && matches(".env.*", ".env.local")
        );
    }

    #[test]
    fn what_leads_out_of_the_root_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(folder.path().join("secret.json"), "{}").unwrap();
        std::os::unix::fs::symlink("../secret.json", root.join("link.json")).unwrap();
        std::os::unix::fs::symlink("loop.json", root.join("loop.json")).unwrap();
        let root = Root::new(&root);
        for name in ["link.json", "../secret.json"] {
            assert_eq!(root.read(Path::new(name)).state, SourceState::Outside, "{name}");
        }
        assert_eq!(root.read(Path::new("none.json")).state, SourceState::Missing);
        assert_eq!(root.read(Path::new("loop.json")).state, SourceState::Denied);
        assert_eq!(root.read(Path::new(".")).state, SourceState::Denied);
    }
}
