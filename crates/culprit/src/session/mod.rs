//! One recording from the plan to the finished file: the glue between place, recorder, engine and
//! file, for `record` and `why` alike.
//!
//! ```text
//! plan ─> (cgroup) ─> hold CMD ─> arm ─> start ─> run ... ─> finish ─> build intervals ─> write
//!                                           ends by: CMD, limit, Ctrl-C
//! ```

mod bound;
mod command;
mod running;
mod sampler;

use std::path::{Path, PathBuf};

use culprit_model::{KeptConfiguration, Meta, Recording};
use culprit_record::{Armed, ClockRate, Ending, Extras, Options, Plan, Stacks, Target};

use crate::args;
use crate::failure::{Failure, chain};
use crate::fleet::LABEL_FACT;
use crate::pool;

pub(crate) use command::{CommandRun, run_command};
pub(crate) use culprit_experiment::{Control, LAST_GRACE};
pub(crate) use running::run_target;
pub(crate) use sampler::SamplerFolder;

/// The options of a recording that every way of recording takes.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// How often the clock samples CPU time.
    pub(crate) clock: ClockRate,
    /// How user stacks are found.
    pub(crate) stacks: args::Stacks,
    /// What is counted besides time.
    pub(crate) extras: Extras,
    /// Bytes of events to keep at most.
    pub(crate) max_event_bytes: Option<u64>,
    /// Where the rows as they were recorded are written, too.
    pub(crate) raw: Option<PathBuf>,
    /// Whether the recorded command gets the variables that make runtimes name their functions, and
    /// running processes are asked for them.
    pub(crate) runtime_help: bool,
    /// The key of the fingerprints of kept configuration; none if recordings keep none.
    pub(crate) config_key: Option<[u8; 32]>,
    /// Labels of the user, by which recordings can be grouped.
    pub(crate) labels: Vec<(String, String)>,
}

impl Default for Settings {
    /// As often as usual, time alone, with help for runtimes; no configuration is kept.
    fn default() -> Self {
        Self {
            clock: ClockRate::USUAL,
            stacks: args::Stacks::Auto,
            extras: Extras::default(),
            max_event_bytes: None,
            raw: None,
            runtime_help: true,
            config_key: None,
            labels: Vec::new(),
        }
    }
}

impl Settings {
    /// The recorder's options.
    pub(crate) fn options(&self, target: Target, output: &Path) -> Options {
        Options {
            clock: self.clock,
            stacks: match self.stacks {
                args::Stacks::Auto => Stacks::Auto,
                args::Stacks::Fp => Stacks::FramePointers,
                args::Stacks::Dwarf => Stacks::Dwarf,
            },
            extras: self.extras.clone(),
            max_event_bytes: self.max_event_bytes,
            place_facts: self.labels.iter().map(label_fact).collect(),
            ask_runtimes: self.runtime_help,
            ..Options::new(target, output)
        }
    }
}

/// A label as a fact of the recording.
fn label_fact((name, value): &(String, String)) -> (String, String) {
    (format!("{LABEL_FACT}{name}"), value.clone())
}

/// Settles how to record.
///
/// # Errors
/// When the target cannot be recorded here.
pub(crate) fn plan(options: Options) -> Result<Plan, Failure> {
    culprit_record::plan(options).map_err(|error| failure(&error))
}

/// Ends a recording, builds its intervals, takes away what is not the command's, and writes the
/// file. `keep` gives the configuration that it keeps.
///
/// # Errors
/// When nothing could be read back. That the file cannot be written is no error here: the second
/// value says why, and the unfinished file, which opens too, stays.
pub(crate) fn finish(
    armed: Armed,
    ending: Ending,
    (path, settings): (&Path, &Settings),
    keep: impl FnOnce(&Meta, [u8; 32]) -> Option<KeptConfiguration>,
) -> Result<(Recording, Option<String>), Failure> {
    let finished = armed.finish(ending).map_err(|error| failure(&error))?;
    let (mut recording, (from, to)) = (finished.recording, finished.span);
    leave_out_the_recorder(&mut recording);
    recording.meta.configuration = settings.config_key.and_then(|key| keep(&recording.meta, key));
    let mut problem = finished.stopped_by.map(|error| chain(&error));
    let raw = settings.raw.as_ref().map(|raw| culprit_recording::write(raw, &recording));
    if let Some(Err(error)) = raw {
        problem.get_or_insert(chain(&error));
    }
    pool::ready();
    culprit_engine::threads::build(&mut recording);
    culprit_engine::cut(&mut recording, from, to);
    if let Err(error) = bound::write(path, &mut recording, settings.max_event_bytes) {
        if matches!(error, culprit_recording::Error::DiskFull { .. }) {
            let mut spool = finished.spool;
            // Without it the report can only say that the file has no end.
            let _ = spool.note_stop("the disk was full");
        }
        problem.get_or_insert(chain(&error));
    }
    Ok((recording, problem))
}

/// A recording of the whole machine, or of a shell that started us, has this program in it too: it
/// is the instrument, not what was measured. What it cost stands in the recording's `recorder_cpu`.
fn leave_out_the_recorder(recording: &mut Recording) {
    let own = std::process::id();
    let Recording { processes, threads, .. } = recording;
    for process in processes.iter_mut() {
        process.recorded &= process.pid.0 != own;
    }
    for thread in threads {
        let process = processes.get(thread.process.index());
        thread.recorded &= process.is_none_or(|process| process.pid.0 != own);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorder_is_not_part_of_what_it_records() {
        let mut recording = crate::testing::recording();
        let threads = recording.threads.len();
        leave_out_the_recorder(&mut recording);
        assert_eq!(recording.threads.iter().filter(|thread| thread.recorded).count(), threads);
        recording.processes[0].pid = culprit_model::Pid(std::process::id());
        leave_out_the_recorder(&mut recording);
        assert!(recording.threads.iter().all(|thread| !thread.recorded));
    }
}
