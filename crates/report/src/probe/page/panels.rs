//! The two panels of a metric: every round's value by arm, and the ratios to the baseline.
//!
//! ```text
//!   host     ·:·|·: ·          host       baseline
//!   sandbox        :·|:··      sandbox     ░░|░░   ├──●──┤   1.31 slower
//!         1 ms    2 ms               1.0     1.2
//! ```
use culprit_engine::stats::Interval;
use culprit_model::Unit;
use culprit_probe::{Answer, ArmSamples, Better, Metric, Role};

use super::{arm_class, floor_ratio};
use crate::html::{Axis, Markup, area, below, line, picture, point, words};
use crate::layout::elide;
use crate::units::unit_value;
use crate::units::{number, percent};

const WIDTH: f64 = 600.0;
/// Where plots begin, beside the arms' names.
const LEFT: f64 = 150.0;
const LABEL_CHARACTERS: usize = 22;
/// Where the values' plot ends; half a tick's label stands over.
const RIGHT: f64 = 570.0;
/// Where the ratios' plot ends, beside the verdicts.
const RATIOS_RIGHT: f64 = 490.0;
const TOP: f64 = 6.0;
const ROW: f64 = 30.0;
/// How far points lie from the middle of their row at most.
const JITTER: f64 = 9.0;
const FOOT: f64 = 24.0;

#[expect(clippy::cast_precision_loss, reason = "a handful of arms")]
fn row(at: usize) -> f64 {
    TOP + (at as f64) * ROW + ROW / 2.0
}

/// Where the rows of so many arms end.
fn bottom(answer: &Answer) -> f64 {
    row(answer.arms.len()) - ROW / 2.0
}

fn frame(answer: &Answer) -> (f64, f64) {
    (WIDTH, bottom(answer) + FOOT)
}

fn names(svg: &mut Markup, answer: &Answer) {
    for (at, arm) in answer.arms.iter().enumerate() {
        let label = &arm.arm.label;
        svg.element("g", &[], |group| {
            group.leaf("title", &[], label);
            words(group, "label", (0.0, row(at) + 4.0), &elide(label, LABEL_CHARACTERS));
        });
    }
}

/// Every round's value as a point, an arm a row.
pub(super) fn values(body: &mut Markup, answer: &Answer, metric: &Metric) {
    let all = answer.arms.iter().flat_map(|arm| arm.values(metric));
    let axis = Axis::of(all, LEFT, RIGHT);
    picture(body, frame(answer), &values_label(answer, metric), |svg| {
        below(svg, &axis.ticks(metric.unit), TOP, bottom(answer));
        names(svg, answer);
        for (at, arm) in answer.arms.iter().enumerate() {
            strip(svg, (at, arm), metric, axis);
        }
    });
}

fn values_label(answer: &Answer, metric: &Metric) -> String {
    let medians = answer.arms.iter().filter_map(|arm| {
        let median = unit_value(metric.unit, arm.summary(metric)?.median);
        Some(format!("{} {median}", arm.arm.label))
    });
    let medians = medians.collect::<Vec<_>>().join(", ");
    format!("{} of every round; medians: {medians}", metric.name)
}

fn strip(svg: &mut Markup, (at, arm): (usize, &ArmSamples), metric: &Metric, axis: Axis) {
    let middle = row(at);
    let class = format!("point {}", arm_class(at));
    let mut offset = 0.0_f64;
    for (round, sample) in arm.samples.iter().enumerate() {
        // Multiples of the golden ratio spread evenly, however many rounds there are.
        offset = (offset + 0.618_034).fract();
        let Some(measured) = sample.as_ref().and_then(|sample| sample.values.get(metric.id)) else {
            continue;
        };
        let y = middle + (2.0 * offset - 1.0) * JITTER;
        let told = unit_value(metric.unit, *measured);
        let title = format!("{}, round {}: {told}", arm.arm.label, round + 1);
        point(svg, &class, (axis.at(*measured), y), "2.6", &title);
    }
    match arm.summary(metric) {
        Some(summary) => {
            let (x, half) = (axis.at(summary.median), JITTER + 3.0);
            line(svg, "median", (x, middle - half), (x, middle + half));
        }
        None => words(svg, "note", (LEFT + 6.0, middle + 4.0), "no values"),
    }
}

/// What stands in a row of the ratios' panel.
struct RatioRow {
    arm: usize,
    value: f64,
    interval: Interval,
    /// The verdict's word, and its class.
    said: (String, &'static str),
}

/// Each arm's ratio to the baseline with its interval; nothing where nothing was compared.
pub(super) fn ratios(body: &mut Markup, answer: &Answer, metric: usize) {
    let rows = ratio_rows(answer, metric);
    if rows.is_empty() {
        return;
    }
    let bands = answer.comparisons.iter().find(|row| row.metric == metric).map(|row| row.bands);
    let edges = bands.iter().flat_map(|bands| [1.0 + bands.same, 1.0 / (1.0 + bands.same)]);
    let ends = rows.iter().flat_map(|row| [row.value, row.interval.low, row.interval.high]);
    let axis = Axis::log(ends.chain(edges).chain([1.0]), LEFT, RATIOS_RIGHT);
    let label = ratios_label(answer, metric, &rows);
    picture(body, frame(answer), &label, |svg| {
        if let Some(bands) = bands {
            band(svg, answer, axis, bands.different, "band wide", "identical runs differ");
            band(svg, answer, axis, bands.same, "band", "counts as the same:");
        }
        below(svg, &axis.ticks(Unit::Count), TOP, bottom(answer));
        line(svg, "one", (axis.at(1.0), TOP), (axis.at(1.0), bottom(answer)));
        names(svg, answer);
        words(svg, "note", (RATIOS_RIGHT + 12.0, row(0) + 4.0), "baseline");
        for row in &rows {
            whisker(svg, answer, row, axis);
        }
    });
}

fn band(svg: &mut Markup, answer: &Answer, axis: Axis, by: f64, class: &str, what: &str) {
    let (from, to) = (axis.at(1.0 / (1.0 + by)), axis.at(1.0 + by));
    let title = format!("{what} up to {}", percent(by));
    area(svg, class, (from, TOP), (to, bottom(answer)), &title);
}

fn ratio_rows(answer: &Answer, metric: usize) -> Vec<RatioRow> {
    let compared = answer.comparisons.iter().filter(|row| row.metric == metric).map(|row| {
        let control = answer.arms.get(row.arm).is_some_and(|arm| arm.arm.role.is_control());
        let (word, class) = match row.verdict {
            // A control is no claim.
            _ if control => ("control".to_owned(), "note"),
            verdict => (verdict.to_string(), super::verdict_class(verdict)),
        };
        RatioRow {
            arm: row.arm,
            value: row.value,
            interval: row.interval,
            said: (format!("{} {word}", number(row.value)), class),
        }
    });
    let again = answer.arms.iter().position(|arm| arm.arm.role == Role::Again);
    let floor = again.zip(floor_ratio(answer, metric)).map(|(arm, (value, interval))| {
        let said = (format!("{} noise", number(value)), "note");
        RatioRow { arm, value, interval, said }
    });
    compared.chain(floor).collect()
}

fn ratios_label(answer: &Answer, metric: usize, rows: &[RatioRow]) -> String {
    let name = answer.metrics.get(metric).map_or("", |metric| metric.name);
    let rows = rows.iter().map(|row| {
        let label = answer.arms.get(row.arm).map_or("", |arm| arm.arm.label.as_str());
        let (low, high) = (number(row.interval.low), number(row.interval.high));
        format!("{label} {} ({low} to {high})", row.said.0)
    });
    format!("{name}, ratio to the baseline: {}", rows.collect::<Vec<_>>().join(", "))
}

fn whisker(svg: &mut Markup, answer: &Answer, row_of: &RatioRow, axis: Axis) {
    let RatioRow { arm, value, interval, said } = row_of;
    let (y, x) = (row(*arm), axis.at(*value));
    let (from, to) = (axis.at(interval.low), axis.at(interval.high));
    let samples = answer.arms.get(*arm);
    let label = samples.map_or("", |arm| arm.arm.label.as_str());
    let control = samples.is_some_and(|arm| arm.arm.role.is_control());
    let class = format!("{}{}", arm_class(*arm), if control { " control" } else { "" });
    let stroke = format!("interval {class}");
    line(svg, &stroke, (from, y), (to, y));
    for end in [from, to] {
        line(svg, &stroke, (end, y - 5.0), (end, y + 5.0));
    }
    let title = format!(
        "{label}: {} ({} to {}, with {} confidence)",
        number(*value),
        number(interval.low),
        number(interval.high),
        percent(interval.coverage)
    );
    point(svg, &format!("estimate {class}"), (x, y), "4.5", &title);
    words(svg, said.1, (RATIOS_RIGHT + 12.0, y + 4.0), &said.0);
}

/// Which direction is better, in words.
pub(super) const fn better(metric: &Metric) -> &'static str {
    match metric.better {
        Better::Lower => "lower is better",
        Better::Higher => "higher is better",
        Better::Neither => "",
    }
}
