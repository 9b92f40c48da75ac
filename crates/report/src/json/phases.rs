//! `phases --json`.

use std::collections::BTreeMap;

use culprit_engine::phases::{Phase, Phases};
use culprit_model::{Finding, Label as _};
use serde::Serialize;

use super::SCHEMA;
use crate::views::{PhasesView, range_options};

/// The phases of a run, which follow each other without gaps.
#[derive(Debug, Serialize)]
pub struct PhasesDocument {
    schema: u32,
    window_ns: u64,
    too_short: bool,
    phases: Vec<PhaseRow>,
}

#[derive(Debug, Serialize)]
struct PhaseRow {
    kind: &'static str,
    does: String,
    from_ns: u64,
    to_ns: u64,
    time_ns: u64,
    share: f64,
    range: String,
    counted_ns: u64,
    finding: Option<FirstFinding>,
    causes: BTreeMap<&'static str, u64>,
    places: Vec<PlaceRow>,
    places_left_out: usize,
}

/// The finding that costs the most of a phase.
#[derive(Debug, Serialize)]
struct FirstFinding {
    id: &'static str,
    title: String,
    cost_ns: u64,
    share: f64,
}

#[derive(Debug, Serialize)]
struct PlaceRow {
    cause: Option<&'static str>,
    function: String,
    time_ns: u64,
    share: f64,
    steady_share: f64,
}

impl PhasesDocument {
    /// Every phase with its first `limit` places, all of them if that is 0.
    #[must_use]
    pub fn new(view: &PhasesView<'_>, limit: usize) -> Self {
        let phases = view.phases;
        let rows = phases.phases.iter().zip(view.findings);
        Self {
            schema: SCHEMA,
            window_ns: phases.window.0,
            too_short: phases.too_short,
            phases: rows.map(|(phase, first)| row(phases, phase, first.as_ref(), limit)).collect(),
        }
    }
}

fn row(phases: &Phases, phase: &Phase, first: Option<&Finding>, limit: usize) -> PhaseRow {
    let whole = phases.phases.iter().map(Phase::length).sum();
    let counted = phase.counted();
    let kept = if limit == 0 { phase.places.len() } else { limit.min(phase.places.len()) };
    let places = phase.places[..kept].iter().map(|(place, time)| PlaceRow {
        cause: place.cause.map(|cause| cause.word()),
        function: place.function.clone(),
        time_ns: time.0,
        share: time.share_of(counted),
        steady_share: phases.steady_share(place),
    });
    PhaseRow {
        kind: phase.kind.word(),
        does: phase.does.clone(),
        from_ns: phase.from.0,
        to_ns: phase.to.0,
        time_ns: phase.length().0,
        share: phase.length().share_of(whole),
        range: range_options(phase.from, phase.to),
        counted_ns: counted.0,
        finding: first.map(|finding| FirstFinding {
            id: finding.id,
            title: finding.title.clone(),
            cost_ns: finding.cost.0,
            share: finding.share,
        }),
        causes: phase.causes().into_iter().map(|(cause, time)| (cause.word(), time.0)).collect(),
        places: places.collect(),
        places_left_out: phase.places.len() - kept,
    }
}
