//! The folder of an experiment's recordings and page: one folder holds the files of one.

use std::path::Path;

use crate::error::{Context as _, Error, Result};

/// Stands in the name of the log of runs that are observed, and not compared, in place of the round.
pub const OBSERVED: &str = "observed";

/// The page in the folder of an answer.
pub const PAGE: &str = "report.html";

/// Makes the folder of an answer, which `option` names. The files of an earlier answer go: one folder
/// holds one answer.
///
/// # Errors
/// When it cannot be made or written into, or holds anything else.
pub(crate) fn make_folder(folder: &Path, option: &str) -> Result<()> {
    let what = || format!("cannot write into the folder `{}`", folder.display());
    let elsewhere = |error: Error| error.hint(format!("give another folder with `{option}`"));
    std::fs::create_dir_all(folder).or_refused(what).map_err(elsewhere)?;
    let mut earlier = Vec::new();
    for entry in std::fs::read_dir(folder).or_refused(what).map_err(elsewhere)? {
        let entry = entry.or_refused(what)?;
        let name = entry.file_name();
        if !is_of_an_answer(&name.to_string_lossy()) {
            return Err(elsewhere(Error::input(format!(
                "{}: it contains `{}`, which Culprit did not write",
                what(),
                name.to_string_lossy()
            ))));
        }
        earlier.push(entry.path());
    }
    let removed = earlier.into_iter().try_for_each(std::fs::remove_file);
    removed.or_refused(what).map_err(elsewhere)?;
    // Found out now, not after the first run.
    let probe = folder.join(PAGE);
    std::fs::File::create_new(&probe)
        .and_then(|_| std::fs::remove_file(&probe))
        .or_refused(what)
        .map_err(elsewhere)
}

/// Whether a file is one that an answer writes: the page, or `NUMBER-PLACE-ROUND` with the ending of
/// a recording or a log, or the log of observed runs.
fn is_of_an_answer(name: &str) -> bool {
    let stem = name.strip_suffix(".culprit").or_else(|| name.strip_suffix(".log"));
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let numbered = |stem: &str| {
        stem.split_once('-').is_some_and(|(arm, _)| number(arm))
            && stem.rsplit_once('-').is_some_and(|(_, of)| number(of) || of == OBSERVED)
    };
    name == PAGE || stem.is_some_and(numbered)
}

/// What a file of a command is called: its program's base name, without what file names and shells
/// take amiss.
#[must_use]
pub fn stem(program: &str) -> String {
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
    fn names_come_from_the_program() {
        assert_eq!(stem("/usr/bin/make"), "make");
        assert_eq!(stem("./a b;c"), "a_b_c");
        assert_eq!(stem("--"), "recording");
    }
}
