//! The results of `bench cmd` and `verify` as text.

use culprit_engine::stats::{Stop, percentile};
use culprit_experiment::{ArmRuns, Comparison, Results, RunMetric, nanos};
use culprit_findings::{Change, FindingChange};
use culprit_model::{Nanos, clean};
use culprit_probe::Stopped;

use super::verdicts::{failures, verdicts};
use crate::layout::{Align, Layout, Table, wrap};
use crate::probe::{disturbance_facts, of_rounds};
use crate::text::{Detail, findings_text};
use crate::units::{bytes, number, percent};

/// Findings that the answer shows of each arm; the JSON has all.
const MOST_FINDINGS: usize = 5;
/// Below this a shell's own start is a large part of a run.
const SHELL_MATTERS: Nanos = Nanos(5_000_000);

/// The results of `bench cmd`: verdicts, commands, what it rests on, what differs inside.
pub fn bench_text(results: &Results, layout: &Layout) -> String {
    let mut text = measured_text(results, layout);
    for (_, inside) in &results.inside {
        text.push_str(&inside_text(inside, layout));
    }
    text.push_str(&recordings_text(results, layout));
    text
}

/// The results of `verify`: the verdict, what it rests on, which findings went away and which came.
pub fn verify_text(results: &Results, layout: &Layout) -> String {
    let mut text = measured_text(results, layout);
    for (_, inside) in &results.inside {
        text.push_str(&format!("\n{}\n", layout.paint().heading("Findings")));
        text.push_str(&changes_text(&inside.changes, layout));
    }
    text.push_str(&recordings_text(results, layout));
    text
}

fn measured_text(results: &Results, layout: &Layout) -> String {
    let paint = layout.paint();
    let mut text = String::new();
    for verdict in verdicts(results) {
        text.push_str(&paint.strong(wrap(&clean(&verdict), layout.width(), "").trim_end()));
        text.push('\n');
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&arms_text(results, layout));
    text.push('\n');
    for fact in facts(results) {
        text.push_str(&wrap(&clean(&fact), layout.width(), "  "));
    }
    text
}

fn arms_text(results: &Results, layout: &Layout) -> String {
    let names = ["ratio", "median", "fastest", "slowest", "CPU", "user", "system", "peak memory"];
    let mut columns = vec![("command", Align::Left)];
    columns.extend(names.map(|name| (name, Align::Right)));
    let mut table = Table::new(&columns);
    for (at, arm) in results.arms.iter().enumerate() {
        let compared = results.main(at).filter(|_| results.end_alike(at));
        let ratio = compared.map_or_else(String::new, |row| number(row.ratio.value));
        let ratio = match results.floor(results.headline) {
            Some(floor) if arm.control => number(floor.ratio.value),
            _ => ratio,
        };
        let extreme = |of: Option<Nanos>| shown(of);
        table.row([
            clean(&arm.label).into_owned(),
            ratio,
            shown(arm.median(|run| Some(run.wall))),
            extreme(arm.runs.iter().map(|run| run.wall).min()),
            extreme(arm.runs.iter().map(|run| run.wall).max()),
            shown(arm.median(|run| run.cpu)),
            shown(arm.median(|run| run.user)),
            shown(arm.median(|run| run.system)),
            arm.peak_memory_bytes().map_or_else(|| "-".to_owned(), |peak| bytes(peak as f64)),
        ]);
    }
    table.render(layout.width())
}

fn shown(time: Option<Nanos>) -> String {
    time.map_or_else(|| "-".to_owned(), |time| time.to_string())
}

/// What the answer rests on, a line each.
fn facts(results: &Results) -> Vec<String> {
    let mut facts = vec![rounds_fact(results)];
    facts.extend(noise_fact(results));
    facts.extend(other_metrics(results));
    facts.extend(results.real_arms().filter_map(outliers_fact));
    facts.extend(results.real_arms().filter_map(percentiles_fact));
    facts.extend(gate_facts(results));
    facts.extend(failures_facts(results));
    facts.extend(hints(results));
    facts
}

fn rounds_fact(results: &Results) -> String {
    let why = match results.stopped {
        Stopped::By(Stop::Precise) => "every interval is narrow enough",
        Stopped::By(Stop::Rounds) => "this is the maximum (`--rounds`, `--max`)",
        Stopped::By(Stop::Time) => "the time is up (`--budget`)",
        Stopped::Interrupted => "interrupted",
        Stopped::Failed => "a place failed",
    };
    let rounds = results.rounds;
    format!("Stopped after {rounds} {}: {why}.", if rounds == 1 { "round" } else { "rounds" })
}

fn noise_fact(results: &Results) -> Option<String> {
    let floor = results.floor(results.headline)?;
    let bands = results.bands(results.headline);
    let (low, high) = (number(floor.ratio.interval.low), number(floor.ratio.interval.high));
    let mut fact = format!(
        "Noise floor: identical runs of the first command differ by a ratio of {low} to {high}."
    );
    if bands.different > bands.same {
        fact.push_str(&format!(" So only a difference above {} counts.", percent(bands.different)));
    }
    Some(fact)
}

/// What the metrics beside the headline say, where they say something.
fn other_metrics(results: &Results) -> Vec<String> {
    use culprit_engine::stats::Verdict::{Faster, Slower};
    let told = |metric: RunMetric| match metric {
        RunMetric::Wall => "wall time",
        RunMetric::Cpu => "CPU time",
        RunMetric::Memory => "peak memory",
    };
    let others = results.ratios.iter().filter(|row| row.metric != results.headline);
    others
        .filter(|row| matches!(results.verdict(row), Some(Slower | Faster)))
        .filter_map(|row| {
            let (here, there) = (results.arms.get(row.arm)?, results.arms.first()?);
            let interval = &row.ratio.interval;
            Some(format!(
                "{} of {} is {} times that of {} ({} to {}).",
                told(row.metric),
                here.short,
                number(row.ratio.value),
                there.short,
                number(interval.low),
                number(interval.high)
            ))
        })
        .map(|line| line[..1].to_uppercase() + &line[1..])
        .collect()
}

fn outliers_fact(arm: &ArmRuns) -> Option<String> {
    let outliers = &arm.outliers;
    let mut parts = Vec::new();
    if outliers.count() > 0 {
        let far = if outliers.far > 0 {
            format!(", {} of them very far", outliers.far)
        } else {
            String::new()
        };
        parts.push(format!(
            "{} of {} runs are far from the others{far}",
            outliers.count(),
            arm.runs.len()
        ));
    }
    if outliers.first {
        parts.push(
            "the first run is slower than the others (add `--warmup` or `--prepare`)".to_owned(),
        );
    }
    (!parts.is_empty())
        .then(|| format!("Outliers of {}: {}. All runs are counted.", arm.short, parts.join("; ")))
}

fn percentiles_fact(arm: &ArmRuns) -> Option<String> {
    let walls = arm.values(|run| Some(run.wall));
    let told = [(0.9, "90 %"), (0.99, "99 %")].into_iter().filter_map(|(q, name)| {
        let value = percentile(&walls, q)?;
        Some(format!("{name} within {}", nanos(value)))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("Runs of {}: {}.", arm.short, told.join(", ")))
}

fn gate_facts(results: &Results) -> Vec<String> {
    let mut facts = disturbance_facts(&results.gate, results.rounds);
    let contended = results.gate.contended.len();
    if results.headline == RunMetric::Cpu {
        facts.push(format!(
            "Other load disturbed {}. The commands mostly compute, so the verdict compares CPU time, \
             which other load hardly changes.",
            of_rounds(contended, results.rounds)
        ));
    }
    facts
}

/// What is no verdict already.
fn failures_facts(results: &Results) -> Vec<String> {
    let told = verdicts(results).join(" ");
    let facts = results.arms.iter().filter_map(failures_fact);
    facts.filter(|fact| !told.contains(fact.trim_end_matches('.'))).collect()
}

fn failures_fact(arm: &ArmRuns) -> Option<String> {
    if let Some(problem) = &arm.problem {
        return Some(format!("{}: {problem}", arm.short));
    }
    Some(format!("{} {}.", arm.short, failures(arm)?))
}

fn hints(results: &Results) -> Vec<String> {
    let mut hints = Vec::new();
    let short = |arm: &ArmRuns| arm.median(|run| Some(run.wall)).is_some_and(|m| m < SHELL_MATTERS);
    if let Some(shell) = &results.shell
        && results.arms.iter().any(short)
    {
        hints.push(format!(
            "Every run includes the start of `{shell}`. `-N` runs the commands without a shell."
        ));
    }
    if results.starts_containers {
        hints.push("Every run in a new container includes the container's start.".to_owned());
    }
    hints
}

fn inside_text(inside: &Comparison, layout: &Layout) -> String {
    let paint = layout.paint();
    let label = &inside.label;
    let told = "recorded in separate rounds";
    let mut text = format!(
        "\n{}  {}\n",
        paint.heading(&format!("Inside {}", clean(label))),
        paint.faint(told)
    );
    let findings = &inside.report.findings;
    let shown = findings.len().min(MOST_FINDINGS);
    text.push_str(&findings_text(&findings[..shown], Detail::Culprit, layout));
    text
}

fn recordings_text(results: &Results, layout: &Layout) -> String {
    let Some(folder) = &results.folder else { return String::new() };
    layout.paint().faint(&format!("\nRecordings: {}\n", folder.display()))
}

/// Which findings went away, which came, and which stayed.
fn changes_text(changes: &[FindingChange], layout: &Layout) -> String {
    if changes.is_empty() {
        return "No finding explains more than 1 % of the time, before or after.\n".to_owned();
    }
    let mut text = String::new();
    for change in changes {
        let (before, after) = (change.before, change.after);
        let cost = match change.change {
            Change::Gone => format!("it cost {before} a run"),
            Change::Came => format!("it costs {after} a run"),
            Change::Shrank | Change::Grew => {
                let by = before.0.abs_diff(after.0);
                let by = percent(Nanos(by).share_of(before));
                format!("by {by}: {before} a run before, {after} after")
            }
            Change::Stayed => format!("no certain change: {before} a run before, {after} after"),
        };
        let line = format!(
            "{:<6}  {} · {cost}: {}",
            change.change.word(),
            change.finding.id,
            change.finding.title
        );
        text.push_str(&wrap(&clean(&line), layout.width(), "  "));
    }
    text
}
