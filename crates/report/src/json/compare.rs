//! Two recordings against each other, for a page.

use culprit_engine::calls::Change;
use culprit_findings::{FindingChange, SAME_BAND};
use culprit_model::Recording;
use serde::Serialize;

use super::findings::RecordingJson;
use crate::views::{DiffGroup, DiffView, one_sided};

/// Rows of a table of functions: more are not read.
const MOST_FUNCTIONS: usize = 500;

/// What changed from one recording to another, in the metric's unit.
#[derive(Debug, Serialize)]
pub struct CompareDocument {
    metric: String,
    unit: &'static str,
    of: String,
    before: SideJson,
    after: SideJson,
    /// After over before; null where there was nothing before.
    ratio: Option<f64>,
    /// True where both take about the same time, for the same causes.
    same: bool,
    causes: Vec<ChangeJson>,
    functions: Vec<ChangeJson>,
    functions_left_out: usize,
}

#[derive(Debug, Serialize)]
struct SideJson {
    recording: RecordingJson,
    total: f64,
}

#[derive(Debug, Serialize)]
struct ChangeJson {
    name: String,
    before: f64,
    after: f64,
    change: f64,
    /// The side that alone has it; null for both.
    only: Option<&'static str>,
}

impl From<&Change> for ChangeJson {
    fn from(row: &Change) -> Self {
        Self {
            name: row.name.to_string(),
            before: row.before,
            after: row.after,
            change: row.delta(),
            only: one_sided(row),
        }
    }
}

impl CompareDocument {
    /// The comparison of two recordings whose difference by cause and by function this is.
    #[must_use]
    pub fn new(view: &DiffView, (before, after): (&Recording, &Recording)) -> Self {
        let totals = view.totals();
        let rows = |by: DiffGroup| {
            let section = view.sections.iter().find(|section| section.by == by);
            section.map_or(&[][..], |section| &section.rows)
        };
        let (causes, functions) = (rows(DiffGroup::Cause), rows(DiffGroup::Function));
        let metric = view.diff.metric();
        Self {
            metric: metric.to_string(),
            unit: metric.unit(),
            of: view.heading.clone(),
            before: SideJson { recording: RecordingJson::new(before), total: totals.0 },
            after: SideJson { recording: RecordingJson::new(after), total: totals.1 },
            ratio: (totals.0 > 0.0).then(|| totals.1 / totals.0),
            same: is_same(totals, causes),
            causes: causes.iter().map(Into::into).collect(),
            functions: functions.iter().take(MOST_FUNCTIONS).map(Into::into).collect(),
            functions_left_out: functions.len().saturating_sub(MOST_FUNCTIONS),
        }
    }
}

/// Whether neither the whole nor a cause changed by more than identical runs may differ.
fn is_same((before, after): (f64, f64), causes: &[Change]) -> bool {
    let most = before.max(after) * SAME_BAND;
    (after - before).abs() <= most && causes.iter().all(|row| row.delta().abs() <= most)
}

/// What became of a finding.
#[derive(Debug, Serialize)]
pub struct FindingChangeJson {
    change: &'static str,
    id: &'static str,
    title: String,
    severity: String,
    before_ns: u64,
    after_ns: u64,
}

impl From<&FindingChange> for FindingChangeJson {
    fn from(change: &FindingChange) -> Self {
        Self {
            change: change.change.word(),
            id: change.finding.id,
            title: change.finding.title.clone(),
            severity: change.finding.severity.to_string(),
            before_ns: change.before.0,
            after_ns: change.after.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(rows: &[(f64, f64)]) -> bool {
        let change = |(before, after): &(f64, f64)| Change {
            name: "a".into(),
            before: *before,
            after: *after,
            interval: None,
        };
        let sum = |side: fn(&(f64, f64)) -> f64| rows.iter().map(side).sum();
        let rows_of: Vec<Change> = rows.iter().map(change).collect();
        !is_same((sum(|row| row.0), sum(|row| row.1)), &rows_of)
    }

    #[test]
    fn runs_differ_in_the_whole_or_in_a_cause() {
        assert!(!changed(&[(60.0, 61.0), (40.0, 41.0)]));
        assert!(changed(&[(60.0, 80.0), (40.0, 40.0)]));
        assert!(
            changed(&[(60.0, 40.0), (40.0, 60.0)]),
            "the whole is the same, the causes are not"
        );
        assert!(changed(&[(0.0, 40.0)]) && !changed(&[]));
    }
}
