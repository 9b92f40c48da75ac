//! `config drift --json` and `config diff --json`.

use crate::json::SCHEMA;
use culprit_config::{
    Drift, DriftCell, DriftColumn, DriftRow, KeyDifference, PlacedValue, Snapshot,
    SnapshotDifference,
};
use serde::Serialize;

use super::show::{FindingOfConfig, ValueJson};

/// `config drift --json`.
#[derive(Debug, Serialize)]
pub struct ConfigDriftDocument<'a> {
    schema: u32,
    subjects: Vec<DriftJson<'a>>,
}

#[derive(Debug, Serialize)]
struct DriftJson<'a> {
    subject: &'a str,
    service: Option<&'a str>,
    config_hash: String,
    reference: Option<usize>,
    columns: Vec<DriftColumnJson<'a>>,
    variables: usize,
    rows: Vec<DriftRowJson<'a>>,
    findings: Vec<FindingOfConfig<'a>>,
}

#[derive(Debug, Serialize)]
struct DriftColumnJson<'a> {
    kind: String,
    name: &'a str,
    state: String,
    why: &'a str,
    pid: Option<u32>,
}

#[derive(Debug, Serialize)]
struct DriftRowJson<'a> {
    name: &'a str,
    cells: Vec<DriftCellJson<'a>>,
}

#[derive(Debug, Serialize)]
struct DriftCellJson<'a> {
    state: String,
    value: Option<ValueJson<'a>>,
}

impl<'a> ConfigDriftDocument<'a> {
    /// The document; `all` also has the variables that are the same everywhere.
    pub fn new(found: &'a [Drift], all: bool) -> Self {
        Self {
            schema: SCHEMA,
            subjects: found.iter().map(|one| DriftJson::new(one, all)).collect(),
        }
    }
}

impl<'a> DriftJson<'a> {
    fn new(one: &'a Drift, all: bool) -> Self {
        let shown = one.rows.iter().filter(|row| all || !row.is_same());
        Self {
            subject: &one.subject,
            service: one.service.as_deref(),
            config_hash: one.hash.to_string(),
            reference: one.reference,
            columns: one.columns.iter().map(DriftColumnJson::from).collect(),
            variables: one.rows.len(),
            rows: shown.map(DriftRowJson::from).collect(),
            findings: one.findings.iter().map(FindingOfConfig::from).collect(),
        }
    }
}

impl<'a> From<&'a DriftColumn> for DriftColumnJson<'a> {
    fn from(column: &'a DriftColumn) -> Self {
        Self {
            kind: column.kind.to_string(),
            name: &column.name,
            state: column.state.to_string(),
            why: &column.why,
            pid: column.pid.map(|pid| pid.0),
        }
    }
}

impl<'a> From<&'a DriftRow> for DriftRowJson<'a> {
    fn from(row: &'a DriftRow) -> Self {
        Self { name: &row.name, cells: row.cells.iter().map(DriftCellJson::from).collect() }
    }
}

impl<'a> From<&'a DriftCell> for DriftCellJson<'a> {
    fn from(cell: &'a DriftCell) -> Self {
        Self { state: cell.state.to_string(), value: cell.value.as_ref().map(ValueJson::from) }
    }
}

/// `config diff --json`.
#[derive(Debug, Serialize)]
pub struct ConfigDiffDocument<'a> {
    schema: u32,
    before: &'a str,
    after: &'a str,
    same: usize,
    keys: Vec<KeyDifferenceJson<'a>>,
    alone: Vec<AloneJson<'a>>,
}

#[derive(Debug, Serialize)]
struct KeyDifferenceJson<'a> {
    profile: &'a str,
    key: &'a str,
    change: String,
    before: Option<PlacedJson<'a>>,
    after: Option<PlacedJson<'a>>,
}

#[derive(Debug, Serialize)]
struct PlacedJson<'a> {
    place: &'a str,
    value: ValueJson<'a>,
}

#[derive(Debug, Serialize)]
struct AloneJson<'a> {
    profile: &'a str,
    side: &'static str,
}

impl<'a> ConfigDiffDocument<'a> {
    /// The document.
    pub fn new(
        (before, after): (&'a Snapshot, &'a Snapshot),
        found: &'a SnapshotDifference,
    ) -> Self {
        let alone = found.alone.iter().map(|(profile, second)| AloneJson {
            profile,
            side: if *second { "after" } else { "before" },
        });
        Self {
            schema: SCHEMA,
            before: &before.subject,
            after: &after.subject,
            same: found.same,
            keys: found.keys.iter().map(KeyDifferenceJson::from).collect(),
            alone: alone.collect(),
        }
    }
}

impl<'a> From<&'a KeyDifference> for KeyDifferenceJson<'a> {
    fn from(one: &'a KeyDifference) -> Self {
        let placed = |value: &'a Option<PlacedValue>| {
            value
                .as_ref()
                .map(|one| PlacedJson { place: &one.place, value: ValueJson::from(&one.value) })
        };
        Self {
            profile: &one.profile,
            key: &one.key,
            change: one.change.to_string(),
            before: placed(&one.before),
            after: placed(&one.after),
        }
    }
}
