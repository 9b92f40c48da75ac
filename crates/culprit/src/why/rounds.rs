//! Carrying out the plan: run after run, each recorded and summarised.
//!
//! A place that fails is left out from then on and its error kept; the others go on. Ctrl-C ends
//! the run in hand, which is thrown away, and keeps the rounds before it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use culprit_findings::RunSummary;
use culprit_model::Nanos;
use culprit_place::{Command, Exit, Place, Stdio};
use culprit_record::Target;

use super::plan::{Plan, Step, Variant};
use crate::failure::{Context as _, Failure};
use crate::output::Progress;
use crate::places;
use crate::session::{CommandRun, Control, run_command};

/// A run that counts.
#[derive(Debug)]
pub(crate) struct Run {
    /// Which one.
    pub(crate) step: Step,
    /// Wall time of the command.
    pub(crate) wall: Nanos,
    /// Its exit code.
    pub(crate) exit_code: i32,
    /// Its recording.
    pub(crate) recording: PathBuf,
    /// What findings need of it.
    pub(crate) summary: RunSummary,
}

/// All runs that were done.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    /// Those that count, in the order in which they were done.
    pub(crate) runs: Vec<Run>,
    /// Why a place was left out, by its position.
    pub(crate) problems: Vec<(usize, Failure)>,
    /// True when Ctrl-C cut the plan short.
    pub(crate) interrupted: bool,
}

impl Rounds {
    /// The runs of a place and command line, by round.
    pub(crate) fn of(&self, place: usize, variant: Variant) -> Vec<&Run> {
        let wanted = |run: &&Run| run.step.place == place && run.step.variant == variant;
        let mut runs: Vec<&Run> = self.runs.iter().filter(wanted).collect();
        runs.sort_by_key(|run| run.step.round);
        runs
    }

    /// How many rounds have a run of everything that was planned in places that did not fail.
    pub(crate) fn finished(&self, plan: &Plan) -> u32 {
        let steps = plan.steps();
        let whole = |round: u32| {
            let mut wanted =
                steps.iter().filter(|step| step.round == round && !self.failed(step.place));
            wanted.all(|step| self.runs.iter().any(|run| run.step == *step))
        };
        (0..plan.runs).map(|round| u32::from(whole(round))).sum()
    }

    fn failed(&self, place: usize) -> bool {
        self.problems.iter().any(|(other, _)| *other == place)
    }
}

/// Runs everything that is planned.
///
/// # Errors
/// When the folder cannot be made. A place's failure is kept beside the others' runs.
pub(crate) fn run_all(
    plan: &Plan,
    control: &Control,
    progress: &Progress,
) -> Result<Rounds, Failure> {
    plan.make_folder()?;
    places::sweep();
    let steps = plan.steps();
    progress.steps(steps.len() as u64);
    let mut rounds = Rounds::default();
    let mut open: Vec<Option<Box<dyn Place>>> = plan.places.iter().map(|_| None).collect();
    for step in steps {
        if control.interrupted() {
            rounds.interrupted = true;
            break;
        }
        if rounds.failed(step.place) {
            progress.step();
            continue;
        }
        progress.doing(told(plan, step));
        match one(plan, step, &mut open[step.place], control) {
            Ok(Some(run)) => rounds.runs.push(run),
            Ok(None) => rounds.interrupted = true,
            Err(failure) => rounds.problems.push((step.place, failure)),
        }
        progress.step();
    }
    for (index, place) in open.into_iter().enumerate() {
        if let Some(Err(error)) = place.map(|place| place.remove()) {
            rounds.problems.push((index, places::failure(&error)));
        }
    }
    Ok(rounds)
}

/// One run; none when Ctrl-C cut it.
fn one(
    plan: &Plan,
    step: Step,
    place: &mut Option<Box<dyn Place>>,
    control: &Control,
) -> Result<Option<Run>, Failure> {
    let place = match place {
        Some(place) => place,
        None => place.insert(places::open(&plan.places[step.place])?),
    };
    let (recording, log) = plan.files(step);
    let command = command(plan, step.variant, &log)?;
    let run = CommandRun {
        place: place.as_ref(),
        command: &command,
        target: Target::Command,
        settings: &plan.settings,
        output: &recording,
        limit: plan.limit,
    };
    let control = control.next();
    let mut ran = run_command(&run, &control, &mut |_| {})?;
    if control.interrupted() {
        // A run that was cut says nothing about how long the command takes.
        let _ = std::fs::remove_file(&recording);
        return Ok(None);
    }
    if let Some(problem) = ran.problem {
        return Err(Failure::refused(format!("write `{}`: {problem}", recording.display())));
    }
    fail_when_not_started(ran.exit, &log)?;
    let (from, to) = ran.recording.meta.command_span.unwrap_or_default();
    let wall = if to > from { to.since(from) } else { ran.recording.meta.wall };
    // Findings name the place; the file keeps its full name.
    ran.recording.meta.place = plan.label(step.place);
    let summary = RunSummary::of(&ran.recording);
    Ok(Some(Run { step, wall, exit_code: ran.exit.shell_code(), recording, summary }))
}

/// A shell or engine that could not find the program ends with 126 or 127 (POSIX XCU 2.8.2): such
/// runs are no measurement.
fn fail_when_not_started(exit: Exit, log: &Path) -> Result<(), Failure> {
    match exit.shell_code() {
        code @ (126 | 127) => {
            let said = std::fs::read_to_string(log).unwrap_or_default();
            let said = said.lines().last().unwrap_or("it printed nothing").to_owned();
            Err(Failure::bad_input(format!("run the command: it ended with {code}: {said}"))
                .hint("is every program that it uses there in this place?"))
        }
        _ => Ok(()),
    }
}

fn command(plan: &Plan, variant: Variant, log: &Path) -> Result<Command, Failure> {
    let argv = match (variant, &plan.instead) {
        (Variant::Instead, Some(instead)) => instead,
        _ => &plan.command,
    };
    let file = File::create(log).or_refused(|| format!("write `{}`", log.display()))?;
    let file = Stdio::File(Arc::new(file));
    Ok(Command {
        stdin: Stdio::Null,
        stdout: file.clone(),
        stderr: file,
        ..Command::new(argv.iter())
    })
}

fn told(plan: &Plan, step: Step) -> String {
    let what = match step.variant {
        Variant::Command => "",
        Variant::Instead => ", the other command",
    };
    format!("round {} of {}: {}{what}", step.round + 1, plan.runs, plan.label(step.place))
}
