//! Every number as a table: what the plots show, and what they were measured on.
use culprit_engine::stats::Interval;
use culprit_probe::{Answer, ArmSamples, Metric, Part, Role};

use super::{floor_ratio, verdict_class};
use crate::html::{Markup, table};
use crate::probe::text::facts;
use crate::units::number;
use crate::units::unit_value;

/// Medians, ranges and ratios of all metrics.
pub(super) fn section(body: &mut Markup, answer: &Answer) {
    body.element("section", &[("id", "numbers")], |body| {
        body.leaf("h2", &[], "Numbers");
        body.leaf(
            "p",
            &[("class", "lead")],
            "Each ratio is the median of the ratios of the rounds. It can differ from the ratio of \
             the medians.",
        );
        summaries(body, answer, |metric| metric.part != Part::Detail);
        if answer.metrics.iter().any(|metric| metric.part == Part::Detail) {
            body.element("details", &[], |body| {
                body.leaf("summary", &[], "More metrics");
                summaries(body, answer, |metric| metric.part == Part::Detail);
            });
        }
    });
}

fn summaries(body: &mut Markup, answer: &Answer, shown: impl Fn(&Metric) -> bool) {
    let headings =
        ["metric", "arm", "median", "lowest", "highest", "values", "ratio", "interval", "verdict"];
    table(body, "numbers summaries", &headings, |rows| {
        for (at, metric) in answer.metrics.iter().enumerate().filter(|(_, metric)| shown(metric)) {
            for (arm, samples) in answer.arms.iter().enumerate() {
                rows.element("tr", &[], |row| {
                    row.leaf("td", &[("class", "name")], metric.name);
                    row.leaf("td", &[("class", "name")], &samples.arm.label);
                    summary(row, samples, metric);
                    ratio(row, answer, arm, at);
                });
            }
        }
    });
}

fn number_cell(row: &mut Markup, text: &str) {
    row.leaf("td", &[("class", "num")], text);
}

fn summary(row: &mut Markup, samples: &ArmSamples, metric: &Metric) {
    let Some(summary) = samples.summary(metric) else {
        for text in ["-", "-", "-", "0"] {
            number_cell(row, text);
        }
        return;
    };
    for told in [summary.median, summary.least, summary.most] {
        number_cell(row, &unit_value(metric.unit, told));
    }
    number_cell(row, &summary.count.to_string());
}

fn ratio(row: &mut Markup, answer: &Answer, arm: usize, metric: usize) {
    let range =
        |interval: &Interval| format!("{} to {}", number(interval.low), number(interval.high));
    let role = answer.arms[arm].arm.role;
    if let Some(compared) = answer.comparison(arm, metric) {
        number_cell(row, &number(compared.value));
        number_cell(row, &range(&compared.interval));
        if role.is_control() {
            row.leaf("td", &[], "control");
        } else {
            let class = verdict_class(compared.verdict);
            row.leaf("td", &[("class", class)], &compared.verdict.to_string());
        }
        return;
    }
    let floor = floor_ratio(answer, metric).filter(|_| role == Role::Again);
    match floor {
        Some((value, interval)) => {
            number_cell(row, &number(value));
            number_cell(row, &range(&interval));
            row.leaf("td", &[], "noise floor");
        }
        None => {
            number_cell(row, "");
            number_cell(row, "");
            row.leaf("td", &[], if role == Role::Baseline { "baseline" } else { "" });
        }
    }
}

/// What was done, where, and what the machine did meanwhile.
pub(super) fn conditions(body: &mut Markup, answer: &Answer) {
    body.element("section", &[("id", "conditions")], |body| {
        body.leaf("h2", &[], "Workload and conditions");
        body.element("ul", &[("class", "done")], |list| {
            for fact in facts(answer) {
                list.prose("li", &[], &fact);
            }
        });
        arms(body, answer);
        body.leaf("h3", &[], "Environment");
        table(body, "", &["fact", "on this machine"], |rows| {
            for (name, told) in &answer.environment {
                rows.element("tr", &[], |row| {
                    row.leaf("td", &[("class", "fact")], name);
                    row.leaf("td", &[("class", "name")], told);
                });
            }
        });
    });
}

fn arms(body: &mut Markup, answer: &Answer) {
    body.leaf("h3", &[], "Arms");
    table(body, "", &["arm", "place", "role", "location", "folder", "problem"], |rows| {
        for samples in &answer.arms {
            let arm = &samples.arm;
            rows.element("tr", &[], |row| {
                row.leaf("td", &[("class", "name")], &arm.label);
                code(row, &arm.asked.to_string());
                row.leaf("td", &[], arm.role.id());
                row.leaf("td", &[], arm.location);
                code(row, &arm.dir.display().to_string());
                row.leaf("td", &[("class", "name bad")], samples.problem.as_deref().unwrap_or(""));
            });
        }
    });
}

fn code(row: &mut Markup, text: &str) {
    row.element("td", &[("class", "name")], |cell| cell.leaf("code", &[], text));
}
