//! What the runs of all places tell, as one value.

use std::collections::BTreeSet;
use std::path::PathBuf;

use culprit_engine::stats::{Verdict, median};
use culprit_findings::{ColdRun, Options, cold_run};
use culprit_model::{Finding, Nanos};
use culprit_place::PlaceSpec;

use super::{WhyPlan, Work};
use crate::comparison::Comparison;
use crate::recorded::Recorded;
use crate::run::Trials;

/// The answer to "why is it slower there?".
#[derive(Debug)]
pub struct WhyResults {
    /// The command.
    pub command: Vec<String>,
    /// What counts as the program's own code, as typed.
    pub own: String,
    /// What one run does.
    pub work: Option<Work>,
    /// Runs by place, in the order in which they were given.
    pub places: Vec<PlaceRuns>,
    /// The position of the place that the others are compared with: the first that has runs.
    baseline: usize,
    /// Each other place against the baseline, in the order of places; places without runs are
    /// missing.
    pub against: Vec<Comparison>,
    /// Places in which the command ended otherwise than in the baseline: they are not compared.
    pub different_ends: Vec<DifferentEnd>,
    /// Places whose first run paid for what the later ones had already.
    once: Vec<(String, ColdRun)>,
    /// The other command line, as typed, with its runs by place.
    pub instead: Option<(String, Vec<PlaceRuns>)>,
    /// How many rounds were finished, and how many were planned.
    pub rounds: (u32, u32),
    /// True when Ctrl-C cut the plan short.
    pub interrupted: bool,
    /// Where the page and the recordings are.
    pub folder: PathBuf,
    /// What a comparison with earlier recordings rests on, and first runs that were cold; one
    /// sentence each.
    pub notes: Vec<String>,
}

/// The runs in one place.
#[derive(Debug, Clone)]
pub struct PlaceRuns {
    /// Its full name.
    pub spec: String,
    /// What it is called in prose.
    pub place: String,
    /// Wall times by round.
    pub walls: Vec<Nanos>,
    /// Exit codes other than 0.
    pub failures: Vec<i32>,
    /// The last line that a run printed which ended with one of them.
    pub said: Option<String>,
    /// The run whose wall time is in the middle.
    pub typical: Option<PathBuf>,
    /// Why there are no (more) runs.
    pub problem: Option<String>,
}

/// A place in which the command ended otherwise than in the baseline: it did other work, and its time says
/// nothing about the place.
#[derive(Debug)]
pub struct DifferentEnd {
    /// The place, and the exit codes there.
    here: (String, BTreeSet<i32>),
    /// The baseline, and the exit codes there.
    there: (String, BTreeSet<i32>),
    /// Where it failed, and its last words.
    said: Option<(String, String)>,
}

impl DifferentEnd {
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
    #[must_use]
    pub fn describe(&self) -> String {
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

impl PlaceRuns {
    fn new(spec: String, place: String, runs: &[&Recorded], problem: Option<String>) -> Self {
        let mut by_wall: Vec<&&Recorded> = runs.iter().collect();
        by_wall.sort_by_key(|run| run.wall);
        Self {
            spec,
            place,
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
    #[must_use]
    pub fn median(&self) -> Option<Nanos> {
        let seconds: Vec<f64> = self.walls.iter().map(|wall| wall.seconds()).collect();
        Some(Nanos((median(&seconds)? * 1e9).round() as u64))
    }
}

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
fn by_ending(
    places: &[PlaceRuns],
    candidates: usize,
    first: &PlaceRuns,
) -> (Vec<usize>, Vec<DifferentEnd>) {
    let (mut alike, mut otherwise) = (Vec::new(), Vec::new());
    for (index, place) in places.iter().enumerate().skip(candidates) {
        match DifferentEnd::of(place, first) {
            Some(differs) => otherwise.push(differs),
            None => alike.push(index),
        }
    }
    (alike, otherwise)
}

impl WhyResults {
    /// What the rounds tell. `notes` say what the places differ in besides time; `all` keeps findings of little
    /// cost.
    #[must_use]
    pub fn new(plan: &WhyPlan, trials: &Trials, all: bool, notes: Vec<String>) -> Self {
        let (request, rounds) = (&plan.request, &trials.recorded);
        let count = request.places.len();
        let command = |place: usize| rounds.of(plan.command_in(place));
        let options = Options { all, ..Options::default() };
        let mut places = runs_by_place(plan, trials, 0);
        // Where the first place failed, the others are still worth comparing.
        let first = (0..count).find(|place| !command(*place).is_empty()).unwrap_or(0);
        let then = request.earlier.as_ref().map(|earlier| {
            let runs: Vec<&Recorded> = earlier.runs.iter().collect();
            PlaceRuns::new(earlier.place.clone(), earlier.label.clone(), &runs, None)
        });
        let candidates = if then.is_some() { 0 } else { first + 1 };
        let baseline_runs = then.as_ref().unwrap_or(&places[first]);
        let (alike, different_ends) = by_ending(&places, candidates, baseline_runs);
        let compare = |place| compare_place(plan, trials, (first, place), &options);
        let against = alike.into_iter().filter_map(compare).collect();
        let mut all_notes = Vec::new();
        if let Some(earlier) = &request.earlier
            && let Some((_, run)) = rounds.runs.first()
        {
            all_notes = earlier.notes(&run.fingerprint);
        }
        let baseline = if then.is_some() { 0 } else { first };
        places.splice(0..0, then);
        let cold_runs =
            (0..count).filter_map(|place| Some((plan.label(place), cold_of(&command(place))?)));
        let mut once: Vec<(String, ColdRun)> = cold_runs.collect();
        all_notes.extend(once.iter().map(|(place, run)| cold(place, run)));
        all_notes.extend(notes);
        once.retain(|(_, run)| run.is_paid_once());
        let instead = request.instead.as_ref();
        Self {
            command: request.command.clone(),
            own: request.own.0.clone(),
            work: request.work.clone(),
            places,
            baseline,
            against,
            different_ends,
            once,
            instead: instead.map(|line| (line.clone(), runs_by_place(plan, trials, 1))),
            rounds: (rounds.finished(&plan.experiment.arm_places(), request.runs), request.runs),
            interrupted: trials.interrupted(),
            folder: request.folder.clone(),
            notes: all_notes,
        }
    }

    /// The comparison that the answer is about: the place that is slowest against the baseline.
    #[must_use]
    pub fn main(&self) -> Option<&Comparison> {
        let value = |against: &&Comparison| against.ratio().map_or(0.0, |ratio| ratio.value);
        self.against.iter().max_by(|a, b| value(a).total_cmp(&value(b)))
    }

    /// The findings to list: those of the main comparison.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        self.main().map_or(&[], |against| &against.report.findings)
    }

    /// The place that the others are compared with.
    #[must_use]
    pub fn baseline(&self) -> Option<&PlaceRuns> {
        self.places.get(self.baseline)
    }

    /// The first run of a place that paid for the later ones, where the comparison hangs on it.
    #[must_use]
    pub fn paid_once(&self, against: &Comparison) -> Option<&ColdRun> {
        let run = self.once.iter().find(|(place, _)| *place == against.label);
        run.filter(|_| against.verdict() == Verdict::Unclear).map(|(_, run)| run)
    }

    /// How much faster the other command is in each place: place, its median, the ratio.
    #[must_use]
    pub fn gains(&self) -> Vec<(String, Nanos, f64)> {
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

/// The runs of the command in each place; with 1, of the other command line.
fn runs_by_place(plan: &WhyPlan, trials: &Trials, variant: usize) -> Vec<PlaceRuns> {
    let of_place = |(place, spec): (usize, &PlaceSpec)| {
        let runs = trials.recorded.of(plan.command_in(place) + variant);
        let runs: Vec<&Recorded> = runs.into_iter().map(|(_, run)| run).collect();
        PlaceRuns::new(spec.to_string(), plan.label(place), &runs, problem(trials, place))
    };
    plan.request.places.iter().enumerate().map(of_place).collect()
}

/// A place against earlier runs, else against the first place.
fn compare_place(
    plan: &WhyPlan,
    trials: &Trials,
    (first, place): (usize, usize),
    options: &Options,
) -> Option<Comparison> {
    let (label, rounds) = (plan.label(place), &trials.recorded);
    let Some(earlier) = &plan.request.earlier else {
        let arms = (plan.command_in(first), plan.command_in(place));
        return Comparison::of_rounds(&label, rounds, arms, options);
    };
    let then: Vec<_> = earlier.runs.iter().map(|run| run.summary.clone()).collect();
    let now = rounds.of(plan.command_in(place)).into_iter();
    let now: Vec<_> = now.map(|(_, run)| run.summary.clone()).collect();
    Comparison::of_sets(&label, &then, &now, options)
}

/// Why a place has no (more) runs.
fn problem(trials: &Trials, place: usize) -> Option<String> {
    let mut problems = trials.recorded.problems.iter().chain(&trials.left);
    problems.find(|(other, _)| *other == place).map(|(_, error)| error.to_string())
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
        let told =
            DifferentEnd::of(&runs("sandbox", &[3]), &runs("host", &[])).expect("other").describe();
        assert!(
            told.starts_with(
                "The command ends differently: with 0 and 3 in sandbox, with 0 in host."
            )
        );
        assert!(told.ends_with("Its last output in sandbox: no such table"), "{told}");
        let told = DifferentEnd::of(&runs("sandbox", &[]), &runs("host", &[1, 1]))
            .expect("other")
            .describe();
        assert!(told.ends_with("Its last output in host: no such table"), "{told}");
    }

    #[test]
    fn a_command_that_ends_alike_is_compared_whatever_its_status() {
        assert!(DifferentEnd::of(&runs("sandbox", &[]), &runs("host", &[])).is_none());
        assert!(DifferentEnd::of(&runs("sandbox", &[1, 1]), &runs("host", &[1, 1])).is_none());
        let none = PlaceRuns { walls: Vec::new(), ..runs("sandbox", &[]) };
        assert!(DifferentEnd::of(&none, &runs("host", &[])).is_none());
    }
}
