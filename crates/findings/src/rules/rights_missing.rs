//! `rights-missing`: the recorder lacked rights, so evidence is missing.

use culprit_model::{Label, LossKind, Rung, Severity};

use crate::evidence::Evidence;
use crate::losses;
use crate::rule::{Claim, Group, Rule, RuleDoc, Specificity};

/// The rule.
pub(crate) struct RightsMissing;

pub(crate) const DOC: RuleDoc = RuleDoc {
    id: "rights-missing",
    group: Group::Quality,
    specificity: Specificity::Statement,
    yields_to: &[],
    claim: "The recorder lacked rights, so some evidence is missing.",
    signature: "The recording's access level (rung) is below `full`. Or the loss table lists \
                missing kernel stacks, wakers or processor counters, small rings, or refused \
                probes.",
    not_reported: &["the access level of a file that was imported from another tool"],
    why: "Without kernel stacks, the cause of a wait is polled or unknown. Without wakers, the \
          thread that ended a wait is unknown. Findings that need this evidence are missing or \
          less certain.",
    fix: &["Grant the named right for one recording, then record again."],
    check: "culprit doctor; it must report the access level (rung) `full`",
    thresholds: &[],
};

/// The kinds of loss that this finding reports.
pub(crate) const KINDS: &[LossKind] = &[
    LossKind::WakersMissing,
    LossKind::KernelStacksMissing,
    LossKind::RingsSmall,
    LossKind::ProbesRefused,
    LossKind::CountersMissing,
];

impl Rule for RightsMissing {
    fn find(&self, evidence: &Evidence<'_>) -> Vec<Claim> {
        let meta = &evidence.recording.meta;
        let missing = losses::of_kinds(evidence, KINDS);
        let low = !matches!(meta.rung, Rung::Full | Rung::Imported);
        if !low && missing.is_empty() {
            return Vec::new();
        }
        let title = match low {
            true => {
                format!("recorded at access level `{}`: evidence is missing", meta.rung.word())
            }
            false => "the recorder lacked a right that it could have used".to_owned(),
        };
        let mut claim = losses::statement(&DOC, &title, &missing)
            .unwrap_or_else(|| Claim::statement(&DOC, title.clone(), Severity::Low));
        if !meta.degraded.is_empty() {
            claim.fix = format!("{} {}", meta.degraded.join(" "), claim.fix).trim().to_owned();
        }
        vec![claim]
    }
}
