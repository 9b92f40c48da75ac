//! A probe's results as tables for other programs: comma-separated values and Markdown.

use std::fmt::Write as _;

use culprit_probe::{Answer, Metric, Part};

use crate::units::number;
use crate::units::unit_value;

/// A line a value: place, arm, role, round, metric, value, unit.
#[must_use]
pub fn csv(answer: &Answer) -> String {
    let mut text = String::from("probe,place,arm,role,round,metric,value,unit\n");
    for arm in &answer.arms {
        for (round, sample) in (1..).zip(&arm.samples) {
            for metric in &answer.metrics {
                let value = sample.as_ref().and_then(|sample| sample.values.get(metric.id));
                if let Some(value) = value {
                    let _ = writeln!(
                        text,
                        "{},{},{},{},{round},{},{value},{}",
                        answer.probe,
                        quoted(&arm.arm.asked.to_string()),
                        quoted(&arm.arm.label),
                        arm.arm.role.id(),
                        metric.id,
                        metric.unit.id()
                    );
                }
            }
        }
    }
    text
}

/// A field as RFC 4180 has it.
#[must_use]
pub fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A table to paste: a row an arm, the medians and, against the baseline, the ratios.
#[must_use]
pub fn markdown(answer: &Answer) -> String {
    let shown: Vec<(usize, &Metric)> = answer
        .metrics
        .iter()
        .enumerate()
        .filter(|(_, metric)| metric.part != Part::Detail)
        .collect();
    let mut text = String::from("| Arm |");
    for (_, metric) in &shown {
        let _ = write!(text, " {} |", metric.name);
    }
    text.push_str("\n|:---|");
    text.push_str(&"---:|".repeat(shown.len()));
    text.push('\n');
    for (at, arm) in answer.arms.iter().enumerate() {
        let _ = write!(text, "| {} |", arm.arm.label.replace('|', "\\|"));
        for (position, metric) in &shown {
            let median = arm.summary(metric).map(|summary| unit_value(metric.unit, summary.median));
            let median = median.unwrap_or_else(|| "-".to_owned());
            let ratio = answer.comparison(at, *position).map(|row| {
                let (low, high) = (number(row.interval.low), number(row.interval.high));
                format!(" x {} ({low} to {high}), {}", number(row.value), row.verdict)
            });
            let _ = write!(text, " {median}{} |", ratio.unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_separators_are_quoted() {
        assert_eq!(quoted("a b"), "a b");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
