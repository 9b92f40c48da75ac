//! What the program gives to experiments: its recorder, its progress line, its places.

use std::path::Path;
use std::time::Duration;

use culprit_experiment::{Control, RecordedCommand, Recorder, Result, ShowsProgress, Workbench};
use culprit_model::Recording;
use culprit_place::{Command, Place};

use crate::load;
use crate::output::{Output, Progress};
use crate::session::{CommandRun, Settings, run_command};
use crate::settings::of_places;

impl ShowsProgress for Progress {
    fn steps(&self, steps: u64) {
        Self::steps(self, steps);
    }

    fn doing(&self, what: String) {
        Self::doing(self, what);
    }

    fn step(&self) {
        Self::step(self);
    }
}

/// Records with these settings.
#[derive(Debug)]
pub(crate) struct SessionRecorder<'a> {
    /// How runs are recorded.
    pub(crate) settings: &'a Settings,
}

impl Recorder for SessionRecorder<'_> {
    fn record(
        &self,
        place: &dyn Place,
        command: &Command,
        (output, limit): (&Path, Option<Duration>),
        control: &Control,
    ) -> Result<RecordedCommand> {
        let settings = self.settings;
        let run = CommandRun { place, command, recorded: None, settings, output, limit };
        Ok(run_command(&run, control, &mut |_| {})?)
    }

    fn read(&self, file: &Path) -> Result<Recording> {
        // What is missing of it is said whatever the output is.
        Ok(load::recording(file, &Output::unread(false))?)
    }
}

/// A workbench that these settings record with.
pub(crate) fn workbench<'a>(
    control: &'a Control,
    progress: &'a Progress,
    recorder: &'a SessionRecorder<'a>,
) -> Workbench<'a> {
    Workbench { control, progress, recorder, places: of_places() }
}
