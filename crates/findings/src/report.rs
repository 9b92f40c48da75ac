//! The answer: from a recording to ranked findings.

use std::sync::Arc;

use culprit_engine::calls::Patterns;
use culprit_engine::wakers::CommandPath;
use culprit_model::{Finding, LossKind, Nanos, Recording, Time};
use rayon::prelude::*;

use crate::catalogue::RULES;
use crate::evidence::{Evidence, SegmentId};
use crate::grounds::{self, Grounds};
use crate::parts::Parts;
use crate::rule::Claim;
use crate::rules::recording_lost;
use crate::settle::settle;

/// What to look at and how much to list.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// List findings below [`MIN_SHARE`](crate::MIN_SHARE) too.
    pub all: bool,
    /// Measure from here; none for the start of the command's life, or of the recording.
    pub from: Option<Time>,
    /// Measure up to here; none for the end.
    pub to: Option<Time>,
    /// Measure the time of these threads, one entry a thread of the recording: all of their time,
    /// for a service all but their idle waits. None for the measured thing's own. Who ended their
    /// waits is looked for in all threads.
    pub threads: Option<Vec<bool>>,
    /// What counts as the program's own code, to which findings point; the rule of
    /// [`OwnCode`](culprit_engine::own::OwnCode) decides where there are none.
    pub own: Patterns,
    /// As sure as each rule says itself, which hit rates are counted from; else as often as findings of
    /// the kind are right.
    pub as_claimed: bool,
    /// The critical path of the recording's command, where the caller needs it too; else it is walked.
    pub command_path: Option<Arc<CommandPath>>,
}

/// The findings of one recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Those of medium and high severity first, then the others, each by cost: the first one with a cost is
    /// the culprit. Statements about the evidence come last.
    pub findings: Vec<Finding>,
    /// How much of the wall time the findings' costs explain, 0 to 1.
    pub explained_share: f64,
    /// The measured wall time: the command's life, or the selected range.
    pub wall: Nanos,
    /// What shares are of: the wall time, or the thread time that counts where several threads'
    /// (of a service, or selected) is more than that.
    pub whole: Nanos,
    /// Which finding explains how much of the time at a function for a cause.
    pub(crate) parts: Parts,
}

/// The findings of a recording whose intervals are built.
///
/// Pure: the same recording and options give the same report. Takes time n log n in intervals.
#[must_use]
pub fn find(recording: &Recording, options: &Options) -> Report {
    let evidence = Evidence::of(recording, options);
    judged(&evidence, options, |_| ()).0
}

/// As [`find`], with the time that each finding rests on, in the order of the findings.
#[must_use]
pub fn find_with_grounds(recording: &Recording, options: &Options) -> (Report, Vec<Grounds>) {
    let evidence = Evidence::of(recording, options);
    judged(&evidence, options, |held| grounds::of(&evidence, held))
}

fn judged<G: Send>(
    evidence: &Evidence<'_>,
    options: &Options,
    grounds: impl Fn(&[SegmentId]) -> G + Sync,
) -> (Report, Vec<G>) {
    // Without the names of functions and threads, a rule sees something else than what happened.
    let blind = evidence.recording.losses.iter().any(|loss| loss.kind == LossKind::NamesDamaged);
    let claims = RULES.par_iter().with_max_len(1).flat_map_iter(|rule| rule.find(evidence));
    let mut claims: Vec<Claim> = claims.collect();
    claims.retain(|claim| !blind || claim.rule.id == recording_lost::DOC.id);
    settle(evidence, claims, options, grounds)
}
