//! The repository of git that a folder belongs to.
//!
//! ```text
//! /shop/.git        a folder: the repository, also of all folders below /shop
//! /shop/.git        a file with `gitdir: PATH`: of a work tree that was added, or of a submodule
//! PATH/commondir    where the folder is that several work trees share
//! ```

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::profile::Repository;
use crate::sources::Root;

/// The name of the repository's folder, or of the file that says where it is.
const NAME: &str = ".git";
/// A file with a path is not longer.
const LONGEST: u64 = 4096;

/// The path of a folder of the repository that a root belongs to, and where it was found; none if it belongs to none.
pub(crate) fn find(root: &Root, which: Repository) -> Option<(String, String)> {
    let here = || (NAME.to_owned(), "of this folder".to_owned());
    if root.is_folder(NAME) {
        return Some(here());
    }
    if !root.is_of_this_machine() {
        return None;
    }
    let start = root.resolved("")?;
    let at = start.ancestors().map(|folder| folder.join(NAME)).find(|path| path.exists())?;
    let own = match at.is_dir() {
        true => at.clone(),
        false => below(at.parent()?, line(&at)?.strip_prefix("gitdir:")?)?,
    };
    let shared = || below(&own, &line(&own.join("commondir"))?);
    let folder = match which {
        Repository::Own => own.clone(),
        Repository::Shared => shared().unwrap_or_else(|| own.clone()),
    };
    Some((folder.to_str()?.to_owned(), at.display().to_string()))
}

/// A path as one of all files, if it is there.
fn below(folder: &Path, path: &str) -> Option<PathBuf> {
    folder.join(path.trim()).canonicalize().ok()
}

/// The text of a small file.
fn line(path: &Path) -> Option<String> {
    let mut text = String::new();
    std::fs::File::open(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}
