//! Why a command takes longer in one place than in another: the findings of two sets of runs
//! compared.
//!
//! Each run is summarised on its own, so recordings need not be in memory together. The engine
//! compares wall times and charges the difference to causes and functions; here, each finding gets
//! the time that it costs more in the candidate than in the baseline, and a statement says what
//! the comparison as a whole tells. Costs of one run count once, and the extras of all findings add
//! up to at most the difference.

use std::collections::{BTreeMap, BTreeSet};

use culprit_engine::calls::Patterns;
use culprit_engine::compare::{Difference, Run, RunComparison, compare, compare_sets};
use culprit_engine::own::OwnCode;
use culprit_engine::stats::{Ratio, Verdict};
use culprit_model::{Cause, Evidence as Fact, Finding, Nanos, Recording, Text};

use crate::habits::Habits;
use crate::hit_rates::most_severe;
use crate::mechanism::{Mechanism, mechanisms};
use crate::parts::{Parts, of_row};
use crate::report::{Options, Report, find};
use crate::rule::{RuleDoc, fact};
use crate::rules::{
    cpu_quota_throttling, neighbour_cpu, no_difference, run_queue, slower_in_place, unclear,
};
use crate::settle::{MIN_CONFIDENCE, MIN_SHARE, actions, severity_of};

/// Wall times within this factor of each other, less one, count as the same. Source: equivalence
/// band of paired runs; identical arms of one session differ by up to 4 % in their median.
pub const SAME_BAND: f64 = 0.05;

/// Do not suggest more rounds: noise or a few odd runs would hide the difference anyway.
pub const MOST_MORE_ROUNDS: usize = 50;

/// How sure an interval is from which it counts; that of few rounds is their range.
const SURE: f64 = 0.90;

/// To which side the whole range of an unclear ratio lies, and why that is no verdict; none where it lies
/// on both.
#[must_use]
pub fn leaning(ratio: &Ratio) -> Option<(Verdict, String)> {
    let (low, high) = (ratio.interval.low, ratio.interval.high);
    let side = match ratio.verdict {
        Verdict::Unclear if low > 1.0 => Verdict::Slower,
        Verdict::Unclear if high < 1.0 => Verdict::Faster,
        _ => return None,
    };
    let why = match ratio.rounds {
        1 => "one round is not enough for a 95 % interval".to_owned(),
        rounds if ratio.interval.coverage < SURE => {
            format!("{rounds} rounds are too few for a 95 % interval")
        }
        _ => "identical runs can differ this much".to_owned(),
    };
    Some((side, why))
}

/// One run of the command, as far as a comparison needs it.
#[derive(Debug, Clone)]
pub struct RunSummary {
    run: Run,
    report: Report,
    habits: Habits,
    place: String,
    facts: Vec<(String, String)>,
}

impl RunSummary {
    /// Summarises a recording whose intervals are built; n log n in intervals.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        Self::with_own(recording, &Patterns::default())
    }

    /// The same, with patterns for what counts as the program's own code; without any, as
    /// [`RunSummary::of`].
    #[must_use]
    pub fn with_own(recording: &Recording, own: &Patterns) -> Self {
        let options = Options { all: true, own: own.clone(), ..Options::default() };
        Self {
            run: Run::of(recording, &OwnCode::new(recording, own)),
            report: find(recording, &options),
            habits: Habits::of(recording),
            place: recording.meta.place.clone(),
            facts: recording.meta.place_facts.clone(),
        }
    }

    /// The same, whose place is called otherwise than the recording has it.
    #[must_use]
    pub fn called(self, place: &str) -> Self {
        Self { place: place.to_owned(), ..self }
    }

    /// All findings of the run, also those of little cost.
    pub(crate) fn findings(&self) -> &[Finding] {
        &self.report.findings
    }

    /// Its time by cause.
    pub(crate) fn by_cause(&self) -> BTreeMap<Cause, Nanos> {
        self.run.by_cause()
    }

    /// The wall time of the run.
    pub(crate) fn wall(&self) -> Nanos {
        self.report.wall
    }
}

/// What two sets of runs tell.
#[derive(Debug, Clone, PartialEq)]
pub struct DifferenceReport {
    /// Wall times, their ratio and verdict, and the extra time by cause and function.
    pub comparison: RunComparison,
    /// The statement about the comparison first, then what costs more in the candidate, by the
    /// extra time of a run. When the candidate was not shown to be slower, the costs are those of
    /// the candidate itself.
    pub findings: Vec<Finding>,
    /// How much of the extra time the findings explain, 0 to 1; 0 when the candidate was not
    /// shown to be slower.
    pub explained_share: f64,
    /// The finding that explains most of each row of the comparison, in their order.
    pub tied: Vec<Option<&'static str>>,
    /// What the two places differ in, what can explain most of the extra time first.
    pub mechanisms: Vec<Mechanism>,
}

/// Compares runs in two places; the n-th of one is paired with the n-th of the other. None when
/// either has no run.
#[must_use]
pub fn find_difference(
    baseline: &[RunSummary],
    candidate: &[RunSummary],
    options: &Options,
) -> Option<DifferenceReport> {
    let comparison = compare(&runs(baseline), &runs(candidate), SAME_BAND)?;
    Some(report(baseline, candidate, comparison, options))
}

/// Compares runs with earlier ones, which were not made side by side; there may be other numbers of
/// them. None when either side has no run.
#[must_use]
pub fn find_difference_of_sets(
    baseline: &[RunSummary],
    candidate: &[RunSummary],
    options: &Options,
) -> Option<DifferenceReport> {
    let comparison = compare_sets(&runs(baseline), &runs(candidate), SAME_BAND)?;
    Some(report(baseline, candidate, comparison, options))
}

fn runs(all: &[RunSummary]) -> Vec<Run> {
    all.iter().map(|summary| summary.run.clone()).collect()
}

fn parts_of(all: &[RunSummary]) -> Vec<&Parts> {
    all.iter().map(|summary| &summary.report.parts).collect()
}

fn report(
    baseline: &[RunSummary],
    candidate: &[RunSummary],
    comparison: RunComparison,
    options: &Options,
) -> DifferenceReport {
    let verdict = comparison.ratio.as_ref().map_or(Verdict::Unclear, |r| r.verdict);
    let slower = verdict == Verdict::Slower;
    let costs = costs(baseline, candidate);
    let extra: Nanos = costs.iter().map(Cost::extra).sum();
    // The verdict is that of medians: one odd run moves the means.
    let means = comparison.candidate.saturating_sub(comparison.baseline);
    let whole = means.max(median_wall(candidate).saturating_sub(median_wall(baseline)));
    let explained_share = if slower { extra.share_of(whole).min(1.0) } else { 0.0 };
    let charged = |cost: &Cost<'_>| match slower {
        true => part_of(cost.extra(), extra, whole),
        false => cost.candidate,
    };
    let mut told: Vec<Finding> = costs
        .into_iter()
        .map(|cost| {
            let charged = charged(&cost);
            cost.finding(charged, comparison.candidate, [baseline, candidate])
        })
        .filter(|f| f.cost > Nanos::ZERO && f.confidence >= MIN_CONFIDENCE)
        .filter(|f| options.all || f.share >= MIN_SHARE)
        .collect();
    told.sort_by(|a, b| {
        b.cost.cmp(&a.cost).then(a.id.cmp(b.id)).then_with(|| a.title.cmp(&b.title))
    });
    let mut findings: Vec<Finding> =
        statement(baseline, candidate, &comparison, verdict, explained_share).into_iter().collect();
    findings.append(&mut told);
    findings.extend(limits(candidate));
    let (before, after) = (parts_of(baseline), parts_of(candidate));
    let tie = |row: &Difference| {
        let key = (row.cause, &row.function);
        of_row(key, row.extra_ns, before.iter().copied(), after.iter().copied())
    };
    let tied = comparison.rows.iter().map(tie).collect();
    let facts = |runs: &[RunSummary]| runs.first().map(|run| run.facts.clone()).unwrap_or_default();
    let mechanisms = mechanisms(&facts(baseline), &facts(candidate), &comparison.rows, tie);
    DifferenceReport { comparison, findings, explained_share, tied, mechanisms }
}

/// The same finding in all runs.
struct Cost<'a> {
    baseline: Nanos,
    candidate: Nanos,
    /// It in the candidate's runs; it may stand in one several times.
    found: Vec<&'a Finding>,
    /// How many of the candidate's runs have it, and how many there are.
    in_runs: usize,
    runs: usize,
}

/// A finding is the same in another run when its rule and the place that it points at are.
type Key = (&'static str, Text, Text);

/// Rules about time without a CPU: a thread loses it wherever it happens to be.
const ANYWHERE: [&str; 3] =
    [run_queue::DOC.id, neighbour_cpu::DOC.id, cpu_quota_throttling::DOC.id];

fn key(finding: &Finding) -> Key {
    let place = finding.at.first().filter(|_| !ANYWHERE.contains(&finding.id));
    let (module, function) =
        place.map(|at| (at.module.clone(), at.function.clone())).unwrap_or_default();
    (finding.id, module, function)
}

fn costs<'a>(baseline: &[RunSummary], candidate: &'a [RunSummary]) -> Vec<Cost<'a>> {
    let mut found: BTreeMap<Key, (Vec<&Finding>, BTreeSet<usize>)> = BTreeMap::new();
    for (run, summary) in candidate.iter().enumerate() {
        for finding in summary.report.findings.iter().filter(|f| f.cost > Nanos::ZERO) {
            let (all, runs) = found.entry(key(finding)).or_default();
            all.push(finding);
            runs.insert(run);
        }
    }
    let mut before: BTreeMap<Key, Nanos> = BTreeMap::new();
    for finding in baseline.iter().flat_map(|r| &r.report.findings) {
        *before.entry(key(finding)).or_default() += finding.cost;
    }
    let mean = |sum: Nanos, runs: usize| Nanos(sum.0 / (runs as u64).max(1));
    found
        .into_iter()
        .map(|(key, (found, runs))| Cost {
            baseline: mean(before.get(&key).copied().unwrap_or_default(), baseline.len()),
            candidate: mean(found.iter().map(|f| f.cost).sum(), candidate.len()),
            found,
            in_runs: runs.len(),
            runs: candidate.len(),
        })
        .collect()
}

/// What a finding is charged of the whole difference. Findings may cost more in sum, where other time
/// became shorter; then each is charged its share of the difference. Its facts have its full cost.
fn part_of(extra: Nanos, sum: Nanos, whole: Nanos) -> Nanos {
    if sum <= whole {
        return extra;
    }
    let part = u128::from(extra.0) * u128::from(whole.0) / u128::from(sum.0);
    Nanos(u64::try_from(part).unwrap_or(whole.0))
}

impl Cost<'_> {
    fn extra(&self) -> Nanos {
        self.candidate.saturating_sub(self.baseline)
    }

    /// The finding nearest the mean that has this time in it, so that its title names no less time than
    /// it is charged; else the costliest.
    fn typical(&self, cost: Nanos) -> &Finding {
        let sum: Nanos = self.found.iter().map(|finding| finding.cost).sum();
        let mean = sum.0 / (self.found.len() as u64).max(1);
        let enough = self.found.iter().filter(|finding| finding.cost >= cost);
        let least = enough.min_by_key(|finding| finding.cost.0.abs_diff(mean));
        let most = || self.found.iter().max_by_key(|finding| finding.cost);
        least.or_else(most).expect("a cost has a finding")
    }

    /// The finding of a typical run, charged with this part of the difference.
    fn finding(
        self,
        cost: Nanos,
        wall: Nanos,
        [baseline, candidate]: [&[RunSummary]; 2],
    ) -> Finding {
        let share = cost.share_of(wall);
        let typical = self.typical(cost);
        let mut facts = vec![
            time(format!("cost in a run in {} (mean)", place(candidate)), self.candidate),
            time(format!("cost in a run in {} (mean)", place(baseline)), self.baseline),
            fact(
                format!("runs in {} with this finding", place(candidate)),
                self.in_runs as f64,
                "count",
            ),
        ];
        let instead = baseline.first().and_then(|run| run.habits.instead_of(typical, &run.place));
        let (sentence, instead) = instead.unzip();
        facts.extend(instead);
        facts.extend(typical.evidence.iter().cloned());
        let confidence = typical.confidence * self.in_runs as f64 / self.runs.max(1) as f64;
        Finding {
            cost,
            share,
            severity: severity_of(share).min(most_severe(confidence)),
            confidence,
            evidence: facts,
            why: sentence.map_or_else(String::new, |s| s + " ") + &typical.why,
            ..typical.clone()
        }
    }
}

/// What the place of some runs is called.
fn place(runs: &[RunSummary]) -> &str {
    runs.first().map_or("", |run| run.place.as_str())
}

fn statement(
    baseline: &[RunSummary],
    candidate: &[RunSummary],
    comparison: &RunComparison,
    verdict: Verdict,
    explained: f64,
) -> Option<Finding> {
    let ratio = comparison.ratio.as_ref()?;
    let (here, there) = (&candidate.first()?.place, &baseline.first()?.place);
    let (usual_here, usual_there) = (median_wall(candidate), median_wall(baseline));
    let times = format!("{usual_here} against {usual_there}");
    let (doc, title, share) = said(verdict, ratio, (here, there), &times)?;
    let mut evidence = of_ratio(ratio);
    evidence.push(time(format!("a run in {there} (median)"), usual_there));
    evidence.push(time(format!("a run in {here} (median)"), usual_here));
    if verdict == Verdict::Slower {
        evidence.push(fact("share of the extra time that findings explain", explained, "share"));
    }
    let more = ratio.more_rounds.filter(|_| verdict == Verdict::Unclear);
    let fix = match more {
        None => String::new(),
        Some(n) if n <= MOST_MORE_ROUNDS => format!("Measure about {n} more rounds."),
        Some(_) => "Do not add rounds: noise would hide the difference anyway.".to_owned(),
    };
    Some(Finding {
        id: doc.id,
        title,
        severity: severity_of(share),
        confidence: ratio.interval.coverage,
        cost: Nanos::ZERO,
        share: 0.0,
        at: Vec::new(),
        evidence,
        why: doc.why.to_owned(),
        fix: actions(doc.fix, &fix),
        check: doc.check.to_owned(),
    })
}

/// The rule, the title and the severity's share of a verdict; none where the place is faster. `times` are those
/// of both places.
fn said(
    verdict: Verdict,
    ratio: &Ratio,
    (here, there): (&str, &str),
    times: &str,
) -> Option<(&'static RuleDoc, String, f64)> {
    let range = format!(
        "{:.2} to {:.2} over {} rounds",
        ratio.interval.low, ratio.interval.high, ratio.rounds
    );
    Some(match verdict {
        Verdict::Slower => (
            &slower_in_place::DOC,
            format!("{here} takes {:.2} times as long as {there} ({range}): {times}", ratio.value),
            1.0 - 1.0 / ratio.value,
        ),
        Verdict::Same => (
            &no_difference::DOC,
            format!(
                "{here} and {there} take the same time within {:.0} % ({range}): {times}",
                SAME_BAND * 100.0
            ),
            0.0,
        ),
        Verdict::Unclear => {
            let title = match leaning(ratio) {
                Some((side, why)) => {
                    format!("{here} seems {side} than {there} ({range}), but {why}: {times}")
                }
                None => {
                    format!(
                        "The runs do not show whether {here} and {there} differ ({range}): {times}"
                    )
                }
            };
            (&unclear::DOC, title, 0.0)
        }
        Verdict::Faster => return None,
    })
}

/// The wall time of the run in the middle.
fn median_wall(runs: &[RunSummary]) -> Nanos {
    let mut walls: Vec<_> = runs.iter().map(|r| r.report.wall).collect();
    walls.sort_unstable();
    let (low, high) = (walls[(walls.len() - 1) / 2], walls[walls.len() / 2]);
    Nanos(low.0.midpoint(high.0))
}

fn of_ratio(ratio: &Ratio) -> Vec<Fact> {
    vec![
        fact("ratio of wall times (median of the rounds)", ratio.value, "ratio"),
        fact("lower bound of this ratio", ratio.interval.low, "ratio"),
        fact("upper bound of this ratio", ratio.interval.high, "ratio"),
        fact("probability that the bounds hold", ratio.interval.coverage, "share"),
        fact("rounds", ratio.rounds as f64, "count"),
    ]
}

/// What limits the evidence of the candidate's runs, each kind once.
fn limits(candidate: &[RunSummary]) -> Vec<Finding> {
    let mut seen = BTreeMap::new();
    for finding in candidate.iter().flat_map(|r| &r.report.findings) {
        if finding.cost == Nanos::ZERO {
            seen.entry(finding.id).or_insert_with(|| finding.clone());
        }
    }
    seen.into_values().collect()
}

fn time(what: impl Into<Text>, length: Nanos) -> Fact {
    fact(what, length.0 as f64, "ns")
}

#[cfg(test)]
mod tests;
