//! The answer of a probe as text: verdicts in words, medians, what they rest on.

use culprit_engine::stats::{Disturbance, Stop, Verdict};
use culprit_findings::{MOST_MORE_ROUNDS, MeasuredFindings};
use culprit_model::{Unit, clean};
use culprit_probe::{
    Answer, ArmSamples, Better, Gate, Metric, Part, ProbeComparison, Role, Stopped,
};

use crate::layout::{Align, Layout, Table, wrap};
use crate::text::{Detail, findings_text};
use crate::units::{number, percent, signed_duration, unit_value};

/// The whole answer, with what it says about its places.
#[must_use]
pub fn probe_text(answer: &Answer, findings: &MeasuredFindings, layout: &Layout) -> String {
    let paint = layout.paint();
    let mut text = String::new();
    for verdict in verdicts(answer) {
        text.push_str(&paint.strong(wrap(&clean(&verdict), layout.width(), "").trim_end()));
        text.push('\n');
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&table(answer, layout));
    text.push('\n');
    if !findings.causes.is_empty() {
        text.push_str(&findings_text(&findings.causes, Detail::Full, layout));
    }
    for fact in facts(answer) {
        text.push_str(&wrap(&clean(&fact), layout.width(), "  "));
    }
    text
}

/// A sentence for each candidate and verdict, by what is judged: differences first.
pub(super) fn verdicts(answer: &Answer) -> Vec<String> {
    let mut told = Vec::new();
    let baseline = answer.arms.first().map_or("", |arm| arm.arm.label.as_str());
    for (at, arm) in answer.arms.iter().enumerate() {
        if arm.arm.role != Role::Candidate {
            continue;
        }
        let rows: Vec<&ProbeComparison> = answer
            .comparisons
            .iter()
            .filter(|row| row.arm == at && is_told(answer, row.metric))
            .collect();
        let label = &arm.arm.label;
        for (said, words, how) in SAID {
            let rows = rows.iter().filter(|row| Said::of(answer, row) == said);
            let rows: Vec<String> = rows.map(|row| told_row(answer, row)).collect();
            if !rows.is_empty() {
                told.push(format!("{label} {words} {baseline}{how}: {}.", rows.join("; ")));
            }
        }
    }
    told
}

/// What a row is told as: its verdict, and of unclear ones to which side the whole interval lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Verdict(Verdict),
    LikelySlower,
    LikelyFaster,
}

/// Of a range that lies wholly on one side, what keeps it from being a verdict.
const BY_RANGE: &str = " (too few rounds to be certain)";

const SAID: [(Said, &str, &str); 6] = [
    (Said::Verdict(Verdict::Slower), "is slower than", ""),
    (Said::LikelySlower, "seems slower than", BY_RANGE),
    (Said::Verdict(Verdict::Faster), "is faster than", ""),
    (Said::LikelyFaster, "seems faster than", BY_RANGE),
    (Said::Verdict(Verdict::Same), "is the same as", ""),
    (Said::Verdict(Verdict::Unclear), "may differ from", " (unclear)"),
];

impl Said {
    fn of(answer: &Answer, row: &ProbeComparison) -> Self {
        let band = 1.0 + row.bands.different.max(row.bands.same);
        let (above, below) = (row.interval.low > band, row.interval.high < 1.0 / band);
        let more_is_worse = answer.metrics[row.metric].better == Better::Lower;
        match row.verdict {
            Verdict::Unclear if (above && more_is_worse) || (below && !more_is_worse) => {
                Self::LikelySlower
            }
            Verdict::Unclear if above || below => Self::LikelyFaster,
            verdict => Self::Verdict(verdict),
        }
    }
}

/// The verdicts are about headlines; about CPU time where that has taken their place.
fn is_told(answer: &Answer, metric: usize) -> bool {
    let part = answer.metrics[answer.headline].part;
    answer.metrics[metric].part == part && answer.metrics[metric].is_compared()
}

fn told_row(answer: &Answer, row: &ProbeComparison) -> String {
    let metric = &answer.metrics[row.metric];
    let range = format!("{} to {}", number(row.interval.low), number(row.interval.high));
    let times = format!("{} x {} ({range})", metric.name, number(row.value));
    match row.verdict {
        Verdict::Same => {
            format!("{} within {} (x {range})", metric.name, percent(row.bands.same))
        }
        Verdict::Unclear => match row.more_rounds {
            Some(1) => format!("{times}, measure one more round"),
            Some(more) if more <= MOST_MORE_ROUNDS => {
                format!("{times}, measure about {more} more rounds")
            }
            Some(_) => format!("{times}, too noisy for a verdict"),
            None => times,
        },
        Verdict::Slower | Verdict::Faster if metric.unit == Unit::Nanos => {
            let sign = if row.difference >= 0.0 { "+" } else { "-" };
            format!("{times}, {sign}{}", unit_value(metric.unit, row.difference.abs()))
        }
        Verdict::Slower | Verdict::Faster => times,
    }
}

fn table(answer: &Answer, layout: &Layout) -> String {
    let shown: Vec<(usize, &Metric)> = answer
        .metrics
        .iter()
        .enumerate()
        .filter(|(_, metric)| metric.part != Part::Detail)
        .collect();
    // The longer side goes downwards.
    let table = if shown.len() > answer.arms.len() {
        by_metric(answer, &shown)
    } else {
        by_place(answer, &shown)
    };
    table.render(layout.width())
}

fn by_place(answer: &Answer, shown: &[(usize, &Metric)]) -> Table {
    let mut columns = vec![("place", Align::Left)];
    for (_, metric) in shown {
        columns.push((metric.name, Align::Right));
        if metric.better != Better::Neither {
            columns.push(("ratio", Align::Right));
        }
    }
    let mut table = Table::new(&columns).whole();
    for (at, arm) in answer.arms.iter().enumerate() {
        let mut cells = vec![clean(&arm.arm.label).into_owned()];
        for (position, metric) in shown {
            cells.push(value_cell(arm, metric));
            if metric.better != Better::Neither {
                cells.push(ratio_cell(answer, at, arm, *position));
            }
        }
        table.row(cells);
    }
    table
}

fn by_metric(answer: &Answer, shown: &[(usize, &Metric)]) -> Table {
    let mut columns = vec![("", Align::Left)];
    for (at, arm) in answer.arms.iter().enumerate() {
        columns.push((&arm.arm.label, Align::Right));
        if at > 0 {
            columns.push(("ratio", Align::Right));
        }
    }
    let mut table = Table::new(&columns).whole();
    for (position, metric) in shown {
        let mut cells = vec![metric.name.to_owned()];
        for (at, arm) in answer.arms.iter().enumerate() {
            cells.push(value_cell(arm, metric));
            if at > 0 {
                cells.push(ratio_cell(answer, at, arm, *position));
            }
        }
        table.row(cells);
    }
    table
}

fn value_cell(arm: &ArmSamples, metric: &Metric) -> String {
    let median = arm.summary(metric).map(|summary| unit_value(metric.unit, summary.median));
    median.unwrap_or_else(|| "-".to_owned())
}

fn ratio_cell(answer: &Answer, at: usize, arm: &ArmSamples, metric: usize) -> String {
    if let Some(row) = answer.comparison(at, metric) {
        return number(row.value);
    }
    match answer.floor(metric) {
        Some(floor) if arm.arm.role == Role::Again => {
            let turned = answer.metrics[metric].better == Better::Higher;
            number(if turned { 1.0 / floor.ratio.value } else { floor.ratio.value })
        }
        _ => String::new(),
    }
}

/// What the answer rests on, in sentences.
pub(super) fn facts(answer: &Answer) -> Vec<String> {
    let mut facts = vec![rounds_fact(answer)];
    facts.extend(answer.words.iter().map(|words| format!("Work: {words}.")));
    facts.extend(noise_fact(answer));
    facts.extend(latency_facts(answer));
    facts.extend(disturbance_facts(&answer.gate, answer.rounds as usize));
    if answer.metrics[answer.headline].part == Part::CpuTime {
        let rounds = of_rounds(answer.gate.contended.len(), answer.rounds as usize);
        facts.push(format!(
            "Other load disturbed {rounds}. The verdict compares CPU time, which other load hardly \
             changes."
        ));
    }
    for arm in &answer.arms {
        facts.extend(arm.facts.iter().map(|fact| format!("{}: {fact}.", arm.arm.label)));
        facts.extend(arm.problem.iter().map(|problem| format!("{}: {problem}.", arm.arm.label)));
    }
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
    let few = if rounds < 6 {
        " Fewer than 6 rounds give no 95 % interval, so ranges are shown."
    } else {
        ""
    };
    let unit = if rounds == 1 { "round" } else { "rounds" };
    format!("Stopped after {rounds} {unit}: {why}.{few}")
}

fn noise_fact(answer: &Answer) -> Option<String> {
    let floor = answer.floor(answer.headline)?;
    let metric = &answer.metrics[answer.headline];
    let (low, high) = (floor.ratio.interval.low, floor.ratio.interval.high);
    // The floor is of times.
    let turned = metric.better == Better::Higher;
    let (low, high) = if turned { (1.0 / high, 1.0 / low) } else { (low, high) };
    let (name, low, high) = (metric.name, number(low), number(high));
    Some(format!(
        "Noise floor: {name} of identical runs in the first place differs by a ratio of {low} to \
         {high}."
    ))
}

/// The tails, where there are enough values for them.
fn latency_facts(answer: &Answer) -> Vec<String> {
    let mut facts = Vec::new();
    let told = answer.arms.iter().filter(|arm| !arm.arm.role.is_control());
    for arm in told {
        for (what, seen) in arm.latencies() {
            let told = [(0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %")];
            let told: Vec<String> = told
                .into_iter()
                .filter_map(|(q, name)| {
                    let ns = seen.percentile(q)?;
                    Some(format!("{name} within {}", signed_duration(ns as f64)))
                })
                .collect();
            if !told.is_empty() {
                facts.push(format!("{}, {what}: {}.", arm.arm.label, told.join(", ")));
            }
        }
    }
    facts
}

/// `2 of 9 rounds`, `all 9 rounds`, `the only round`.
#[must_use]
pub fn of_rounds(some: usize, all: usize) -> String {
    match (some, all) {
        (_, 1) => "the only round".to_owned(),
        (some, all) if some >= all => format!("all {all} rounds"),
        (some, all) => format!("{some} of {all} rounds"),
    }
}

/// What disturbed the rounds, a sentence each.
#[must_use]
pub fn disturbance_facts(gate: &Gate, all: usize) -> Vec<String> {
    let mut facts = Vec::new();
    for (kind, rounds, share) in &gate.disturbances {
        let what = match kind {
            Disturbance::RunQueue => "ready threads waited for CPUs that other programs used",
            Disturbance::Steal => "the hypervisor took CPU time",
            Disturbance::CpuPressure => "tasks waited for a CPU that other programs used",
            Disturbance::MemoryPressure => "memory was short before the first round",
            Disturbance::IoPressure => "disks were busy before the first round",
        };
        let rounds = match rounds {
            0 => String::new(),
            rounds => format!(" in {}", of_rounds(*rounds, all)),
        };
        facts.push(format!("Noise: {what}{rounds}, up to {} of the time.", percent(*share)));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::of_rounds;

    #[test]
    fn rounds_are_counted_in_plain_words() {
        assert_eq!(of_rounds(1, 1), "the only round");
        assert_eq!(of_rounds(2, 9), "2 of 9 rounds");
        assert_eq!(of_rounds(9, 9), "all 9 rounds");
    }
}
