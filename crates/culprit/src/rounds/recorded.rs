//! A run that is recorded and summarised.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use culprit_engine::calls::Patterns;
use culprit_findings::RunSummary;
use culprit_model::{Meta, Nanos, Recording, Rung};
use culprit_place::{Command, Exit, Place, Stdio};
use culprit_report::SeenRuntime;

use crate::failure::{Context as _, Failure};
use crate::session::{CommandRun, Control, Settings, run_command};

/// A recorded run.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// Wall time of the command.
    pub(crate) wall: Nanos,
    /// Its exit code.
    pub(crate) exit_code: i32,
    /// Where that is not 0, the last line that it printed.
    pub(crate) said: Option<String>,
    /// Its recording.
    pub(crate) recording: PathBuf,
    /// What findings need of it.
    pub(crate) summary: RunSummary,
    /// What it was recorded on.
    pub(crate) fingerprint: Fingerprint,
}

impl Recorded {
    /// A run that was kept: its recording, which is of the side `label`.
    #[cfg(test)]
    pub(crate) fn read(file: &Path, label: &str) -> Self {
        let opened = culprit_recording::open(file);
        let opened = opened.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let recording = opened.recording;
        Self {
            wall: wall_of(&recording.meta),
            exit_code: recording.meta.exit_code.unwrap_or(0),
            said: None,
            recording: file.to_path_buf(),
            summary: RunSummary::of(&recording).called(label),
            fingerprint: Fingerprint::of(&recording),
        }
    }
}

/// What a run was recorded on, and how: where two differ, so may their times for that reason alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    kernel: String,
    cpus: u32,
    rung: Rung,
    frequency: u32,
    /// What was set for the runtimes that ran.
    runtimes: String,
}

impl Fingerprint {
    /// That of a recording.
    pub(crate) fn of(recording: &Recording) -> Self {
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
    pub(crate) fn differences(&self, here: &Self) -> Vec<(&'static str, String, String)> {
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
pub(crate) fn wall_of(meta: &Meta) -> Nanos {
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
    /// How it is recorded.
    pub(crate) settings: &'a Settings,
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
    control: &Control,
) -> Result<Option<Recorded>, Failure> {
    let (recording, log) = run.files;
    let command = command(run.argv, &log)?;
    let session = CommandRun {
        place,
        command: &command,
        recorded: None,
        settings: run.settings,
        output: &recording,
        limit: run.limit,
    };
    let control = control.next();
    let ran = run_command(&session, &control, &mut |_| {})?;
    if control.interrupted() {
        let _ = std::fs::remove_file(&recording);
        return Ok(None);
    }
    if let Some(problem) = ran.problem {
        return Err(Failure::refused(format!("cannot write `{}`: {problem}", recording.display())));
    }
    fail_when_not_started(ran.exit, &log)?;
    let wall = wall_of(&ran.recording.meta);
    let exit_code = ran.exit.shell_code();
    let said = if exit_code == 0 { None } else { last_line(&log) };
    let fingerprint = Fingerprint::of(&ran.recording);
    let summary = RunSummary::with_own(&ran.recording, run.own).called(run.label);
    Ok(Some(Recorded { wall, exit_code, said, recording, summary, fingerprint }))
}

/// The last line of a log that is not empty.
fn last_line(log: &Path) -> Option<String> {
    let said = std::fs::read(log).ok()?;
    let said = String::from_utf8_lossy(&said);
    said.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// A shell or engine that could not find the program ends with 126 or 127 (POSIX XCU 2.8.2): such
/// runs are no measurement.
fn fail_when_not_started(exit: Exit, log: &Path) -> Result<(), Failure> {
    match exit.shell_code() {
        code @ (126 | 127) => {
            let said = last_line(log).unwrap_or_else(|| "it printed no message".to_owned());
            Err(Failure::bad_input(format!(
                "the command could not be started (exit code {code}): {said}"
            ))
            .hint("check that every program the command uses is installed in this place"))
        }
        _ => Ok(()),
    }
}

fn command(argv: &[String], log: &Path) -> Result<Command, Failure> {
    let file = File::create(log).or_refused(|| format!("cannot write `{}`", log.display()))?;
    let file = Stdio::File(Arc::new(file));
    Ok(Command {
        stdin: Stdio::Null,
        stdout: file.clone(),
        stderr: file,
        ..Command::new(argv.iter())
    })
}
