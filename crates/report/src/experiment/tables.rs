//! Results in other programs' forms: hyperfine's JSON, comma-separated values, a Markdown table.

use std::fmt::Write as _;

use culprit_engine::stats::Summary;
use culprit_experiment::{ArmRuns, Results, nanos};
use serde::Serialize;

use super::verdicts::verdict_id;
use crate::probe::quoted;
use crate::units::number;

/// The document that hyperfine 1.19 writes, times in seconds: programs that read that read this.
#[derive(Debug, Serialize)]
pub struct HyperfineDocument {
    results: Vec<HyperfineResult>,
}

#[derive(Debug, Serialize)]
struct HyperfineResult {
    command: String,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_usage_byte: Option<Vec<u64>>,
    exit_codes: Vec<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<serde_json::Map<String, serde_json::Value>>,
}

/// The results as hyperfine would write them. The control is left out.
#[must_use]
pub fn hyperfine(results: &Results) -> HyperfineDocument {
    HyperfineDocument { results: results.real_arms().filter_map(result).collect() }
}

fn result(arm: &ArmRuns) -> Option<HyperfineResult> {
    let wall = arm.wall?;
    let parameters: serde_json::Map<_, _> =
        arm.parameters.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    Some(HyperfineResult {
        command: arm.label.clone(),
        mean: wall.mean,
        stddev: (wall.count > 1).then_some(wall.deviation),
        median: wall.median,
        user: mean(arm, |arm| arm.values(|run| run.user)),
        system: mean(arm, |arm| arm.values(|run| run.system)),
        min: wall.least,
        max: wall.most,
        times: arm.values(|run| Some(run.wall)),
        memory_usage_byte: arm.runs.iter().map(|run| run.peak_memory_bytes).collect(),
        exit_codes: arm.runs.iter().map(|run| run.exit.shell_code()).collect(),
        parameters: (!parameters.is_empty()).then_some(parameters),
    })
}

/// The mean of values, 0 where there are none: hyperfine knows no missing ones.
fn mean(arm: &ArmRuns, values: impl Fn(&ArmRuns) -> Vec<f64>) -> f64 {
    Summary::of(&values(arm)).map_or(0.0, |summary| summary.mean)
}

/// A line an arm under a line of names: hyperfine's columns first, then the place, what it is against
/// the first, and the parameters. Times are seconds.
#[must_use]
pub fn bench_csv(results: &Results) -> String {
    let mut text = String::from(
        "command,mean,stddev,median,user,system,min,max,place,rounds,ratio,ratio_low,ratio_high,verdict",
    );
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in results.real_arms().flat_map(|arm| &arm.parameters) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for name in &names {
        let _ = write!(text, ",{}", quoted(&format!("parameter_{name}")));
    }
    text.push('\n');
    for (at, arm) in results.real_arms().enumerate() {
        let Some(wall) = arm.wall else { continue };
        let times = [
            wall.mean,
            wall.deviation,
            wall.median,
            mean(arm, |arm| arm.values(|run| run.user)),
            mean(arm, |arm| arm.values(|run| run.system)),
            wall.least,
            wall.most,
        ];
        let times: Vec<String> = times.iter().map(|time| format!("{time:.9}")).collect();
        let _ = write!(
            text,
            "{},{},{},{}",
            quoted(&arm.label),
            times.join(","),
            quoted(&arm.place),
            wall.count
        );
        match results.main(at) {
            Some(row) => {
                let (ratio, interval) = (&row.ratio, &row.ratio.interval);
                let _ = write!(
                    text,
                    ",{:.6},{:.6},{:.6},{}",
                    ratio.value,
                    interval.low,
                    interval.high,
                    verdict_id(results, row)
                );
            }
            None => text.push_str(",,,,"),
        }
        for name in &names {
            let value = arm.parameters.iter().find(|(other, _)| other == name);
            let _ = write!(text, ",{}", value.map_or_else(String::new, |(_, value)| quoted(value)));
        }
        text.push('\n');
    }
    text
}

/// A table to paste.
#[must_use]
pub fn bench_markdown(results: &Results) -> String {
    let mut text = String::from(
        "| Command | Median | Fastest | Slowest | Ratio (95 % interval) | Verdict |\n|:---|---:|---:|---:|---:|:---|\n",
    );
    for (at, arm) in results.real_arms().enumerate() {
        let Some(wall) = arm.wall else { continue };
        let (ratio, verdict) = match results.main(at) {
            Some(row) => {
                let interval = &row.ratio.interval;
                let (low, high) = (number(interval.low), number(interval.high));
                let ratio = format!("{} ({low} to {high})", number(row.ratio.value));
                (ratio, verdict_id(results, row))
            }
            None => ("1".to_owned(), String::new()),
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {ratio} | {verdict} |",
            arm.label.replace('|', "\\|").replace('\n', " "),
            nanos(wall.median),
            nanos(wall.least),
            nanos(wall.most),
        );
    }
    text
}
