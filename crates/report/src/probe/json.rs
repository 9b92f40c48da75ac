//! `bench PROBE --json`, which is also what `--save` keeps.

use culprit_findings::MeasuredFindings;
use culprit_probe::{Answer, ArmSamples, Environment, FloorRow, ProbeComparison, Sample};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::json::{FindingJson, SCHEMA};

/// A probe of places.
#[derive(Debug, Serialize)]
pub struct ProbeDocument {
    schema: u32,
    probe: &'static str,
    version: &'static str,
    workload: Value,
    environment: Environment,
    metrics: Vec<MetricJson>,
    places: Vec<PlaceJson>,
    compare: Vec<CompareJson>,
    noise: Vec<NoiseJson>,
    findings: Vec<FindingJson>,
    headline: &'static str,
    rounds: u32,
    stopped: &'static str,
    contended_rounds: Vec<u32>,
    disturbances: Vec<DisturbanceJson>,
}

#[derive(Debug, Serialize)]
struct MetricJson {
    id: &'static str,
    name: &'static str,
    unit: &'static str,
    better: &'static str,
    judged: bool,
}

#[derive(Debug, Serialize)]
struct PlaceJson {
    place: String,
    arm: String,
    role: &'static str,
    location: &'static str,
    dir: String,
    storage: Option<String>,
    variant: Option<&'static str>,
    facts: Vec<String>,
    runs: Vec<Option<Value>>,
    latency_buckets: Vec<LatencyJson>,
    problem: Option<String>,
}

/// Latencies over all rounds: the middle of each bucket that is not empty, and its count.
#[derive(Debug, Serialize)]
struct LatencyJson {
    what: &'static str,
    ns: Vec<u64>,
    count: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct CompareJson {
    a: String,
    b: String,
    metric: &'static str,
    ratio: f64,
    low: f64,
    high: f64,
    coverage: f64,
    verdict: String,
    rounds: usize,
    band: f64,
    noise_band: f64,
    difference: f64,
    unit: &'static str,
    more_rounds: Option<usize>,
    p_family: f64,
}

#[derive(Debug, Serialize)]
struct NoiseJson {
    metric: &'static str,
    ratio: f64,
    low: f64,
    high: f64,
}

#[derive(Debug, Serialize)]
struct DisturbanceJson {
    id: &'static str,
    rounds: usize,
    share: f64,
    limit: f64,
}

impl ProbeDocument {
    /// The document of an answer, with what it says about its places.
    #[must_use]
    pub fn new(answer: &Answer, findings: &MeasuredFindings) -> Self {
        let gate = &answer.gate;
        let findings = findings.places.iter().chain(&findings.causes);
        let metrics = answer.metrics.iter().map(|metric| MetricJson {
            id: metric.id,
            name: metric.name,
            unit: metric.unit.id(),
            better: match metric.better {
                culprit_probe::Better::Lower => "lower",
                culprit_probe::Better::Higher => "higher",
                culprit_probe::Better::Neither => "neither",
            },
            judged: metric.is_judged(),
        });
        let disturbances = gate.disturbances.iter().map(|(kind, rounds, share)| DisturbanceJson {
            id: kind.id(),
            rounds: *rounds,
            share: *share,
            limit: kind.limit(),
        });
        Self {
            schema: SCHEMA,
            probe: answer.probe,
            version: env!("CARGO_PKG_VERSION"),
            workload: answer.workload.clone(),
            environment: answer.environment.clone(),
            metrics: metrics.collect(),
            places: answer.arms.iter().map(PlaceJson::from).collect(),
            compare: answer.comparisons.iter().map(|row| compare(answer, row)).collect(),
            noise: answer.floors.iter().map(|row| noise(answer, row)).collect(),
            findings: findings.map(FindingJson::from).collect(),
            headline: answer.metrics.get(answer.headline).map_or("", |metric| metric.id),
            rounds: answer.rounds,
            stopped: answer.stopped.id(),
            contended_rounds: gate.contended.iter().map(|round| round + 1).collect(),
            disturbances: disturbances.collect(),
        }
    }
}

fn compare(answer: &Answer, row: &ProbeComparison) -> CompareJson {
    let label = |at: usize| answer.arms.get(at).map(|arm| arm.arm.label.clone());
    let metric = &answer.metrics[row.metric];
    CompareJson {
        a: label(0).unwrap_or_default(),
        b: label(row.arm).unwrap_or_default(),
        metric: metric.id,
        ratio: row.value,
        low: row.interval.low,
        high: row.interval.high,
        coverage: row.interval.coverage,
        verdict: row.verdict.to_string(),
        rounds: row.rounds,
        band: row.bands.same,
        noise_band: row.bands.different,
        difference: row.difference,
        unit: metric.unit.id(),
        more_rounds: row.more_rounds,
        p_family: row.p_in_family,
    }
}

/// The floor is of times: of a rate it is turned over here, so that all ratios read alike.
fn noise(answer: &Answer, row: &FloorRow) -> NoiseJson {
    let metric = &answer.metrics[row.metric];
    let (ratio, interval) = (row.floor.ratio.value, row.floor.ratio.interval);
    if metric.better == culprit_probe::Better::Higher {
        NoiseJson {
            metric: metric.id,
            ratio: 1.0 / ratio,
            low: 1.0 / interval.high,
            high: 1.0 / interval.low,
        }
    } else {
        NoiseJson { metric: metric.id, ratio, low: interval.low, high: interval.high }
    }
}

impl From<&ArmSamples> for PlaceJson {
    fn from(arm: &ArmSamples) -> Self {
        let latencies = arm.latencies().into_iter().map(|(what, seen)| {
            let (ns, count) = seen.buckets().unzip();
            LatencyJson { what, ns, count }
        });
        Self {
            place: arm.arm.asked.to_string(),
            arm: arm.arm.label.clone(),
            role: arm.arm.role.id(),
            location: arm.arm.location,
            dir: arm.arm.dir.display().to_string(),
            storage: arm.storage.clone(),
            variant: arm.arm.variant,
            facts: arm.facts.clone(),
            runs: arm.samples.iter().map(|sample| sample.as_ref().map(run)).collect(),
            latency_buckets: latencies.collect(),
            problem: arm.problem.clone(),
        }
    }
}

/// The values of a round; `latency_ns.p50` becomes the member `p50` of `latency_ns`.
fn run(sample: &Sample) -> Value {
    let mut members = Map::new();
    for (id, value) in &sample.values {
        match id.split_once('.') {
            None => {
                members.insert((*id).to_owned(), (*value).into());
            }
            Some((group, member)) => {
                let inner = members.entry(group).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(inner) = inner {
                    inner.insert(member.to_owned(), (*value).into());
                }
            }
        }
    }
    Value::Object(members)
}
