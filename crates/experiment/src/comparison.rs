//! An arm against the baseline by what was recorded of both.

use culprit_engine::compare::Difference;
use culprit_engine::stats::{Ratio, Verdict};
use culprit_findings::{
    DifferenceReport, FindingChange, Options, RunSummary, SAME_BAND, find_changes, find_difference,
    find_difference_of_sets,
};
use culprit_model::Nanos;

use crate::recorded::Recorded;
use crate::trial::Rounds;

/// The finding that says where time was computed, not why.
const HOT_FUNCTION: &str = "hot-function";

/// What recorded rounds tell of an arm.
#[derive(Debug)]
pub struct Comparison {
    /// What the arm is called.
    pub label: String,
    /// Where the extra time is, and the findings that explain it.
    pub report: DifferenceReport,
    /// Which of the baseline's findings went away, and which came.
    pub changes: Vec<FindingChange>,
}

impl Comparison {
    /// Two arms in the rounds that have both. None without one.
    pub(crate) fn of_rounds(
        label: &str,
        rounds: &Rounds<Recorded>,
        (baseline, arm): (usize, usize),
        options: &Options,
    ) -> Option<Self> {
        let pairs = rounds.paired(baseline, arm).into_iter();
        let (before, after): (Vec<_>, Vec<_>) =
            pairs.map(|(a, b)| (a.summary.clone(), b.summary.clone())).unzip();
        let report = find_difference(&before, &after, options)?;
        Some(Self { label: label.to_owned(), report, changes: find_changes(&before, &after) })
    }

    /// Runs against others that were not made in the same rounds.
    pub(crate) fn of_sets(
        label: &str,
        before: &[RunSummary],
        after: &[RunSummary],
        options: &Options,
    ) -> Option<Self> {
        let report = find_difference_of_sets(before, after, options)?;
        Some(Self { label: label.to_owned(), report, changes: Vec::new() })
    }

    /// The ratio, where a round of both was done.
    #[must_use]
    pub fn ratio(&self) -> Option<&Ratio> {
        self.report.comparison.ratio.as_ref()
    }

    /// The verdict.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.ratio().map_or(Verdict::Unclear, |ratio| ratio.verdict)
    }

    /// How much of the extra time findings explain that say more than where it was computed; none where there
    /// is too little of it to be divided.
    #[must_use]
    pub fn explained(&self) -> Option<f64> {
        let comparison = &self.report.comparison;
        let extra = Nanos(comparison.extra_ns().unsigned_abs());
        if extra.share_of(comparison.baseline) < SAME_BAND {
            return None;
        }
        let says_why = |id: &Option<&str>| id.is_some_and(|id| id != HOT_FUNCTION);
        let rows = comparison.rows.iter().zip(&self.report.tied);
        let explained: f64 = rows.filter(|(_, id)| says_why(id)).map(|(row, _)| row.share).sum();
        Some(explained.clamp(0.0, 1.0))
    }

    /// Rows of the difference that matter, at least a hundredth of it, each with the finding that
    /// explains it.
    pub fn rows(&self) -> impl Iterator<Item = (&Difference, Option<&'static str>)> {
        let tied = self.report.tied.iter().copied();
        let rows = self.report.comparison.rows.iter().zip(tied);
        rows.filter(|(row, _)| row.share.abs() >= 0.01)
    }
}
