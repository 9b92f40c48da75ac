//! What is missing of the recording that a document is about.

use culprit_engine::losses::{LossLine, holes, lines};
use culprit_model::Recording;
use serde::Serialize;

use crate::shown::View;
use crate::views::{FleetFacts, GroupTotal, LeftOut};

/// A document about a recording, and what is missing of the recording.
#[derive(Debug, Serialize)]
pub struct OfRecording<D> {
    #[serde(flatten)]
    document: D,
    missing: Vec<MissingJson>,
}

/// A view of a recording: the document, what its numbers are shares of, and what is missing of the
/// recording.
#[derive(Debug, Serialize)]
pub struct OfView<D> {
    #[serde(flatten)]
    document: D,
    of: String,
    missing: Vec<MissingJson>,
    /// Of a folder of recordings alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    fleet: Option<FleetJson>,
}

/// What a folder's sum is made of.
#[derive(Debug, Serialize)]
struct FleetJson {
    recordings: usize,
    by: Option<String>,
    groups: Vec<GroupJson>,
    left_out: Vec<LeftOutJson>,
}

#[derive(Debug, Serialize)]
struct GroupJson {
    name: String,
    recordings: usize,
    total: u64,
}

/// A file that is not in a sum.
#[derive(Debug, Serialize)]
pub struct LeftOutJson {
    file: String,
    why: String,
}

impl From<&FleetFacts> for FleetJson {
    fn from(facts: &FleetFacts) -> Self {
        let group = |group: &GroupTotal| GroupJson {
            name: group.name.clone(),
            recordings: group.recordings,
            total: group.total,
        };
        Self {
            recordings: facts.recordings,
            by: facts.by.clone(),
            groups: facts.groups.iter().map(group).collect(),
            left_out: facts.left_out.iter().map(LeftOutJson::from).collect(),
        }
    }
}

impl From<&LeftOut> for LeftOutJson {
    fn from(file: &LeftOut) -> Self {
        Self { file: file.path.display().to_string(), why: file.why.clone() }
    }
}

impl<D: Serialize> OfView<D> {
    /// The document of a view.
    #[must_use]
    pub fn new(view: &View, document: D) -> Self {
        let missing = MissingJson::of(&lines(&view.recording.losses));
        let fleet = view.fleet.as_ref().map(FleetJson::from);
        Self { document, of: view.heading(), missing, fleet }
    }
}

/// One kind of hole.
#[derive(Debug, Serialize)]
pub struct MissingJson {
    id: String,
    count: u64,
    what: String,
    advice: String,
}

impl<D: Serialize> OfRecording<D> {
    /// The document with what its recording misses.
    #[must_use]
    pub fn new(recording: &Recording, document: D) -> Self {
        Self { document, missing: MissingJson::of(&lines(&recording.losses)) }
    }
}

impl MissingJson {
    /// The holes among some losses.
    #[must_use]
    pub fn of(losses: &[LossLine]) -> Vec<Self> {
        let missing = |line: &LossLine| Self {
            id: line.id.clone(),
            count: line.count,
            what: line.what(),
            advice: line.advice.clone(),
        };
        holes(losses).map(missing).collect()
    }
}
