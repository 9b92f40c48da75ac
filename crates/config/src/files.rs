//! Files of a project that are not in a folder of this machine: those of a running process, through its
//! own root, and those of an image, in memory.
//!
//! `sources` reads folders of this machine itself, and asks [`Files`] for the others. Both stay below
//! the project's folder.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use culprit_model::Pid;
use culprit_place::procfs::{
    EntryKind, entry_beneath, folder_in_root, is_open_to_all, link_beneath, names_beneath,
    open_beneath, root_of,
};

use crate::provenance::SourceState;
use crate::readers::MAX_BYTES;
use crate::sources::FileRead;

/// A tree of files below one folder.
pub trait Files: fmt::Debug + Send + Sync {
    /// Reads a file by its path below the folder.
    fn read(&self, name: &Path) -> FileRead;

    /// The names in a folder, sorted; empty if there is no such folder, or it may not be read.
    fn names(&self, folder: &str) -> Vec<String>;

    /// What is at a path; none if nothing is there.
    fn kind(&self, path: &str) -> Option<EntryKind>;

    /// What a link leads to, as it stands in the link; none if the path has no link.
    fn link(&self, path: &str) -> Option<PathBuf>;
}

/// The files below a folder of a running process.
#[derive(Debug)]
pub struct ProcessFiles {
    root: OwnedFd,
    folder: OwnedFd,
    path: PathBuf,
}

impl ProcessFiles {
    /// The files below `folder`, as the process names it.
    ///
    /// # Errors
    /// When the process has ended, its files may not be read, or there is no such folder.
    pub fn open(pid: Pid, folder: &Path) -> culprit_place::Result<Self> {
        let root = root_of(pid)?;
        let opened = folder_in_root(&root, folder)?;
        Ok(Self { root, folder: opened, path: folder.to_owned() })
    }

    /// Whether every user can read a file, by its mode and those of the folders above it.
    #[must_use]
    pub fn is_open_to_all(&self, name: &str) -> bool {
        is_open_to_all(&self.root, &self.path.join(name)).unwrap_or(false)
    }
}

impl ProcessFiles {
    /// Reads a file of at most so many bytes; a larger one is [`SourceState::TooLarge`].
    #[must_use]
    pub fn read_at_most(&self, name: &Path, most: u64) -> FileRead {
        let read = || -> io::Result<(Vec<u8>, Option<u64>)> {
            let file = open_beneath(&self.folder, name)?;
            let metadata = file.metadata()?;
            let modified = metadata.modified().ok();
            let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let mut bytes = Vec::new();
            file.take(most + 1).read_to_end(&mut bytes)?;
            Ok((bytes, modified.map(|time| time.as_secs())))
        };
        match read() {
            Ok((bytes, _)) if bytes.len() as u64 > most => too_large(),
            Ok((bytes, modified)) => FileRead {
                state: SourceState::Read,
                why: String::new(),
                bytes: Some(bytes),
                modified,
            },
            Err(error) => unreadable(&error),
        }
    }
}

impl Files for ProcessFiles {
    fn read(&self, name: &Path) -> FileRead {
        self.read_at_most(name, MAX_BYTES)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        names_beneath(&self.folder, Path::new(folder)).unwrap_or_default()
    }

    fn kind(&self, path: &str) -> Option<EntryKind> {
        match entry_beneath(&self.folder, Path::new(path)) {
            Ok(kind) => Some(kind),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => None,
                // A link that leads out of the folder is still shown, with its state.
                _ => Some(EntryKind::File),
            },
        }
    }

    fn link(&self, path: &str) -> Option<PathBuf> {
        link_beneath(&self.folder, Path::new(path)).ok().flatten()
    }
}

fn failed(state: SourceState, why: &str) -> FileRead {
    FileRead { state, why: why.to_owned(), bytes: None, modified: None }
}

fn too_large() -> FileRead {
    failed(SourceState::TooLarge, &format!("larger than {} MiB", MAX_BYTES >> 20))
}

fn unreadable(error: &io::Error) -> FileRead {
    match error.kind() {
        io::ErrorKind::NotFound => failed(SourceState::Missing, "no such file"),
        io::ErrorKind::CrossesDevices => failed(
            SourceState::Outside,
            "lies outside the project's folder; `--root` sets another one",
        ),
        _ => failed(SourceState::Denied, &error.to_string()),
    }
}

/// A file of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageFile {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// A link to this path.
    Link(String),
    /// It is larger than what is read.
    TooLarge,
}

/// The files below a folder of an image, in memory.
#[derive(Debug, Default)]
pub struct ImageFiles {
    /// By absolute path without the first `/`.
    files: BTreeMap<String, ImageFile>,
    /// The folder, without `/` at its start and end.
    folder: String,
}

/// Links that lead to links: Linux gives up after 40 (`path_resolution(7)`).
const MOST_LINKS: usize = 40;

impl ImageFiles {
    /// The files below `folder` among those of an image, by absolute path without the first `/`.
    #[must_use]
    pub fn new(files: BTreeMap<String, ImageFile>, folder: &str) -> Self {
        Self { files, folder: lexical("", folder) }
    }

    /// The file at a path below the folder, with links followed.
    fn find(&self, name: &str) -> Result<&ImageFile, FileRead> {
        let mut path = lexical(&self.folder, name);
        for _ in 0..MOST_LINKS {
            let inside = self.folder.is_empty()
                || path.strip_prefix(&self.folder).is_some_and(|rest| rest.starts_with('/'));
            if !inside {
                let error = io::Error::from(io::ErrorKind::CrossesDevices);
                return Err(unreadable(&error));
            }
            match self.files.get(&path) {
                Some(ImageFile::Link(to)) => {
                    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
                    path = if to.starts_with('/') { lexical("", to) } else { lexical(parent, to) };
                }
                Some(file) => return Ok(file),
                None => return Err(failed(SourceState::Missing, "no such file")),
            }
        }
        Err(failed(SourceState::Denied, "too many links"))
    }

    fn below(&self, folder: &str) -> String {
        let path = lexical(&self.folder, folder);
        if path.is_empty() { path } else { format!("{path}/") }
    }
}

impl Files for ImageFiles {
    fn read(&self, name: &Path) -> FileRead {
        match self.find(&name.to_string_lossy()) {
            Ok(ImageFile::Bytes(bytes)) => FileRead {
                state: SourceState::Read,
                why: String::new(),
                bytes: Some(bytes.clone()),
                modified: None,
            },
            Ok(_) => too_large(),
            Err(failed) => failed,
        }
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let below = self.below(folder);
        let paths = self.files.range(below.clone()..).map(|(path, _)| path);
        let inside = paths.map_while(|path| path.strip_prefix(&below));
        let mut names: Vec<String> =
            inside.filter_map(|path| path.split('/').next()).map(str::to_owned).collect();
        names.dedup();
        names
    }

    fn kind(&self, path: &str) -> Option<EntryKind> {
        match self.find(path) {
            Ok(_) => Some(EntryKind::File),
            Err(read) if read.state == SourceState::Missing => {
                (!self.names(path).is_empty()).then_some(EntryKind::Folder)
            }
            // A link that leads out of the folder is still shown, with its state.
            Err(_) => Some(EntryKind::File),
        }
    }

    fn link(&self, path: &str) -> Option<PathBuf> {
        match self.files.get(&lexical(&self.folder, path)) {
            Some(ImageFile::Link(to)) => Some(PathBuf::from(to)),
            _ => None,
        }
    }
}

/// A path from a folder, without `.`, `..` and empty parts; `..` at the root stays there.
fn lexical(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(part) => parts.extend(part.to_str()),
            Component::ParentDir => {
                parts.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> ImageFiles {
        let file = |text: &str| ImageFile::Bytes(text.as_bytes().to_vec());
        let files = [
            ("app/appsettings.json", file("{}")),
            ("app/link.json", ImageFile::Link("conf/real.json".to_owned())),
            ("app/conf/real.json", file("{\"a\":1}")),
            ("app/out.json", ImageFile::Link("/etc/other.json".to_owned())),
            ("app/loop.json", ImageFile::Link("loop.json".to_owned())),
            ("application/x.json", file("{}")),
            ("etc/other.json", file("{}")),
        ];
        ImageFiles::new(files.map(|(path, file)| (path.to_owned(), file)).into(), "/app/")
    }

    #[test]
    fn an_image_s_links_stay_in_its_folder() {
        let image = image();
        let state = |name: &str| image.read(Path::new(name)).state;
        assert_eq!(state("appsettings.json"), SourceState::Read);
        assert_eq!(image.read(Path::new("link.json")).bytes.unwrap(), b"{\"a\":1}");
        assert_eq!(state("out.json"), SourceState::Outside);
        assert_eq!(state("../etc/other.json"), SourceState::Outside);
        assert_eq!(state("../application/x.json"), SourceState::Outside);
        assert_eq!(state("loop.json"), SourceState::Denied);
        assert_eq!(state("none.json"), SourceState::Missing);
        assert_eq!(image.kind("conf"), Some(EntryKind::Folder));
        let names = image.names("");
        assert_eq!(names, ["appsettings.json", "conf", "link.json", "loop.json", "out.json"]);
    }

    #[test]
    fn our_own_files_are_read_through_our_root() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.json"), "{}").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("out.json")).unwrap();
        let files = ProcessFiles::open(Pid(std::process::id()), folder.path()).unwrap();
        let read = files.read(Path::new("a.json"));
        assert_eq!((read.state, read.bytes.unwrap().len()), (SourceState::Read, 2));
        assert!(read.modified.is_some());
        assert_eq!(files.read(Path::new("out.json")).state, SourceState::Outside);
        assert_eq!(files.read(Path::new("b.json")).state, SourceState::Missing);
        assert_eq!(files.names(""), ["a.json", "out.json"]);
        assert_eq!(files.kind("a.json"), Some(EntryKind::File));
    }
}
