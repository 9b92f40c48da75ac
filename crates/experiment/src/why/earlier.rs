//! Earlier recordings of the same command, against which new runs are compared.

use std::path::PathBuf;

use culprit_engine::calls::Patterns;
use culprit_model::{Recording, Rung};

use crate::error::{Error, Result};
use crate::recorded::{Fingerprint, Recorded};
use crate::workbench::Recorder;

/// Recordings that were made before.
#[derive(Debug)]
pub struct Earlier {
    /// What they are called in prose.
    pub label: String,
    /// The place of the first.
    pub place: String,
    /// Each of them.
    pub runs: Vec<Recorded>,
}

impl Earlier {
    /// Reads them; none of no files. `own` is what counts as the program's own code.
    ///
    /// # Errors
    /// When one cannot be read, is not whole, or is of another command.
    pub fn read(
        files: &[PathBuf],
        command: &[String],
        own: &Patterns,
        recorder: &dyn Recorder,
    ) -> Result<Option<Self>> {
        let label = match files {
            [] => return Ok(None),
            [one] => one.file_name().map_or_else(
                || one.display().to_string(),
                |name| name.to_string_lossy().into_owned(),
            ),
            several => format!("{} earlier recordings", several.len()),
        };
        let mut place = None;
        let mut runs = Vec::new();
        for file in files {
            let recording = recorder.read(file)?;
            if let Some(wrong) = unfit(&recording, command) {
                let what = format!("cannot compare with `{}`: {wrong}", file.display());
                return Err(Error::input(what).hint(
                    "give a recording made by `culprit why -o DIR` or `culprit record -- CMD`; \
                     `culprit diff BEFORE AFTER` compares any two recordings",
                ));
            }
            let here = &recording.meta.place;
            if place.get_or_insert_with(|| here.clone()) != here {
                let what = format!(
                    "cannot compare with `{}`: it was recorded in {here}, unlike the others",
                    file.display()
                );
                return Err(Error::input(what).hint("give only recordings of one place"));
            }
            runs.push(Recorded::new(&recording, file, &label, own));
        }
        Ok(place.map(|place| Self { label, place, runs }))
    }

    /// Where the machine or the recorder was another one then, one sentence each.
    #[must_use]
    pub fn notes(&self, now: &Fingerprint) -> Vec<String> {
        let mut notes = Vec::new();
        for run in &self.runs {
            for (what, there, here) in run.fingerprint.differences(now) {
                let note = format!(
                    "The {what} was different then ({there}, now {here}). This alone can change \
                     the times."
                );
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        if self.runs.len() == 1 {
            notes.push(
                "One earlier recording does not show how much runs varied then, so the interval \
                 comes from the new runs. Give several `--against` to include the variation then."
                    .to_owned(),
            );
        }
        notes.push(
            "The two sides ran at different times. Differences include every change of the \
             machine since then, such as its load."
                .to_owned(),
        );
        notes
    }
}

/// Why a recording cannot be what new runs of a command are compared with.
fn unfit(recording: &Recording, command: &[String]) -> Option<String> {
    let meta = &recording.meta;
    if meta.rung == Rung::Imported || recording.intervals.is_empty() {
        return Some("the recording has no thread times".to_owned());
    }
    if meta.command.is_empty() {
        return Some(
            "it records processes that were already running, not a whole command".to_owned(),
        );
    }
    if !meta.complete {
        return Some("the recording is incomplete, so the length of the run is unknown".to_owned());
    }
    if !same_command(&meta.command, command) {
        return Some(format!(
            "it records another command, `{}` instead of `{}`",
            meta.command.join(" "),
            command.join(" ")
        ));
    }
    None
}

/// The same words, but that the program may lie in another folder: another version of it.
fn same_command(then: &[String], now: &[String]) -> bool {
    let name = |word: &String| word.rsplit('/').next().map(str::to_owned);
    then.len() == now.len()
        && then.first().and_then(name) == now.first().and_then(name)
        && then.iter().skip(1).eq(now.iter().skip(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn another_folder_of_the_program_is_another_version_of_the_command() {
        assert!(same_command(&words("/old/app -x f"), &words("./app -x f")));
        assert!(!same_command(&words("/old/app -x f"), &words("./app -x g")));
        assert!(!same_command(&words("/old/app -x"), &words("./app -x f")));
        assert!(!same_command(&words("/old/app"), &words("./apps")));
    }

    #[test]
    fn what_is_no_run_of_the_command_is_refused_with_the_reason() {
        let mut recording = crate::testing::recording();
        let command = recording.meta.command.clone();
        assert!(!command.is_empty() && unfit(&recording, &command).is_none());
        assert!(unfit(&recording, &words("true")).unwrap().contains("another command"));
        recording.meta.complete = false;
        assert!(unfit(&recording, &command).unwrap().contains("is incomplete"));
        recording.meta.command.clear();
        assert!(unfit(&recording, &command).unwrap().contains("already running"));
        recording.intervals.clear();
        assert!(unfit(&recording, &command).unwrap().contains("no thread time"));
    }
}
