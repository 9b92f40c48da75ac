//! Writing results: whole or not at all, and names that overwrite nothing by default.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::failure::{Context as _, Failure};

/// Writes a file under a temporary name beside it, then renames it: nobody sees half of it.
///
/// # Errors
/// When it cannot be written; then nothing is left of it.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let what = || format!("write `{}`", path.display());
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = std::fs::File::create(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written.or_refused(what)
}

/// The first of `STEM-1ENDING`, `STEM-2ENDING`, ... that does not exist yet.
pub(crate) fn unused(stem: &str, ending: &str) -> PathBuf {
    let mut names = (1u32..).map(|n| PathBuf::from(format!("{stem}-{n}{ending}")));
    names.find(|path| !path.exists()).unwrap_or_default()
}

/// What a file of a command is called: its program's base name, without what file names and shells
/// take amiss.
pub(crate) fn stem(program: &str) -> String {
    let base = program.rsplit('/').next().unwrap_or_default();
    let plain: String = base
        .chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' })
        .collect();
    let plain = plain.trim_start_matches(['-', '.']);
    if plain.is_empty() { "recording".to_owned() } else { plain.to_owned() }
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
    fn names_come_from_the_program() {
        assert_eq!(stem("/usr/bin/make"), "make");
        assert_eq!(stem("./a b;c"), "a_b_c");
        assert_eq!(stem("--"), "recording");
    }
}
