//! Running a case: unpack, build, measure both variants or ask its questions, judge, clean up.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use culprit_engine::stats::Stopping;
use culprit_model::Nanos;
use culprit_place::{Command, PlaceSpec, Stdio};
use culprit_record::{ClockRate, Extras};
use serde_json::Value;

use super::case::{Case, Course, Pair};
use super::folder::CaseFolder;
use super::judge::{Check, Recorded, Told, judge};
use super::kept::{keep_answers, keep_runs};
use super::question::{Question, line};
use super::shelf::Shelf;
use crate::args::Stacks;
use crate::bench::{Answer, Arm, Plan, Recording, Session, conduct, place_label};
use crate::failure::{Context as _, Failure, chain};
use crate::output::{Output, Progress};
use crate::rounds::{Sink, Streams, run_timed};
use crate::session::{Control, Settings};
use crate::{load, places};

/// What differs by less is the same: the band of `verify`.
const BAND: f64 = 0.05;
/// Timed rounds of `--short`: the least that carry a verdict on a large effect.
const SHORT_ROUNDS: u32 = 3;
/// Recorded rounds: the finding must be there in the run in the middle.
const RECORDED_ROUNDS: u32 = 3;

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Few rounds, and only where the guilty variant is slow.
    Short,
    /// As the case says.
    Full,
}

/// How running a case ended.
#[derive(Debug)]
pub(crate) enum Ran {
    /// It was measured.
    Told(Box<Told>),
    /// Ctrl-C cut it.
    Interrupted,
}

/// Runs a case.
///
/// # Errors
/// When it cannot be built or measured.
pub(crate) fn run(
    case: &Case,
    (shelf, effort, keep): (&Shelf, Effort, Option<&Path>),
    (control, progress): (&Control, &Progress),
    output: &Output,
) -> Result<Ran, Failure> {
    let folder = CaseFolder::make(&case.name, keep)?;
    shelf.unpack(&case.name, folder.path())?;
    progress.doing(format!("{}: building", case.name));
    let ran = match execute(&case.build, "cannot build the case: command", folder.path(), control) {
        Ok(true) => match &case.course {
            Course::Pair(pair) => measure(pair, effort, &folder, (control, progress), output),
            Course::Questions(questions) => {
                ask((case, questions), effort, &folder, (control, progress))
            }
        },
        Ok(false) => Ok(Ran::Interrupted),
        Err(failure) => Err(failure),
    };
    // Also after Ctrl-C: what a case has started elsewhere ends with it.
    let cleaned = execute(
        &case.clean,
        "cannot clean up after the case: command",
        folder.path(),
        &Control::new(),
    );
    let ran = ran?;
    cleaned?;
    Ok(ran)
}

/// Times and records both variants, and judges them.
fn measure(
    pair: &Pair,
    effort: Effort,
    folder: &CaseFolder,
    (control, progress): (&Control, &Progress),
    output: &Output,
) -> Result<Ran, Failure> {
    let plan = plan(pair, effort, folder.path())?;
    let session = conduct(&plan, control, progress)?;
    if session.timed.interrupted || session.recorded.interrupted || control.interrupted() {
        return Ok(Ran::Interrupted);
    }
    if folder.is_kept() {
        keep_runs(folder.path(), effort, &session)?;
    }
    let told = judged((pair, effort), &plan, session, output)?;
    Ok(Ran::Told(Box::new(Told { recordings: folder.kept_recordings(), ..told })))
}

/// Judges a pair by its runs.
fn judged(
    (pair, effort): (&Pair, Effort),
    plan: &Plan,
    mut session: Session,
    output: &Output,
) -> Result<Told, Failure> {
    let answer = Answer::new(plan, &session);
    let problems = std::mem::take(&mut session.timed.problems).into_iter();
    let recorded = std::mem::take(&mut session.recorded.problems);
    if let Some((place, failure)) = problems.chain(recorded).chain(session.left).next() {
        return Err(failure.of(&place_label(plan, place)));
    }
    let recorded = |arm| -> Result<Recorded, Failure> {
        let mut runs: Vec<_> =
            session.recorded.runs.iter().filter(|(step, _)| step.arm == arm).collect();
        runs.sort_by_key(|(_, run)| run.wall);
        let middle = runs.get(runs.len() / 2).map(|(_, run)| &run.recording);
        let middle = middle.ok_or_else(|| Failure::refused("no run of the case was recorded"))?;
        let recording = load::recording(middle, output)?;
        let report = load::findings(&recording, &culprit_model::Filter::default(), false)?;
        let wall = mean(runs.iter().map(|(_, run)| run.wall));
        Ok(Recorded { findings: report.findings, wall })
    };
    Ok(judge(pair, effort, &answer, recorded(0)?, &recorded(1)?))
}

/// Judges a kept folder of a pair again.
#[cfg(test)]
pub(crate) fn judge_kept(pair: &Pair, folder: &Path, output: &Output) -> Told {
    let plan = |effort| plan(pair, effort, folder).expect("a plan");
    let (effort, plan, session) = super::kept::read_session(folder, plan);
    judged((pair, effort), &plan, session, output).expect("kept runs can be judged")
}

/// Judges the kept answers of a case of questions again.
#[cfg(test)]
pub(crate) fn judge_kept_answers(questions: &[Question], folder: &Path) -> Told {
    let answers = super::kept::read_answers(folder);
    assert_eq!(answers.len(), questions.len(), "each question has an answer");
    let mut checks = Vec::new();
    for (question, answer) in questions.iter().zip(&answers) {
        let asked = [Some(&question.command), question.short.as_ref()];
        let same = asked.into_iter().flatten().any(|words| line(words) == answer.command);
        assert!(same, "`{}` was asked, and now is `{}`", answer.command, question.line());
        checks.extend(judge_answer(question, &answer.document));
    }
    let answers = answers.into_iter().map(|answer| (answer.command, answer.document));
    Told::of_questions(checks, answers.collect())
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
    (control, progress): (&Control, &Progress),
) -> Result<Ran, Failure> {
    let (mut checks, mut answers) = (Vec::new(), Vec::new());
    for (at, question) in questions.iter().enumerate() {
        progress.doing(format!("{}: {}", case.name, question.subject()));
        let prepared = execute(
            &question.before,
            "cannot prepare the question: command",
            folder.path(),
            control,
        )?;
        let words = match (effort, &question.short) {
            (Effort::Short, Some(short)) => short,
            _ => &question.command,
        };
        let answer = match prepared {
            true => answer((question, words), (at, folder.path()), control)?,
            false => None,
        };
        let Some(answer) = answer else { return Ok(Ran::Interrupted) };
        checks.extend(judge_answer(question, &answer));
        answers.push((line(words), answer));
    }
    if folder.is_kept() {
        keep_answers(folder.path(), &answers)?;
    }
    Ok(Ran::Told(Box::new(Told::of_questions(checks, answers))))
}

/// What a document says of what a question expects.
fn judge_answer<'a>(question: &'a Question, document: &'a Value) -> impl Iterator<Item = Check> {
    question.expect.iter().map(move |expectation| {
        let (held, told) = expectation.judge(document);
        Check { id: "expected", held, told }
    })
}

/// The document that a command of ours prints; none when Ctrl-C cut it.
fn answer(
    (question, words): (&Question, &[String]),
    (at, folder): (usize, &Path),
    control: &Control,
) -> Result<Option<Value>, Failure> {
    let program = std::env::current_exe()
        .or_refused(|| "cannot find Culprit's own program file".to_owned())?;
    let files = [format!("answer-{}.json", at + 1), format!("answer-{}.log", at + 1)]
        .map(|name| folder.join(name));
    let file = |path: &Path| {
        let made =
            File::create(path).or_refused(|| format!("cannot write `{}`", path.display()))?;
        Ok::<_, Failure>(Stdio::File(Arc::new(made)))
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
    let host = places::open(&on("host", folder)?)?;
    let ran = run_timed(&*host, &command, control);
    host.remove().map_err(|error| places::failure(&error))?;
    let Some(ran) = ran?.filter(|ran| ran.exit.shell_code() != INTERRUPTED) else {
        return Ok(None);
    };
    let failed = |why: &str| Failure::refused(format!("no answer from `{}`: {why}", line(words)));
    let printed = std::fs::read(&files[0]).unwrap_or_default();
    let document: Result<Value, _> = serde_json::from_slice(&printed);
    match (ran.exit.shell_code(), document) {
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
    control: &Control,
) -> Result<bool, Failure> {
    if commands.is_empty() {
        return Ok(true);
    }
    let host = places::open(&on("host", folder)?)?;
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
            Err(failure) => done = Err(failure),
            Ok(None) => done = Ok(false),
            Ok(Some(ran)) if ran.exit.success() => continue,
            Ok(Some(ran)) => {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                let said = said.lines().find(|line| line.contains("error")).or(said.lines().last());
                done = Err(Failure::refused(format!(
                    "{what} `{}`: {}: {}",
                    argv.join(" "),
                    ran.exit,
                    said.unwrap_or("it printed no message")
                )));
            }
        }
        break;
    }
    host.remove().map_err(|error| Failure::refused(chain(&error)))?;
    done
}

/// A place of the case, working in its folder: a container has it as a volume.
fn on(place: &str, folder: &Path) -> Result<PlaceSpec, Failure> {
    let folder = folder.display();
    match places::spec(place)? {
        PlaceSpec::Engine { .. } => {
            places::spec(&format!("{place},volume={folder}:{folder},workdir={folder}"))
        }
        _ => places::spec(&format!("{place}:{folder}")),
    }
}

/// Guilty and fixed where guilty is slow, then both where it is not, if that is told: the first of
/// them is what the others are compared with.
fn plan(pair: &Pair, effort: Effort, folder: &Path) -> Result<Plan, Failure> {
    let wanted = if effort == Effort::Short { 1 } else { pair.places.len() };
    let places = pair.places.iter().rev().take(wanted);
    let places: Vec<PlaceSpec> = places.map(|place| on(place, folder)).collect::<Result<_, _>>()?;
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
            parameters: Vec::new(),
            setup: None,
            prepare: None,
            conclude: None,
            cleanup: None,
        })
    });
    let (rounds, recorded) = match effort {
        Effort::Short => (SHORT_ROUNDS, 1),
        Effort::Full => (pair.rounds, RECORDED_ROUNDS),
    };
    Ok(Plan {
        arms: arms.collect(),
        control: false,
        places,
        warmup: 0,
        stopping: Stopping { least: rounds, ..Stopping::for_band(BAND, rounds) },
        budget: Duration::from_secs(3600),
        band: BAND,
        streams: Streams::default(),
        ignore_failure: false,
        shell: None,
        recording: Some(Recording {
            folder: CaseFolder::recordings_in(folder),
            rounds: recorded,
            settings: Settings {
                clock: ClockRate::USUAL,
                stacks: Stacks::Auto,
                extras: Extras::default(),
                max_event_bytes: None,
                raw: None,
                runtime_help: true,
                config_key: None,
                labels: Vec::new(),
            },
        }),
    })
}
