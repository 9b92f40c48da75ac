//! One recording from the plan to the finished file: the glue between place, recorder, engine and
//! file, for `record` and `why` alike.
//!
//! ```text
//! plan ─> (cgroup) ─> hold CMD ─> arm ─> start ─> run ... ─> finish ─> build intervals ─> write
//!                                           ends by: CMD, limit, Ctrl-C
//! ```

mod command;
mod control;
mod running;

use std::path::Path;

use culprit_model::Recording;
use culprit_record::{Armed, Ending, Options, Plan, Stacks, Target};

use crate::args;
use crate::failure::{Context as _, Failure, chain};

pub(crate) use command::{CommandRun, Ran, run_command};
pub(crate) use control::Control;
pub(crate) use running::run_target;

/// The options of a recording that every way of recording takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// Clock samples a second.
    pub(crate) frequency: u32,
    /// How user stacks are found.
    pub(crate) stacks: args::Stacks,
    /// Bytes of events to keep at most.
    pub(crate) max_event_bytes: Option<u64>,
}

impl Settings {
    /// The recorder's options.
    pub(crate) fn options(&self, target: Target, output: &Path) -> Options {
        Options {
            frequency: self.frequency,
            stacks: match self.stacks {
                args::Stacks::Auto => Stacks::Auto,
                args::Stacks::Fp => Stacks::FramePointers,
                args::Stacks::Dwarf => Stacks::Dwarf,
            },
            max_event_bytes: self.max_event_bytes,
            ..Options::new(target, output)
        }
    }
}

/// Settles how to record.
///
/// # Errors
/// When the target cannot be recorded here.
pub(crate) fn plan(options: Options) -> Result<Plan, Failure> {
    culprit_record::plan(options).map_err(|error| failure(&error))
}

/// Ends a recording, builds its intervals and writes the file.
///
/// # Errors
/// When nothing could be read back. That the file cannot be written is no error here: the second
/// value says why, and the unfinished file, which opens too, stays.
pub(crate) fn finish(
    armed: Armed,
    ending: Ending,
    path: &Path,
) -> Result<(Recording, Option<String>), Failure> {
    let finished = armed.finish(ending).map_err(|error| failure(&error))?;
    let mut recording = finished.recording;
    culprit_engine::threads::build(&mut recording);
    let mut problem = finished.stopped_by.map(|error| chain(&error));
    if let Err(error) = culprit_recording::write(path, &recording) {
        problem.get_or_insert(chain(&error));
    }
    Ok((recording, problem))
}

/// A recorder's error as users see it.
pub(crate) fn failure(error: &culprit_record::Error) -> Failure {
    use culprit_record::Error;
    let what = chain(error);
    let failure = match error {
        Error::NoSuchProcess(_) | Error::Cgroup { .. } => Failure::bad_input(what),
        _ => Failure::refused(what),
    };
    failure.hints(error.hints())
}

/// Makes sure that a recording can be written before anything is started.
///
/// # Errors
/// When the folder does not exist or cannot be written to.
pub(crate) fn writable(path: &Path) -> Result<(), Failure> {
    let what = || format!("write `{}`", path.display());
    let existed = path.exists();
    std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .or_refused(what)
        .map_err(|failure| failure.hint("`-o` names another file"))?;
    if !existed {
        // Only tried out: the recorder makes the file.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}
