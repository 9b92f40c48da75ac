//! `findings --json`, and the findings inside other documents.

use culprit_findings::Report;
use culprit_model::{Evidence, Finding, Label as _, Nanos, Recording, Severity, Where};
use serde::{Deserialize, Serialize};

use super::SCHEMA;

/// The findings of one recording.
#[derive(Debug, Serialize)]
pub struct Document {
    schema: u32,
    recording: RecordingJson,
    /// What shares are of: the measured wall time, or all thread time that counts.
    whole_ns: u64,
    explained_share: f64,
    findings: Vec<FindingJson>,
}

/// What a document says about the recording that it is of.
#[derive(Debug, Serialize)]
pub(super) struct RecordingJson {
    wall_ns: u64,
    threads: usize,
    samples: usize,
    lost: u64,
    place: String,
    command: Vec<String>,
    rung: String,
    exit_code: Option<i32>,
}

/// One finding. Tables of recordings keep it, so it is read, too.
#[derive(Debug, Serialize, Deserialize)]
pub struct FindingJson {
    id: String,
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

#[derive(Debug, Serialize, Deserialize)]
struct WhereJson {
    process: String,
    thread: String,
    function: String,
    module: String,
    /// Tables of older versions lack it.
    #[serde(default)]
    name: String,
    file: Option<String>,
    line: Option<u32>,
    stack: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct EvidenceJson {
    what: String,
    value: f64,
    unit: String,
}

impl Document {
    /// The document of one recording's report.
    #[must_use]
    pub fn new(recording: &Recording, report: &Report) -> Self {
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
    pub(super) fn new(recording: &Recording) -> Self {
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
            id: finding.id.to_owned(),
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

impl FindingJson {
    /// The finding; none when this version has no such rule.
    #[must_use]
    pub fn finding(self) -> Option<Finding> {
        let fact = |fact: EvidenceJson| Evidence {
            what: fact.what.into(),
            value: fact.value,
            unit: fact.unit.into(),
        };
        Some(Finding {
            id: culprit_findings::explain(&self.id).ok()?.id,
            title: self.title,
            severity: Severity::from_word(&self.severity)?,
            confidence: self.confidence,
            cost: Nanos(self.cost_ns),
            share: self.share,
            at: self.at.into_iter().map(WhereJson::place).collect(),
            evidence: self.evidence.into_iter().map(fact).collect(),
            why: self.why,
            fix: self.fix.lines().map(str::to_owned).collect(),
            check: self.check,
        })
    }
}

impl WhereJson {
    fn place(self) -> Where {
        Where {
            process: self.process.into(),
            thread: self.thread.into(),
            function: self.function.into(),
            module: self.module.into(),
            name: self.name.into(),
            file: self.file.map(Into::into),
            line: self.line,
            stack: self.stack.into_iter().map(Into::into).collect(),
        }
    }
}

/// A finding as one text.
#[must_use]
pub fn finding_document(finding: &Finding) -> String {
    // Its maps have texts for keys, so it can be written.
    serde_json::to_string(&FindingJson::from(finding)).unwrap_or_default()
}

impl From<&Where> for WhereJson {
    fn from(at: &Where) -> Self {
        Self {
            process: at.process.to_string(),
            thread: at.thread.to_string(),
            function: at.function.to_string(),
            module: at.module.to_string(),
            name: at.name.to_string(),
            file: at.file.as_ref().map(ToString::to_string),
            line: at.line,
            stack: at.stack.iter().map(ToString::to_string).collect(),
        }
    }
}
