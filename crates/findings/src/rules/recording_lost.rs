//! `recording-lost`: records were dropped, so times or stacks have holes.

use culprit_model::{Loss, LossKind, Nanos};

use crate::evidence::Evidence;
use crate::losses;
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity};

/// The rule.
pub(crate) struct RecordingLost;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "recording-lost",
    group: Group::Quality,
    specificity: Specificity::Statement,
    claim: "A part of what happened is missing from the recording.",
    signature: "The loss table counts dropped records, a killed recorder, a full disk, a damaged \
                file, accounting that differs from the kernel's own, or what another profiler's \
                file held that has no place in a recording or no certain meaning.",
    why: "The recorder could not keep up, or was ended early. Intervals that touch a hole are marked \
          uncertain, and findings that rest on them have less confidence.",
    fix: "Record again: fewer processes, larger rings, a disk with room, and end with Ctrl-C.",
    check: "culprit record -o second.culprit -- CMD; `culprit findings second.culprit` must not show it",
    thresholds: &[],
};

/// The kinds of loss that this tells.
pub(crate) const KINDS: &[LossKind] = &[
    LossKind::SwitchesLost,
    LossKind::SamplesLost,
    LossKind::SamplingThrottled,
    LossKind::StacksMissing,
    LossKind::OldestDropped,
    LossKind::RecorderKilled,
    LossKind::FileDamaged,
    LossKind::DiskFull,
    LossKind::ThreadsNotAttached,
    LossKind::AccountingDiffers,
    LossKind::RecordsMalformed,
    LossKind::DetailLeftOut,
    LossKind::MetricGuessed,
    LossKind::ValuesNegative,
    LossKind::ProbeHitsLost,
    LossKind::ProbesLate,
];

impl Rule for RecordingLost {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let all = losses::of_kinds(evidence, KINDS);
        let (apart, lost): (Vec<&Loss>, Vec<&Loss>) =
            all.into_iter().partition(|l| l.kind == LossKind::AccountingDiffers);
        let records: u64 = lost.iter().map(|l| l.count).fold(0, u64::saturating_add);
        let noun = if records == 1 { "record" } else { "records" };
        let title = format!("the recording misses {records} {noun} or has holes");
        let intervals = &evidence.recording.intervals;
        let all: Nanos = intervals.iter().map(|i| i.duration).sum();
        let uncertain: Nanos = intervals.iter().filter(|i| i.uncertain).map(|i| i.duration).sum();
        let lost = losses::statement(&DOC, &title, &lost).map(|c| {
            c.fact("share of thread time that is uncertain", uncertain.share_of(all), "share")
        });
        lost.into_iter().chain(accounts_differ(evidence, &apart)).collect()
    }
}

/// What a difference to the kernel's sums says: no record is known to be lost, the sums disagree.
fn accounts_differ(evidence: &Evidence<'_>, apart: &[&Loss]) -> Option<Claim> {
    let title = "sums of time differ from the kernel's own accounts";
    let claim = losses::statement(&DOC, title, apart)?;
    let why = "No record is known to be missing here: time that a hypervisor took, or the \
               recorder's own work at each switch, is counted by one side only. Findings that rest \
               on the sum that differs are less sure by the share that it differs by.";
    let fix = claim.fix.clone();
    let sums = evidence.sums_apart;
    Some(
        claim
            .saying(why.to_owned(), fix)
            .fact("share by which time on CPUs differs", sums.cpu, "share")
            .fact("share by which time on run queues differs", sums.run_queue, "share"),
    )
}
