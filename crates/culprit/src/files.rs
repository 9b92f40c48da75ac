//! Writing results: whole or not at all, and names that overwrite nothing by default.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Context as _, Failure};

/// Writes a file under a temporary name beside it, then renames it: nobody sees half of it. What is
/// no ordinary file (`/dev/stdout`, a pipe) is written into. A recording is never replaced: it
/// cannot be made again.
///
/// # Errors
/// When it cannot be written; then nothing is left of it.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_by(path, |file| file.write_all(bytes))
}

/// Writes a document as JSON that people can read, too.
///
/// # Errors
/// As [`write_whole`].
pub(crate) fn write_json(path: &Path, document: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(document);
    let text = text.or_refused(|| "cannot write the JSON".to_owned())? + "\n";
    write_whole(path, text.as_bytes())
}

/// The name beside a file under which it is written until it is whole.
fn temporary(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

/// Whether a result could be written there: long work that ends in nowhere is better not begun.
///
/// # Errors
/// When there is no such folder, or it takes no files.
pub(crate) fn check_writable(path: &Path) -> Result<(), Failure> {
    if std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return Ok(());
    }
    let what = || format!("cannot write `{}`", path.display());
    let elsewhere =
        |failure: Failure| failure.hint("give a file in a folder that you can write to");
    if path.is_dir() {
        return Err(elsewhere(Failure::bad_input(format!("{}: this is a folder", what()))));
    }
    let trial = temporary(path);
    std::fs::File::create(&trial)
        .and_then(|_| std::fs::remove_file(&trial))
        .or_bad_input(what)
        .map_err(elsewhere)
}

/// As [`write_whole`], for what is written piece by piece.
///
/// # Errors
/// As [`write_whole`].
pub(crate) fn write_by(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let what = || format!("cannot write `{}`", path.display());
    let there = std::fs::metadata(path);
    if there.as_ref().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        let file = std::fs::OpenOptions::new().write(true).open(path);
        return file.and_then(|mut file| write(&mut file)).or_refused(what);
    }
    if there.is_ok() && culprit_recording::peek(path).is_ok() {
        return Err(Failure::bad_input(format!("{}: this file is a recording", what()))
            .hint("give another file with `-o`"));
    }
    // Through a link, so that it stays one.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let temporary = temporary(path);
    let written = std::fs::File::create(&temporary)
        .and_then(|mut file| write(&mut file))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written.or_refused(what).map_err(|failure| failure.hint("give another file with `-o`"))
}

/// The recording that a new one is to replace, out of the way until the new one is there: a command
/// that cannot be started costs nobody an earlier recording.
#[derive(Debug)]
pub(crate) struct Replaced {
    path: PathBuf,
    aside: Option<PathBuf>,
}

impl Replaced {
    /// Makes sure that a recording can be written to `path`, and sets aside what stands there.
    ///
    /// # Errors
    /// When a file stands there and `force` is not given, when another recorder writes it, or when the
    /// folder cannot be written to.
    pub(crate) fn set_aside(path: &Path, force: bool) -> Result<Self, Failure> {
        let what = || format!("cannot write `{}`", path.display());
        let elsewhere = |failure: Failure| failure.hint("give another file with `-o`");
        let Ok(there) = std::fs::metadata(path) else {
            std::fs::File::create_new(path)
                .and_then(|_| std::fs::remove_file(path))
                .or_refused(what)
                .map_err(elsewhere)?;
            return Ok(Self { path: path.to_owned(), aside: None });
        };
        if !there.is_file() {
            let kind = if there.is_dir() { "a folder" } else { "not a regular file" };
            return Err(elsewhere(Failure::refused(format!("{}: this is {kind}", what()))));
        }
        if there.len() > 0 && !force {
            return Err(exists(path));
        }
        let file = std::fs::OpenOptions::new().append(true).open(path);
        let file = file.or_refused(what).map_err(elsewhere)?;
        if matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)) {
            let busy = format!("{}: another recorder is writing it", what());
            return Err(elsewhere(Failure::refused(busy)));
        }
        let path = path.canonicalize().or_refused(what)?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".before");
        let aside = path.with_file_name(name);
        std::fs::rename(&path, &aside).or_refused(what).map_err(elsewhere)?;
        Ok(Self { path, aside: Some(aside) })
    }

    /// The new one is there: the earlier one goes.
    pub(crate) fn discard(mut self) {
        if let Some(aside) = self.aside.take() {
            // It is in nobody's way; the next recording replaces it.
            let _ = std::fs::remove_file(aside);
        }
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        if let Some(aside) = &self.aside {
            // What cannot be put back stays beside it under its other name.
            let _ = std::fs::rename(aside, &self.path);
        }
    }
}

/// Makes sure that a new recording replaces no file that the user wants to keep.
///
/// # Errors
/// When a file with something in it is there and `force` is not given.
pub(crate) fn replaceable(path: &Path, force: bool) -> Result<(), Failure> {
    let empty = std::fs::metadata(path).is_ok_and(|there| there.is_file() && there.len() == 0);
    if force || empty || !path.exists() { Ok(()) } else { Err(exists(path)) }
}

fn exists(path: &Path) -> Failure {
    let path = path.display();
    Failure::bad_input(format!("cannot write `{path}`: the file exists"))
        .hint("`--force` replaces it; `-o` writes to another file")
}

/// The first of `STEM-1ENDING`, `STEM-2ENDING`, ... that does not exist yet.
pub(crate) fn unused(stem: &str, ending: &str) -> PathBuf {
    let mut names = (1u32..).map(|n| PathBuf::from(format!("{stem}-{n}{ending}")));
    names.find(|path| !path.exists()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("x");
        std::fs::create_dir(&taken).unwrap();
        assert!(write_whole(&taken, b"x").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_stands_there_comes_back_unless_it_was_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.culprit");
        let recording = crate::testing::recording();
        culprit_recording::write(&path, &recording).unwrap();
        let earlier = std::fs::read(&path).unwrap();
        assert!(Replaced::set_aside(&path, false).is_err());
        drop(Replaced::set_aside(&path, true).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), earlier);
        Replaced::set_aside(&path, true).unwrap().discard();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        std::fs::write(&path, "notes").unwrap();
        let refused = Replaced::set_aside(&path, false).unwrap_err();
        assert!(refused.to_string().contains("the file exists"), "{refused}");
        Replaced::set_aside(&path, true).unwrap().discard();
        let refused = Replaced::set_aside(folder.path(), true).unwrap_err();
        assert!(refused.to_string().contains("a folder"), "{refused}");
    }

    #[test]
    fn a_page_never_replaces_a_recording_and_follows_links() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("x.culprit"), folder.path().join("link"));
        culprit_recording::write(&path, &crate::testing::recording()).unwrap();
        assert!(write_whole(&path, b"<html>").is_err());
        let page = folder.path().join("page.html");
        std::fs::write(&page, "old").unwrap();
        std::os::unix::fs::symlink(&page, &link).unwrap();
        write_whole(&link, b"new").unwrap();
        assert_eq!(std::fs::read(&page).unwrap(), b"new");
        assert!(link.symlink_metadata().unwrap().is_symlink());
        write_whole(Path::new("/dev/null"), b"x").unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }
}
