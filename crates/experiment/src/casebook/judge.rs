//! Whether a case showed what it is there to show.

use std::path::PathBuf;

use culprit_engine::stats::{Ratio, Verdict};
use culprit_findings::FindingChange;
use culprit_model::values::{number, percent};
use culprit_model::{Finding, Nanos};

use super::case::Pair;
use super::run::Effort;
use crate::results::{Results, RunMetric};

/// The finding must explain this share of the time that guilty takes longer than fixed. With less,
/// something else is as much the reason.
const EXPLAINED: f64 = 0.7;
/// With the fix the finding may cost this share of what it cost before: a loop that ran a thousand
/// times may still run once.
const LEFT: f64 = 0.1;
/// The functions of a finding that count as where it points.
const FUNCTIONS: usize = 3;
/// Added to every program by a busy machine: never what a case is about, unless it says so.
const NOISE: &str = "run-queue";

/// One thing that must hold.
#[derive(Debug)]
pub struct CaseCheck {
    /// What it is about, a stable word.
    pub id: &'static str,
    /// Whether it holds.
    pub held: bool,
    /// What was seen.
    pub seen: String,
}

/// What running a case shows.
#[derive(Debug)]
pub struct CaseResult {
    /// What must hold.
    pub checks: Vec<CaseCheck>,
    /// The findings of the guilty run in the middle, the dearest first.
    pub findings: Vec<Finding>,
    /// Position of the one that counts as the culprit.
    pub culprit: Option<usize>,
    /// Fixed against guilty, below 1 when it is faster.
    pub ratio: Option<Ratio>,
    /// The medians of guilty and fixed.
    pub medians: (Option<Nanos>, Option<Nanos>),
    /// The share of the difference that the expected finding explains; none of questions.
    pub explained_share: Option<f64>,
    /// Where the recordings are, if they stay.
    pub recordings: Option<PathBuf>,
    /// What was asked, and the documents that were answered.
    pub answers: Vec<(String, serde_json::Value)>,
}

impl CaseResult {
    /// What questions show.
    pub(super) fn of_questions(
        checks: Vec<CaseCheck>,
        answers: Vec<(String, serde_json::Value)>,
    ) -> Self {
        Self {
            checks,
            findings: Vec::new(),
            culprit: None,
            ratio: None,
            medians: (None, None),
            explained_share: None,
            recordings: None,
            answers,
        }
    }

    /// Whether all of it is what the case expects.
    #[must_use]
    pub fn as_expected(&self) -> bool {
        self.checks.iter().all(|check| check.held)
    }
}

/// The guilty variant's arms stand before the fixed one's, the slow place's before the other's.
const FIXED: usize = 1;
const GUILTY_ELSEWHERE: usize = 2;
const FIXED_ELSEWHERE: usize = 3;

/// What was recorded of a variant.
pub(super) struct RecordedVariant {
    /// The findings of the run in the middle.
    pub(super) findings: Vec<Finding>,
    /// The mean run.
    pub(super) wall: Nanos,
}

/// Judges a case by its results and what was recorded of both variants.
pub(super) fn judge(
    pair: &Pair,
    effort: Effort,
    results: &Results,
    guilty: RecordedVariant,
    fixed: &RecordedVariant,
) -> CaseResult {
    let findings = guilty.findings;
    let median = |arm: usize| results.arms.get(arm)?.median(|run| Some(run.wall));
    let ratio = |arm| results.by(RunMetric::Wall).find(|row| row.arm == arm);
    let inside = results.inside.iter().find(|(arm, _)| *arm == FIXED);
    let changes = inside.map_or(&[][..], |(_, fixed)| &fixed.changes);
    let explained_share =
        explained(&pair.guilty.finding, changes, guilty.wall.saturating_sub(fixed.wall));
    let counts = |finding: &Finding| {
        finding.cost > Nanos::ZERO && (finding.id != NOISE || pair.guilty.finding == NOISE)
    };
    let culprit = match pair.states() {
        true => findings.iter().position(|finding| finding.id == pair.guilty.finding),
        false => findings.iter().position(counts),
    };
    let found = culprit.map(|at| &findings[at]);
    let mut checks = if pair.states() {
        vec![stated(pair, found), gone_statement(pair, &fixed.findings)]
    } else {
        vec![
            first(pair, found),
            CaseCheck {
                id: "explains-the-difference",
                held: explained_share >= EXPLAINED,
                seen: format!(
                    "{} of the difference between guilty and fixed",
                    percent(explained_share)
                ),
            },
            gone(pair, changes),
            faster(pair, ratio(FIXED).map(|row| &row.ratio)),
        ]
    };
    checks.extend(place(pair, effort, ratio(GUILTY_ELSEWHERE).map(|row| &row.ratio)));
    let elsewhere = || Some((median(FIXED)?, median(FIXED_ELSEWHERE)?));
    if let Some((within, (here, there))) = pair.fixed.same_within.zip(elsewhere()) {
        let times = here.share_of(there);
        checks.push(CaseCheck {
            id: "same-elsewhere",
            held: times.max(1.0 / times) <= within,
            seen: format!(
                "fixed takes {here} in the place where guilty is slow, and {there} in the other \
                 place"
            ),
        });
    }
    CaseResult {
        checks,
        culprit,
        ratio: ratio(FIXED).map(|row| row.ratio.clone()),
        medians: (median(0), median(FIXED)),
        explained_share: Some(explained_share),
        recordings: None,
        answers: Vec::new(),
        findings,
    }
}

fn first(pair: &Pair, found: Option<&Finding>) -> CaseCheck {
    let wanted = &pair.guilty;
    let within = |names: &[String]| match names {
        [] => String::new(),
        names => format!(" in `{}`", names.join("`, `")),
    };
    let expected = format!("{}{}", wanted.finding, within(wanted.function.as_slice()));
    let Some(found) = found else {
        let seen = format!("no finding; expected {expected}");
        return CaseCheck { id: "first-finding", held: false, seen };
    };
    let functions: Vec<String> =
        found.at.iter().take(FUNCTIONS).map(|at| at.function.to_string()).collect();
    let points = wanted
        .function
        .as_ref()
        .is_none_or(|part| functions.iter().any(|function| function.contains(part)));
    let held = found.id == wanted.finding && points;
    let said = format!("{}{}, {}", found.id, within(&functions), percent(found.share));
    let seen = if held {
        format!("{expected}, {} of the time", percent(found.share))
    } else {
        format!("{said}; expected {expected}")
    };
    CaseCheck { id: "first-finding", held, seen }
}

/// What a case is about that explains no time.
fn stated(pair: &Pair, found: Option<&Finding>) -> CaseCheck {
    let seen = found.map_or_else(
        || format!("no finding; expected {}", pair.guilty.finding),
        |found| format!("{}: {}", found.id, found.title),
    );
    CaseCheck { id: "stated", held: found.is_some(), seen }
}

fn gone_statement(pair: &Pair, fixed: &[Finding]) -> CaseCheck {
    let wanted = pair.guilty.finding.as_str();
    let left = fixed.iter().find(|finding| finding.id == wanted);
    let seen = left.map_or_else(
        || format!("{wanted} is not reported for the fixed run"),
        |left| format!("{wanted} is still reported for the fixed run: {}", left.title),
    );
    CaseCheck { id: "gone-with-the-fix", held: left.is_none(), seen }
}

/// The share of the difference that the changes of a finding make up; what other programs add to one
/// side is no part of the difference.
fn explained(finding: &str, changes: &[FindingChange], difference: Nanos) -> f64 {
    let less = |id: &str| {
        let own = changes.iter().filter(|change| change.finding.id == id);
        Nanos(own.map(|change| change.before.saturating_sub(change.after).0).sum())
    };
    let noise = if finding == NOISE { Nanos::ZERO } else { less(NOISE) };
    let difference = difference.saturating_sub(noise);
    if difference == Nanos::ZERO { 0.0 } else { less(finding).share_of(difference).min(1.0) }
}

fn gone(pair: &Pair, changes: &[FindingChange]) -> CaseCheck {
    let own = || changes.iter().filter(|change| change.finding.id == pair.guilty.finding);
    let before = Nanos(own().map(|change| change.before.0).sum());
    let after = Nanos(own().map(|change| change.after.0).sum());
    let held = before > Nanos::ZERO && after.share_of(before) <= LEFT;
    let seen = format!(
        "{} costs {after} in the fixed run and {before} in the guilty run",
        pair.guilty.finding
    );
    CaseCheck { id: "gone-with-the-fix", held, seen }
}

fn faster(pair: &Pair, ratio: Option<&Ratio>) -> CaseCheck {
    let wanted = pair.fixed.faster_at_least;
    let (held, seen) = match ratio {
        None => (false, "no round finished".to_owned()),
        Some(ratio) => (
            ratio.verdict == Verdict::Faster && 1.0 / ratio.value >= wanted,
            format!(
                "{} times as fast ({} to {} over {} rounds); expected at least {}",
                number(1.0 / ratio.value),
                number(1.0 / ratio.interval.high),
                number(1.0 / ratio.interval.low),
                ratio.rounds,
                number(wanted)
            ),
        ),
    };
    CaseCheck { id: "faster-with-the-fix", held, seen }
}

/// The slow place against the other one, where the case says something of it and both were run.
fn place(pair: &Pair, effort: Effort, ratio: Option<&Ratio>) -> Option<CaseCheck> {
    let wanted = pair.guilty.slower_at_least.filter(|_| effort == Effort::Full)?;
    let (slow, other) = (pair.places.last()?, pair.places.first()?);
    let (held, seen) = ratio.map_or((false, "no round finished".to_owned()), |ratio| {
        let times = 1.0 / ratio.value;
        let seen = format!(
            "guilty takes {} times as long in {slow} as in {other} ({} to {}); expected at least \
             {}",
            number(times),
            number(1.0 / ratio.interval.high),
            number(1.0 / ratio.interval.low),
            number(wanted)
        );
        (ratio.verdict == Verdict::Faster && times >= wanted, seen)
    });
    Some(CaseCheck { id: "slower-in-the-place", held, seen })
}
