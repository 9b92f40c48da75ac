//! `findings --json`, and the findings inside other documents.

use culprit_findings::Report;
use culprit_model::{Finding, Recording, Where};
use serde::Serialize;

use super::SCHEMA;

/// The findings of one recording.
#[derive(Debug, Serialize)]
pub(crate) struct Document {
    schema: u32,
    recording: RecordingJson,
    /// What shares are of: the measured wall time, or all thread time that counts.
    whole_ns: u64,
    explained_share: f64,
    findings: Vec<FindingJson>,
}

/// What a document says about the recording that it is of.
#[derive(Debug, Serialize)]
pub(crate) struct RecordingJson {
    wall_ns: u64,
    threads: usize,
    samples: usize,
    lost: u64,
    place: String,
    command: Vec<String>,
    rung: String,
    exit_code: Option<i32>,
}

/// One finding.
#[derive(Debug, Serialize)]
pub(crate) struct FindingJson {
    id: &'static str,
    title: String,
    severity: String,
    confidence: f64,
    cost_ns: u64,
    share: f64,
    #[serde(rename = "where")]
    at: Vec<WhereJson>,
    evidence: Vec<EvidenceJson>,
    why: String,
    fix: String,
    check: String,
}

#[derive(Debug, Serialize)]
struct WhereJson {
    process: String,
    thread: String,
    function: String,
    module: String,
    file: Option<String>,
    line: Option<u32>,
    stack: Vec<String>,
}

#[derive(Debug, Serialize)]
struct EvidenceJson {
    what: String,
    value: f64,
    unit: String,
}

impl Document {
    /// The document of one recording's report.
    pub(crate) fn new(recording: &Recording, report: &Report) -> Self {
        Self {
            schema: SCHEMA,
            recording: RecordingJson::new(recording),
            whole_ns: report.whole.0,
            explained_share: report.explained_share,
            findings: report.findings.iter().map(FindingJson::from).collect(),
        }
    }
}

impl RecordingJson {
    /// The facts of a recording.
    pub(crate) fn new(recording: &Recording) -> Self {
        let lost =
            |loss: &&culprit_model::Loss| loss.kind.severity() >= culprit_model::LossSeverity::Loss;
        Self {
            wall_ns: recording.meta.wall.0,
            threads: recording.threads.iter().filter(|thread| thread.recorded).count(),
            samples: recording.samples.len(),
            lost: recording.losses.iter().filter(lost).map(|loss| loss.count).sum(),
            place: recording.meta.place.clone(),
            command: recording.meta.command.clone(),
            rung: recording.meta.rung.to_string(),
            exit_code: recording.meta.exit_code,
        }
    }
}

impl From<&Finding> for FindingJson {
    fn from(finding: &Finding) -> Self {
        Self {
            id: finding.id,
            title: finding.title.clone(),
            severity: finding.severity.to_string(),
            confidence: finding.confidence,
            cost_ns: finding.cost.0,
            share: finding.share,
            at: finding.at.iter().map(WhereJson::from).collect(),
            evidence: finding
                .evidence
                .iter()
                .map(|fact| EvidenceJson {
                    what: fact.what.to_string(),
                    value: fact.value,
                    unit: fact.unit.to_string(),
                })
                .collect(),
            why: finding.why.clone(),
            fix: finding.fix.join("\n"),
            check: finding.check.clone(),
        }
    }
}

impl From<&Where> for WhereJson {
    fn from(at: &Where) -> Self {
        Self {
            process: at.process.to_string(),
            thread: at.thread.to_string(),
            function: at.function.to_string(),
            module: at.module.to_string(),
            file: at.file.as_ref().map(ToString::to_string),
            line: at.line,
            stack: at.stack.iter().map(ToString::to_string).collect(),
        }
    }
}
