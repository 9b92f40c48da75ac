//! `report --json`: findings, threads, checks and losses in one document.

use std::collections::BTreeMap;

use culprit_engine::losses::LossLine;
use culprit_model::{Cause, Nanos};
use serde::Serialize;

use super::findings::{FindingJson, RecordingJson};
use super::{MissingJson, SCHEMA};
use crate::digest::{Check, Digest};
use crate::runtimes::SeenRuntime;
use crate::thread_time::ThreadTime;

/// Everything that a report says.
#[derive(Debug, Serialize)]
pub struct ReportDocument<C> {
    schema: u32,
    recording: RecordingJson,
    verdict: String,
    of: String,
    run: Option<RunJson>,
    whole_ns: u64,
    explained_share: f64,
    findings: Vec<FindingJson>,
    threads: Vec<ThreadJson>,
    checks: Vec<CheckJson>,
    losses: Vec<LossJson>,
    missing: Vec<MissingJson>,
    runtimes: Vec<RuntimeJson>,
    /// Null if the recording has kept none.
    configuration: Option<C>,
}

/// A language runtime that ran in the recording.
#[derive(Debug, Serialize)]
struct RuntimeJson {
    runtime: &'static str,
    set: Option<String>,
    reason: Option<String>,
}

impl From<SeenRuntime> for RuntimeJson {
    fn from(seen: SeenRuntime) -> Self {
        let runtime = seen.runtime.id;
        let (set, reason) = match seen.set {
            Ok(set) => (Some(set), None),
            Err(reason) => (None, Some(reason)),
        };
        Self { runtime, set, reason }
    }
}

/// How the run's time passed.
#[derive(Debug, Serialize)]
pub(super) struct RunJson {
    total_ns: u64,
    causes: BTreeMap<String, u64>,
}

impl RunJson {
    pub(super) fn new(parts: &[(Cause, Nanos)], whole: Nanos) -> Self {
        Self { total_ns: whole.0, causes: causes(parts) }
    }
}

fn causes(parts: &[(Cause, Nanos)]) -> BTreeMap<String, u64> {
    parts.iter().map(|(cause, time)| (cause.to_string(), time.0)).collect()
}

#[derive(Debug, Serialize)]
struct ThreadJson {
    process: String,
    pid: u32,
    tid: u32,
    name: String,
    wall_ns: u64,
    idle: bool,
    causes: BTreeMap<String, u64>,
}

#[derive(Debug, Serialize)]
pub(super) struct CheckJson {
    what: &'static str,
    measured_ns: u64,
    expected_ns: u64,
    fine: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct LossJson {
    id: String,
    severity: String,
    count: u64,
    detail: String,
    advice: String,
}

impl From<Check> for CheckJson {
    fn from(check: Check) -> Self {
        Self {
            what: check.what,
            measured_ns: check.ours.0,
            expected_ns: check.theirs.0,
            fine: check.fine,
        }
    }
}

impl From<&LossLine> for LossJson {
    fn from(line: &LossLine) -> Self {
        Self {
            id: line.id.clone(),
            severity: line.severity.to_string(),
            count: line.count,
            detail: line.detail.clone(),
            advice: line.advice.clone(),
        }
    }
}

impl<C: Serialize> ReportDocument<C> {
    /// The document of one recording, with the configuration that it has kept.
    #[must_use]
    pub fn new(digest: &Digest, configuration: Option<C>) -> Self {
        Self {
            schema: SCHEMA,
            recording: RecordingJson::new(&digest.recording),
            verdict: digest.verdict(),
            of: digest.tops.heading.clone(),
            run: digest.tops.run.as_ref().map(|(parts, whole)| RunJson::new(parts, *whole)),
            whole_ns: digest.report.whole.0,
            explained_share: digest.report.explained_share,
            findings: digest.report.findings.iter().map(FindingJson::from).collect(),
            threads: digest.threads.iter().map(|thread| thread_json(digest, thread)).collect(),
            checks: digest.checks().into_iter().map(Into::into).collect(),
            losses: digest.losses.iter().map(Into::into).collect(),
            missing: MissingJson::of(&digest.losses),
            runtimes: SeenRuntime::all(&digest.recording).into_iter().map(Into::into).collect(),
            configuration,
        }
    }
}

fn thread_json(digest: &Digest, time: &ThreadTime) -> ThreadJson {
    let thread = digest.recording.thread(time.id);
    let process = digest.recording.process(thread.process);
    ThreadJson {
        process: process.name.to_string(),
        pid: process.pid.0,
        tid: thread.tid.0,
        name: thread.name.to_string(),
        wall_ns: time.wall.0,
        idle: time.idle,
        causes: causes(&time.parts),
    }
}
