//! What an experiment is given: the way to end it, to tell of it, to record in it.

use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;

use culprit_model::Recording;
use culprit_place::{Command, Exit, Place, Settings};

use crate::control::Control;
use crate::error::Result;

/// What every run needs.
#[derive(Debug)]
pub struct Workbench<'a> {
    /// Ends runs early.
    pub control: &'a Control,
    /// Who is told what is going on.
    pub progress: &'a dyn ShowsProgress,
    /// Records commands.
    pub recorder: &'a dyn Recorder,
    /// How places are made here.
    pub places: Settings,
}

/// Who is told what is going on; the unit type keeps it to itself.
pub trait ShowsProgress: Debug {
    /// So many steps are to be done from now on.
    fn steps(&self, _steps: u64) {}
    /// This is being done.
    fn doing(&self, _what: String) {}
    /// One step is done.
    fn step(&self) {}
}

impl ShowsProgress for () {}

/// Records commands: the door to the recorder and to its files.
pub trait Recorder: Debug {
    /// Runs a command, and records it into a file, until it ends, this time is over, or `control` ends it.
    ///
    /// # Errors
    /// When it cannot be run or recorded.
    fn record(
        &self,
        place: &dyn Place,
        command: &Command,
        file: (&Path, Option<Duration>),
        control: &Control,
    ) -> Result<RecordedCommand>;

    /// Reads a recording, with its intervals.
    ///
    /// # Errors
    /// When it is none, or cannot be read.
    fn read(&self, file: &Path) -> Result<Recording>;
}

/// A recorded command that ended.
#[derive(Debug)]
pub struct RecordedCommand {
    /// What was recorded, with intervals.
    pub recording: Recording,
    /// How the command ended.
    pub exit: Exit,
    /// True when it did not end by itself.
    pub cut: bool,
    /// Why the file is not whole, if it is not.
    pub problem: Option<String>,
}

/// Runs and records nothing: each command gives the same recording.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Drawn;

#[cfg(test)]
impl Recorder for Drawn {
    fn record(
        &self,
        _: &dyn Place,
        _: &Command,
        (file, _): (&Path, Option<Duration>),
        _: &Control,
    ) -> Result<RecordedCommand> {
        let recording = self.read(file)?;
        Ok(RecordedCommand { recording, exit: Exit::Code(0), cut: false, problem: None })
    }

    fn read(&self, _: &Path) -> Result<Recording> {
        Ok(crate::testing::recording())
    }
}
