//! Where cases come from: carried by the program, or a folder of the user's own.

use std::path::{Path, PathBuf};

use super::case::Case;
use crate::error::{Context as _, Error, Result};

/// The file that makes a folder a case.
const CASE: &str = "case.toml";

/// Every file of the casebook: its path below `casebook/`, and its bytes.
const CARRIED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/casebook.rs"));

/// A collection of cases.
#[derive(Debug)]
pub enum Shelf {
    /// Those that the program carries.
    Carried,
    /// The folders of a folder.
    Folder(PathBuf),
}

impl Shelf {
    /// The names of the cases, sorted.
    ///
    /// # Errors
    /// When the folder cannot be read or holds no case.
    pub fn names(&self) -> Result<Vec<String>> {
        let mut names = match self {
            Self::Carried => CARRIED.iter().filter_map(|(path, _)| name_of(path)).collect(),
            Self::Folder(folder) => names_in(folder)?,
        };
        names.sort();
        Ok(names)
    }

    /// The case of a name.
    ///
    /// # Errors
    /// When there is none, or its description is wrong.
    pub fn case(&self, name: &str) -> Result<Case> {
        let names = self.names()?;
        if !names.iter().any(|known| known == name) {
            return Err(Error::input(format!("cannot find the case `{name}`"))
                .hint(format!("the cases are: {}", names.join(", "))));
        }
        let text = match self {
            Self::Carried => {
                let file = CARRIED.iter().find(|(path, _)| name_of(path).as_deref() == Some(name));
                let bytes = file.map_or(&[][..], |(_, bytes)| bytes);
                String::from_utf8_lossy(bytes).into_owned()
            }
            Self::Folder(folder) => {
                let path = folder.join(name).join(CASE);
                let text = std::fs::read_to_string(&path);
                text.or_input(|| format!("cannot read `{}`", path.display()))?
            }
        };
        Case::parse(name, &text)
    }

    /// Writes a case's files into a folder.
    ///
    /// # Errors
    /// When one cannot be read or written.
    pub fn unpack(&self, name: &str, into: &Path) -> Result<()> {
        let what = || format!("cannot write the case `{name}` into `{}`", into.display());
        match self {
            Self::Carried => {
                let own = CARRIED.iter().filter_map(|(path, bytes)| {
                    Some((path.split_once('/').filter(|(case, _)| *case == name)?.1, bytes))
                });
                for (file, bytes) in own {
                    std::fs::write(into.join(file), bytes).or_refused(what)?;
                }
            }
            Self::Folder(folder) => {
                let folder = folder.join(name);
                for entry in std::fs::read_dir(&folder).or_input(what)? {
                    let from = entry.or_input(what)?.path();
                    if let Some(file) = from.file_name().filter(|_| from.is_file()) {
                        std::fs::copy(&from, into.join(file)).or_refused(what)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The case that a carried file describes.
fn name_of(path: &str) -> Option<String> {
    path.strip_suffix(CASE)?.strip_suffix('/').map(str::to_owned)
}

fn names_in(folder: &Path) -> Result<Vec<String>> {
    let what = || format!("cannot read the cases in `{}`", folder.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).or_input(what)? {
        let entry = entry.or_input(what)?;
        if entry.path().join(CASE).is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    if names.is_empty() {
        return Err(Error::input(format!("{}: no subfolder contains a {CASE}", what()))
            .hint("give with `--dir` the folder that contains one subfolder for each case"));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_carried_case_can_be_read_and_unpacked() {
        let names = Shelf::Carried.names().unwrap();
        assert!(names.len() >= 6, "{names:?}");
        for name in names {
            let case = Shelf::Carried.case(&name).unwrap();
            assert!(!case.title.ends_with('.') && case.story.len() > 100, "{name}");
            let folder = tempfile::tempdir().unwrap();
            Shelf::Carried.unpack(&name, folder.path()).unwrap();
            assert!(folder.path().join(CASE).is_file());
            let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/casebook");
            assert!(page.join(format!("{name}.md")).is_file(), "{name} has no page");
        }
    }

    #[test]
    fn an_unknown_case_names_those_there_are() {
        let failure = Shelf::Carried.case("no-such-case").unwrap_err();
        assert!(
            matches!(&failure, Error::Input { hints, .. } if hints[0].contains("tail-poll")),
            "{failure}"
        );
        let folder = tempfile::tempdir().unwrap();
        assert!(Shelf::Folder(folder.path().to_owned()).names().is_err());
    }
}
