//! What the rules about library code share: which time is in a chore, who calls for it, and when
//! that is worth telling.

use std::collections::BTreeMap;

use culprit_model::{Basis, Evidence as Fact, FrameId, Interval, Nanos, Severity, Text};

use crate::evidence::{Chore, Evidence, SegmentId};
use crate::rule::{COST, Claim, PERCENT, RuleDoc, Site, Threshold, fact};
use crate::tally;

/// Clock samples below which nothing is said of less than [`MIN_TIME`]: the time of 10 samples is
/// known to a third (Poisson), of one or two not at all.
pub(crate) const MIN_SAMPLES: f64 = 10.0;

/// What [`MIN_SAMPLES`] stand for at the usual rate of the clock.
const MIN_TIME: Nanos = Nanos(10_000_000);

/// Clock samples from which a share is known well enough: 20 % of 100 to 4 points (binomial).
pub(crate) const ENOUGH_SAMPLES: f64 = 100.0;

/// Confidence lost where only the names of a program's own functions tell what they do.
const WORDS_ALONE: f64 = 0.4;

/// How many callers and functions a finding lists.
const LISTED: usize = 3;

/// One rule about a chore.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    /// The rule's page.
    pub(crate) doc: &'static RuleDoc,
    /// What its time is spent on.
    pub(crate) chore: Chore,
    /// The chore as the title says it, after a time: `parsing or formatting dates`.
    pub(crate) doing: &'static str,
    /// Share of the path's CPU time from which it is told.
    pub(crate) min_share: f64,
    /// The same for code of interpreters, which do such work for every step of a program.
    pub(crate) min_interpreted: f64,
    /// How severe it can be.
    pub(crate) at_most: Severity,
    /// Whether programs exist to do it.
    pub(crate) may_be_purpose: bool,
}

/// Share of the path's CPU time below which work that may be a program's purpose is information.
const MIN_PURPOSE: f64 = 0.5;

/// The same, as the page of a rule has it.
pub(crate) const PURPOSE: Threshold = Threshold {
    what: "share of the critical path's CPU time below which the finding is reported as `info`",
    value: MIN_PURPOSE,
    unit: "share",
    reason: "This work may be the program's purpose, which a recording does not show. A service \
             that answers with documents spends a third of its CPU time on them. From half on, \
             this work decides the program's speed, because the program does little else.",
    source: "a Go service that reads and writes JSON under load: 35 to 37 %; a Java batch that \
             groups records: 22 to 29 % in tables",
};

/// The share from which code of interpreters is told, as the page of a rule has it.
pub(crate) const fn below_an_interpreter(value: f64) -> Threshold {
    Threshold {
        what: "share of the critical path's CPU time, for code that an interpreter called",
        value,
        unit: "share",
        reason: "An interpreter does such work for its own steps, too. With the threshold of compiled \
                 programs, ordinary scripts would be reported.",
        source: "scripts that only compute, CPython 3.11 to 3.14",
    }
}

impl Spec {
    /// How severe it can be: what an interpreter does for every program is seldom a program's fault, and
    /// neither is what a program may be for.
    fn at_most(&self, interpreted: bool, share: f64) -> Severity {
        let everyday = interpreted && self.min_interpreted > self.min_share;
        match (everyday, everyday || self.may_be_purpose) {
            (_, true) if share < MIN_PURPOSE => Severity::Info,
            (true, _) => self.at_most.min(Severity::Low),
            (false, _) => self.at_most,
        }
    }
}

/// The claim of one rule about a chore; none where too little of the path's CPU time is in it.
pub(crate) fn find(evidence: &Evidence<'_>, spec: &Spec) -> Vec<Claim> {
    let of =
        |all: &BTreeMap<Chore, Vec<SegmentId>>| all.get(&spec.chore).cloned().unwrap_or_default();
    let (mut held, mut worded) =
        (of(&evidence.chore_time.segments), of(&evidence.chore_time.worded));
    let by_words = evidence.total(&worded);
    held.append(&mut worded);
    held.sort_unstable();
    let mut claim = find_in(evidence, spec, &held);
    if let Some(claim) = &mut claim {
        let factor = 1.0 - WORDS_ALONE * by_words.share_of(evidence.total(&held));
        let why = "the work of the program's own functions was guessed from their names";
        claim.confidence.lower(why, factor);
    }
    claim.into_iter().collect()
}

/// True when so many looks at so much time tell anything.
pub(crate) fn is_enough(looks: usize, time: Nanos) -> bool {
    looks as f64 >= MIN_SAMPLES || time >= MIN_TIME
}

/// Lowers the confidence of a claim that rests on few looks.
pub(crate) fn doubt_few(claim: &mut Claim, looks: usize) {
    let looks = looks as f64;
    if looks < ENOUGH_SAMPLES {
        let factor = (looks / ENOUGH_SAMPLES).sqrt().max(0.3);
        claim.confidence.lower(format!("only {looks:.0} clock samples"), factor);
    }
}

/// The claim that `held` is spent on a rule's chore.
pub(crate) fn find_in(evidence: &Evidence<'_>, spec: &Spec, held: &[SegmentId]) -> Option<Claim> {
    let (own, total) = (evidence.total(held), evidence.chore_time.cpu);
    let intervals = held.iter().map(|s| evidence.of_segment(evidence.chain.segment(*s)));
    let samples = intervals.filter(|i| i.basis == Basis::Sample).count();
    let share = own.share_of(total);
    let interpreted = interpreted(evidence, held).share_of(own) > 0.5;
    let from = if interpreted { spec.min_interpreted } else { spec.min_share };
    if share < from || !is_enough(samples, own) {
        return None;
    }
    let callers = by_name(evidence, held, |i| evidence.caller(i));
    let first = callers.first()?;
    let who = match callers.len() {
        1 => format!("`{}` spends", first.0),
        2 => format!("`{}` and another function spend", first.0),
        n => format!("`{}` and {} other functions spend", first.0, n - 1),
    };
    let title = format!("{who} {COST} of {total} CPU time ({PERCENT}) on {}", spec.doing);
    let mut claim = Claim::new(spec.doc, title, held.to_vec())
        .share_of(total)
        .at(Site::Caller)
        .time("time of this work on the critical path, callees included", own)
        .fact("share of the critical path's CPU time", share, "share")
        .fact("clock samples in this work", samples as f64, "count")
        .facts(
            callers.iter().take(LISTED).map(|(name, time)| of(format!("called by {name}"), *time)),
        )
        .facts(entries(evidence, held));
    claim.at_most = spec.at_most(interpreted, share);
    doubt_few(&mut claim, samples);
    Some(claim)
}

fn of(what: String, time: Nanos) -> Fact {
    fact(what, time.0 as f64, "ns")
}

/// The library functions that were called for, the costliest first.
fn entries(evidence: &Evidence<'_>, held: &[SegmentId]) -> Vec<Fact> {
    let entries = by_name(evidence, held, |i| evidence.chores.entry(i.stack));
    entries
        .into_iter()
        .take(LISTED)
        .map(|(name, time)| of(format!("spent in {name}"), time))
        .collect()
}

/// Sums by a function's name, the costliest first; by handles before, because segments are many.
fn by_name(
    evidence: &Evidence<'_>,
    held: &[SegmentId],
    function: impl Fn(&Interval) -> Option<FrameId>,
) -> Vec<(Text, Nanos)> {
    let mut names: BTreeMap<Text, Nanos> = BTreeMap::new();
    for part in tally::by(evidence, held, |s| Some(function(evidence.of_segment(s)))) {
        *names.entry(evidence.name(part.key)).or_default() += part.total;
    }
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    names
}

/// How much of a set of segments was called for by an interpreter's own code.
fn interpreted(evidence: &Evidence<'_>, held: &[SegmentId]) -> Nanos {
    let inside = |s: &SegmentId| {
        let stack = evidence.of_segment(evidence.chain.segment(*s)).stack;
        evidence.chores.is_interpreted(stack)
    };
    let inside: Vec<_> = held.iter().copied().filter(inside).collect();
    evidence.total(&inside)
}
