//! Place against place: medians with every run as a dot, and where the extra time is.

use culprit_experiment::Comparison;
use culprit_experiment::why::{PlaceRuns, WhyResults};
use culprit_model::Nanos;

use super::why_words::{explained_share, wall_text};
use crate::html::{Markup, table};
use crate::units::{number, percent, signed_duration};

/// The section of a comparison.
#[must_use]
pub fn compare_section(results: &WhyResults) -> Markup {
    let mut section = Markup::default();
    section.element("section", &[("id", "compare")], |body| {
        body.leaf("h2", &[], "Place against place");
        body.leaf(
            "p",
            &[("class", "lead")],
            "Each dot is the wall time of one run; the bar is the median. The places took turns, \
             so a change of the machine's load affects all of them.",
        );
        let instead = results.instead.iter().flat_map(|(_, places)| places);
        let slowest = results.places.iter().chain(instead).flat_map(|runs| &runs.walls).max();
        let slowest = slowest.copied().unwrap_or_default();
        places(body, results, &results.places, slowest);
        if let Some((line, instead)) = &results.instead {
            body.element("p", &[("class", "more")], |body| {
                body.text("Instead: ");
                body.leaf("code", &[], line);
            });
            places(body, results, instead, slowest);
        }
        for note in &results.notes {
            body.leaf("p", &[("class", "more")], note);
        }
        for against in &results.against {
            difference(body, against);
        }
    });
    section
}

fn places(body: &mut Markup, results: &WhyResults, all: &[PlaceRuns], slowest: Nanos) {
    let told = if results.work.is_some() { "rate" } else { "" };
    table(body, "", &["place", "runs", "", "median", told], |rows| {
        for runs in all {
            rows.element("tr", &[], |row| {
                row.element("td", &[("class", "name")], |cell| {
                    cell.leaf("code", &[], &runs.place);
                    if let Some(problem) = &runs.problem {
                        cell.leaf("div", &[("class", "bad")], problem);
                    }
                });
                row.leaf("td", &[("class", "num")], &runs.walls.len().to_string());
                row.element("td", &[], |cell| dots(cell, runs, slowest));
                let median = runs.median();
                row.leaf(
                    "td",
                    &[("class", "num")],
                    &median.map_or_else(String::new, |m| m.to_string()),
                );
                let rate =
                    median.filter(|_| results.work.is_some()).map(|wall| wall_text(results, wall));
                row.leaf("td", &[("class", "num")], &rate.unwrap_or_default());
            });
        }
    });
}

/// Runs on a line from 0 to the slowest run of all.
fn dots(cell: &mut Markup, runs: &PlaceRuns, slowest: Nanos) {
    // Percent of the cell's width: dots stay round however wide the cell is.
    let at = |wall: Nanos| format!("{:.2}%", 1.5 + 97.0 * wall.share_of(slowest));
    let label = runs.walls.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let attributes = [("class", "dots"), ("role", "img"), ("aria-label", label.as_str())];
    cell.element("svg", &attributes, |svg| {
        svg.empty("line", &[("x1", "1.5%"), ("x2", "98.5%"), ("y1", "13"), ("y2", "13")]);
        for wall in &runs.walls {
            let x = at(*wall);
            svg.element("circle", &[("cx", &x), ("cy", "13"), ("r", "5")], |dot| {
                dot.leaf("title", &[], &wall.to_string());
            });
        }
        if let Some(median) = runs.median() {
            svg.empty(
                "rect",
                &[("x", &at(median)), ("y", "3"), ("width", "2.5"), ("height", "20")],
            );
        }
    });
}

fn difference(body: &mut Markup, against: &Comparison) {
    let comparison = &against.report.comparison;
    let told = against.explained();
    let ratio = against.ratio().map_or_else(String::new, |ratio| {
        let (low, high) = (number(ratio.interval.low), number(ratio.interval.high));
        format!(", ratio {} ({low} to {high})", number(ratio.value))
    });
    body.leaf(
        "p",
        &[("class", "more")],
        &format!(
            "{}: {}{ratio}; {} per run, {}.",
            against.label,
            against.verdict(),
            extra(comparison.extra_ns()),
            explained_share(told)
        ),
    );
    table(
        body,
        "sortable",
        &["extra time per run", "share", "cause", "function", "program", "finding"],
        |rows| {
            for (row, finding) in against.rows() {
                rows.element("tr", &[], |cells| {
                    let sort = row.extra_ns.to_string();
                    cells.leaf(
                        "td",
                        &[("class", "num"), ("data-sort", &sort)],
                        &extra(row.extra_ns),
                    );
                    cells.leaf(
                        "td",
                        &[("class", "num"), ("data-sort", &row.share.to_string())],
                        &told.map_or_else(|| "-".to_owned(), |_| percent(row.share)),
                    );
                    cells.leaf("td", &[], &row.cause.to_string());
                    cells.element("td", &[("class", "name")], |cell| {
                        cell.leaf("code", &[], &row.function)
                    });
                    cells.leaf("td", &[("class", "name")], &row.process);
                    cells.leaf("td", &[], finding.unwrap_or_default());
                });
            }
        },
    );
}

#[expect(clippy::cast_precision_loss, reason = "53 bits hold 104 days of nanoseconds")]
fn extra(ns: i64) -> String {
    signed_duration(ns as f64)
}
