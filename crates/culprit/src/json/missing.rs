//! What is missing of the recording that a document is about.

use culprit_engine::losses::{LossLine, holes, lines};
use culprit_model::Recording;
use serde::Serialize;

use crate::load::View;

/// A document about a recording, and what is missing of the recording.
#[derive(Debug, Serialize)]
pub(crate) struct OfRecording<D> {
    #[serde(flatten)]
    document: D,
    missing: Vec<MissingJson>,
}

/// A view of a recording: the document, what its numbers are shares of, and what is missing of the
/// recording.
#[derive(Debug, Serialize)]
pub(crate) struct OfView<D> {
    #[serde(flatten)]
    document: D,
    of: String,
    missing: Vec<MissingJson>,
}

impl<D: Serialize> OfView<D> {
    /// The document of a view.
    pub(crate) fn new(view: &View, document: D) -> Self {
        let missing = MissingJson::of(&lines(&view.recording.losses));
        Self { document, of: view.heading(), missing }
    }
}

/// One kind of hole.
#[derive(Debug, Serialize)]
pub(crate) struct MissingJson {
    id: String,
    count: u64,
    what: String,
    advice: String,
}

impl<D: Serialize> OfRecording<D> {
    /// The document with what its recording misses.
    pub(crate) fn new(recording: &Recording, document: D) -> Self {
        Self { document, missing: MissingJson::of(&lines(&recording.losses)) }
    }
}

impl MissingJson {
    /// The holes among some losses.
    pub(crate) fn of(losses: &[LossLine]) -> Vec<Self> {
        let missing = |line: &LossLine| Self {
            id: line.id.clone(),
            count: line.count,
            what: line.what(),
            advice: line.advice.clone(),
        };
        holes(losses).map(missing).collect()
    }
}
