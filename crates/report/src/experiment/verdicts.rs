//! What times tell, in sentences. A command that fails does other work than one that succeeds, so that it has no
//! verdict.

use culprit_experiment::{ArmRuns, MetricRatio, Results, RunMetric, Timed};

use crate::text::{ComparedSides, compared};

/// The verdict in documents where a command failed.
const FAILED: &str = "failed";

/// The verdict of a ratio in documents.
pub(super) fn verdict_id(results: &Results, row: &MetricRatio) -> String {
    results.verdict(row).map_or_else(|| FAILED.to_owned(), |verdict| verdict.to_string())
}

/// Each arm against the baseline, a sentence each.
pub(super) fn verdicts(results: &Results) -> Vec<String> {
    let cpu_time = results.headline == RunMetric::Cpu;
    let median = |arm: &ArmRuns| {
        let metric = |run: &Timed| if cpu_time { run.cpu } else { Some(run.wall) };
        arm.median(metric).unwrap_or_default().to_string()
    };
    let sentence = |row: &MetricRatio| {
        let (here, there) = (results.arms.get(row.arm)?, results.arms.first()?);
        if !results.end_alike(row.arm) {
            return Some(no_verdict(here, there));
        }
        let sides = ComparedSides {
            here: &here.short,
            there: &there.short,
            told: (median(here), median(there)),
            option: "--rounds",
            cpu_time,
        };
        Some(compared(&sides, &row.ratio))
    };
    results.by(results.headline).filter_map(sentence).collect()
}

/// `fails in 5 of 5 runs (exit status 3)`; none where every run succeeds.
pub(super) fn failures(arm: &ArmRuns) -> Option<String> {
    let mut exits: Vec<String> = Vec::new();
    let failed = arm.runs.iter().filter(|run| !run.exit.success());
    let count = failed.clone().count();
    for run in failed {
        let exit = run.exit.to_string();
        if !exits.contains(&exit) {
            exits.push(exit);
        }
    }
    let runs = arm.runs.len();
    (count > 0).then(|| format!("fails in {count} of {runs} runs ({})", exits.join(", ")))
}

/// Why a command has no verdict against another.
fn no_verdict(here: &ArmRuns, there: &ArmRuns) -> String {
    let (this, that) = (&here.short, &there.short);
    match (failures(here), failures(there)) {
        (Some(fails), None) => format!("{this} {fails}: no verdict."),
        (None, Some(fails)) => format!("{that} {fails}: no verdict on {this}."),
        (fails, others) => format!(
            "{this} {} and {that} {}: no verdict.",
            fails.unwrap_or_default(),
            others.unwrap_or_default()
        ),
    }
}
