//! `why --json`.

use culprit_engine::compare::Difference;
use culprit_engine::stats::Ratio;
use culprit_findings::Mechanism;
use culprit_report::json::{FindingJson, SCHEMA};
use serde::Serialize;

use crate::why::{Against, Answer, PlaceRuns};

/// The answer. `ratio`, `verdict`, `difference` and `findings` are of the place that is slowest
/// against the first; `comparisons` has all places.
#[derive(Debug, Serialize)]
pub(crate) struct WhyDocument {
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
    /// The document of an answer.
    pub(crate) fn new(answer: &Answer) -> Self {
        let main = answer.main();
        let place_json = |runs: &PlaceRuns| place_json(runs, answer);
        Self {
            schema: SCHEMA,
            command: answer.command.clone(),
            places: answer.places.iter().map(|runs| runs.spec.clone()).collect(),
            runs: answer.places.iter().map(|runs| runs.walls.len()).max().unwrap_or(0),
            because: answer.because(),
            ratio: main.and_then(Against::ratio).map(RatioJson::from),
            verdict: main.map_or_else(|| "unclear".to_owned(), |main| main.verdict().to_string()),
            explained_share: main.map_or(0.0, |main| main.report.explained_share),
            difference: main
                .into_iter()
                .flat_map(Against::rows)
                .map(DifferenceJson::from)
                .collect(),
            mechanisms: main
                .into_iter()
                .flat_map(|main| &main.report.mechanisms)
                .map(MechanismJson::from)
                .collect(),
            findings: answer.findings().iter().map(FindingJson::from).collect(),
            notes: answer.notes.clone(),
            place_runs: answer.places.iter().map(place_json).collect(),
            comparisons: answer.against.iter().map(ComparisonJson::from).collect(),
            work: answer
                .work
                .as_ref()
                .map(|work| WorkJson { amount: work.amount, unit: work.unit.clone() }),
            instead: answer.instead.as_ref().map(|(command, places)| InsteadJson {
                command: command.clone(),
                place_runs: places.iter().map(place_json).collect(),
                gains: answer
                    .gains()
                    .into_iter()
                    .map(|(place, wall, gain)| GainJson {
                        place,
                        median_ns: wall.0,
                        times_as_fast: gain,
                    })
                    .collect(),
            }),
            interrupted: answer.interrupted,
            rounds_finished: answer.rounds.0,
            rounds_planned: answer.rounds.1,
            report: answer.folder.join("report.html").display().to_string(),
        }
    }
}

fn place_json(runs: &PlaceRuns, answer: &Answer) -> PlaceJson {
    let median = runs.median();
    PlaceJson {
        place: runs.spec.clone(),
        label: runs.place.clone(),
        walls_ns: runs.walls.iter().map(|wall| wall.0).collect(),
        median_ns: median.map(|wall| wall.0),
        units_per_s: answer.work.as_ref().zip(median).map(|(work, wall)| work.rate(wall)),
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

impl From<&Against> for ComparisonJson {
    fn from(against: &Against) -> Self {
        Self {
            place: against.place.clone(),
            verdict: against.verdict().to_string(),
            ratio: against.ratio().map(RatioJson::from),
            extra_ns: against.report.comparison.extra_ns(),
            explained_share: against.report.explained_share,
        }
    }
}
