//! Whether a case showed what it is there to show.

use std::path::PathBuf;

use culprit_engine::stats::{Ratio, Verdict};
use culprit_findings::FindingChange;
use culprit_model::{Finding, Nanos};
use culprit_report::text::{ComparedSides, compared};

use super::case::Pair;
use super::conduct::Effort;
use crate::bench::{Answer, Metric};
use crate::output::{number, percent};

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
pub(crate) struct Check {
    /// What it is about, a stable word.
    pub(crate) id: &'static str,
    /// Whether it holds.
    pub(crate) held: bool,
    /// What was seen.
    pub(crate) told: String,
}

/// What running a case told.
#[derive(Debug)]
pub(crate) struct Told {
    /// What must hold.
    pub(crate) checks: Vec<Check>,
    /// The findings of the guilty run in the middle, the dearest first.
    pub(crate) findings: Vec<Finding>,
    /// Position of the one that counts as the culprit.
    pub(crate) culprit: Option<usize>,
    /// Fixed against guilty, below 1 when it is faster.
    pub(crate) ratio: Option<Ratio>,
    /// The medians of guilty and fixed.
    pub(crate) medians: (Option<Nanos>, Option<Nanos>),
    /// The share of the difference that the expected finding explains; none of questions.
    pub(crate) explained_share: Option<f64>,
    /// Fixed against guilty in words.
    pub(crate) sentence: Option<String>,
    /// Where the recordings are, if they stay.
    pub(crate) recordings: Option<PathBuf>,
    /// What was asked, and the documents that were answered.
    pub(crate) answers: Vec<(String, serde_json::Value)>,
}

impl Told {
    /// What questions told.
    pub(super) fn of_questions(
        checks: Vec<Check>,
        answers: Vec<(String, serde_json::Value)>,
    ) -> Self {
        Self {
            checks,
            findings: Vec::new(),
            culprit: None,
            ratio: None,
            medians: (None, None),
            explained_share: None,
            sentence: None,
            recordings: None,
            answers,
        }
    }

    /// Whether all of it is what the case expects.
    pub(crate) fn as_expected(&self) -> bool {
        self.checks.iter().all(|check| check.held)
    }
}

/// The guilty variant's arms stand before the fixed one's, the slow place's before the other's.
const FIXED: usize = 1;
const GUILTY_ELSEWHERE: usize = 2;
const FIXED_ELSEWHERE: usize = 3;

/// What was recorded of a variant.
pub(super) struct Recorded {
    /// The findings of the run in the middle.
    pub(super) findings: Vec<Finding>,
    /// The mean run.
    pub(super) wall: Nanos,
}

/// Judges a case by its answer and what was recorded of both variants.
pub(super) fn judge(
    pair: &Pair,
    effort: Effort,
    answer: &Answer,
    guilty: Recorded,
    fixed: &Recorded,
) -> Told {
    let findings = guilty.findings;
    let median = |arm: usize| answer.arms.get(arm)?.median(|run| Some(run.wall));
    let ratio = |arm| answer.by(Metric::Wall).find(|row| row.arm == arm);
    let changes = answer.inside.iter().find(|inside| inside.arm == FIXED);
    let changes = changes.map_or(&[][..], |inside| &inside.changes);
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
            Check {
                id: "explains-the-difference",
                held: explained_share >= EXPLAINED,
                told: format!(
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
        checks.push(Check {
            id: "same-elsewhere",
            held: times.max(1.0 / times) <= within,
            told: format!(
                "fixed takes {here} in the place where guilty is slow, and {there} in the other \
                 place"
            ),
        });
    }
    Told {
        checks,
        culprit,
        ratio: ratio(FIXED).map(|row| row.ratio.clone()),
        medians: (median(0), median(FIXED)),
        explained_share: Some(explained_share),
        sentence: ratio(FIXED).map(|row| sentence(&row.ratio, (median(0), median(FIXED)))),
        recordings: None,
        answers: Vec::new(),
        findings,
    }
}

/// Fixed against guilty in words, by wall time: that is what a case is about.
fn sentence(ratio: &Ratio, (guilty, fixed): (Option<Nanos>, Option<Nanos>)) -> String {
    let told = |wall: Option<Nanos>| wall.unwrap_or_default().to_string();
    let sides = ComparedSides {
        here: "fixed",
        there: "guilty",
        told: (told(fixed), told(guilty)),
        option: "rounds",
        cpu_time: false,
    };
    compared(&sides, ratio)
}

fn first(pair: &Pair, found: Option<&Finding>) -> Check {
    let wanted = &pair.guilty;
    let within = |names: &[String]| match names {
        [] => String::new(),
        names => format!(" in `{}`", names.join("`, `")),
    };
    let expected = format!("{}{}", wanted.finding, within(wanted.function.as_slice()));
    let Some(found) = found else {
        let told = format!("no finding; expected {expected}");
        return Check { id: "first-finding", held: false, told };
    };
    let functions: Vec<String> =
        found.at.iter().take(FUNCTIONS).map(|at| at.function.to_string()).collect();
    let points = wanted
        .function
        .as_ref()
        .is_none_or(|part| functions.iter().any(|function| function.contains(part)));
    let held = found.id == wanted.finding && points;
    let said = format!("{}{}, {}", found.id, within(&functions), percent(found.share));
    let told = if held {
        format!("{expected}, {} of the time", percent(found.share))
    } else {
        format!("{said}; expected {expected}")
    };
    Check { id: "first-finding", held, told }
}

/// What a case is about that explains no time.
fn stated(pair: &Pair, found: Option<&Finding>) -> Check {
    let told = found.map_or_else(
        || format!("no finding; expected {}", pair.guilty.finding),
        |found| format!("{}: {}", found.id, found.title),
    );
    Check { id: "stated", held: found.is_some(), told }
}

fn gone_statement(pair: &Pair, fixed: &[Finding]) -> Check {
    let wanted = pair.guilty.finding.as_str();
    let left = fixed.iter().find(|finding| finding.id == wanted);
    let told = left.map_or_else(
        || format!("{wanted} is not reported for the fixed run"),
        |left| format!("{wanted} is still reported for the fixed run: {}", left.title),
    );
    Check { id: "gone-with-the-fix", held: left.is_none(), told }
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

fn gone(pair: &Pair, changes: &[FindingChange]) -> Check {
    let own = || changes.iter().filter(|change| change.finding.id == pair.guilty.finding);
    let before = Nanos(own().map(|change| change.before.0).sum());
    let after = Nanos(own().map(|change| change.after.0).sum());
    let held = before > Nanos::ZERO && after.share_of(before) <= LEFT;
    let told = format!(
        "{} costs {after} in the fixed run and {before} in the guilty run",
        pair.guilty.finding
    );
    Check { id: "gone-with-the-fix", held, told }
}

fn faster(pair: &Pair, ratio: Option<&Ratio>) -> Check {
    let wanted = pair.fixed.faster_at_least;
    let (held, told) = match ratio {
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
    Check { id: "faster-with-the-fix", held, told }
}

/// The slow place against the other one, where the case says something of it and both were run.
fn place(pair: &Pair, effort: Effort, ratio: Option<&Ratio>) -> Option<Check> {
    let wanted = pair.guilty.slower_at_least.filter(|_| effort == Effort::Full)?;
    let (slow, other) = (pair.places.last()?, pair.places.first()?);
    let (held, told) = ratio.map_or((false, "no round finished".to_owned()), |ratio| {
        let times = 1.0 / ratio.value;
        let told = format!(
            "guilty takes {} times as long in {slow} as in {other} ({} to {}); expected at least \
             {}",
            number(times),
            number(1.0 / ratio.interval.high),
            number(1.0 / ratio.interval.low),
            number(wanted)
        );
        (ratio.verdict == Verdict::Faster && times >= wanted, told)
    });
    Some(Check { id: "slower-in-the-place", held, told })
}
