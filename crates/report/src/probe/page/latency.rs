//! Latency curves: how long the slowest part of all took, on two logarithmic axes.
//!
//! Across goes `1 / (1 - q)`: 50 %, 90 %, 99 %, 99.9 % lie at about equal distances, so that tails are
//! seen. A curve ends where fewer than ten values lie beyond it.
use culprit_model::Unit;
use culprit_probe::{Answer, Histogram};

use super::{arm_class, exactly, legend};
use crate::html::{Axis, Markup, Tick, below, beside, path, picture, point, table};
use crate::units::unit_value;

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 350.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 1160.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 320.0;
/// Points of a curve in each decade of `1 / (1 - q)`.
const STEPS: u8 = 10;
/// Percentiles that are named, and told in the table.
const NAMED: [(f64, &str); 6] = [
    (0.5, "50 %"),
    (0.9, "90 %"),
    (0.99, "99 %"),
    (0.999, "99.9 %"),
    (0.9999, "99.99 %"),
    (0.99999, "99.999 %"),
];

/// What one arm saw, by its position.
type Seen = (usize, Histogram);

/// The section; nothing where no latencies were seen.
pub(super) fn section(body: &mut Markup, answer: &Answer) {
    let all = by_what(answer);
    if all.is_empty() {
        return;
    }
    body.element("section", &[("id", "latency")], |body| {
        body.leaf("h2", &[], "Latencies");
        body.leaf(
            "p",
            &[("class", "lead")],
            "The latency that a given share of all values does not exceed, over all rounds. Both \
             axes are logarithmic. A curve ends where fewer than ten values are larger.",
        );
        for (what, seen) in &all {
            body.leaf("h3", &[], what);
            plot(body, answer, what, seen);
            legend(body, answer, |arm| seen.iter().any(|(at, _)| *at == arm));
            percentiles(body, answer, seen);
        }
    });
}

fn by_what(answer: &Answer) -> Vec<(&'static str, Vec<Seen>)> {
    let mut all: Vec<(&'static str, Vec<Seen>)> = Vec::new();
    for (at, arm) in answer.arms.iter().enumerate() {
        for (what, seen) in arm.latencies().into_iter().filter(|(_, seen)| seen.count() > 0) {
            match all.iter_mut().find(|(other, _)| *other == what) {
                Some((_, arms)) => arms.push((at, seen)),
                None => all.push((what, vec![(at, seen)])),
            }
        }
    }
    all
}

/// `1 / (1 - q)` and the latency there, ns; one of 0 is drawn as 1, which has a logarithm.
fn curve(seen: &Histogram) -> Vec<(f64, f64)> {
    let steps = (1..=STEPS * 6).map(|step| 10_f64.powf(f64::from(step) / f64::from(STEPS)));
    let points = steps.map_while(|x| Some((x, logged(seen.percentile(1.0 - 1.0 / x)?))));
    points.collect()
}

fn logged(ns: u64) -> f64 {
    exactly(ns.max(1))
}

fn plot(body: &mut Markup, answer: &Answer, what: &str, seen: &[Seen]) {
    let curves: Vec<(usize, Vec<(f64, f64)>)> =
        seen.iter().map(|(at, seen)| (*at, curve(seen))).collect();
    let points = || curves.iter().flat_map(|(_, points)| points);
    if points().next().is_none() {
        body.leaf("p", &[("class", "more")], "Too few values for a curve.");
        return;
    }
    let across = Axis::log(points().map(|(x, _)| *x), LEFT, RIGHT);
    let up = Axis::log(points().map(|(_, y)| *y), BOTTOM, TOP);
    let furthest = points().map(|(x, _)| *x).fold(1.0, f64::max);
    let named = NAMED.map(|(q, name)| (1.0 / (1.0 - q), name));
    let ticks = named.iter().filter(|(x, _)| *x <= furthest * (1.0 + 1e-9)).map(|(x, name)| Tick {
        value: *x,
        at: across.at(*x),
        label: (*name).to_owned(),
    });
    let label = format!("{what}: latency by percentile; the table below has the numbers");
    picture(body, (WIDTH, HEIGHT), &label, |svg| {
        below(svg, &ticks.collect::<Vec<_>>(), TOP, BOTTOM);
        beside(svg, &up.ticks(Unit::Nanos), LEFT, RIGHT);
        for ((at, points), (_, seen)) in curves.iter().zip(seen) {
            let arm = &answer.arms[*at].arm;
            let control = if arm.role.is_control() { " control" } else { "" };
            let class = format!("{}{control}", arm_class(*at));
            let drawn: Vec<_> = points.iter().map(|(x, y)| (across.at(*x), up.at(*y))).collect();
            path(svg, &format!("course {class}"), &drawn);
            for (q, name) in NAMED {
                let Some(ns) = seen.percentile(q).map(logged) else { continue };
                let title = format!("{}: {name} within {}", arm.label, unit_value(Unit::Nanos, ns));
                let at = (across.at(1.0 / (1.0 - q)), up.at(ns));
                point(svg, &format!("dot {class}"), at, "3.2", &title);
            }
        }
    });
}

fn percentiles(body: &mut Markup, answer: &Answer, seen: &[Seen]) {
    let reached = |q: f64| seen.iter().any(|(_, seen)| seen.percentile(q).is_some());
    let named: Vec<(f64, &str)> = NAMED.into_iter().filter(|(q, _)| reached(*q)).collect();
    let mut headings = vec!["arm", "count"];
    headings.extend(named.iter().map(|(_, name)| name));
    headings.push("longest");
    let told = |ns: Option<u64>| {
        ns.map_or_else(|| "-".to_owned(), |ns| unit_value(Unit::Nanos, exactly(ns)))
    };
    table(body, "numbers", &headings, |rows| {
        for (at, seen) in seen {
            rows.element("tr", &[], |row| {
                row.leaf("td", &[("class", "name")], &answer.arms[*at].arm.label);
                row.leaf("td", &[("class", "num")], &seen.count().to_string());
                for (q, _) in &named {
                    row.leaf("td", &[("class", "num")], &told(seen.percentile(*q)));
                }
                row.leaf("td", &[("class", "num")], &told(Some(seen.most())));
            });
        }
    });
}
