//! Findings from probes of places: what makes a place dearer, told by arms that differ in one thing.
//!
//! A recording shows where time went; a probe shows what the same work costs elsewhere. So a rule here
//! looks for two arms that differ in one thing alone (the filter on system calls, the folder's storage,
//! the way through the network), compares them round by round, and names that thing. What a whole place
//! is against the baseline is a statement of its own, as for recordings.

mod bridge_network_cost;
mod container_layer_io;
mod emulated_arch;
mod image;
mod image_bloat;
mod log_driver_backpressure;
mod measured;
mod notify_blind;
mod overlay_copy_up;
mod publish_proxy;
mod quota_throttling;
mod reader_chose_polling;
#[cfg(test)]
mod scene;
mod seccomp_cost;
mod shared_folder_fs;
mod statement;

pub use image::{ImageLayer, ImageStored, ImageWaste, WasteKind, find_image};
pub use measured::{Measured, MeasuredArm, MeasuredMetric, MeasuredRatio, PlaceKind};

pub(crate) use bridge_network_cost::DOC as BRIDGE_NETWORK_COST;
pub(crate) use container_layer_io::DOC as CONTAINER_LAYER_IO;
pub(crate) use emulated_arch::DOC as EMULATED_ARCH;
pub(crate) use image_bloat::DOC as IMAGE_BLOAT;
pub(crate) use notify_blind::DOC as NOTIFY_BLIND;
pub(crate) use publish_proxy::DOC as PUBLISH_PROXY;
pub(crate) use reader_chose_polling::DOC as READER_CHOSE_POLLING;
pub(crate) use shared_folder_fs::DOC as SHARED_FOLDER_FS;

use culprit_model::{Evidence as Fact, Finding, Nanos, Severity};

use crate::rule::RuleDoc;
use crate::settle::actions;
use measured::Difference;

/// What a rule says about a probe's answer.
type Rule = fn(&Measured<'_>) -> Vec<Finding>;

const RULES: [Rule; 10] = [
    seccomp_cost::find,
    overlay_copy_up::find,
    container_layer_io::find,
    shared_folder_fs::find,
    notify_blind::find,
    reader_chose_polling::find,
    publish_proxy::find,
    bridge_network_cost::find,
    log_driver_backpressure::find,
    quota_throttling::find,
];

/// What a probe's answer says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasuredFindings {
    /// A statement about each place: slower, the same, or not known.
    pub places: Vec<Finding>,
    /// What makes them dearer, the most severe first.
    pub causes: Vec<Finding>,
}

/// The findings of a probe's answer.
#[must_use]
pub fn find_measured(measured: &Measured<'_>) -> MeasuredFindings {
    let mut causes: Vec<Finding> = RULES.iter().flat_map(|find| find(measured)).collect();
    causes.sort_by(|a, b| {
        b.severity.cmp(&a.severity).then(a.id.cmp(b.id)).then_with(|| a.title.cmp(&b.title))
    });
    MeasuredFindings { places: statement::find(measured), causes }
}

/// From which ratio dearer storage is of medium severity: what half as much again costs is seen by users.
const DEAR: f64 = 1.5;

/// That work with files is dearer in one arm than in another, by every metric that shows it; none where
/// none does.
fn storage_finding(
    doc: &RuleDoc,
    title: &str,
    measured: &Measured<'_>,
    [better, worse]: [&MeasuredArm<'_>; 2],
) -> Option<Finding> {
    let all = measured.all_worse(worse, better);
    let low = all.first()?.1.ratio.interval.low;
    let severity = if low >= DEAR { Severity::Medium } else { Severity::Low };
    let told =
        Told { doc, severity, title: format!("{title}:"), labels: [better.label, worse.label] };
    told.finding(&all, |metric, difference| format!("{} {}", metric.name, difference.times()))
}

/// What is to be said of two arms that differ in one thing.
struct Told<'a> {
    doc: &'a RuleDoc,
    severity: Severity,
    /// What the words for each metric follow.
    title: String,
    /// What the better and the worse arm are called.
    labels: [&'a str; 2],
}

impl Told<'_> {
    /// A finding of all metrics by which one of the arms is worse, with words for each; none where there
    /// is no such metric.
    fn finding(
        &self,
        all: &[(&MeasuredMetric<'_>, Difference)],
        words: impl Fn(&MeasuredMetric<'_>, &Difference) -> String,
    ) -> Option<Finding> {
        let told: Vec<String> = all.iter().map(|(metric, d)| words(metric, d)).collect();
        let title = format!("{} {}", self.title, told.join("; "));
        let sure = all.iter().map(|(_, d)| d.ratio.interval.coverage).fold(1.0, f64::min);
        let facts = all.iter().flat_map(|(metric, d)| d.facts(metric, self.labels)).collect();
        (!all.is_empty()).then(|| finding(self.doc, title, self.severity, sure, facts))
    }
}

/// A finding that no recording is behind: it explains no time of anybody's, so it has no cost.
fn finding(
    doc: &RuleDoc,
    title: String,
    severity: Severity,
    confidence: f64,
    evidence: Vec<Fact>,
) -> Finding {
    Finding {
        id: doc.id,
        title,
        severity,
        confidence,
        cost: Nanos::ZERO,
        share: 0.0,
        at: Vec::new(),
        evidence,
        why: doc.why.to_owned(),
        fix: actions(doc.fix, ""),
        check: doc.check.to_owned(),
    }
}
