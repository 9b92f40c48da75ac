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
    yields_to: &[],
    claim: "The recording is incomplete: records were dropped, or its sums of time differ from the \
            kernel's.",
    signature: "The loss table lists dropped records, a killed recorder, a full disk, a damaged \
                file or threads that were not attached. It also lists sums of time that differ \
                from the kernel's. For an imported file it lists content that a recording cannot \
                hold, or whose meaning is uncertain.",
    not_reported: &[],
    why: "The recorder could not keep up, or was stopped early. Intervals that touch a hole are \
          marked uncertain. Findings that rest on them have lower confidence. If the \
          functions, call stacks, modules, threads or processes of a file are damaged, no other \
          finding is listed.",
    fix: &[
        "Record fewer processes at once.",
        "Run the recorder as root: it then has larger rings and real-time priority.",
        "Write the recording to a disk with free space (`-o`).",
        "End the recording with Ctrl-C.",
    ],
    check: "culprit record -o second.culprit -- CMD; `culprit findings second.culprit` must not \
            list `recording-lost`",
    thresholds: &[],
};

/// The kinds of loss that this finding reports.
pub(crate) const KINDS: &[LossKind] = &[
    LossKind::SwitchesLost,
    LossKind::SamplesLost,
    LossKind::SamplingThrottled,
    LossKind::StacksMissing,
    LossKind::OldestDropped,
    LossKind::RecorderKilled,
    LossKind::FileDamaged,
    LossKind::NamesDamaged,
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
        let title = match lost.iter().any(|l| l.kind == LossKind::NamesDamaged) {
            true => {
                "names in the file are damaged (functions, call stacks, modules, threads or processes), \
                 so no other finding is listed"
                    .to_owned()
            }
            false => {
                format!("the recording is incomplete: {records} {noun} lost, damaged or left out")
            }
        };
        let intervals = &evidence.recording.intervals;
        let all: Nanos = intervals.iter().map(|i| i.duration).sum();
        let uncertain: Nanos = intervals.iter().filter(|i| i.uncertain).map(|i| i.duration).sum();
        let lost = losses::statement(&DOC, &title, &lost).map(|c| {
            c.fact("share of thread time that is uncertain", uncertain.share_of(all), "share")
        });
        lost.into_iter().chain(accounts_differ(evidence, &apart)).collect()
    }
}

/// The claim that sums differ from the kernel's: no record is known to be lost.
fn accounts_differ(evidence: &Evidence<'_>, apart: &[&Loss]) -> Option<Claim> {
    let title = "the recorded CPU or run-queue time differs from the kernel's accounting";
    let claim = losses::statement(&DOC, title, apart)?;
    let why = "No record is known to be missing. Only one side counts time that a hypervisor took, \
               or the recorder's own work at each switch. Findings that rest on such a sum lose \
               confidence by the share of its difference.";
    let fix = claim.fix.clone();
    let sums = evidence.sums_apart;
    Some(
        claim
            .saying(why.to_owned(), fix)
            .fact("difference from the kernel's CPU time", sums.cpu, "share")
            .fact("difference from the kernel's run-queue time", sums.run_queue, "share"),
    )
}
