//! From claims to findings: every segment of time goes to one claim, then costs, shares, severity
//! and confidence follow.
//!
//! ```text
//! segments            1 2 3 4 5 6
//! mechanism claim         x x          takes 3 4
//! work claim            x x x x        takes 2     5
//! relation claim      x x x x x x      takes 1         6
//! ```
//!
//! Between claims that say equally much, those that can be no more than information come last; of the
//! others, the one that explains more time takes all of its segments; then the identifier decides, so
//! that the same recording gives the same findings. A rule that yields to another one comes behind it.

use std::borrow::Cow;
use std::cmp::Reverse;

use culprit_model::{Finding, Nanos, Severity};
use rayon::prelude::*;

use crate::callers::{Caller, Callers};
use crate::evidence::{Evidence, SegmentId};
use crate::naming::Naming;
use crate::report::{Options, Report};
use crate::rule::{COST, Claim, PERCENT, Specificity, fact};
use crate::rules::unexplained;
use crate::{alike, doubt, hit_rates, parts, sites};

/// Share of the wall time from which a finding is listed (CONTRACT: below it only with `--all`).
pub const MIN_SHARE: f64 = 0.01;

/// Confidence from which a claim is a finding: what is less sure is wrong nine times out of ten. At a
/// fifth, causes that can only be guessed without the right to record would be lost; at a twentieth,
/// claims whose count is nearly all an estimate would be listed.
pub const MIN_CONFIDENCE: f64 = 0.10;

/// Share from which a finding is of low severity: half of what runs usually differ by. What costs less
/// is listed as information.
pub const LOW_SHARE: f64 = 0.05;

/// Share from which a finding is severe: without it the run would take less than 0.7 of its time,
/// which people notice without measuring.
pub const HIGH_SHARE: f64 = 0.30;

/// Share from which a finding is of medium severity: above what runs usually differ by.
pub const MEDIUM_SHARE: f64 = 0.10;

/// The severity of a share of the wall time.
#[must_use]
pub fn severity_of(share: f64) -> Severity {
    if share >= HIGH_SHARE {
        Severity::High
    } else if share >= MEDIUM_SHARE {
        Severity::Medium
    } else if share >= LOW_SHARE {
        Severity::Low
    } else {
        Severity::Info
    }
}

/// Gives each segment to one claim and makes findings of what the claims then hold; `grounds` makes of that what
/// the caller wants to have beside each finding, in their order.
pub(crate) fn settle<G: Send>(
    evidence: &Evidence<'_>,
    claims: Vec<Claim>,
    options: &Options,
    grounds: impl Fn(&[SegmentId]) -> G + Sync,
) -> (Report, Vec<G>) {
    let mut claims = alike::joined(evidence, claims);
    // Its time is for a claim that says less and is surer.
    claims.retain(|claim| claim.confidence.value >= MIN_CONFIDENCE);
    claims.sort_by_cached_key(|claim| {
        let total = evidence.total(&claim.segments);
        // What can be no more than information says the least of its level.
        let informs = claim.at_most == Severity::Info;
        (Reverse(claim.specificity), informs, Reverse(total), claim.rule.id, claim.title.clone())
    });
    let claims = yielding(claims);
    let mut taken = vec![false; evidence.chain.segments.len()];
    let whole = evidence.chain.whole;
    let mut settled = Vec::with_capacity(claims.len());
    for claim in &claims {
        let held = take(&claim.segments, &mut taken);
        let cost = evidence.total(&held);
        settled.push(Settled { claim, held, cost });
    }
    let explains = |settled: &&Settled<'_>| settled.claim.specificity != Specificity::Remainder;
    let explained: Nanos = settled.iter().filter(explains).map(|settled| settled.cost).sum();
    let is_listed = |settled: &&Settled<'_>| {
        let Settled { claim, cost, .. } = settled;
        let states = claim.specificity == Specificity::Statement && claim.segments.is_empty();
        let counts = options.all || cost.share_of(whole) >= claim.listed_from;
        states || (counts && *cost > Nanos::ZERO)
    };
    let listed: Vec<_> = settled.iter().filter(is_listed).collect();
    let callers = Callers::default();
    let holders = settled.iter().filter(explains);
    let holders = || holders.clone().map(|settled| (settled.claim.rule.id, &settled.held[..]));
    let (parts, mut found) = rayon::join(
        || parts::of(evidence, holders()),
        || {
            let each = listed.par_iter().with_max_len(1);
            let made = |settled: &&Settled<'_>| {
                (finding(evidence, &callers, settled, options), grounds(&settled.held))
            };
            each.map(made).collect::<Vec<(Finding, G)>>()
        },
    );
    found.retain(|(finding, _)| finding.confidence >= MIN_CONFIDENCE);
    found.sort_by(|(a, _), (b, _)| {
        // What nothing explains comes last, however long it is.
        let is_rest = |finding: &Finding| finding.id == unexplained::DOC.id;
        // What may be as it is wanted, or is not sure, comes behind what matters, however long it is.
        let answers = |f: &Finding| f.cost > Nanos::ZERO && f.severity > Severity::Low;
        is_rest(a)
            .cmp(&is_rest(b))
            .then(answers(b).cmp(&answers(a)))
            .then(b.cost.cmp(&a.cost))
            .then(b.severity.cmp(&a.severity))
            .then(a.id.cmp(b.id))
            .then_with(|| a.title.cmp(&b.title))
    });
    let (findings, grounds) = found.into_iter().unzip();
    let report = Report {
        findings,
        explained_share: explained.share_of(whole),
        wall: evidence.chain.wall,
        whole,
        parts,
    };
    (report, grounds)
}

/// The claims in their order, but each behind those of the rules that its own rule yields to. That
/// relation has no circles, so that there is always a next one.
fn yielding(claims: Vec<Claim>) -> Vec<Claim> {
    let mut waiting = std::collections::VecDeque::from(claims);
    let mut ordered = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let is_left = |id: &&str| waiting.iter().any(|other| other.rule.id == *id);
        let next = waiting.iter().position(|claim| !claim.rule.yields_to.iter().any(is_left));
        ordered.extend(waiting.remove(next.unwrap_or(0)));
    }
    ordered
}

/// A claim, with the segments that no claim before it took, in order, and their time.
struct Settled<'c> {
    claim: &'c Claim,
    held: Vec<SegmentId>,
    cost: Nanos,
}

/// The segments of a claim that no claim before it took, in order.
fn take(segments: &[SegmentId], taken: &mut [bool]) -> Vec<SegmentId> {
    let mut held = Vec::with_capacity(segments.len());
    let free = |s: &SegmentId| !std::mem::replace(&mut taken[s.index()], true);
    held.extend(segments.iter().copied().filter(free));
    held.sort_unstable();
    held
}

fn finding(
    evidence: &Evidence<'_>,
    callers: &Callers,
    settled: &Settled<'_>,
    options: &Options,
) -> Finding {
    let Settled { claim, ref held, cost } = *settled;
    let whole = evidence.chain.whole;
    let share = cost.share_of(whole);
    let mut facts = claim.evidence.clone();
    facts.extend(explained_elsewhere(evidence, claim, cost));
    if whole > evidence.chain.wall && cost > Nanos::ZERO {
        facts.push(fact("counted thread time, of which this is a share", whole.0 as f64, "ns"));
    }
    facts.extend(sites::who_waited(evidence, held));
    let (claimed, doubts) = doubt::judge(evidence, claim, held);
    facts.extend(doubts);
    // A statement says what was counted: there is nothing to be right or wrong about.
    let as_claimed = options.as_claimed || claim.severity.is_some();
    let (confidence, at_most) = match as_claimed {
        true => (claimed, Severity::High),
        false => hit_rates::judged(claim.rule.id, claimed),
    };
    let naming = Naming::new(evidence, claim, held);
    let caller = callers.of(evidence, claim.rule.id, held);
    let why = joined(claim.rule.why, caller.map_or("", |caller| caller.why));
    Finding {
        id: claim.rule.id,
        title: naming.apply(&title(claim, cost)),
        severity: claim
            .severity
            .unwrap_or_else(|| severity_of(share * claim.saves).min(claim.at_most))
            .min(at_most),
        confidence,
        cost,
        share,
        at: match claim.stacks[..] {
            [] => sites::of(evidence, held, claim.site),
            ref stacks => sites::of_stacks(evidence, stacks),
        },
        evidence: facts,
        why: joined(&why, &naming.apply(&claim.why)),
        fix: fix(evidence, claim, caller, &naming),
        check: with_command(evidence, claim.rule.check),
    }
}

/// Share of a claim's time that other findings must explain for it to be said: a title and the facts below it are
/// rounded to three digits, and nobody adds them up closer than that.
const MIN_ELSEWHERE: f64 = 0.02;

/// How much of the time that a rule's facts are about another finding explains: its cost is only the rest.
fn explained_elsewhere(
    evidence: &Evidence<'_>,
    claim: &Claim,
    cost: Nanos,
) -> Option<culprit_model::Evidence> {
    let claimed = evidence.total(&claim.segments);
    let elsewhere = claimed.saturating_sub(cost);
    (elsewhere.share_of(claimed) >= MIN_ELSEWHERE).then(|| {
        let what = "of the time in these facts, explained by other findings";
        fact(what, elsewhere.0 as f64, "ns")
    })
}

/// A claim's title with what it costs when every segment has gone to one claim.
fn title(claim: &Claim, cost: Nanos) -> String {
    let percent = format!("{:.0} %", cost.share_of(claim.of) * 100.0);
    claim.title.replace(COST, &cost.to_string()).replace(PERCENT, &percent)
}

/// What this recording adds comes first: it is the more specific.
fn joined(rule: &str, here: &str) -> String {
    if here.is_empty() { rule.to_owned() } else { format!("{here} {rule}") }
}

/// As for [`joined`].
pub(crate) fn actions(rule: &[&str], here: &str) -> Vec<String> {
    let here = Some(here).filter(|here| !here.is_empty());
    here.into_iter().chain(rule.iter().copied()).map(str::to_owned).collect()
}

/// The place that commands run in where none is named.
const USUAL_PLACE: &str = "host";

/// How commands of rules begin that record again.
const RECORD: &str = "culprit record ";

/// What stands for the recorded command in them.
const COMMAND: &str = "CMD";

/// The actions of a claim, for who asks for its time, then of its rule, whose commands can be pasted.
fn fix(
    evidence: &Evidence<'_>,
    claim: &Claim,
    caller: Option<&Caller>,
    naming: &Naming,
) -> Vec<String> {
    let here = Some(naming.apply(&claim.fix)).filter(|here| !here.is_empty());
    let of_rule = claim.rule.fix.iter().map(|action| with_command(evidence, action));
    let of_caller = caller.into_iter().flat_map(|c| c.fix.iter().map(|fix| (*fix).to_owned()));
    here.into_iter().chain(of_caller).chain(of_rule).collect()
}

/// A rule's text with the recorded command in place of `CMD`, in the place that it was recorded in.
fn with_command(evidence: &Evidence<'_>, template: &str) -> String {
    let meta = &evidence.recording.meta;
    if meta.command.is_empty() || !template.contains(COMMAND) {
        return template.to_owned();
    }
    let words: Vec<_> = meta.command.iter().map(|word| quoted(word)).collect();
    let in_place = match meta.place.as_str() {
        "" | USUAL_PLACE => template.to_owned(),
        place => template.replace(RECORD, &format!("{RECORD}--place {} ", quoted(place))),
    };
    in_place.replace(COMMAND, &words.join(" "))
}

/// A word as a shell reads it.
fn quoted(word: &str) -> Cow<'_, str> {
    let plain = !word.is_empty()
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c));
    if plain { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")).into() }
}

#[cfg(test)]
mod tests {
    use super::{COST, Claim, Evidence, Options, SegmentId, settle};
    use crate::rules::{hot_function, small_io};
    use crate::scene::{Scene, first};
    use culprit_model::{Cause, Finding};

    fn found_in(place: &str, id: &str, stack: &str) -> Finding {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        scene.run(main, 100, Cause::CpuUser, stack);
        let mut recording = scene.done();
        recording.meta.place = place.to_owned();
        recording.meta.command = vec!["./run".into(), "a b".into()];
        first(&recording, id).expect("found")
    }

    fn check_in(place: &str) -> String {
        found_in(place, "hot-function", "main;work").check
    }

    #[test]
    fn a_claim_that_is_hardly_sure_is_no_finding_and_takes_no_time() {
        let mut scene = Scene::default();
        let main = scene.program("program", None, 0);
        scene.run(main, 100, Cause::CpuUser, "main;work");
        let recording = scene.done();
        let evidence = Evidence::of(&recording, &Options::default());
        let found = |sure: f64| -> Vec<&'static str> {
            let claim = |rule, sure| {
                let all = evidence.segments(|_, _| true);
                Claim::new(rule, format!("takes {COST}"), all).sure(sure)
            };
            let claims = vec![claim(&small_io::DOC, sure), claim(&hot_function::DOC, 0.9)];
            let options = Options { all: true, ..Options::default() };
            let (report, held) = settle(&evidence, claims, &options, <[SegmentId]>::len);
            assert!(held.iter().all(|held| *held > 0), "each finding has what it holds beside it");
            report.findings.iter().map(|finding| finding.id).collect()
        };
        assert_eq!(found(0.05), ["hot-function"]);
        assert_eq!(found(0.5), ["small-io"]);
    }

    #[test]
    fn actions_record_the_same_command_again() {
        let stack = "main;request;libc.so.6!malloc;libc.so.6!_int_malloc";
        for (place, expected) in [
            ("host", "`culprit record --alloc -o allocs.culprit -- ./run 'a b'`"),
            (
                "sandbox",
                "`culprit record --place sandbox --alloc -o allocs.culprit -- ./run 'a b'`",
            ),
        ] {
            let fix = found_in(place, "alloc-churn", stack).fix;
            assert!(fix.iter().any(|action| action.contains(expected)), "{fix:?}");
        }
    }

    #[test]
    fn a_check_runs_in_the_place_of_the_recording() {
        for (place, expected) in [
            ("host", "culprit record -o fixed.culprit -- ./run 'a b';"),
            ("sandbox", "culprit record --place sandbox -o fixed.culprit -- ./run 'a b';"),
            (
                "docker:x,volume=/a b:/c",
                "culprit record --place 'docker:x,volume=/a b:/c' -o fixed.culprit -- ./run 'a b';",
            ),
        ] {
            assert!(check_in(place).starts_with(expected), "{}", check_in(place));
        }
    }
}
