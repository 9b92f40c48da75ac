//! How sure a finding is: the rule's own confidence, lowered by what is missing from the evidence
//! that it rests on.
//!
//! Each factor is one minus a weight times the share of the finding's time that it concerns, so a
//! loss elsewhere in the recording takes nothing away. What cannot be laid on single intervals
//! (a damaged file, a check against the kernel's sums that is off) concerns all of the time that it
//! is about. The rest is told as coverage: the share of the time that nothing speaks against.

use culprit_engine::accounting::{Allowance, Sum};
use culprit_model::{Basis, Evidence as Fact, Loss, LossKind, Nanos, Rung};

use crate::evidence::{Evidence, Segment, SegmentId};
use crate::rule::{Claim, Confidence, Site, fact};

/// What may be wrong with a stretch of time, how much that takes from a finding that rests on
/// nothing else, and the words for it. A hole makes the time itself a guess, a lost stack only its
/// place; a polled cause is right at the moment of the look; what is inferred is right where only
/// one thread can have been it.
const DOUBTS: [(Doubt, f64, &str); 5] = [
    (Doubt::Uncertain, 0.5, "switch records were lost around this time"),
    (Doubt::NoStack, 0.5, "no stack was recorded"),
    (Doubt::Polled, 0.3, "the cause was polled from /proc, not recorded"),
    (Doubt::Nearest, 0.2, "no sample fell into it: the stack is that of the nearest sample"),
    (Doubt::Inferred, 0.2, "the waker was inferred from the threads that ran meanwhile"),
];

/// Losses that concern whatever lies in their time: how much they take, and the words for them.
/// A damaged file or threads that were not seen can hide who was waited for; an end or a beginning
/// that is missing only makes the rest less typical.
const LOSSES: [(LossKind, f64, &str); 6] = [
    (LossKind::FileDamaged, 0.4, "a part of the file is damaged"),
    (LossKind::ThreadsNotAttached, 0.2, "some threads were not recorded"),
    (LossKind::RecordsMalformed, 0.2, "some records were malformed"),
    (LossKind::RecorderKilled, 0.1, "the recorder was killed: the end of the run is missing"),
    (LossKind::DiskFull, 0.1, "the disk was full: the end of the run is missing"),
    (LossKind::OldestDropped, 0.1, "the oldest part of the run was dropped"),
];

/// Losses of single stacks: these are as likely a finding's as anybody's, so what they take is the
/// share of all stacks that they are of, times this.
const STACKS: [(LossKind, f64, &str); 2] = [
    (LossKind::SamplesLost, 0.5, "samples were lost"),
    (LossKind::StacksTruncated, 0.1, "stacks are truncated: callers are missing"),
];

/// Confidence lost where wakers could not be recorded and a finding says who waited for whom.
const WITHOUT_WAKERS: f64 = 0.6;

/// Confidence left where times are those between looks at `/proc`, not those of switches.
const WITHOUT_SWITCHES: f64 = 0.6;

/// Share of the kernel's sum by which ours may be off before nothing can be said that rests on it.
/// At half, the larger part of what is told would be real at worst; from there on it may not be.
pub(crate) const MOST_APART: f64 = 0.5;

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
    let mut facts = Vec::new();
    let cost = evidence.total(held);
    if cost > Nanos::ZERO {
        let (doubted, clear) = concerned(evidence, held);
        for ((_, weight, words), concerned) in DOUBTS.into_iter().zip(doubted) {
            confidence.lower(words, 1.0 - weight * concerned.share_of(cost));
        }
        of_recording(evidence, held, cost, &mut confidence);
        of_sums(evidence, held, cost, &mut confidence);
        facts.push(fact(
            "coverage: share of this time with complete evidence",
            clear.share_of(cost),
            "share",
        ));
    }
    let about_waiting = claim.site == Site::WaitThenWork;
    if about_waiting && evidence.recording.losses.iter().any(|l| l.kind == LossKind::WakersMissing)
    {
        confidence.lower("the threads that ended the waits could not be recorded", WITHOUT_WAKERS);
    }
    let lowered = confidence.lowered.iter();
    facts.extend(
        lowered.map(|(why, factor)| fact(format!("confidence lowered: {why}"), *factor, "factor")),
    );
    (confidence.value.clamp(0.0, 1.0), facts)
}

/// How much of the time each doubt concerns, in the order of [`DOUBTS`], and how much none does.
fn concerned(evidence: &Evidence<'_>, held: &[SegmentId]) -> ([Nanos; DOUBTS.len()], Nanos) {
    let mut sums = [Nanos::ZERO; DOUBTS.len()];
    let mut clear = Nanos::ZERO;
    for segment in held.iter().map(|s| evidence.chain.segment(*s)) {
        let mut doubted = false;
        for (sum, (doubt, ..)) in sums.iter_mut().zip(DOUBTS) {
            if doubt.concerns(evidence, segment) {
                *sum += segment.length;
                doubted = true;
            }
        }
        if !doubted {
            clear += segment.length;
        }
    }
    (sums, clear)
}

/// What the recording as a whole lacks.
fn of_recording(
    evidence: &Evidence<'_>,
    held: &[SegmentId],
    cost: Nanos,
    confidence: &mut Confidence,
) {
    let recording = evidence.recording;
    for (kind, weight, words) in LOSSES {
        let within = recording.losses.iter().filter(|l| l.kind == kind);
        let share = within.map(|l| touched(evidence, held, l).share_of(cost)).fold(0.0, f64::max);
        confidence.lower(words, 1.0 - weight * share);
    }
    let stacks = (recording.samples.len() + recording.switches.len()) as f64;
    for (kind, weight, words) in STACKS {
        let lost: u64 = recording.losses.iter().filter(|l| l.kind == kind).map(|l| l.count).sum();
        confidence.lower(words, 1.0 - weight * lost as f64 / (stacks + lost as f64).max(1.0));
    }
    if recording.meta.rung == Rung::Polling {
        confidence.lower("times were polled from /proc, not recorded", WITHOUT_SWITCHES);
    }
}

/// How much of a set of segments lies in the time of a loss; all of it where that has no time.
fn touched(evidence: &Evidence<'_>, held: &[SegmentId], loss: &Loss) -> Nanos {
    let segments = held.iter().map(|s| evidence.chain.segment(*s));
    segments
        .map(|s| {
            let end = s.start + s.length;
            let from = loss.from.unwrap_or(s.start).max(s.start);
            loss.to.unwrap_or(end).min(end).since(from)
        })
        .sum()
}

/// Our sums against the kernel's: what is off by a share is sure by that share less.
fn of_sums(evidence: &Evidence<'_>, held: &[SegmentId], cost: Nanos, confidence: &mut Confidence) {
    let share = |apart: f64, wanted: fn(culprit_model::Cause) -> bool| {
        if apart == 0.0 {
            return 0.0;
        }
        let of = held.iter().map(|s| evidence.chain.segment(*s));
        let sum: Nanos =
            of.filter(|s| wanted(evidence.of_segment(s).cause)).map(|s| s.length).sum();
        sum.share_of(cost)
    };
    let sums = evidence.sums_apart;
    confidence.lower(
        "run-queue time differs from the kernel's own sum",
        1.0 - sums.run_queue * share(sums.run_queue, culprit_model::Cause::is_runnable),
    );
    confidence.lower(
        "CPU time differs from the kernel's own sum",
        1.0 - sums.cpu * share(sums.cpu, culprit_model::Cause::is_cpu),
    );
}

/// By which share our sums are off the kernel's, 0 to 1; 0 where they agree.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Apart {
    /// Of time on a CPU.
    pub(crate) cpu: f64,
    /// Of time on run queues.
    pub(crate) run_queue: f64,
}

impl Apart {
    /// Compares a recording's sums with the kernel's; linear in intervals, and only where the
    /// recording says that they differ.
    pub(crate) fn of(recording: &culprit_model::Recording) -> Self {
        if !recording.losses.iter().any(|l| l.kind == LossKind::AccountingDiffers) {
            return Self::default();
        }
        let sums = culprit_engine::accounting::accounting(recording);
        let apart = |sum: &Sum, allowed: &Allowance| {
            let of_more = sum.theirs.share_of(sum.ours.max(sum.theirs));
            sum.off(allowed).map_or(0.0, |share| share * of_more)
        };
        Self {
            cpu: apart(&sums.cpu, &sums.cpu_allowance()),
            run_queue: apart(&sums.run_queue, &sums.run_queue_allowance()),
        }
    }
}

impl Doubt {
    fn concerns(self, evidence: &Evidence<'_>, segment: &Segment) -> bool {
        let interval = evidence.of_segment(segment);
        match self {
            Self::Uncertain => interval.uncertain,
            Self::NoStack => interval.stack.is_none() && !interval.cause.is_runnable(),
            Self::Polled => interval.basis == Basis::Polled,
            Self::Nearest => interval.cause.is_cpu() && interval.basis == Basis::Nearest,
            Self::Inferred => {
                // Who has a CPU is measured, and a thread that is ready waits for that one.
                let blocked = |id| evidence.interval(id).cause.is_blocked();
                evidence.chain.links(segment).any(|l| l.inferred && blocked(l.wait))
            }
        }
    }
}
