//! The answers of `bench cmd` and `verify` as text.

use culprit_engine::stats::{Stop, percentile};
use culprit_findings::{Change, FindingChange};
use culprit_model::Nanos;
use culprit_report::probe::{disturbance_facts, of_rounds};
use culprit_report::text::{Detail, findings_text};

use crate::bench::{Answer, ArmRuns, Inside, Metric, Stopped, bands_of};
use crate::output::{Align, Output, Table, bytes, clean, number, percent, wrap};

/// Findings that the answer shows of each arm; the JSON has all.
const MOST_FINDINGS: usize = 5;
/// Below this a shell's own start is a large part of a run.
const SHELL_MATTERS: Nanos = Nanos(5_000_000);

/// The answer of `bench cmd`: verdicts, commands, what it rests on, what differs inside.
pub(crate) fn bench_text(answer: &Answer, output: &Output) -> String {
    let mut text = measured_text(answer, output);
    for inside in &answer.inside {
        text.push_str(&inside_text(answer, inside, output));
    }
    text.push_str(&recordings_text(answer, output));
    text
}

/// The answer of `verify`: the verdict, what it rests on, which findings went away and which came.
pub(crate) fn verify_text(answer: &Answer, output: &Output) -> String {
    let mut text = measured_text(answer, output);
    for inside in &answer.inside {
        text.push_str(&format!("\n{}\n", output.paint().heading("Findings")));
        text.push_str(&changes_text(&inside.changes, output));
    }
    text.push_str(&recordings_text(answer, output));
    text
}

fn measured_text(answer: &Answer, output: &Output) -> String {
    let paint = output.paint();
    let mut text = String::new();
    for verdict in answer.verdicts() {
        text.push_str(&paint.strong(wrap(&clean(&verdict), output.width(), "").trim_end()));
        text.push('\n');
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&arms_text(answer, output));
    text.push('\n');
    for fact in facts(answer) {
        text.push_str(&wrap(&clean(&fact), output.width(), "  "));
    }
    text
}

fn arms_text(answer: &Answer, output: &Output) -> String {
    let names = ["ratio", "median", "fastest", "slowest", "CPU", "user", "system", "peak memory"];
    let mut columns = vec![("command", Align::Left)];
    columns.extend(names.map(|name| (name, Align::Right)));
    let mut table = Table::new(&columns);
    for (at, arm) in answer.arms.iter().enumerate() {
        let compared = answer.main(at).filter(|_| answer.end_alike(at));
        let ratio = compared.map_or_else(String::new, |row| number(row.ratio.value));
        let ratio = match answer.floor(answer.headline) {
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
    table.render(output.width())
}

fn shown(time: Option<Nanos>) -> String {
    time.map_or_else(|| "-".to_owned(), |time| time.to_string())
}

/// What the answer rests on, a line each.
fn facts(answer: &Answer) -> Vec<String> {
    let mut facts = vec![rounds_fact(answer)];
    facts.extend(noise_fact(answer));
    facts.extend(other_metrics(answer));
    facts.extend(answer.real_arms().filter_map(outliers_fact));
    facts.extend(answer.real_arms().filter_map(percentiles_fact));
    facts.extend(gate_facts(answer));
    facts.extend(failures_facts(answer));
    facts.extend(hints(answer));
    facts
}

fn rounds_fact(answer: &Answer) -> String {
    let why = match answer.stopped {
        Stopped::By(Stop::Precise) => "every interval is narrow enough",
        Stopped::By(Stop::Rounds) => "this is the maximum (`--rounds`, `--max`)",
        Stopped::By(Stop::Time) => "the time is up (`--budget`)",
        Stopped::Interrupted => "interrupted",
        Stopped::Failed => "a place failed",
    };
    let rounds = answer.rounds;
    format!("Stopped after {rounds} {}: {why}.", if rounds == 1 { "round" } else { "rounds" })
}

fn noise_fact(answer: &Answer) -> Option<String> {
    let floor = answer.floor(answer.headline)?;
    let bands = bands_of(answer, answer.headline);
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
fn other_metrics(answer: &Answer) -> Vec<String> {
    use culprit_engine::stats::Verdict::{Faster, Slower};
    let told = |metric: Metric| match metric {
        Metric::Wall => "wall time",
        Metric::Cpu => "CPU time",
        Metric::Memory => "peak memory",
    };
    let others = answer.comparisons.iter().filter(|row| row.metric != answer.headline);
    others
        .filter(|row| matches!(answer.verdict(row), Some(Slower | Faster)))
        .filter_map(|row| {
            let (here, there) = (answer.arms.get(row.arm)?, answer.arms.first()?);
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
        Some(format!("{name} within {}", crate::bench::nanos(value)))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("Runs of {}: {}.", arm.short, told.join(", ")))
}

fn gate_facts(answer: &Answer) -> Vec<String> {
    let mut facts = disturbance_facts(&answer.gate, answer.rounds);
    let contended = answer.gate.contended.len();
    if answer.headline == Metric::Cpu {
        facts.push(format!(
            "Other load disturbed {}. The commands mostly compute, so the verdict compares CPU time, \
             which other load hardly changes.",
            of_rounds(contended, answer.rounds)
        ));
    }
    facts
}

/// What is no verdict already.
fn failures_facts(answer: &Answer) -> Vec<String> {
    let told = answer.verdicts().join(" ");
    let facts = answer.arms.iter().filter_map(failures_fact);
    facts.filter(|fact| !told.contains(fact.trim_end_matches('.'))).collect()
}

fn failures_fact(arm: &ArmRuns) -> Option<String> {
    if let Some(problem) = &arm.problem {
        return Some(format!("{}: {problem}", arm.short));
    }
    Some(format!("{} {}.", arm.short, arm.failures()?))
}

fn hints(answer: &Answer) -> Vec<String> {
    let mut hints = Vec::new();
    let short = |arm: &ArmRuns| arm.median(|run| Some(run.wall)).is_some_and(|m| m < SHELL_MATTERS);
    if let Some(shell) = &answer.shell
        && answer.arms.iter().any(short)
    {
        hints.push(format!(
            "Every run includes the start of `{shell}`. `-N` runs the commands without a shell."
        ));
    }
    if answer.starts_containers {
        hints.push("Every run in a new container includes the container's start.".to_owned());
    }
    hints
}

fn inside_text(answer: &Answer, inside: &Inside, output: &Output) -> String {
    let paint = output.paint();
    let label = answer.arms.get(inside.arm).map_or("", |arm| arm.label.as_str());
    let told = "recorded in separate rounds";
    let mut text = format!(
        "\n{}  {}\n",
        paint.heading(&format!("Inside {}", clean(label))),
        paint.faint(told)
    );
    let findings = &inside.report.findings;
    let shown = findings.len().min(MOST_FINDINGS);
    text.push_str(&findings_text(&findings[..shown], Detail::Culprit, output.layout()));
    text
}

fn recordings_text(answer: &Answer, output: &Output) -> String {
    let Some(folder) = &answer.folder else { return String::new() };
    output.paint().faint(&format!("\nRecordings: {}\n", folder.display()))
}

/// Which findings went away, which came, and which stayed.
fn changes_text(changes: &[FindingChange], output: &Output) -> String {
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
        text.push_str(&wrap(&clean(&line), output.width(), "  "));
    }
    text
}
