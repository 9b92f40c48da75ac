//! `findings FOLDER --json`: the findings of a folder's recordings added up.

use culprit_engine::losses::lines;
use serde::Serialize;

use super::SCHEMA;
use super::findings::FindingJson;
use super::missing::{LeftOutJson, MissingJson};
use crate::views::{FleetFinding, FleetFindings, share};

/// Findings of a folder.
#[derive(Debug, Serialize)]
pub struct FleetFindingsDocument {
    schema: u32,
    recordings: usize,
    left_out: Vec<LeftOutJson>,
    /// What shares are of: the sum of the recordings' own.
    whole_ns: u64,
    by: Option<String>,
    findings: Vec<FleetFindingJson>,
    findings_left_out: usize,
    missing: Vec<MissingJson>,
}

/// One rule at one place in the code.
#[derive(Debug, Serialize)]
struct FleetFindingJson {
    cost_ns: u64,
    share: f64,
    recordings: usize,
    groups: Vec<FindingGroupJson>,
    /// The recording in which it costs most, and the finding there.
    worst_file: String,
    worst: FindingJson,
}

#[derive(Debug, Serialize)]
struct FindingGroupJson {
    name: String,
    cost_ns: u64,
    recordings: usize,
}

impl FleetFindingsDocument {
    /// The document of at most `limit` findings, unless that is 0.
    #[must_use]
    pub fn new(all: &FleetFindings, by: Option<String>, limit: usize) -> Self {
        let kept = if limit == 0 { all.findings.len() } else { limit.min(all.findings.len()) };
        let finding = |found: &FleetFinding| FleetFindingJson {
            cost_ns: found.cost.0,
            share: share(found.cost.0, all.whole.0),
            recordings: found.recordings,
            groups: found.groups.iter().map(FindingGroupJson::from).collect(),
            worst_file: found.worst_file.display().to_string(),
            worst: FindingJson::from(&found.worst),
        };
        Self {
            schema: SCHEMA,
            recordings: all.recordings,
            left_out: all.left_out.iter().map(LeftOutJson::from).collect(),
            whole_ns: all.whole.0,
            by,
            findings: all.findings[..kept].iter().map(finding).collect(),
            findings_left_out: all.findings.len() - kept,
            missing: MissingJson::of(&lines(&all.losses)),
        }
    }
}

impl From<&(String, culprit_model::Nanos, usize)> for FindingGroupJson {
    fn from((name, cost, recordings): &(String, culprit_model::Nanos, usize)) -> Self {
        Self { name: name.clone(), cost_ns: cost.0, recordings: *recordings }
    }
}
