//! How sure a finding is: the rule's own confidence, lowered by what is missing from the evidence
//! that it rests on.
//!
//! Each factor is one minus a weight times the share of the finding's time that it concerns, so a
//! loss elsewhere in the recording takes nothing away.

use culprit_model::{Basis, Evidence as Fact, LossKind, Nanos};

use crate::evidence::{Evidence, Segment, SegmentId};
use crate::rule::{Claim, Confidence, Site, Specificity, fact};

/// What may be wrong with a stretch of time, how much that takes from a finding that rests on
/// nothing else, and the words for it.
const DOUBTS: [(Doubt, f64, &str); 5] = [
    (Doubt::Uncertain, 0.5, "switch records were lost around this time"),
    (Doubt::NoStack, 0.5, "its stack was lost"),
    (Doubt::Polled, 0.3, "the cause was polled from /proc, not recorded"),
    (Doubt::Nearest, 0.2, "too short to be sampled: the stack is the nearest sample's"),
    (Doubt::Inferred, 0.2, "who ended the waits was inferred from who worked at that time"),
];

/// Confidence lost where wakers could not be recorded and a finding says who waited for whom.
const WITHOUT_WAKERS: f64 = 0.6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    Uncertain,
    NoStack,
    Polled,
    Nearest,
    Inferred,
}

/// The confidence of a finding and the evidence of what lowered it.
pub(crate) fn judge(
    evidence: &Evidence<'_>,
    claim: &Claim,
    held: &[SegmentId],
) -> (f64, Vec<Fact>) {
    let mut confidence: Confidence = claim.confidence.clone();
    let cost = evidence.total(held);
    if cost > Nanos::ZERO {
        for ((_, weight, words), concerned) in DOUBTS.into_iter().zip(concerned(evidence, held)) {
            confidence.lower(words, 1.0 - weight * concerned.share_of(cost));
        }
    }
    let about_waiting = claim.site != Site::Work && claim.specificity != Specificity::Statement;
    if about_waiting && evidence.recording.losses.iter().any(|l| l.kind == LossKind::WakersMissing)
    {
        confidence.lower("who ended the waits could not be recorded", WITHOUT_WAKERS);
    }
    let facts = confidence
        .lowered
        .iter()
        .map(|(why, factor)| fact(format!("confidence lowered: {why}"), *factor, "factor"))
        .collect();
    (confidence.value.clamp(0.0, 1.0), facts)
}

/// How much of the time each doubt concerns, in the order of [`DOUBTS`].
fn concerned(evidence: &Evidence<'_>, held: &[SegmentId]) -> [Nanos; DOUBTS.len()] {
    let mut sums = [Nanos::ZERO; DOUBTS.len()];
    for segment in held.iter().map(|s| evidence.chain.segment(*s)) {
        for (sum, (doubt, ..)) in sums.iter_mut().zip(DOUBTS) {
            if doubt.concerns(evidence, segment) {
                *sum += segment.length;
            }
        }
    }
    sums
}

impl Doubt {
    fn concerns(self, evidence: &Evidence<'_>, segment: &Segment) -> bool {
        let interval = evidence.of_segment(segment);
        match self {
            Self::Uncertain => interval.uncertain,
            Self::NoStack => interval.stack.is_none() && !interval.cause.is_runnable(),
            Self::Polled => interval.basis == Basis::Polled,
            Self::Nearest => interval.cause.is_cpu() && interval.basis == Basis::Nearest,
            Self::Inferred => evidence.chain.links(segment).any(|l| l.inferred),
        }
    }
}
