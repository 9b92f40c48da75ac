//! `bench cmd --json` and `verify --json`.

use culprit_engine::stats::{Summary, percentile};
use culprit_experiment::{ArmRuns, Comparison, MetricRatio, Results, Timed, nanos};
use culprit_findings::FindingChange;
use serde::Serialize;
use serde_json::{Map, Value};

use super::verdicts::verdict_id;
use crate::json::{FindingJson, SCHEMA};

/// Commands timed against each other.
#[derive(Debug, Serialize)]
pub struct BenchDocument {
    schema: u32,
    probe: &'static str,
    version: &'static str,
    workload: WorkloadJson,
    environment: culprit_probe::Environment,
    #[serde(flatten)]
    measured: MeasuredJson,
    inside: Vec<InsideJson>,
}

/// A fix, verified.
#[derive(Debug, Serialize)]
pub struct VerifyDocument {
    schema: u32,
    verdict: String,
    place: String,
    before: String,
    after: String,
    ratio: Option<CompareJson>,
    findings: Vec<ChangeJson>,
    #[serde(flatten)]
    measured: MeasuredJson,
}

/// What both documents have.
#[derive(Debug, Serialize)]
struct MeasuredJson {
    places: Vec<ArmJson>,
    compare: Vec<CompareJson>,
    noise: Vec<NoiseJson>,
    headline: &'static str,
    rounds: usize,
    stopped: &'static str,
    contended_rounds: Vec<u32>,
    disturbances: Vec<DisturbanceJson>,
    recordings: Option<String>,
}

#[derive(Debug, Serialize)]
struct WorkloadJson {
    commands: Vec<String>,
    shell: Option<String>,
    band: f64,
}

#[derive(Debug, Serialize)]
struct ArmJson {
    place: String,
    name: String,
    command: String,
    parameters: Map<String, Value>,
    control: bool,
    runs: Vec<RunJson>,
    median_ns: Option<u64>,
    mean_ns: Option<u64>,
    deviation_ns: Option<u64>,
    p90_ns: Option<u64>,
    p99_ns: Option<u64>,
    outliers: OutliersJson,
    problem: Option<String>,
}

#[derive(Debug, Serialize)]
struct RunJson {
    wall_ns: u64,
    cpu_ns: Option<u64>,
    user_ns: Option<u64>,
    system_ns: Option<u64>,
    peak_memory_bytes: Option<u64>,
    exit_code: i32,
}

#[derive(Debug, Serialize)]
struct OutliersJson {
    low: usize,
    high: usize,
    far: usize,
    first: bool,
}

/// One comparison.
#[derive(Debug, Serialize)]
struct CompareJson {
    a: String,
    b: String,
    metric: &'static str,
    ratio: f64,
    low: f64,
    high: f64,
    coverage: f64,
    rounds: usize,
    band: f64,
    noise_band: f64,
    verdict: String,
    more_rounds: Option<usize>,
    p_sign: f64,
    p_family: f64,
    p_signed_ranks: Option<f64>,
    bootstrap_low: Option<f64>,
    bootstrap_high: Option<f64>,
}

#[derive(Debug, Serialize)]
struct NoiseJson {
    metric: &'static str,
    ratio: f64,
    low: f64,
    high: f64,
    coverage: f64,
    band: f64,
}

#[derive(Debug, Serialize)]
struct DisturbanceJson {
    id: &'static str,
    rounds: usize,
    share: f64,
    limit: f64,
}

#[derive(Debug, Serialize)]
struct InsideJson {
    name: String,
    explained_share: f64,
    findings: Vec<FindingJson>,
    changes: Vec<ChangeJson>,
}

#[derive(Debug, Serialize)]
struct ChangeJson {
    change: &'static str,
    before_ns: u64,
    after_ns: u64,
    runs_before: usize,
    runs_after: usize,
    finding: FindingJson,
}

impl BenchDocument {
    /// The document of results.
    pub fn new(results: &Results) -> Self {
        Self {
            schema: SCHEMA,
            probe: "cmd",
            version: env!("CARGO_PKG_VERSION"),
            environment: culprit_probe::environment_of_machine(),
            workload: WorkloadJson {
                commands: results.real_arms().map(|arm| arm.line.clone()).collect(),
                shell: results.shell.clone(),
                band: results.band,
            },
            measured: MeasuredJson::new(results),
            inside: results.inside.iter().map(|(_, inside)| InsideJson::from(inside)).collect(),
        }
    }
}

impl VerifyDocument {
    /// The document of results.
    pub fn new(results: &Results) -> Self {
        let line = |at: usize| results.arms.get(at).map(|arm| arm.line.clone()).unwrap_or_default();
        let main = results.main(1);
        let changes = results.inside.iter().flat_map(|(_, inside)| &inside.changes);
        Self {
            schema: SCHEMA,
            verdict: main.map_or_else(|| "unclear".to_owned(), |row| verdict_id(results, row)),
            place: results.arms.first().map(|arm| arm.place.clone()).unwrap_or_default(),
            before: line(0),
            after: line(1),
            ratio: main.map(|row| compare_json(results, row)),
            findings: changes.map(ChangeJson::from).collect(),
            measured: MeasuredJson::new(results),
        }
    }
}

impl MeasuredJson {
    fn new(results: &Results) -> Self {
        let noise = results.noise.iter().map(|(metric, floor)| NoiseJson {
            metric: metric.id(),
            ratio: floor.ratio.value,
            low: floor.ratio.interval.low,
            high: floor.ratio.interval.high,
            coverage: floor.ratio.interval.coverage,
            band: results.bands(*metric).different,
        });
        let disturbances = results.gate.disturbances.iter().map(|(kind, rounds, share)| {
            DisturbanceJson { id: kind.id(), rounds: *rounds, share: *share, limit: kind.limit() }
        });
        Self {
            places: results.arms.iter().map(ArmJson::from).collect(),
            compare: results.ratios.iter().map(|row| compare_json(results, row)).collect(),
            noise: noise.collect(),
            headline: results.headline.id(),
            rounds: results.rounds,
            stopped: results.stopped.id(),
            contended_rounds: results.gate.contended.iter().map(|round| round + 1).collect(),
            disturbances: disturbances.collect(),
            recordings: results.folder.as_ref().map(|folder| folder.display().to_string()),
        }
    }
}

fn compare_json(results: &Results, row: &MetricRatio) -> CompareJson {
    let label = |at: usize| results.arms.get(at).map(|arm| arm.label.clone()).unwrap_or_default();
    let ratio = &row.ratio;
    CompareJson {
        a: label(0),
        b: label(row.arm),
        metric: row.metric.id(),
        ratio: ratio.value,
        low: ratio.interval.low,
        high: ratio.interval.high,
        coverage: ratio.interval.coverage,
        rounds: ratio.rounds,
        band: ratio.bands.same,
        noise_band: ratio.bands.different,
        verdict: verdict_id(results, row),
        more_rounds: ratio.more_rounds,
        p_sign: ratio.p,
        p_family: row.p_in_family,
        p_signed_ranks: row.p_signed_ranks,
        bootstrap_low: row.bootstrap.map(|(low, _)| low),
        bootstrap_high: row.bootstrap.map(|(_, high)| high),
    }
}

impl From<&Comparison> for InsideJson {
    fn from(inside: &Comparison) -> Self {
        Self {
            name: inside.label.clone(),
            explained_share: inside.report.explained_share,
            findings: inside.report.findings.iter().map(FindingJson::from).collect(),
            changes: inside.changes.iter().map(ChangeJson::from).collect(),
        }
    }
}

impl From<&ArmRuns> for ArmJson {
    fn from(arm: &ArmRuns) -> Self {
        let walls = arm.values(|run| Some(run.wall));
        let of = |pick: fn(Summary) -> f64| arm.wall.map(|wall| nanos(pick(wall)).0);
        let parameters = arm.parameters.iter();
        Self {
            place: arm.place.clone(),
            name: arm.label.clone(),
            command: arm.line.clone(),
            parameters: parameters
                .map(|(name, value)| (name.clone(), value.clone().into()))
                .collect(),
            control: arm.control,
            runs: arm.runs.iter().map(RunJson::from).collect(),
            median_ns: of(|wall| wall.median),
            mean_ns: of(|wall| wall.mean),
            deviation_ns: of(|wall| wall.deviation),
            p90_ns: percentile(&walls, 0.9).map(|value| nanos(value).0),
            p99_ns: percentile(&walls, 0.99).map(|value| nanos(value).0),
            outliers: OutliersJson {
                low: arm.outliers.low,
                high: arm.outliers.high,
                far: arm.outliers.far,
                first: arm.outliers.first,
            },
            problem: arm.problem.clone(),
        }
    }
}

impl From<&Timed> for RunJson {
    fn from(run: &Timed) -> Self {
        Self {
            wall_ns: run.wall.0,
            cpu_ns: run.cpu.map(|time| time.0),
            user_ns: run.user.map(|time| time.0),
            system_ns: run.system.map(|time| time.0),
            peak_memory_bytes: run.peak_memory_bytes,
            exit_code: run.exit.shell_code(),
        }
    }
}

impl From<&FindingChange> for ChangeJson {
    fn from(change: &FindingChange) -> Self {
        Self {
            change: change.change.word(),
            before_ns: change.before.0,
            after_ns: change.after.0,
            runs_before: change.runs_before,
            runs_after: change.runs_after,
            finding: FindingJson::from(&change.finding),
        }
    }
}
