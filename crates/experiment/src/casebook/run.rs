//! Running a case: unpack, build, measure both variants or ask its questions, judge, clean up.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use culprit_engine::calls::Patterns;
use culprit_engine::stats::Stopping;
use culprit_findings::{Options, find};
use culprit_model::Nanos;
use culprit_place::{Command, PlaceSpec, Stdio};
use serde_json::Value;

use super::case::{Case, Course, Pair};
use super::folder::CaseFolder;
use super::judge::{CaseCheck, CaseResult, RecordedVariant, judge};
use super::kept::{keep_answers, keep_runs, read_answers, read_trials};
use super::question::{Question, line};
use super::shelf::Shelf;
use crate::control::Control;
use crate::error::{Context as _, Error, Result};
use crate::experiment::{Arm, Experiment, RecordedRounds, Timing};
use crate::places::place_label;
use crate::results::Results;
use crate::run::Trials;
use crate::timed::{Sink, Streams, run_timed};
use crate::workbench::{Recorder, Workbench};

/// What differs by less is the same: the band of `verify`.
const BAND: f64 = 0.05;
/// Timed rounds of `--short`: the least that carry a verdict on a large effect.
const SHORT_ROUNDS: u32 = 3;
/// Recorded rounds: the finding must be there in the run in the middle.
const RECORDED_ROUNDS: u32 = 3;

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Few rounds, and only where the guilty variant is slow.
    Short,
    /// As the case says.
    Full,
}

/// Runs a case; none when Ctrl-C cut it. It is kept below a folder, if one is given.
///
/// # Errors
/// When it cannot be built or measured.
pub fn run(
    case: &Case,
    (shelf, effort, keep): (&Shelf, Effort, Option<&Path>),
    bench: &Workbench<'_>,
) -> Result<Option<CaseResult>> {
    let folder = CaseFolder::make(&case.name, keep)?;
    shelf.unpack(&case.name, folder.path())?;
    bench.progress.doing(format!("{}: building", case.name));
    let own = |commands: &[Vec<String>], what: &str, control: &Control| {
        execute(commands, what, folder.path(), (bench, control))
    };
    let ran = match own(&case.build, "cannot build the case: command", bench.control) {
        Ok(true) => match &case.course {
            Course::Pair(pair) => measure(pair, effort, &folder, bench),
            Course::Questions(questions) => ask((case, questions), effort, &folder, bench),
        },
        Ok(false) => Ok(None),
        Err(error) => Err(error),
    };
    // Also after Ctrl-C: what a case has started elsewhere ends with it.
    let cleaned = own(&case.clean, "cannot clean up after the case: command", &Control::new());
    let ran = ran?;
    cleaned?;
    Ok(ran)
}

/// Times and records both variants, and judges them.
fn measure(
    pair: &Pair,
    effort: Effort,
    folder: &CaseFolder,
    bench: &Workbench<'_>,
) -> Result<Option<CaseResult>> {
    let experiment = experiment(pair, effort, folder.path())?;
    let trials = experiment.run(bench, &|_| true)?;
    if trials.interrupted() || bench.control.interrupted() {
        return Ok(None);
    }
    if folder.is_kept() {
        keep_runs(folder.path(), effort, &trials)?;
    }
    let result = judged((pair, effort), &experiment, trials, bench.recorder)?;
    Ok(Some(CaseResult { recordings: folder.kept_recordings(), ..result }))
}

/// Judges a pair by its runs.
fn judged(
    (pair, effort): (&Pair, Effort),
    experiment: &Experiment,
    trials: Trials,
    recorder: &dyn Recorder,
) -> Result<CaseResult> {
    let results = Results::new(experiment, &trials);
    let Trials { timed, recorded, left, .. } = trials;
    let mut problems = timed.problems.into_iter().chain(recorded.problems).chain(left);
    if let Some((place, error)) = problems.next() {
        return Err(error.of(&place_label(&experiment.places, place)));
    }
    let variant = |arm| -> Result<RecordedVariant> {
        let mut runs: Vec<_> = recorded.runs.iter().filter(|(trial, _)| trial.arm == arm).collect();
        runs.sort_by_key(|(_, run)| run.wall);
        let middle = runs.get(runs.len() / 2).map(|(_, run)| &run.recording);
        let middle = middle.ok_or_else(|| Error::refused("no run of the case was recorded"))?;
        let report = find(&recorder.read(middle)?, &Options::default());
        let wall = mean(runs.iter().map(|(_, run)| run.wall));
        Ok(RecordedVariant { findings: report.findings, wall })
    };
    Ok(judge(pair, effort, &results, variant(0)?, &variant(1)?))
}

/// Judges a kept folder of a pair again.
///
/// # Errors
/// When it does not hold what was kept of the pair.
pub fn judge_kept(pair: &Pair, folder: &Path, recorder: &dyn Recorder) -> Result<CaseResult> {
    let (effort, experiment, trials) =
        read_trials(folder, |effort| experiment(pair, effort, folder))?;
    judged((pair, effort), &experiment, trials, recorder)
}

/// Judges the kept answers of a case of questions again.
///
/// # Errors
/// When they are not answers to these questions.
pub fn judge_kept_answers(questions: &[Question], folder: &Path) -> Result<CaseResult> {
    let answers = read_answers(folder)?;
    if answers.len() != questions.len() {
        return Err(Error::input("the kept answers are not one for each question"));
    }
    let mut checks = Vec::new();
    for (question, answer) in questions.iter().zip(&answers) {
        let asked = [Some(&question.command), question.short.as_ref()];
        if !asked.into_iter().flatten().any(|words| line(words) == answer.command) {
            return Err(Error::input(format!(
                "`{}` was asked, and now is `{}`",
                answer.command,
                question.line()
            )));
        }
        checks.extend(judge_answer(question, &answer.document));
    }
    let answers = answers.into_iter().map(|answer| (answer.command, answer.document));
    Ok(CaseResult::of_questions(checks, answers.collect()))
}

fn mean(walls: impl Iterator<Item = Nanos>) -> Nanos {
    let walls: Vec<u64> = walls.map(|wall| wall.0).collect();
    Nanos(walls.iter().sum::<u64>() / (walls.len() as u64).max(1))
}

/// Asks the program itself, question by question, and judges what it answers.
fn ask(
    (case, questions): (&Case, &[Question]),
    effort: Effort,
    folder: &CaseFolder,
    bench: &Workbench<'_>,
) -> Result<Option<CaseResult>> {
    let (mut checks, mut answers) = (Vec::new(), Vec::new());
    for (at, question) in questions.iter().enumerate() {
        bench.progress.doing(format!("{}: {}", case.name, question.subject()));
        let what = "cannot prepare the question: command";
        let prepared = execute(&question.before, what, folder.path(), (bench, bench.control))?;
        let words = match (effort, &question.short) {
            (Effort::Short, Some(short)) => short,
            _ => &question.command,
        };
        let answer = match prepared {
            true => answer((question, words), (at, folder.path()), bench)?,
            false => None,
        };
        let Some(answer) = answer else { return Ok(None) };
        checks.extend(judge_answer(question, &answer));
        answers.push((line(words), answer));
    }
    if folder.is_kept() {
        keep_answers(folder.path(), &answers)?;
    }
    Ok(Some(CaseResult::of_questions(checks, answers)))
}

/// What a document says of what a question expects.
fn judge_answer<'a>(
    question: &'a Question,
    document: &'a Value,
) -> impl Iterator<Item = CaseCheck> {
    question.expect.iter().map(move |expectation| {
        let (held, seen) = expectation.judge(document);
        CaseCheck { id: "expected", held, seen }
    })
}

/// The document that a command of ours prints; none when Ctrl-C cut it.
fn answer(
    (question, words): (&Question, &[String]),
    (at, folder): (usize, &Path),
    bench: &Workbench<'_>,
) -> Result<Option<Value>> {
    let program = std::env::current_exe()
        .or_refused(|| "cannot find Culprit's own program file".to_owned())?;
    let files = [format!("answer-{}.json", at + 1), format!("answer-{}.log", at + 1)]
        .map(|name| folder.join(name));
    let file = |path: &Path| {
        let made =
            File::create(path).or_refused(|| format!("cannot write `{}`", path.display()))?;
        Ok::<_, Error>(Stdio::File(Arc::new(made)))
    };
    // Options of ours stand before a `--` and what follows it.
    let argv = std::iter::once(program.into_os_string())
        .chain(["--json", "--quiet"].map(Into::into))
        .chain(words.iter().map(Into::into));
    let command = Command {
        stdin: Stdio::Null,
        stdout: file(&files[0])?,
        stderr: file(&files[1])?,
        env: question.environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        ..Command::new(argv)
    };
    let host = culprit_place::open(&on("host", folder)?, &bench.places)?;
    let ran = run_timed(&*host, &command, bench.control);
    host.remove()?;
    let Some(ran) = ran?.filter(|ran| ran.exit.shell_code() != INTERRUPTED) else {
        return Ok(None);
    };
    let failed = |why: &str| Error::refused(format!("no answer from `{}`: {why}", line(words)));
    let printed = std::fs::read(&files[0]).unwrap_or_default();
    match (ran.exit.shell_code(), serde_json::from_slice::<Value>(&printed)) {
        // 1 is an answer: something was found.
        (0 | 1, Ok(document)) => Ok(Some(document)),
        (_, Ok(document)) => {
            let why = document.pointer("/error/message").and_then(Value::as_str);
            Err(failed(why.unwrap_or(&ran.exit.to_string())))
        }
        (_, Err(_)) => {
            let said = std::fs::read_to_string(&files[1]).unwrap_or_default();
            Err(failed(said.lines().last().unwrap_or("it printed no JSON document")))
        }
    }
}

/// The exit code of a command of ours that Ctrl-C cut short.
const INTERRUPTED: i32 = 130;

/// Runs a case's own commands one after the other; false when Ctrl-C cut them.
fn execute(
    commands: &[Vec<String>],
    what: &str,
    folder: &Path,
    (bench, control): (&Workbench<'_>, &Control),
) -> Result<bool> {
    if commands.is_empty() {
        return Ok(true);
    }
    let host = culprit_place::open(&on("host", folder)?, &bench.places)?;
    let log = folder.join("build.log");
    let streams = Streams { output: Sink::File(log.clone()), ..Streams::default() };
    let mut done = Ok(true);
    for argv in commands {
        if control.interrupted() {
            done = Ok(false);
            break;
        }
        let ran = streams.command(argv).and_then(|command| run_timed(&*host, &command, control));
        match ran {
            Err(error) => done = Err(error),
            Ok(None) => done = Ok(false),
            Ok(Some(ran)) if ran.exit.success() => continue,
            Ok(Some(ran)) => {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                let said = said.lines().find(|line| line.contains("error")).or(said.lines().last());
                done = Err(Error::refused(format!(
                    "{what} `{}`: {}: {}",
                    argv.join(" "),
                    ran.exit,
                    said.unwrap_or("it printed no message")
                )));
            }
        }
        break;
    }
    host.remove()?;
    done
}

/// A place of the case, working in its folder: a container has it as a volume.
fn on(place: &str, folder: &Path) -> Result<PlaceSpec> {
    let folder = folder.display();
    Ok(match place.parse()? {
        PlaceSpec::Engine { .. } => {
            format!("{place},volume={folder}:{folder},workdir={folder}").parse()?
        }
        _ => format!("{place}:{folder}").parse()?,
    })
}

/// Guilty and fixed where guilty is slow, then both where it is not, if that is told: the first of
/// them is what the others are compared with.
fn experiment(pair: &Pair, effort: Effort, folder: &Path) -> Result<Experiment> {
    let wanted = if effort == Effort::Short { 1 } else { pair.places.len() };
    let places = pair.places.iter().rev().take(wanted);
    let places: Vec<PlaceSpec> = places.map(|place| on(place, folder)).collect::<Result<_>>()?;
    let (guilty, fixed) = (&pair.guilty, &pair.fixed);
    let shorter = |short: &Option<Vec<String>>, command: &Vec<String>| match (effort, short) {
        (Effort::Short, Some(short)) => short.clone(),
        _ => command.clone(),
    };
    let variants = [
        ("guilty", shorter(&guilty.short, &guilty.command)),
        ("fixed", shorter(&fixed.short, &fixed.command)),
    ];
    let arms = (0..places.len()).flat_map(|place| {
        variants.iter().map(move |(name, argv)| Arm {
            name: (*name).to_owned(),
            line: argv.join(" "),
            argv: argv.clone(),
            place,
            ..Arm::default()
        })
    });
    let (rounds, recorded) = match effort {
        Effort::Short => (SHORT_ROUNDS, 1),
        Effort::Full => (pair.rounds, RECORDED_ROUNDS),
    };
    Ok(Experiment {
        arms: Arm::labelled(arms.collect(), &places),
        places,
        timing: Some(Timing {
            control: false,
            warmup: 0,
            stopping: Stopping { least: rounds, ..Stopping::for_band(BAND, rounds) },
            budget: Duration::from_secs(3600),
            band: BAND,
            ignore_failure: false,
        }),
        recording: Some(RecordedRounds {
            folder: CaseFolder::recordings_in(folder),
            option: "--record",
            rounds: recorded,
            own: Patterns::default(),
            limit: None,
        }),
        streams: Streams::default(),
        shell: None,
    })
}
