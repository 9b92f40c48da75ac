//! Visits a day, of people and of robots, and pages a visit with and without robots.

use culprit_audit::visits::day_text;
use culprit_audit::{ImpactDay, ImpactReport, ImpactSums};
use culprit_model::{Unit, counted};
use culprit_report::html::{
    Axis, Markup, Tick, area, below, beside, legend, path, picture, text_table,
};
use culprit_report::{percent, size};

use super::{PEOPLE, ROBOTS, exactly, numbers};
use crate::audit::impact::conversion;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 950.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 215.0;
/// More bars than this are thinner than a reader can hit: days are added up then.
const MOST_BARS: usize = 120;
/// Days that are written below a picture.
const TICKS: usize = 8;

/// Some days that follow one another.
struct Span {
    first: i64,
    days: usize,
    before: ImpactSums,
    after: ImpactSums,
}

/// The section; none without a day.
pub(super) fn section(body: &mut Markup, report: &ImpactReport) {
    let spans = spans(&report.days);
    body.element("section", &[("id", "days")], |body| {
        body.leaf("h2", &[], "Visits, with and without robots");
        let undated = report.days.iter().filter(|day| day.day.is_none());
        let undated: u64 = undated.map(|day| day.before.visits).sum();
        let each = match spans.first().map_or(1, |span| span.days) {
            1 => "One bar is a day (UTC).".to_owned(),
            days => format!("One bar is {days} days (UTC)."),
        };
        let undated = counted(undated, "visit");
        let lead = format!("{each} Without a readable start, and in no bar: {undated}.");
        body.leaf("p", &[("class", "lead")], &lead);
        summary(body, report);
        if spans.is_empty() {
            return;
        }
        body.element("figure", &[], |figure| {
            figure.leaf("figcaption", &[], "Visits");
            visits(figure, &spans);
            legend(figure, &[(PEOPLE, "people and others"), (ROBOTS, "robots")]);
        });
        body.element("figure", &[], |figure| {
            figure.leaf("figcaption", &[], "Pages a visit");
            pages(figure, &spans);
            legend(figure, &[(ROBOTS, "all visits"), (PEOPLE, "without robots")]);
        });
        let headings = ["from", "days", "visits", "of robots", "pages a visit", "without robots"];
        numbers(body, &headings, spans.iter().map(cells));
    });
}

fn summary(body: &mut Markup, report: &ImpactReport) {
    let row = |what: &str, one: String, two: String| vec![what.to_owned(), one, two];
    let of = |text: &dyn Fn(&ImpactSums) -> String| (text(&report.before), text(&report.after));
    let sums: [(&str, (String, String)); 4] = [
        ("visits", of(&|sums| sums.visits.to_string())),
        ("pages a visit", of(&|sums| format!("{:.2}", sums.pages_mean()))),
        ("visits with one page", of(&|sums| percent(sums.single_share()))),
        ("conversion", of(&|sums| conversion(sums, report.knows_goals))),
    ];
    let (contacts, left) = (report.contacts_before, report.contacts_after);
    let storage = report.storage();
    let rows = sums.into_iter().map(|(what, (one, two))| row(what, one, two)).chain([
        row("contacts", contacts.to_string(), left.to_string()),
        row("storage", size(storage.0), size(storage.1)),
    ]);
    text_table(body, &["", "now", "without robots and contacts without visits"], rows);
}

fn spans(days: &[ImpactDay]) -> Vec<Span> {
    let dated: Vec<(i64, &ImpactDay)> =
        days.iter().filter_map(|day| Some((day.day?, day))).collect();
    let [(start, _), ..] = dated[..] else { return Vec::new() };
    let end = dated.last().map_or(start, |(day, _)| *day);
    let all = usize::try_from(end - start + 1).unwrap_or(usize::MAX);
    let each = all.div_ceil(MOST_BARS).max(1);
    let step = i64::try_from(each).unwrap_or(i64::MAX);
    let none = ImpactSums::default();
    // A day without visits is a bar of no height, not a gap in time.
    let mut spans: Vec<Span> = (0..all.div_ceil(each))
        .map(|at| {
            let first = start + i64::try_from(at).unwrap_or(i64::MAX) * step;
            Span { first, days: each, before: none, after: none }
        })
        .collect();
    for (day, sums) in dated {
        let at = usize::try_from((day - start) / step).unwrap_or(0);
        spans[at].before += sums.before;
        spans[at].after += sums.after;
    }
    spans
}

fn cells(span: &Span) -> Vec<String> {
    vec![
        day_text(Some(span.first)),
        span.days.to_string(),
        span.before.visits.to_string(),
        (span.before.visits - span.after.visits).to_string(),
        format!("{:.2}", span.before.pages_mean()),
        format!("{:.2}", span.after.pages_mean()),
    ]
}

/// The left edge and the width of each span's column.
fn columns(spans: &[Span]) -> (Vec<f64>, f64) {
    let edges = Axis::linear((0.0, float(spans.len())), LEFT, RIGHT);
    let lefts: Vec<f64> = (0..=spans.len()).map(|at| edges.at(float(at))).collect();
    let width = lefts[1] - lefts[0];
    (lefts, width)
}

fn days_below(spans: &[Span]) -> Vec<Tick> {
    let (lefts, width) = columns(spans);
    let every = spans.len().div_ceil(TICKS).max(1);
    let tick = |(span, left): (&Span, &f64)| Tick {
        value: *left,
        at: left + width / 2.0,
        label: day_text(Some(span.first)),
    };
    spans.iter().zip(&lefts).step_by(every).map(tick).collect()
}

fn visits(figure: &mut Markup, spans: &[Span]) {
    let largest = spans.iter().map(|span| span.before.visits).max().unwrap_or(0);
    let axis = Axis::linear((0.0, exactly(largest.max(1)) * 1.05), BOTTOM, TOP);
    let (lefts, width) = columns(spans);
    let gap = if width > 4.0 { 1.0 } else { 0.0 };
    figure.element("div", &[("class", "scroll")], |body| {
        picture(body, (WIDTH, HEIGHT), "Visits of people and robots by day", |svg| {
            beside(svg, &axis.ticks(Unit::Count), LEFT, RIGHT);
            below(svg, &days_below(spans), BOTTOM, BOTTOM);
            for (span, left) in spans.iter().zip(lefts) {
                let (people, all) =
                    (axis.at(exactly(span.after.visits)), axis.at(exactly(span.before.visits)));
                let day = day_text(Some(span.first));
                let robots = span.before.visits - span.after.visits;
                let right = left + width - gap;
                let title = format!("{day}, visits without robots: {}", span.after.visits);
                area(svg, &format!("dot {PEOPLE}"), (left, people), (right, BOTTOM), &title);
                let title = format!("{day}, visits of robots: {robots}");
                area(svg, &format!("dot {ROBOTS}"), (left, all), (right, people), &title);
            }
        });
    });
}

fn pages(figure: &mut Markup, spans: &[Span]) {
    let means = spans.iter().flat_map(|span| [span.before.pages_mean(), span.after.pages_mean()]);
    let axis = Axis::linear((0.0, means.fold(1.0, f64::max) * 1.05), BOTTOM, TOP);
    let (lefts, width) = columns(spans);
    let course = |sums: &dyn Fn(&Span) -> ImpactSums| -> Vec<(f64, f64)> {
        let with_visits = spans.iter().zip(&lefts).filter(|(span, _)| sums(span).visits > 0);
        with_visits
            .map(|(span, left)| (left + width / 2.0, axis.at(sums(span).pages_mean())))
            .collect()
    };
    figure.element("div", &[("class", "scroll")], |body| {
        picture(
            body,
            (WIDTH, HEIGHT),
            "Pages a visit by day, all visits and without robots",
            |svg| {
                beside(svg, &axis.ticks(Unit::Count), LEFT, RIGHT);
                below(svg, &days_below(spans), BOTTOM, BOTTOM);
                path(svg, &format!("course {ROBOTS}"), &course(&|span| span.before));
                path(svg, &format!("course {PEOPLE}"), &course(&|span| span.after));
            },
        );
    });
}

#[expect(clippy::cast_precision_loss, reason = "some hundred columns")]
fn float(value: usize) -> f64 {
    value as f64
}
