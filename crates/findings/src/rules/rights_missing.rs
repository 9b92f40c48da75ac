//! `rights-missing`: the recorder was not allowed to see everything.

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
    claim: "The recorder lacked rights, so a kind of evidence is missing.",
    signature: "The recording stands on a lower rung than the full one, or the loss table says that \
                kernel stacks or wakers could not be recorded.",
    why: "Without kernel stacks the cause of a wait is polled or unknown; without wakers nobody knows \
          who ended it. Findings that need them are missing or less sure.",
    fix: "Grant the right that is named, for one recording.",
    check: "culprit doctor says which rung this machine allows",
    thresholds: &[],
};

/// The kinds of loss that this tells.
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
                format!("recorded on the {} rung: a kind of evidence is missing", meta.rung.word())
            }
            false => "the recorder lacked a right that it would have used".to_owned(),
        };
        let mut claim = losses::statement(&DOC, &title, &missing)
            .unwrap_or_else(|| Claim::statement(&DOC, title.clone(), Severity::Low));
        if !meta.degraded.is_empty() {
            claim.fix = format!("{} {}", meta.degraded.join(" "), claim.fix).trim().to_owned();
        }
        vec![claim]
    }
}
