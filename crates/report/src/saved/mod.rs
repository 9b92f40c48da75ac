//! Results that `culprit bench … --save` has kept, read again, and what changed between two of them: as text and
//! as JSON.

mod json;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use culprit_engine::stats::{
    Bands, UnpairedRatio, Verdict, compare_unpaired, median, settle_unpaired,
};
use serde::Deserialize;
use serde_json::Value;

use crate::Error;
use crate::json::SCHEMA;

pub use json::BenchCompareDocument;
pub use text::bench_compare_text;

/// Kept results.
#[derive(Debug)]
pub struct Saved {
    /// The file.
    pub path: PathBuf,
    document: Document,
}

#[derive(Debug, Deserialize)]
struct Document {
    schema: u32,
    probe: String,
    version: String,
    workload: Value,
    environment: BTreeMap<String, String>,
    #[serde(default)]
    metrics: Vec<SavedMetric>,
    places: Vec<SavedArm>,
    noise: Vec<SavedNoise>,
    rounds: u32,
}

/// A metric as it was kept.
#[derive(Debug, Clone, Deserialize)]
pub struct SavedMetric {
    /// Its id in documents.
    pub id: String,
    /// What tables call it.
    pub name: String,
    /// What it counts.
    pub unit: String,
    better: String,
    /// Whether a verdict may be about it.
    pub judged: bool,
}

#[derive(Debug, Deserialize)]
struct SavedArm {
    place: String,
    #[serde(default)]
    dir: Option<String>,
    #[serde(default)]
    storage: Option<String>,
    #[serde(default)]
    command: Option<String>,
    /// Of probes.
    arm: Option<String>,
    role: Option<String>,
    /// Of timed commands.
    name: Option<String>,
    #[serde(default)]
    control: bool,
    runs: Vec<Value>,
}

#[derive(Debug, Deserialize)]
struct SavedNoise {
    metric: String,
    low: f64,
    high: f64,
}

/// What timed commands are compared by; their document does not name it.
const OF_COMMANDS: [(&str, &str, &str); 5] = [
    ("wall_ns", "wall time", "ns"),
    ("cpu_ns", "CPU time", "ns"),
    ("user_ns", "user time", "ns"),
    ("system_ns", "system time", "ns"),
    ("peak_memory_bytes", "peak memory", "bytes"),
];

impl Saved {
    /// The results in the text of a file.
    ///
    /// # Errors
    /// When it is something else.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        let file = || path.display().to_string();
        let document: Result<Document, _> = serde_json::from_str(text);
        let mut document =
            document.map_err(|why| Error::NotResults { file: file(), why: why.to_string() })?;
        if document.schema != SCHEMA {
            return Err(Error::OtherSchema { file: file(), found: document.schema });
        }
        if document.metrics.is_empty() {
            let metrics = OF_COMMANDS.map(|(id, name, unit)| SavedMetric {
                id: id.to_owned(),
                name: name.to_owned(),
                unit: unit.to_owned(),
                better: "lower".to_owned(),
                judged: matches!(id, "wall_ns" | "cpu_ns"),
            });
            document.metrics = metrics.to_vec();
        }
        Ok(Self { path: path.to_path_buf(), document })
    }

    /// The probe's name.
    pub fn probe(&self) -> &str {
        &self.document.probe
    }

    /// Rounds that were finished.
    pub const fn rounds(&self) -> u32 {
        self.document.rounds
    }

    /// What is measured twice only to see the noise is left out.
    fn arms(&self) -> impl Iterator<Item = &SavedArm> {
        self.document.places.iter().filter(|arm| {
            !arm.control && arm.role.as_deref().is_none_or(|r| r == "baseline" || r == "candidate")
        })
    }

    fn arm(&self, label: &str) -> Option<&SavedArm> {
        self.arms().find(|arm| arm.label() == label)
    }

    /// How far identical runs were apart by a metric, as a share.
    fn noise(&self, metric: &str) -> f64 {
        let of = self.document.noise.iter().find(|noise| noise.metric == metric);
        of.map_or(0.0, |noise| {
            let apart = |ratio: f64| if ratio > 0.0 { ratio.max(1.0 / ratio) - 1.0 } else { 0.0 };
            apart(noise.low).max(apart(noise.high))
        })
    }
}

impl SavedArm {
    fn label(&self) -> String {
        match (&self.arm, &self.name) {
            (Some(arm), _) => arm.clone(),
            (None, Some(name)) if self.place == "host" => name.clone(),
            (None, Some(name)) => format!("{name} in {}", self.place),
            (None, None) => self.place.clone(),
        }
    }

    /// The exit codes that a command's runs ended with; none of probes.
    fn exit_codes(&self) -> BTreeSet<i64> {
        self.runs.iter().filter_map(|run| run.get("exit_code")?.as_i64()).collect()
    }

    /// One value a round that has one; turned over for rates, so that more is slower.
    fn times(&self, metric: &SavedMetric) -> Vec<f64> {
        let values = self.runs.iter().map(|run| value(run, &metric.id).unwrap_or(0.0));
        values.map(|value| metric.turn(value)).collect()
    }
}

impl SavedMetric {
    fn turn(&self, value: f64) -> f64 {
        if self.better == "higher" && value > 0.0 { 1.0 / value } else { value }
    }

    fn is_compared(&self) -> bool {
        self.better != "neither"
    }
}

/// `latency_ns.p50` is the member `p50` of the member `latency_ns`.
fn value(run: &Value, id: &str) -> Option<f64> {
    match id.split_once('.') {
        None => run.get(id)?.as_f64(),
        Some((group, member)) => run.get(group)?.get(member)?.as_f64(),
    }
}

/// What changed between two sets of results.
#[derive(Debug)]
pub struct Changes {
    /// Facts of the machine and the places that differ: name, before, after.
    pub environment: Vec<(String, Option<String>, Option<String>)>,
    /// Arms that only one of the two has.
    pub unmatched: Vec<String>,
    /// Every arm that both have, by every metric.
    pub rows: Vec<Row>,
}

/// One arm by one metric, before and after.
#[derive(Debug)]
pub struct Row {
    /// The arm.
    pub arm: String,
    /// The metric.
    pub metric: SavedMetric,
    /// The median before.
    pub before: f64,
    /// The median after.
    pub after: f64,
    /// After divided by before, in the metric's own direction.
    pub ratio: f64,
    /// Its interval.
    pub low: f64,
    /// Its interval.
    pub high: f64,
    /// How sure the interval is.
    pub coverage: f64,
    /// What it says; slower is worse, also of rates.
    pub verdict: Verdict,
    /// Rounds before and after.
    pub rounds: (usize, usize),
    /// As it counts among the judged rows.
    pub p_in_family: f64,
    /// The change of the arm's ratio to the first arm of its own session, where it is another: what
    /// the whole machine drifted by is not in it.
    pub against_first: Option<(f64, Verdict)>,
}

/// What changed, where the same was done.
///
/// # Errors
/// When the probe or its workload is another.
pub fn changes(before: &Saved, after: &Saved, band: f64) -> Result<Changes, Error> {
    same_work(before, after)?;
    let mut rows = Vec::new();
    let mut ratios = Vec::new();
    for arm in before.arms() {
        let Some(later) = after.arm(&arm.label()) else { continue };
        for metric in before.document.metrics.iter().filter(|metric| metric.is_compared()) {
            let noise = before.noise(&metric.id).max(after.noise(&metric.id));
            let bands = Bands { same: band, different: band.max(noise) };
            let times = (arm.times(metric), later.times(metric));
            let Some(ratio) = compare_unpaired(&times.0, &times.1, bands) else { continue };
            rows.push((arm, metric, times, drift_free(before, after, arm, metric, bands)));
            ratios.push(ratio);
        }
    }
    let judged = ratios.iter_mut().zip(&rows).filter(|(_, (_, metric, ..))| metric.judged);
    let mut family: Vec<&mut UnpairedRatio> = judged.map(|(ratio, _)| ratio).collect();
    let mut raised = settle_unpaired(&mut family).into_iter();
    let rows = rows.into_iter().zip(ratios).map(|((arm, metric, times, against_first), ratio)| {
        let p = if metric.judged { raised.next() } else { None };
        let mut row = row(arm, metric, &times, &ratio, against_first, p);
        // A command that ends differently does other work: its times say nothing.
        if after.arm(&row.arm).is_some_and(|later| later.exit_codes() != arm.exit_codes()) {
            (row.verdict, row.against_first) = (Verdict::Unclear, None);
        }
        row
    });
    Ok(Changes {
        rows: rows.collect(),
        environment: environment(before, after),
        unmatched: unmatched(before, after),
    })
}

fn row(
    arm: &SavedArm,
    metric: &SavedMetric,
    times: &(Vec<f64>, Vec<f64>),
    ratio: &UnpairedRatio,
    against_first: Option<(f64, Verdict)>,
    p: Option<f64>,
) -> Row {
    let middle = |times: &[f64]| {
        let values: Vec<f64> = times.iter().copied().filter(|value| *value > 0.0).collect();
        metric.turn(median(&values).unwrap_or(0.0))
    };
    let ends = (metric.turn(ratio.interval.low), metric.turn(ratio.interval.high));
    Row {
        arm: arm.label(),
        metric: metric.clone(),
        before: middle(&times.0),
        after: middle(&times.1),
        ratio: metric.turn(ratio.value),
        low: ends.0.min(ends.1),
        high: ends.0.max(ends.1),
        coverage: ratio.interval.coverage,
        verdict: ratio.verdict,
        rounds: ratio.counts,
        p_in_family: p.unwrap_or(ratio.p),
        against_first,
    }
}

/// The arm's rounds divided by the first arm's, compared between the sessions.
fn drift_free(
    before: &Saved,
    after: &Saved,
    arm: &SavedArm,
    metric: &SavedMetric,
    bands: Bands,
) -> Option<(f64, Verdict)> {
    let label = arm.label();
    let first = |saved: &Saved| saved.arms().next().map(SavedArm::label);
    if first(before) != first(after) {
        return None;
    }
    let exit_codes = |saved: &Saved| saved.arms().next().map(SavedArm::exit_codes);
    if exit_codes(before) != exit_codes(after) {
        return None;
    }
    let relative = |saved: &Saved| -> Option<Vec<f64>> {
        let first = saved.arms().next().filter(|first| first.label() != label)?;
        let (first, own) = (first.times(metric), saved.arm(&label)?.times(metric));
        let pairs = own.iter().zip(&first).filter(|(_, first)| **first > 0.0);
        Some(pairs.map(|(own, first)| own / first).collect())
    };
    let ratio = compare_unpaired(&relative(before)?, &relative(after)?, bands)?;
    Some((metric.turn(ratio.value), ratio.verdict))
}

fn same_work(before: &Saved, after: &Saved) -> Result<(), Error> {
    let files = [&before.path, &after.path].map(|path| path.display().to_string());
    if before.probe() != after.probe() {
        let probes = [before.probe().to_owned(), after.probe().to_owned()];
        return Err(Error::OtherProbe { files, probes });
    }
    match different_work(&before.document.workload, &after.document.workload) {
        None => Ok(()),
        Some(what) => Err(Error::OtherWork { files, what }),
    }
}

/// The first member that differs, but for the lines of commands: those of the same name are the same
/// thing, and what differs in their lines is told with the environment.
fn different_work(before: &Value, after: &Value) -> Option<String> {
    let (Value::Object(a), Value::Object(b)) = (before, after) else {
        return (before != after).then(|| format!("{before} and {after}"));
    };
    let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
    keys.filter(|key| key.as_str() != "commands").find_map(|key| {
        let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
        let (a, b) = (of(a), of(b));
        (a != b).then(|| format!("`{key}` is {a} in the first and {b} in the second"))
    })
}

fn environment(before: &Saved, after: &Saved) -> Vec<(String, Option<String>, Option<String>)> {
    let (a, b) = (&before.document, &after.document);
    let names = a.environment.keys().chain(b.environment.keys());
    let names: BTreeSet<&String> = names.collect();
    // That a place is in one of the two alone is told of its arms.
    let has = |of: &BTreeMap<String, String>, place: &str| {
        of.keys().any(|name| place_of(name) == Some(place))
    };
    let in_both = |place: &str| has(&a.environment, place) && has(&b.environment, place);
    let names = names.into_iter().filter(|name| place_of(name).is_none_or(in_both));
    let facts = names.map(|name| {
        (name.clone(), a.environment.get(name).cloned(), b.environment.get(name).cloned())
    });
    let version = ("Culprit".to_owned(), Some(a.version.clone()), Some(b.version.clone()));
    let arms = before.arms().filter_map(|arm| Some((arm, after.arm(&arm.label())?)));
    let of_arms = arms.flat_map(|(arm, later)| {
        let fact = |name: &str, of: fn(&SavedArm) -> Option<String>| {
            (format!("{name} of {}", arm.label()), of(arm), of(later))
        };
        [
            fact("place", |arm| Some(arm.place.clone())),
            fact("folder", |arm| arm.dir.clone()),
            fact("file system", |arm| arm.storage.clone()),
            fact("command line", |arm| arm.command.clone()),
            fact("exit codes", |arm| {
                let codes: Vec<_> = arm.exit_codes().iter().map(i64::to_string).collect();
                (!codes.is_empty()).then(|| codes.join(", "))
            }),
        ]
    });
    let all = std::iter::once(version).chain(facts).chain(of_arms);
    all.filter(|(_, before, after)| before != after).collect()
}

/// Which place a fact is about; none of the machine's.
fn place_of(name: &str) -> Option<&str> {
    Some(name.rsplit_once(": ")?.0)
}

fn unmatched(before: &Saved, after: &Saved) -> Vec<String> {
    let gone = before.arms().map(SavedArm::label).filter(|label| after.arm(label).is_none());
    let come = after.arms().map(SavedArm::label).filter(|label| before.arm(label).is_none());
    gone.chain(come).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(middle: f64, first: f64, kernel: &str) -> Saved {
        let runs = |middle: f64| -> Vec<Value> {
            let value = |n: u32| middle * (1.0 + 0.002 * f64::from(n % 7));
            (0..15).map(|n| serde_json::json!({"latency_ns": {"p50": value(n)}})).collect()
        };
        let metric = serde_json::json!(
            {"id": "latency_ns.p50", "name": "p50", "unit": "ns", "better": "lower", "judged": true}
        );
        let arm = |name: &str, role: &str, middle| serde_json::json!({"place": name, "arm": name, "role": role, "runs": runs(middle)});
        let document = serde_json::json!({
            "schema": 1, "probe": "disk", "version": "1", "workload": {"block": 4096},
            "environment": {"kernel": kernel}, "metrics": [metric], "noise": [], "rounds": 15,
            "places": [
                arm("host", "baseline", first), arm("host again", "baseline-again", first),
                arm("sandbox", "candidate", middle)
            ],
        });
        Saved { path: "x".into(), document: serde_json::from_value(document).unwrap() }
    }

    #[test]
    fn a_drift_of_the_machine_is_told_from_a_change_of_a_place() {
        let drifted = changes(&saved(200.0, 100.0, "a"), &saved(300.0, 150.0, "b"), 0.05).unwrap();
        let told: Vec<_> = drifted.rows.iter().map(|row| (row.arm.as_str(), row.verdict)).collect();
        assert_eq!(told, [("host", Verdict::Slower), ("sandbox", Verdict::Slower)]);
        assert!(drifted.rows[1].against_first.is_some_and(|(_, v)| v == Verdict::Same));
        assert_eq!(drifted.environment.len(), 1);
        let changed = changes(&saved(200.0, 100.0, "a"), &saved(300.0, 100.0, "a"), 0.05).unwrap();
        assert!(changed.rows[1].against_first.is_some_and(|(_, v)| v == Verdict::Slower));
        assert!((changed.rows[1].ratio - 1.5).abs() < 0.02 && changed.environment.is_empty());
    }

    #[test]
    fn what_else_is_not_the_same_is_told() {
        let (before, mut after) = (saved(2.0, 1.0, "a"), saved(2.0, 1.0, "a"));
        after.document.places[2].storage = Some("nfs4".to_owned());
        let told = changes(&before, &after, 0.05).unwrap().environment;
        let here = ("file system of sandbox".to_owned(), None, Some("nfs4".to_owned()));
        assert_eq!(told, [here]);
        let fact = |of: &mut Saved, name: &str, value: &str| {
            of.document.environment.insert(name.to_owned(), value.to_owned());
        };
        let mut before = before;
        after.document.places[2].storage = None;
        fact(&mut before, "docker:x: files", "ext4 (rw)");
        fact(&mut after, "docker:y: files", "ext4 (rw)");
        fact(&mut before, "sandbox: cpus", "2");
        fact(&mut after, "sandbox: cpus", "4");
        let told = changes(&before, &after, 0.05).unwrap().environment;
        let here = ("sandbox: cpus".to_owned(), Some("2".to_owned()), Some("4".to_owned()));
        assert_eq!(told, [here], "places that are in one of them alone differ in everything");
        // Another first place: nothing to tell a drift by.
        after.document.places.drain(..2);
        let rows = changes(&before, &after, 0.05).unwrap().rows;
        assert!(rows.len() == 1 && rows[0].against_first.is_none(), "{rows:?}");
    }

    #[test]
    fn a_command_that_ends_differently_is_neither_faster_nor_slower() {
        let with_exit = |middle: f64, code: i64| {
            let mut saved = saved(middle, 100.0, "a");
            for run in &mut saved.document.places[2].runs {
                run["exit_code"] = code.into();
            }
            saved
        };
        let found = changes(&with_exit(200.0, 0), &with_exit(100.0, 3), 0.05).unwrap();
        assert_eq!(found.rows[1].verdict, Verdict::Unclear);
        let codes = ("exit codes of sandbox".into(), Some("0".into()), Some("3".into()));
        assert_eq!(found.environment, [codes]);
        let alike = changes(&with_exit(200.0, 3), &with_exit(100.0, 3), 0.05).unwrap();
        assert_eq!(alike.rows[1].verdict, Verdict::Faster);
    }

    #[test]
    fn rates_are_worse_when_they_fall() {
        let mut both = [saved(200.0, 100.0, "a"), saved(100.0, 100.0, "a")];
        for one in &mut both {
            one.document.metrics[0].better = "higher".to_owned();
        }
        let changes = changes(&both[0], &both[1], 0.05).unwrap();
        assert_eq!(changes.rows[1].verdict, Verdict::Slower);
        assert!((changes.rows[1].ratio - 0.5).abs() < 0.01 && changes.rows[1].low < 0.5);
    }

    #[test]
    fn other_work_is_not_compared() {
        let (before, mut after) = (saved(1.0, 1.0, "a"), saved(1.0, 1.0, "a"));
        after.document.workload = serde_json::json!({"block": 8192});
        let refused = changes(&before, &after, 0.05).unwrap_err().to_string();
        assert!(refused.contains("block") && refused.contains("8192"), "{refused}");
    }
}
