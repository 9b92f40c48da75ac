//! What `culprit casebook run --keep` leaves beside a case's files, from which the case can be judged
//! again:
//!
//! | file | |
//! |---|---|
//! | `runs.json` | the timed runs of a pair, by arm and round; times in ns |
//! | `recordings/ARM-PROGRAM-ROUND.culprit` | its recorded runs |
//! | `answers.json` | of a case of questions: each command with the document that it printed |
//!
//! Arms are counted from 0: guilty and fixed where guilty is slow, then both where it is not.

use std::path::Path;

use culprit_engine::stats::Stop;
use culprit_model::Nanos;
use culprit_place::Exit;
use culprit_probe::Gate;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::run::Effort;
use crate::error::{Context as _, Result};
use crate::experiment::Experiment;
use crate::recorded::Recorded;
use crate::run::Trials;
use crate::timed::Timed;
use crate::trial::{Round, Rounds, Trial};

/// The timed runs.
const RUNS: &str = "runs.json";
/// The answers.
const ANSWERS: &str = "answers.json";

/// The timed runs of a pair.
#[derive(Debug, Serialize, Deserialize)]
struct Runs {
    /// Whether they are those of `--short`.
    short: bool,
    /// The timed rounds that were begun.
    begun: u32,
    /// The rounds in which other programs took the CPUs.
    contended: Vec<u32>,
    runs: Vec<Run>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Run {
    arm: usize,
    place: usize,
    round: u32,
    wall_ns: u64,
    cpu_ns: Option<u64>,
    user_ns: Option<u64>,
    system_ns: Option<u64>,
    peak_memory_bytes: Option<u64>,
    exit_code: i32,
}

impl Run {
    fn new((trial, timed): &(Trial, Timed)) -> Self {
        Self {
            arm: trial.arm,
            place: trial.place,
            round: trial.round,
            wall_ns: timed.wall.0,
            cpu_ns: timed.cpu.map(|time| time.0),
            user_ns: timed.user.map(|time| time.0),
            system_ns: timed.system.map(|time| time.0),
            peak_memory_bytes: timed.peak_memory_bytes,
            exit_code: timed.exit.shell_code(),
        }
    }

    fn timed(&self) -> (Trial, Timed) {
        let trial = Trial { arm: self.arm, place: self.place, round: self.round };
        let timed = Timed {
            wall: Nanos(self.wall_ns),
            exit: Exit::Code(self.exit_code),
            cpu: self.cpu_ns.map(Nanos),
            user: self.user_ns.map(Nanos),
            system: self.system_ns.map(Nanos),
            peak_memory_bytes: self.peak_memory_bytes,
        };
        (trial, timed)
    }
}

/// Keeps the timed runs.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn keep_runs(folder: &Path, effort: Effort, trials: &Trials) -> Result<()> {
    let runs = Runs {
        short: effort == Effort::Short,
        begun: trials.begun,
        contended: trials.gate.contended.clone(),
        runs: trials.timed.runs.iter().map(Run::new).collect(),
    };
    write(&folder.join(RUNS), &runs)
}

/// Keeps what was answered.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn keep_answers(folder: &Path, answers: &[(String, Value)]) -> Result<()> {
    let answer = |(command, document): &(String, Value)| KeptAnswer {
        command: command.clone(),
        document: document.clone(),
    };
    write(&folder.join(ANSWERS), &answers.iter().map(answer).collect::<Vec<_>>())
}

/// A command and the document that it printed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeptAnswer {
    pub(super) command: String,
    pub(super) document: Value,
}

fn write(path: &Path, document: &impl Serialize) -> Result<()> {
    let what = || format!("cannot write `{}`", path.display());
    let text = serde_json::to_string_pretty(document).or_refused(what)? + "\n";
    std::fs::write(path, text).or_refused(what)
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let what = || format!("cannot read `{}`", path.display());
    let text = std::fs::read_to_string(path).or_input(what)?;
    serde_json::from_str(&text).or_input(what)
}

/// The trials of a kept folder; `experiment` says what its recordings are called.
///
/// # Errors
/// When a file of it is missing or cannot be read.
pub(super) fn read_trials(
    folder: &Path,
    experiment: impl Fn(Effort) -> Result<Experiment>,
) -> Result<(Effort, Experiment, Trials)> {
    let kept: Runs = read(&folder.join(RUNS))?;
    let effort = if kept.short { Effort::Short } else { Effort::Full };
    let experiment = experiment(effort)?;
    let mut recorded = Rounds::default();
    if let Some(rounds) = &experiment.recording {
        let arms = experiment.arm_places();
        for trial in (0..rounds.rounds).flat_map(|number| Round::new(&arms, number).trials) {
            let (file, _) = experiment.files(&rounds.folder, trial);
            recorded.runs.push((trial, Recorded::read(&file, &experiment.arm(trial).label)?));
        }
    }
    let trials = Trials {
        timed: Rounds { runs: kept.runs.iter().map(Run::timed).collect(), ..Rounds::default() },
        begun: kept.begun,
        stop: Some(Stop::Rounds),
        gate: Gate { contended: kept.contended, ..Gate::default() },
        recorded,
        ..Trials::default()
    };
    Ok((effort, experiment, trials))
}

/// The answers of a kept folder.
///
/// # Errors
/// When they cannot be read.
pub(super) fn read_answers(folder: &Path) -> Result<Vec<KeptAnswer>> {
    read(&folder.join(ANSWERS))
}
