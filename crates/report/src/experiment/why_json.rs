//! `why --json`.

use culprit_engine::compare::Difference;
use culprit_engine::stats::Ratio;
use culprit_experiment::why::{PlaceRuns, WhyResults};
use culprit_experiment::{Comparison, PAGE};
use culprit_findings::Mechanism;
use serde::Serialize;

use super::why_words::because;
use crate::json::{FindingJson, SCHEMA};

/// The results. `ratio`, `verdict`, `difference` and `findings` are of the place that is slowest
/// against the first; `comparisons` has all places.
#[derive(Debug, Serialize)]
pub struct WhyDocument {
    schema: u32,
    command: Vec<String>,
    places: Vec<String>,
    runs: usize,
    because: Option<String>,
    ratio: Option<RatioJson>,
    verdict: String,
    explained_share: f64,
    difference: Vec<DifferenceJson>,
    mechanisms: Vec<MechanismJson>,
    findings: Vec<FindingJson>,
    notes: Vec<String>,
    place_runs: Vec<PlaceJson>,
    comparisons: Vec<ComparisonJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    work: Option<WorkJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instead: Option<InsteadJson>,
    interrupted: bool,
    rounds_finished: u32,
    rounds_planned: u32,
    report: String,
}

#[derive(Debug, Serialize)]
struct RatioJson {
    value: f64,
    low: f64,
    high: f64,
    coverage: f64,
    rounds: usize,
}

#[derive(Debug, Serialize)]
struct DifferenceJson {
    cause: String,
    function: String,
    process: String,
    extra_ns: i64,
    share: f64,
    rounds_agreeing: usize,
    low_ns: Option<i64>,
    high_ns: Option<i64>,
    coverage: Option<f64>,
    finding: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct MechanismJson {
    fact: &'static str,
    what: &'static str,
    baseline: Option<String>,
    candidate: Option<String>,
    acts_on_ns: u64,
}

#[derive(Debug, Serialize)]
struct PlaceJson {
    place: String,
    label: String,
    walls_ns: Vec<u64>,
    median_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    units_per_s: Option<f64>,
    exit_codes_not_zero: Vec<i32>,
    recording: Option<String>,
    problem: Option<String>,
}

#[derive(Debug, Serialize)]
struct ComparisonJson {
    place: String,
    verdict: String,
    ratio: Option<RatioJson>,
    extra_ns: i64,
    explained_share: f64,
}

#[derive(Debug, Serialize)]
struct WorkJson {
    amount: f64,
    unit: String,
}

#[derive(Debug, Serialize)]
struct InsteadJson {
    command: String,
    place_runs: Vec<PlaceJson>,
    gains: Vec<GainJson>,
}

#[derive(Debug, Serialize)]
struct GainJson {
    place: String,
    median_ns: u64,
    times_as_fast: f64,
}

impl WhyDocument {
    /// The document of results.
    pub fn new(results: &WhyResults) -> Self {
        let main = results.main();
        let place_json = |runs: &PlaceRuns| place_json(runs, results);
        Self {
            schema: SCHEMA,
            command: results.command.clone(),
            places: results.places.iter().map(|runs| runs.spec.clone()).collect(),
            runs: results.places.iter().map(|runs| runs.walls.len()).max().unwrap_or(0),
            because: because(results),
            ratio: main.and_then(Comparison::ratio).map(RatioJson::from),
            verdict: main.map_or_else(|| "unclear".to_owned(), |main| main.verdict().to_string()),
            explained_share: main.map_or(0.0, |main| main.report.explained_share),
            difference: main
                .into_iter()
                .flat_map(Comparison::rows)
                .map(DifferenceJson::from)
                .collect(),
            mechanisms: main
                .into_iter()
                .flat_map(|main| &main.report.mechanisms)
                .map(MechanismJson::from)
                .collect(),
            findings: results.findings().iter().map(FindingJson::from).collect(),
            notes: results.notes.clone(),
            place_runs: results.places.iter().map(place_json).collect(),
            comparisons: results.against.iter().map(ComparisonJson::from).collect(),
            work: results
                .work
                .as_ref()
                .map(|work| WorkJson { amount: work.amount, unit: work.unit.clone() }),
            instead: results.instead.as_ref().map(|(command, places)| InsteadJson {
                command: command.clone(),
                place_runs: places.iter().map(place_json).collect(),
                gains: results
                    .gains()
                    .into_iter()
                    .map(|(place, wall, gain)| GainJson {
                        place,
                        median_ns: wall.0,
                        times_as_fast: gain,
                    })
                    .collect(),
            }),
            interrupted: results.interrupted,
            rounds_finished: results.rounds.0,
            rounds_planned: results.rounds.1,
            report: results.folder.join(PAGE).display().to_string(),
        }
    }
}

fn place_json(runs: &PlaceRuns, results: &WhyResults) -> PlaceJson {
    let median = runs.median();
    PlaceJson {
        place: runs.spec.clone(),
        label: runs.place.clone(),
        walls_ns: runs.walls.iter().map(|wall| wall.0).collect(),
        median_ns: median.map(|wall| wall.0),
        units_per_s: results.work.as_ref().zip(median).map(|(work, wall)| work.rate(wall)),
        exit_codes_not_zero: runs.failures.clone(),
        recording: runs.typical.as_ref().map(|path| path.display().to_string()),
        problem: runs.problem.clone(),
    }
}

impl From<&Ratio> for RatioJson {
    fn from(ratio: &Ratio) -> Self {
        Self {
            value: ratio.value,
            low: ratio.interval.low,
            high: ratio.interval.high,
            coverage: ratio.interval.coverage,
            rounds: ratio.rounds,
        }
    }
}

impl From<&Mechanism> for MechanismJson {
    fn from(found: &Mechanism) -> Self {
        Self {
            fact: found.fact,
            what: found.what,
            baseline: found.baseline.clone(),
            candidate: found.candidate.clone(),
            acts_on_ns: found.extra.0,
        }
    }
}

impl From<(&Difference, Option<&'static str>)> for DifferenceJson {
    fn from((row, finding): (&Difference, Option<&'static str>)) -> Self {
        Self {
            cause: row.cause.to_string(),
            function: row.function.to_string(),
            process: row.process.to_string(),
            extra_ns: row.extra_ns,
            share: row.share,
            rounds_agreeing: row.rounds_agreeing,
            low_ns: row.spread.map(|spread| spread.low_ns),
            high_ns: row.spread.map(|spread| spread.high_ns),
            coverage: row.spread.map(|spread| spread.coverage),
            finding,
        }
    }
}

impl From<&Comparison> for ComparisonJson {
    fn from(against: &Comparison) -> Self {
        Self {
            place: against.label.clone(),
            verdict: against.verdict().to_string(),
            ratio: against.ratio().map(RatioJson::from),
            extra_ns: against.report.comparison.extra_ns(),
            explained_share: against.report.explained_share,
        }
    }
}
