//! What the runs of all places tell, as one value.

use std::collections::BTreeSet;
use std::path::PathBuf;

use culprit_engine::compare::Difference;
use culprit_engine::stats::{Ratio, Verdict, median};
use culprit_findings::{
    ColdRun, DifferenceReport, Options, RunSummary, SAME_BAND, cold_run, find_difference,
    find_difference_of_sets,
};
use culprit_model::{Finding, Nanos};
use culprit_report::html::most_expensive;
use culprit_report::text::{ComparedSides, compared};

use super::earlier::Earlier;
use super::plan::{Plan, Variant};
use crate::args::Work;
use crate::output::{number, percent};
use crate::rounds::{Recorded, Rounds};

/// The answer to "why is it slower there?".
#[derive(Debug)]
pub(crate) struct Answer {
    /// The command.
    pub(crate) command: Vec<String>,
    /// What counts as the program's own code, as typed.
    pub(crate) own: String,
    /// What one run does.
    pub(crate) work: Option<Work>,
    /// Runs by place, in the order in which they were given.
    pub(crate) places: Vec<PlaceRuns>,
    /// The position of the place that the others are compared with: the first that has runs.
    baseline: usize,
    /// Each other place against the baseline, in the order of places; places without runs are
    /// missing.
    pub(crate) against: Vec<Against>,
    /// Places in which the command ended otherwise than in the baseline: they are not compared.
    pub(crate) otherwise: Vec<Otherwise>,
    /// Places whose first run paid for what the later ones had already.
    once: Vec<(String, ColdRun)>,
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
    /// The last line that a run printed which ended with one of them.
    pub(crate) said: Option<String>,
    /// The run whose wall time is in the middle.
    pub(crate) typical: Option<PathBuf>,
    /// Why there are no (more) runs.
    pub(crate) problem: Option<String>,
}

/// A place in which the command ended otherwise than in the baseline: it did other work, and its time says
/// nothing about the place.
#[derive(Debug)]
pub(crate) struct Otherwise {
    /// The place, and the exit codes there.
    here: (String, BTreeSet<i32>),
    /// The baseline, and the exit codes there.
    there: (String, BTreeSet<i32>),
    /// Where it failed, and its last words.
    said: Option<(String, String)>,
}

impl Otherwise {
    /// None where it ended alike.
    fn of(here: &PlaceRuns, there: &PlaceRuns) -> Option<Self> {
        let ended = |runs: &PlaceRuns| (runs.place.clone(), runs.endings());
        let said = |runs: &PlaceRuns| Some((runs.place.clone(), runs.said.clone()?));
        let differ = !here.walls.is_empty() && here.endings() != there.endings();
        differ.then(|| Self {
            here: ended(here),
            there: ended(there),
            said: said(here).or_else(|| said(there)),
        })
    }

    /// In a sentence or two.
    pub(crate) fn told(&self) -> String {
        let ended = |(place, codes): &(String, BTreeSet<i32>)| {
            let codes: Vec<_> = codes.iter().map(ToString::to_string).collect();
            format!("with {} in {place}", codes.join(" and "))
        };
        let said = self.said.as_ref().map_or_else(String::new, |(place, words)| {
            format!(" Its last output in {place}: {words}")
        });
        format!(
            "The command ends differently: {}, {}. Then the runs do different work, so Culprit \
             does not compare their times.{said}",
            ended(&self.here),
            ended(&self.there)
        )
    }
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
            said: runs.iter().find_map(|run| run.said.clone()),
            typical: by_wall.get(by_wall.len() / 2).map(|run| run.recording.clone()),
            problem,
        }
    }

    /// The exit codes that its runs ended with.
    fn endings(&self) -> BTreeSet<i32> {
        let good = (self.failures.len() < self.walls.len()).then_some(0);
        self.failures.iter().copied().chain(good).collect()
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
            said: None,
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

    /// How much of the extra time findings tell of that say more than where it was computed; none where there
    /// is too little of it to be divided.
    pub(crate) fn told_share(&self) -> Option<f64> {
        let comparison = &self.report.comparison;
        let extra = Nanos(comparison.extra_ns().unsigned_abs());
        if extra.share_of(comparison.baseline) < SAME_BAND {
            return None;
        }
        let says_why = |id: &Option<&str>| id.is_some_and(|id| id != HOT_FUNCTION);
        let rows = comparison.rows.iter().zip(&self.report.tied);
        let told: f64 = rows.filter(|(_, id)| says_why(id)).map(|(row, _)| row.share).sum();
        Some(told.clamp(0.0, 1.0))
    }

    /// Rows of the difference that matter, at least a hundredth of it, each with the finding that
    /// explains it.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&Difference, Option<&'static str>)> {
        let tied = self.report.tied.iter().copied();
        let rows = self.report.comparison.rows.iter().zip(tied);
        rows.filter(|(row, _)| row.share.abs() >= 0.01)
    }
}

/// The finding that says where time was computed, not why.
const HOT_FUNCTION: &str = "hot-function";

/// What a place's first run was cold of, in a sentence.
fn cold(place: &str, run: &ColdRun) -> String {
    let (shortest, longest) = run.later;
    let on: Vec<_> = run.extra.iter().map(|(cause, time)| format!("{time} {cause}")).collect();
    let on = if on.is_empty() { String::new() } else { format!(" (extra: {})", on.join(", ")) };
    format!(
        "The first run in {place} was cold: {}{on}. Later runs take {shortest} to {longest}.",
        run.first
    )
}

/// What the first of a place's runs was cold of. Without the first round nobody knows that.
fn cold_of(runs: &[(u32, &Recorded)]) -> Option<ColdRun> {
    runs.first().filter(|(round, _)| *round == 0)?;
    let runs: Vec<_> = runs.iter().map(|(_, run)| run.summary.clone()).collect();
    cold_run(&runs)
}

/// The positions of the candidates whose commands end as the first place's, and how the others differ.
fn apart(
    places: &[PlaceRuns],
    candidates: usize,
    first: &PlaceRuns,
) -> (Vec<usize>, Vec<Otherwise>) {
    let (mut alike, mut otherwise) = (Vec::new(), Vec::new());
    for (index, place) in places.iter().enumerate().skip(candidates) {
        match Otherwise::of(place, first) {
            Some(differs) => otherwise.push(differs),
            None => alike.push(index),
        }
    }
    (alike, otherwise)
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
        let first = plan.earlier.as_ref().map(PlaceRuns::from);
        let first = first.as_ref().unwrap_or(&places[baseline]);
        let (alike, otherwise) = apart(&places, candidates, first);
        let against = alike
            .into_iter()
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
        let cold_runs = (0..plan.places.len())
            .filter_map(|index| Some((plan.label(index), cold_of(&command(index))?)));
        let mut once: Vec<(String, ColdRun)> = cold_runs.collect();
        notes.extend(once.iter().map(|(place, run)| cold(place, run)));
        notes.extend(rounds.notes.iter().cloned());
        once.retain(|(_, run)| run.is_paid_once());
        let instead = plan.instead.as_ref().and_then(|argv| argv.last());
        Self {
            command: plan.command.clone(),
            own: plan.own.to_string(),
            work: plan.work.clone(),
            places,
            baseline,
            against,
            otherwise,
            once,
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
        let mut told: Vec<String> = self.otherwise.iter().map(Otherwise::told).collect();
        match (self.baseline(), self.main()) {
            (Some(baseline), Some(against)) => told.push(self.compared(baseline, against)),
            _ if told.is_empty() => told.push("Culprit compared no places.".to_owned()),
            _ => {}
        }
        let compared = told.join(" ");
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
            return "No round finished in both places.".to_owned();
        };
        let (here, there) = (against.place.as_str(), baseline.place.as_str());
        let after = self.places.iter().find(|runs| runs.place == here).and_then(PlaceRuns::median);
        let told = (self.told(after.unwrap_or_default()), self.told(before));
        if let Some(run) = self.paid_once(against) {
            let (shortest, longest) = run.later;
            return format!(
                "The first run in {here} takes {}, later runs take {} to {}, and a run in {there} \
                 takes {}. Only the first run has the extra cost.",
                self.told(run.first),
                self.told(shortest),
                self.told(longest),
                told.1
            );
        }
        compared(&ComparedSides { here, there, told, option: "--runs", cpu_time: false }, ratio)
    }

    /// The first run of a place that paid for the later ones, where the comparison hangs on it.
    fn paid_once(&self, against: &Against) -> Option<&ColdRun> {
        let run = self.once.iter().find(|(place, _)| *place == against.place);
        run.filter(|_| against.verdict() == Verdict::Unclear).map(|(_, run)| run)
    }

    /// What the extra time is spent on, in one sentence, where there is extra time and a reason.
    pub(crate) fn because(&self) -> Option<String> {
        let main = self.main()?;
        if main.verdict() != Verdict::Slower && self.paid_once(main).is_none() {
            return None;
        }
        let findings = self.findings();
        let finding = &findings[most_expensive(findings)?];
        Some(format!(
            "{} ({}, {} of the run, {} sure)",
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

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(place: &str, failures: &[i32]) -> PlaceRuns {
        PlaceRuns {
            spec: place.to_owned(),
            place: place.to_owned(),
            walls: vec![Nanos(1); 2],
            failures: failures.to_vec(),
            said: (!failures.is_empty()).then(|| "no such table".to_owned()),
            typical: None,
            problem: None,
        }
    }

    #[test]
    fn a_command_that_ends_otherwise_is_told_with_its_last_words() {
        let told = Otherwise::of(&runs("sandbox", &[3]), &runs("host", &[])).expect("other").told();
        assert!(
            told.starts_with(
                "The command ends differently: with 0 and 3 in sandbox, with 0 in host."
            )
        );
        assert!(told.ends_with("Its last output in sandbox: no such table"), "{told}");
        let told =
            Otherwise::of(&runs("sandbox", &[]), &runs("host", &[1, 1])).expect("other").told();
        assert!(told.ends_with("Its last output in host: no such table"), "{told}");
    }

    #[test]
    fn a_command_that_ends_alike_is_compared_whatever_its_status() {
        assert!(Otherwise::of(&runs("sandbox", &[]), &runs("host", &[])).is_none());
        assert!(Otherwise::of(&runs("sandbox", &[1, 1]), &runs("host", &[1, 1])).is_none());
        let none = PlaceRuns { walls: Vec::new(), ..runs("sandbox", &[]) };
        assert!(Otherwise::of(&none, &runs("host", &[])).is_none());
    }
}
