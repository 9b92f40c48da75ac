//! `bench compare --json`.

use crate::json::SCHEMA;
use serde::Serialize;

use super::{Changes, Row, Saved};

/// Kept results against each other.
#[derive(Debug, Serialize)]
pub struct BenchCompareDocument {
    schema: u32,
    probe: String,
    before: FileJson,
    after: Vec<AfterJson>,
}

#[derive(Debug, Serialize)]
struct FileJson {
    file: String,
    rounds: u32,
}

#[derive(Debug, Serialize)]
struct AfterJson {
    #[serde(flatten)]
    file: FileJson,
    environment: Vec<FactJson>,
    unmatched: Vec<String>,
    compare: Vec<ChangeJson>,
}

#[derive(Debug, Serialize)]
struct FactJson {
    fact: String,
    before: Option<String>,
    after: Option<String>,
}

#[derive(Debug, Serialize)]
struct ChangeJson {
    arm: String,
    metric: String,
    unit: String,
    judged: bool,
    before: f64,
    after: f64,
    ratio: f64,
    low: f64,
    high: f64,
    coverage: f64,
    verdict: String,
    rounds_before: usize,
    rounds_after: usize,
    p_family: f64,
    against_first: Option<f64>,
    against_first_verdict: Option<String>,
}

impl BenchCompareDocument {
    /// The document of all files after the first.
    pub fn new(first: &Saved, found: &[(&Saved, Changes)]) -> Self {
        let after = found.iter().map(|(saved, changes)| AfterJson {
            file: FileJson::from(*saved),
            environment: changes.environment.iter().cloned().map(FactJson::from).collect(),
            unmatched: changes.unmatched.clone(),
            compare: changes.rows.iter().map(ChangeJson::from).collect(),
        });
        Self {
            schema: SCHEMA,
            probe: first.probe().to_owned(),
            before: FileJson::from(first),
            after: after.collect(),
        }
    }
}

impl From<&Saved> for FileJson {
    fn from(saved: &Saved) -> Self {
        Self { file: saved.path.display().to_string(), rounds: saved.rounds() }
    }
}

impl From<(String, Option<String>, Option<String>)> for FactJson {
    fn from((fact, before, after): (String, Option<String>, Option<String>)) -> Self {
        Self { fact, before, after }
    }
}

impl From<&Row> for ChangeJson {
    fn from(row: &Row) -> Self {
        Self {
            arm: row.arm.clone(),
            metric: row.metric.id.clone(),
            unit: row.metric.unit.clone(),
            judged: row.metric.judged,
            before: row.before,
            after: row.after,
            ratio: row.ratio,
            low: row.low,
            high: row.high,
            coverage: row.coverage,
            verdict: row.verdict.to_string(),
            rounds_before: row.rounds.0,
            rounds_after: row.rounds.1,
            p_family: row.p_in_family,
            against_first: row.against_first.map(|(ratio, _)| ratio),
            against_first_verdict: row.against_first.map(|(_, verdict)| verdict.to_string()),
        }
    }
}
