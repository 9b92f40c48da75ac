//! Running a case: unpack, build, measure both variants, judge.

use std::path::Path;
use std::time::Duration;

use culprit_engine::stats::Stopping;
use culprit_model::Nanos;
use culprit_place::PlaceSpec;
use culprit_record::Extras;

use super::case::Case;
use super::folder::CaseFolder;
use super::judge::{Told, judge};
use super::shelf::Shelf;
use crate::args::Stacks;
use crate::bench::{Answer, Arm, Plan, Recording, conduct, place_label};
use crate::failure::{Failure, chain};
use crate::output::{Output, Progress};
use crate::rounds::{Sink, Streams, run_timed};
use crate::session::{Control, Settings};
use crate::{load, places};

/// What differs by less is the same: the band of `verify`.
const BAND: f64 = 0.05;
/// Clock samples a second of CPU time, as `record` has them.
const FREQUENCY: u32 = 999;
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
    if !build(case, folder.path(), control)? {
        return Ok(Ran::Interrupted);
    }
    let plan = plan(case, effort, &folder)?;
    let mut session = conduct(&plan, control, progress)?;
    if session.timed.interrupted || session.recorded.interrupted || control.interrupted() {
        return Ok(Ran::Interrupted);
    }
    let answer = Answer::new(&plan, &session);
    let problems = std::mem::take(&mut session.timed.problems).into_iter();
    let recorded = std::mem::take(&mut session.recorded.problems);
    if let Some((place, failure)) = problems.chain(recorded).chain(session.left).next() {
        return Err(failure.of(&place_label(&plan, place)));
    }
    let mut runs: Vec<_> = session.recorded.runs.iter().filter(|(step, _)| step.arm == 0).collect();
    runs.sort_by_key(|(_, run)| run.wall);
    let middle = runs.get(runs.len() / 2).map(|(_, run)| &run.recording);
    let middle = middle.ok_or_else(|| Failure::refused("no run was recorded"))?;
    let recording = load::recording(middle, output)?;
    let report = load::findings(&recording, &culprit_model::Filter::default(), false)?;
    let walls = |arm| mean(session.recorded.of(arm).into_iter().map(|(_, run)| run.wall));
    let told = judge(case, effort, &answer, report.findings, (walls(0), walls(1)));
    Ok(Ran::Told(Box::new(Told { recordings: folder.kept_recordings(), ..told })))
}

fn mean(walls: impl Iterator<Item = Nanos>) -> Nanos {
    let walls: Vec<u64> = walls.map(|wall| wall.0).collect();
    Nanos(walls.iter().sum::<u64>() / (walls.len() as u64).max(1))
}

/// Runs the case's own preparations; false when Ctrl-C cut them.
fn build(case: &Case, folder: &Path, control: &Control) -> Result<bool, Failure> {
    let host = places::open(&at("host", folder)?)?;
    let log = folder.join("build.log");
    let streams = Streams { output: Sink::File(log.clone()), ..Streams::default() };
    let mut built = Ok(true);
    for argv in &case.build {
        if control.interrupted() {
            built = Ok(false);
            break;
        }
        let command = streams.command(argv)?;
        match run_timed(&*host, &command, control)? {
            None => built = Ok(false),
            Some(ran) if ran.exit.success() => continue,
            Some(ran) => {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                let said = said.lines().find(|line| line.contains("error")).or(said.lines().last());
                built = Err(Failure::refused(format!(
                    "build the case by `{}`: {}: {}",
                    argv.join(" "),
                    ran.exit,
                    said.unwrap_or("it printed nothing")
                )));
            }
        }
        break;
    }
    host.remove().map_err(|error| Failure::refused(chain(&error)))?;
    built
}

/// A place of the case, working in its folder.
fn at(place: &str, folder: &Path) -> Result<PlaceSpec, Failure> {
    places::spec(&format!("{place}:{}", folder.display()))
}

/// Guilty and fixed where guilty is slow, then both where it is not, if that is told: the first of
/// them is what the others are compared with.
fn plan(case: &Case, effort: Effort, folder: &CaseFolder) -> Result<Plan, Failure> {
    let wanted = if effort == Effort::Short { 1 } else { case.places.len() };
    let places = case.places.iter().rev().take(wanted);
    let places: Vec<PlaceSpec> =
        places.map(|place| at(place, folder.path())).collect::<Result<_, _>>()?;
    let (guilty, fixed) = (&case.guilty, &case.fixed);
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
        Effort::Full => (case.rounds, RECORDED_ROUNDS),
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
            folder: folder.recordings(),
            rounds: recorded,
            settings: Settings {
                frequency: FREQUENCY,
                stacks: Stacks::Auto,
                extras: Extras::default(),
                max_event_bytes: None,
            },
        }),
    })
}
