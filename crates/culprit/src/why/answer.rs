//! What the runs of all places tell, as one value.

use std::path::PathBuf;

use culprit_engine::compare::Difference;
use culprit_engine::stats::{Ratio, Verdict, median};
use culprit_findings::{
    ColdRun, DifferenceReport, Options, RunSummary, cold_run, find_difference,
    find_difference_of_sets,
};
use culprit_model::{Finding, Nanos};

use super::earlier::Earlier;
use super::plan::{Plan, Variant};
use crate::args::Work;
use crate::output::{number, percent};
use crate::rounds::{Recorded, Rounds};
use crate::text::{Sides, compared, culprit};

/// The answer to "why is it slower there?".
#[derive(Debug)]
pub(crate) struct Answer {
    /// The command.
    pub(crate) command: Vec<String>,
    /// What one run does.
    pub(crate) work: Option<Work>,
    /// Runs by place, in the order in which they were given.
    pub(crate) places: Vec<PlaceRuns>,
    /// The position of the place that the others are compared with: the first that has runs.
    baseline: usize,
    /// Each other place against the baseline, in the order of places; places without runs are
    /// missing.
    pub(crate) against: Vec<Against>,
    /// The other command line, as typed, with its runs by place.
    pub(crate) instead: Option<(String, Vec<PlaceRuns>)>,
    /// How many rounds were finished, and how many were planned.
    pub(crate) rounds: (u32, u32),
    /// True when Ctrl-C cut the plan short.
    pub(crate) interrupted: bool,
    /// Where the page and the recordings are.
    pub(crate) folder: PathBuf,
    /// What a comparison with earlier recordings rests on, and first runs that were cold; one
    /// sentence each.
    pub(crate) notes: Vec<String>,
}

/// The runs in one place.
#[derive(Debug, Clone)]
pub(crate) struct PlaceRuns {
    /// Its full name.
    pub(crate) spec: String,
    /// What it is called in prose.
    pub(crate) place: String,
    /// Wall times by round.
    pub(crate) walls: Vec<Nanos>,
    /// Exit codes other than 0.
    pub(crate) failures: Vec<i32>,
    /// The run whose wall time is in the middle.
    pub(crate) typical: Option<PathBuf>,
    /// Why there are no (more) runs.
    pub(crate) problem: Option<String>,
}

/// A place against the baseline.
#[derive(Debug)]
pub(crate) struct Against {
    /// The place.
    pub(crate) place: String,
    /// What the comparison tells.
    pub(crate) report: DifferenceReport,
}

impl PlaceRuns {
    fn new(plan: &Plan, index: usize, runs: &[&Recorded], problem: Option<String>) -> Self {
        let mut by_wall: Vec<&&Recorded> = runs.iter().collect();
        by_wall.sort_by_key(|run| run.wall);
        Self {
            spec: plan.places[index].to_string(),
            place: plan.label(index),
            walls: runs.iter().map(|run| run.wall).collect(),
            failures: runs.iter().map(|run| run.exit_code).filter(|code| *code != 0).collect(),
            typical: by_wall.get(by_wall.len() / 2).map(|run| run.recording.clone()),
            problem,
        }
    }

    /// The wall time in the middle.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a median of lengths is a length"
    )]
    pub(crate) fn median(&self) -> Option<Nanos> {
        let seconds: Vec<f64> = self.walls.iter().map(|wall| wall.seconds()).collect();
        Some(Nanos((median(&seconds)? * 1e9).round() as u64))
    }
}

impl From<&Earlier> for PlaceRuns {
    fn from(earlier: &Earlier) -> Self {
        let runs = &earlier.runs;
        let mut by_wall: Vec<_> = runs.iter().collect();
        by_wall.sort_by_key(|run| run.wall);
        Self {
            spec: earlier.place.clone(),
            place: earlier.label.clone(),
            walls: runs.iter().map(|run| run.wall).collect(),
            failures: runs.iter().map(|run| run.exit_code).filter(|code| *code != 0).collect(),
            typical: by_wall.get(by_wall.len() / 2).map(|run| run.file.clone()),
            problem: None,
        }
    }
}

impl Against {
    /// The ratio, where a round of both was done.
    pub(crate) fn ratio(&self) -> Option<&Ratio> {
        self.report.comparison.ratio.as_ref()
    }

    /// The verdict.
    pub(crate) fn verdict(&self) -> Verdict {
        self.ratio().map_or(Verdict::Unclear, |ratio| ratio.verdict)
    }

    /// Rows of the difference that matter, at least a hundredth of it, each with the finding that
    /// explains it.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&Difference, Option<&'static str>)> {
        let tied = self.report.tied.iter().copied();
        let rows = self.report.comparison.rows.iter().zip(tied);
        rows.filter(|(row, _)| row.share.abs() >= 0.01)
    }
}

/// What a place's first run was cold of, in a sentence.
fn cold(place: &str, run: &ColdRun) -> String {
    let (shortest, longest) = run.later;
    let on: Vec<_> = run.extra.iter().map(|(cause, time)| format!("{time} {cause}")).collect();
    let on = if on.is_empty() { String::new() } else { format!(", of it {}", on.join(", ")) };
    format!(
        "The first run in {place} was a cold one: {} against {shortest} to {longest} of the later ones{on}.",
        run.first
    )
}

impl Answer {
    /// What the rounds tell.
    pub(crate) fn new(plan: &Plan, rounds: &Rounds<Recorded>, all: bool) -> Self {
        let arms = plan.arms();
        let runs = |index: usize, variant: Variant| -> Vec<(u32, &Recorded)> {
            let arm = arms.iter().position(|arm| *arm == (index, variant));
            arm.map(|arm| rounds.of(arm)).unwrap_or_default()
        };
        let problem = |index: usize| {
            let of_place = rounds.problems.iter().find(|(place, _)| *place == index);
            of_place.map(|(_, failure)| failure.to_string())
        };
        let runs_of = |variant: Variant| -> Vec<PlaceRuns> {
            (0..plan.places.len())
                .map(|index| {
                    let runs: Vec<&Recorded> =
                        runs(index, variant).into_iter().map(|(_, run)| run).collect();
                    PlaceRuns::new(plan, index, &runs, problem(index))
                })
                .collect()
        };
        let options = Options { all, ..Options::default() };
        let command = |index| runs(index, Variant::Command);
        let mut places = runs_of(Variant::Command);
        let mut notes = Vec::new();
        // Where the first place failed, the others are still worth comparing.
        let baseline =
            (0..plan.places.len()).find(|index| !command(*index).is_empty()).unwrap_or(0);
        let report = |index: usize| match &plan.earlier {
            Some(earlier) => {
                let then: Vec<_> = earlier.runs.iter().map(|run| run.summary.clone()).collect();
                let now: Vec<_> =
                    command(index).iter().map(|(_, run)| run.summary.clone()).collect();
                find_difference_of_sets(&then, &now, &options)
            }
            None => {
                let (baseline, candidate) = paired(&command(baseline), &command(index));
                find_difference(&baseline, &candidate, &options)
            }
        };
        let candidates = if plan.earlier.is_some() { 0 } else { baseline + 1 };
        let against = (candidates..plan.places.len())
            .filter_map(|index| Some(Against { place: plan.label(index), report: report(index)? }))
            .collect();
        let baseline = match &plan.earlier {
            Some(earlier) => {
                places.insert(0, PlaceRuns::from(earlier));
                if let Some((_, run)) = rounds.runs.first() {
                    notes = earlier.notes(&run.fingerprint);
                }
                0
            }
            None => baseline,
        };
        notes.extend((0..plan.places.len()).filter_map(|index| {
            let runs = command(index);
            // Without the first round nobody knows what was cold.
            runs.first().filter(|(round, _)| *round == 0)?;
            let runs: Vec<_> = runs.iter().map(|(_, run)| run.summary.clone()).collect();
            Some(cold(&plan.label(index), &cold_run(&runs)?))
        }));
        let instead = plan.instead.as_ref().and_then(|argv| argv.last());
        Self {
            command: plan.command.clone(),
            work: plan.work.clone(),
            places,
            baseline,
            against,
            instead: instead.map(|line| (line.clone(), runs_of(Variant::Instead))),
            rounds: (rounds.finished(&plan.arm_places(), plan.runs), plan.runs),
            interrupted: rounds.interrupted,
            folder: plan.folder.clone(),
            notes,
        }
    }

    /// The comparison that the answer is about: the place that is slowest against the baseline.
    pub(crate) fn main(&self) -> Option<&Against> {
        let value = |against: &&Against| against.ratio().map_or(0.0, |ratio| ratio.value);
        self.against.iter().max_by(|a, b| value(a).total_cmp(&value(b)))
    }

    /// The findings to list: those of the main comparison.
    pub(crate) fn findings(&self) -> &[Finding] {
        self.main().map_or(&[], |against| &against.report.findings)
    }

    /// The place that the others are compared with.
    pub(crate) fn baseline(&self) -> Option<&PlaceRuns> {
        self.places.get(self.baseline)
    }

    /// The answer in one or two sentences, and how much of the plan it rests on when that is not
    /// all of it.
    pub(crate) fn verdict(&self) -> String {
        let compared = match (self.baseline(), self.main()) {
            (Some(baseline), Some(against)) => self.compared(baseline, against),
            _ => "No place was compared with another.".to_owned(),
        };
        match self.rounds {
            (finished, planned) if self.interrupted => {
                format!("{compared} Interrupted after {finished} of {planned} rounds.")
            }
            _ => compared,
        }
    }

    /// The other places against the baseline, a sentence each.
    pub(crate) fn others(&self) -> Vec<String> {
        let main = self.main().map(|main| main.place.as_str());
        let others = self.against.iter().filter(|against| Some(against.place.as_str()) != main);
        let told = |against| self.baseline().map(|baseline| self.compared(baseline, against));
        others.filter_map(told).collect()
    }

    fn compared(&self, baseline: &PlaceRuns, against: &Against) -> String {
        let (Some(ratio), Some(before)) = (against.ratio(), baseline.median()) else {
            return "No round was finished in two places.".to_owned();
        };
        let (here, there) = (against.place.as_str(), baseline.place.as_str());
        let after = self.places.iter().find(|runs| runs.place == here).and_then(PlaceRuns::median);
        let told = (self.told(after.unwrap_or_default()), self.told(before));
        compared(&Sides { here, there, told, option: "--runs", cpu_time: false }, ratio)
    }

    /// What the extra time is spent on, in one sentence, where there is extra time and a reason.
    pub(crate) fn because(&self) -> Option<String> {
        self.main().filter(|main| main.verdict() == Verdict::Slower)?;
        let findings = self.findings();
        let finding = &findings[culprit(findings)?];
        Some(format!(
            "{} ({}, {} of it, {} sure)",
            finding.title,
            finding.id,
            percent(finding.share),
            percent(finding.confidence)
        ))
    }

    /// A wall time in words: as a rate where the work of a run is known.
    pub(crate) fn told(&self, wall: Nanos) -> String {
        match &self.work {
            Some(work) => format!("{} {}/s", number(work.rate(wall)), work.unit),
            None => wall.to_string(),
        }
    }

    /// How much faster the other command is in each place: place, its median, the ratio.
    pub(crate) fn gains(&self) -> Vec<(String, Nanos, f64)> {
        let Some((_, instead)) = &self.instead else { return Vec::new() };
        let pairs = self.places.iter().zip(instead);
        pairs
            .filter_map(|(command, other)| {
                let (before, after) = (command.median()?, other.median()?);
                Some((command.place.clone(), after, before.share_of(after)))
            })
            .collect()
    }
}

/// The baseline's and a place's runs of the rounds that both have.
fn paired(
    baseline: &[(u32, &Recorded)],
    candidate: &[(u32, &Recorded)],
) -> (Vec<RunSummary>, Vec<RunSummary>) {
    let mut pairs = (Vec::new(), Vec::new());
    for (round, run) in candidate {
        if let Some((_, other)) = baseline.iter().find(|(other, _)| other == round) {
            pairs.0.push(other.summary.clone());
            pairs.1.push(run.summary.clone());
        }
    }
    pairs
}
