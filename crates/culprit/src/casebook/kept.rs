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

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conduct::Effort;
use crate::bench::Session;
use crate::failure::Failure;
use crate::files;
use crate::rounds::{Step, Timed};

/// The timed runs.
pub(super) const RUNS: &str = "runs.json";
/// The answers.
const ANSWERS: &str = "answers.json";

/// The timed runs of a pair.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Runs {
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
    fn new((step, timed): &(Step, Timed)) -> Self {
        Self {
            arm: step.arm,
            place: step.place,
            round: step.round,
            wall_ns: timed.wall.0,
            cpu_ns: timed.cpu.map(|time| time.0),
            user_ns: timed.user.map(|time| time.0),
            system_ns: timed.system.map(|time| time.0),
            peak_memory_bytes: timed.peak_memory_bytes,
            exit_code: timed.exit.shell_code(),
        }
    }
}

/// Keeps the timed runs.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn keep_runs(folder: &Path, effort: Effort, session: &Session) -> Result<(), Failure> {
    let runs = Runs {
        short: effort == Effort::Short,
        begun: session.begun,
        contended: session.gate.contended.clone(),
        runs: session.timed.runs.iter().map(Run::new).collect(),
    };
    files::write_json(&folder.join(RUNS), &runs)
}

/// Keeps what was answered.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn keep_answers(folder: &Path, answers: &[(String, Value)]) -> Result<(), Failure> {
    let answer = |(command, document): &(String, Value)| Answer {
        command: command.clone(),
        document: document.clone(),
    };
    files::write_json(&folder.join(ANSWERS), &answers.iter().map(answer).collect::<Vec<_>>())
}

/// A command and the document that it printed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) command: String,
    pub(super) document: Value,
}

#[cfg(test)]
pub(super) use read::{read_answers, read_session};

#[cfg(test)]
mod read {
    use culprit_engine::stats::Stop;
    use culprit_model::Nanos;
    use culprit_place::Exit;
    use culprit_probe::Gate;

    use super::{ANSWERS, Answer, Path, RUNS, Run, Runs, Session, Step, Timed};
    use crate::bench::Plan;
    use crate::casebook::conduct::Effort;
    use crate::rounds::{Recorded, Rounds, steps_of};

    fn read<T: serde::de::DeserializeOwned>(path: &Path) -> T {
        let text = std::fs::read_to_string(path);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn timed(run: &Run) -> (Step, Timed) {
        let step = Step { arm: run.arm, place: run.place, round: run.round };
        let timed = Timed {
            wall: Nanos(run.wall_ns),
            exit: Exit::Code(run.exit_code),
            cpu: run.cpu_ns.map(Nanos),
            user: run.user_ns.map(Nanos),
            system: run.system_ns.map(Nanos),
            peak_memory_bytes: run.peak_memory_bytes,
        };
        (step, timed)
    }

    /// The session of a kept folder; `plan` says what its recordings are called.
    pub(in crate::casebook) fn read_session(
        folder: &Path,
        plan: impl Fn(Effort) -> Plan,
    ) -> (Effort, Plan, Session) {
        let kept: Runs = read(&folder.join(RUNS));
        let effort = if kept.short { Effort::Short } else { Effort::Full };
        let plan = plan(effort);
        let recording = plan.recording.as_ref().expect("recorded rounds");
        let arms = plan.arm_places();
        let steps = (0..recording.rounds).flat_map(|round| steps_of(&arms, round));
        let recorded = |step: Step| {
            let (file, _) = plan.files(&recording.folder, step);
            (step, Recorded::read(&file, &plan.label(step.arm)))
        };
        let session = Session {
            timed: Rounds { runs: kept.runs.iter().map(timed).collect(), ..Rounds::default() },
            begun: kept.begun,
            stop: Some(Stop::Rounds),
            gate: Gate { contended: kept.contended, ..Gate::default() },
            recorded: Rounds { runs: steps.map(recorded).collect(), ..Rounds::default() },
            left: Vec::new(),
        };
        (effort, plan, session)
    }

    /// The answers of a kept folder.
    pub(in crate::casebook) fn read_answers(folder: &Path) -> Vec<Answer> {
        read(&folder.join(ANSWERS))
    }
}
