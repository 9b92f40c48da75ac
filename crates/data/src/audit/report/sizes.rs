//! Bytes by path, and what a limit on the length of a value would cut.

use culprit_audit::{BloatReport, CapPoint, CapReport};
use culprit_model::Unit;
use culprit_report::html::{
    Axis, Markup, below, beside, legend, line, path, picture, text_table, words,
};
use culprit_report::{percent, size};

use super::bars::{Bar, bars};
use super::{PEOPLE, ROBOTS, exactly, numbers};
use crate::audit::bloat::ESTIMATED;

/// Paths that are drawn.
const SHOWN: usize = 12;
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 940.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 230.0;

/// The section of sizes.
pub(super) fn paths(body: &mut Markup, report: &BloatReport) {
    let texts: Vec<_> = report.paths.iter().filter(|path| path.kind == "text").collect();
    body.element("section", &[("id", "sizes")], |body| {
        body.leaf("h2", &[], "What takes the bytes");
        let growth =
            report.growth_per_day().map(|bytes| format!(" They grow by {bytes:.0} bytes a day."));
        let lead = format!(
            "Facets have {}.{} No value is shown: only its path, its size and its host.",
            size(report.bytes),
            growth.unwrap_or_default()
        );
        body.leaf("p", &[("class", "lead")], &lead);
        if report.paths.iter().any(|path| path.estimated) {
            body.leaf("p", &[], ESTIMATED);
        }
        body.element("figure", &[], |figure| {
            figure.leaf("figcaption", &[], "Bytes of texts by path");
            let bar = |path: &&culprit_audit::PathSizes| Bar {
                name: path.path.clone(),
                class: PEOPLE,
                value: exactly(path.sizes.bytes),
                text: format!("{}, max {}", size(path.sizes.bytes), size(path.sizes.max)),
            };
            let drawn: Vec<Bar> = texts.iter().take(SHOWN).map(bar).collect();
            bars(figure, "Bytes of texts by path", &drawn);
        });
        let cells = texts.iter().map(|path| {
            vec![
                path.path.clone(),
                path.sizes.values.to_string(),
                path.sizes.bytes.to_string(),
                percent(path.sizes.share),
                path.sizes.max.to_string(),
                path.repeated_bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
            ]
        });
        let headings =
            ["path", "values", "bytes", "share", "longest", "repeated, from 64 bytes on"];
        numbers(body, &headings, cells);
        let values = report.top.iter().map(|value| {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            vec![value.bytes.to_string(), value.path.clone(), text(&value.host), text(&value.junk)]
        });
        body.leaf("h3", &[], "The largest values");
        text_table(body, &["bytes", "path", "host", "looks like"], values);
    });
}

/// The section of limits: what each would save, and what it would cut.
pub(super) fn limits(body: &mut Markup, report: &CapReport) {
    body.element("section", &[("id", "limits")], |body| {
        body.leaf("h2", &[], "What a limit would cut");
        let suggested = match report.suggested {
            Some(limit) => format!("Suggested: {limit} bytes. "),
            None => "No limit both saves much and cuts few values. ".to_owned(),
        };
        let lead = format!(
            "{suggested}Path `{}`: {} values, {}.",
            report.path,
            report.values,
            size(report.bytes)
        );
        body.prose("p", &[("class", "lead")], &lead);
        if report.estimated {
            body.leaf("p", &[], ESTIMATED);
        }
        body.element("figure", &[], |figure| {
            curve(figure, report);
            let words = [
                (PEOPLE, "bytes saved, of all bytes of the path"),
                (ROBOTS, "values cut, of all values"),
            ];
            legend(figure, &words);
        });
        let cells = report.curve.iter().map(|point| {
            let numbers = [point.limit, point.cut, point.owners, point.saved];
            numbers.iter().map(ToString::to_string).collect()
        });
        numbers(body, &["limit in bytes", "values cut", "owners", "bytes saved"], cells);
    });
}

fn curve(figure: &mut Markup, report: &CapReport) {
    let x = Axis::log(report.curve.iter().map(|point| exactly(point.limit)), LEFT, RIGHT);
    let y = Axis::linear((0.0, 1.0), BOTTOM, TOP);
    let course = |of: &dyn Fn(&CapPoint) -> f64| -> Vec<(f64, f64)> {
        report.curve.iter().map(|point| (x.at(exactly(point.limit)), y.at(of(point)))).collect()
    };
    let part = |part: u64, whole: u64| exactly(part) / exactly(whole.max(1));
    figure.element("div", &[("class", "scroll")], |body| {
        picture(body, (WIDTH, HEIGHT), "Bytes saved and values cut by limit", |svg| {
            beside(svg, &y.ticks(Unit::Share), LEFT, RIGHT);
            below(svg, &x.ticks(Unit::Bytes), TOP, BOTTOM);
            if let Some(limit) = report.suggested {
                let at = x.at(exactly(limit));
                line(svg, "median", (at, TOP), (at, BOTTOM));
                words(svg, "label middle", (at, TOP - 6.0), &format!("suggested: {limit} bytes"));
            }
            path(svg, &format!("course {PEOPLE}"), &course(&|p| part(p.saved, report.bytes)));
            path(svg, &format!("course {ROBOTS}"), &course(&|p| part(p.cut, report.values)));
        });
    });
}
