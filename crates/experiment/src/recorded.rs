//! A run that is recorded and summarised.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use culprit_engine::calls::Patterns;
use culprit_findings::RunSummary;
use culprit_model::{Meta, Nanos, Recording, Rung, SeenRuntime};
use culprit_place::{Command, Exit, Place, Stdio};

use crate::error::{Context as _, Error, Result};
use crate::workbench::Workbench;

/// A recorded run.
#[derive(Debug)]
pub struct Recorded {
    /// Wall time of the command.
    pub wall: Nanos,
    /// Its exit code.
    pub exit_code: i32,
    /// Where that is not 0, the last line that it printed.
    pub said: Option<String>,
    /// Its recording.
    pub recording: PathBuf,
    /// What findings need of it.
    pub summary: RunSummary,
    /// What it was recorded on.
    pub fingerprint: Fingerprint,
}

impl Recorded {
    /// A run of the side `label` from its recording. `own` is what counts as the program's own code.
    #[must_use]
    pub fn new(recording: &Recording, file: &Path, label: &str, own: &Patterns) -> Self {
        Self {
            wall: wall_of(&recording.meta),
            exit_code: recording.meta.exit_code.unwrap_or(0),
            said: None,
            recording: file.to_path_buf(),
            summary: RunSummary::with_own(recording, own).called(label),
            fingerprint: Fingerprint::of(recording),
        }
    }

    /// A run that was kept.
    ///
    /// # Errors
    /// When the recording cannot be read.
    pub fn read(file: &Path, label: &str) -> Result<Self> {
        let opened = culprit_recording::open(file);
        let opened = opened.or_input(|| "cannot read a run that was kept".to_owned())?;
        Ok(Self::new(&opened.recording, file, label, &Patterns::default()))
    }
}

/// What a run was recorded on, and how: where two differ, so may their times for that reason alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    kernel: String,
    cpus: u32,
    rung: Rung,
    frequency: u32,
    /// What was set for the runtimes that ran.
    runtimes: String,
}

impl Fingerprint {
    /// That of a recording.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        let meta = &recording.meta;
        let set = |seen: SeenRuntime| seen.set.ok();
        let set: Vec<String> = SeenRuntime::all(recording).into_iter().filter_map(set).collect();
        Self {
            kernel: meta.kernel.clone(),
            cpus: meta.cpus,
            rung: meta.rung,
            frequency: meta.frequency,
            runtimes: if set.is_empty() { "none".to_owned() } else { set.join(" ") },
        }
    }

    /// Where another one is not the same: what, there, here.
    #[must_use]
    pub fn differences(&self, here: &Self) -> Vec<(&'static str, String, String)> {
        let all = [
            ("kernel", self.kernel.clone(), here.kernel.clone()),
            ("number of CPUs", self.cpus.to_string(), here.cpus.to_string()),
            ("access level", self.rung.to_string(), here.rung.to_string()),
            ("sampling rate in Hz", self.frequency.to_string(), here.frequency.to_string()),
            ("set of variables for runtimes", self.runtimes.clone(), here.runtimes.clone()),
        ];
        all.into_iter().filter(|(_, there, here)| there != here).collect()
    }
}

/// How long a recording's command took; the whole recording where none is known.
fn wall_of(meta: &Meta) -> Nanos {
    let (from, to) = meta.command_span.unwrap_or_default();
    if to > from { to.since(from) } else { meta.wall }
}

/// A run to be recorded.
#[derive(Debug)]
pub(crate) struct RecordedRun<'a> {
    /// The command and its arguments.
    pub(crate) argv: &'a [String],
    /// The recording, and what the command printed.
    pub(crate) files: (PathBuf, PathBuf),
    /// It is ended after this time.
    pub(crate) limit: Option<Duration>,
    /// What findings call the side that it is of.
    pub(crate) label: &'a str,
    /// What counts as the program's own code; empty for the usual rule.
    pub(crate) own: &'a Patterns,
}

/// Records a run; none when Ctrl-C cut it, for a run that was cut says nothing about how long the
/// command takes.
///
/// # Errors
/// When it cannot be run, recorded or written, or a program of it is not there.
pub(crate) fn record_run(
    run: RecordedRun<'_>,
    place: &dyn Place,
    bench: &Workbench<'_>,
) -> Result<Option<Recorded>> {
    let (recording, log) = run.files;
    let command = command(run.argv, &log)?;
    let control = bench.control.next();
    let ran = bench.recorder.record(place, &command, (&recording, run.limit), &control)?;
    if control.interrupted() {
        let _ = std::fs::remove_file(&recording);
        return Ok(None);
    }
    if let Some(problem) = ran.problem {
        return Err(Error::refused(format!("cannot write `{}`: {problem}", recording.display())));
    }
    fail_when_not_started(ran.exit, &log)?;
    let exit_code = ran.exit.shell_code();
    let said = if exit_code == 0 { None } else { last_line(&log) };
    let recorded = Recorded::new(&ran.recording, &recording, run.label, run.own);
    Ok(Some(Recorded { exit_code, said, ..recorded }))
}

/// The last line of a log that is not empty.
fn last_line(log: &Path) -> Option<String> {
    let said = std::fs::read(log).ok()?;
    let said = String::from_utf8_lossy(&said);
    said.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// A shell or engine that could not find the program ends with 126 or 127 (POSIX XCU 2.8.2): such
/// runs are no measurement.
fn fail_when_not_started(exit: Exit, log: &Path) -> Result<()> {
    match exit.shell_code() {
        code @ (126 | 127) => {
            let said = last_line(log).unwrap_or_else(|| "it printed no message".to_owned());
            Err(Error::input(format!(
                "the command could not be started (exit code {code}): {said}"
            ))
            .hint("check that every program the command uses is installed in this place"))
        }
        _ => Ok(()),
    }
}

fn command(argv: &[String], log: &Path) -> Result<Command> {
    let file = File::create(log).or_refused(|| format!("cannot write `{}`", log.display()))?;
    let file = Stdio::File(Arc::new(file));
    Ok(Command {
        stdin: Stdio::Null,
        stdout: file.clone(),
        stderr: file,
        ..Command::new(argv.iter())
    })
}
