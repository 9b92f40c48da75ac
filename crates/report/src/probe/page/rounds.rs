//! The headline's values in the order in which they were measured, so that drift is seen.
use culprit_model::Unit;
use culprit_probe::{Answer, ArmSamples, Metric};

use super::{arm_class, legend};
use crate::html::{Axis, Markup, area, below, beside, path, picture, point, table};
use crate::units::unit_value;

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 290.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 1180.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 260.0;

/// The section; nothing without a round.
pub(super) fn section(body: &mut Markup, answer: &Answer) {
    let longest = answer.arms.iter().map(|arm| arm.samples.len()).max().unwrap_or(0);
    let Some(metric) = answer.metrics.get(answer.headline).filter(|_| longest > 0) else {
        return;
    };
    body.element("section", &[("id", "rounds")], |body| {
        body.leaf("h2", &[], &format!("Round by round: {}", metric.name));
        body.leaf(
            "p",
            &[("class", "lead")],
            "Values in the order of the rounds. A slope or a step means that the machine changed. \
             Each round measures all places, so the change affects all of them. In shaded rounds, \
             other load disturbed the machine.",
        );
        plot(body, answer, metric, longest);
        legend(body, answer, |_| true);
        body.element("details", &[], |body| {
            body.leaf("summary", &[], "The values as a table");
            rows(body, answer, metric, longest);
        });
    });
}

#[expect(clippy::cast_precision_loss, reason = "rounds are counted in hundreds")]
fn number_of(round: usize) -> f64 {
    (round + 1) as f64
}

fn plot(body: &mut Markup, answer: &Answer, metric: &Metric, longest: usize) {
    // The first and the last round have room for their shade.
    let across = Axis::linear((0.5, number_of(longest - 1) + 0.5), LEFT, RIGHT);
    let all = answer.arms.iter().flat_map(|arm| arm.values(metric));
    let up = Axis::of(all, BOTTOM, TOP);
    let label = format!("{} by round, {longest} rounds", metric.name);
    picture(body, (WIDTH, HEIGHT), &label, |svg| {
        for round in answer.gate.contended.iter().map(|round| f64::from(*round) + 1.0) {
            let (from, to) = (across.at(round - 0.5), across.at(round + 0.5));
            let title = format!("round {round}: disturbed by other load");
            area(svg, "contended", (from, TOP), (to, BOTTOM), &title);
        }
        let ticks = across.ticks(Unit::Count).into_iter();
        let whole = ticks.filter(|tick| (tick.value - tick.value.round()).abs() < 1e-9);
        below(svg, &whole.collect::<Vec<_>>(), TOP, BOTTOM);
        beside(svg, &up.ticks(metric.unit), LEFT, RIGHT);
        for (at, arm) in answer.arms.iter().enumerate() {
            course(svg, answer, (at, arm), metric, (across, up));
        }
    });
}

/// An arm's line, broken where a round has no value.
fn course(
    svg: &mut Markup,
    answer: &Answer,
    (at, arm): (usize, &ArmSamples),
    metric: &Metric,
    (across, up): (Axis, Axis),
) {
    let measured = |round: usize| {
        let sample = arm.samples.get(round)?.as_ref()?;
        sample.values.get(metric.id).copied().filter(|value| value.is_finite())
    };
    let place = |round: usize, value: f64| (across.at(number_of(round)), up.at(value));
    let rounds: Vec<usize> = (0..arm.samples.len()).collect();
    let control = if arm.arm.role.is_control() { " control" } else { "" };
    let class = format!("{}{control}", arm_class(at));
    for run in rounds.chunk_by(|a, b| measured(*a).is_some() == measured(*b).is_some()) {
        let points: Vec<(f64, f64)> =
            run.iter().filter_map(|round| Some(place(*round, measured(*round)?))).collect();
        if points.len() > 1 {
            path(svg, &format!("course {class}"), &points);
        }
    }
    for (round, seen) in rounds.iter().filter_map(|round| Some((*round, measured(*round)?))) {
        let contended = answer.gate.contended.iter().any(|other| *other as usize == round);
        let note = if contended { " (disturbed)" } else { "" };
        let told = unit_value(metric.unit, seen);
        let title = format!("{}, round {}: {told}{note}", arm.arm.label, round + 1);
        point(svg, &format!("dot {class}"), place(round, seen), "3", &title);
    }
}

fn rows(body: &mut Markup, answer: &Answer, metric: &Metric, longest: usize) {
    let cell = |arm: &ArmSamples, round: usize| {
        let sample = arm.samples.get(round)?.as_ref()?;
        sample.values.get(metric.id).map(|seen| unit_value(metric.unit, *seen))
    };
    table(body, "rounds", &["round", "arm", "value", ""], |rows| {
        for round in 0..longest {
            let contended = answer.gate.contended.iter().any(|other| *other as usize == round);
            for arm in &answer.arms {
                rows.element("tr", &[], |row| {
                    row.leaf("td", &[], &(round + 1).to_string());
                    row.leaf("td", &[("class", "name")], &arm.arm.label);
                    let told = cell(arm, round).unwrap_or_else(|| "none".to_owned());
                    row.leaf("td", &[("class", "num")], &told);
                    row.leaf("td", &[], if contended { "disturbed" } else { "" });
                });
            }
        }
    });
}
