//! The results of `why` as text.

use culprit_engine::compare::Difference;
use culprit_experiment::why::{PlaceRuns, WhyResults};
use culprit_experiment::{Comparison, PAGE};
use culprit_findings::Mechanism;
use culprit_model::{Nanos, clean};

use super::why_words::{because, explained_share, fact_value, others, verdict, wall_text};
use crate::layout::{Align, Layout, Table, wrap};
use crate::text::{Detail, findings_text};
use crate::units::{number, percent, signed_duration};

/// Findings that the answer shows; the page has all.
const MOST_FINDINGS: usize = 5;
/// Rows of the difference that the answer shows.
const MOST_ROWS: usize = 6;

/// The results: verdict, places, where the extra time is, findings, what else helps.
#[must_use]
pub fn why_text(results: &WhyResults, layout: &Layout) -> String {
    let paint = layout.paint();
    let mut text = format!("{}\n", paint.faint(&clean(&results.command.join(" "))));
    text.push_str(&paint.strong(wrap(&clean(&verdict(results)), layout.width(), "").trim_end()));
    text.push('\n');
    if let Some(because) = because(results) {
        text.push_str(&wrap(&clean(&format!("Cause: {because}.")), layout.width(), ""));
    }
    for other in others(results) {
        text.push_str(&wrap(&clean(&other), layout.width(), ""));
    }
    text.push('\n');
    text.push_str(&places_text(results, &results.places, layout));
    for note in &results.notes {
        text.push_str(&wrap(&clean(note), layout.width(), "  "));
    }
    if let Some(main) = results.main() {
        text.push_str(&difference_text(main, layout));
        text.push_str(&mechanisms_text(results, main, layout));
    }
    if results.main().is_some() {
        let findings = results.findings();
        text.push_str(&format!("\n{}\n", paint.heading("Findings")));
        let shown = findings.len().min(MOST_FINDINGS);
        text.push_str(&findings_text(&findings[..shown], Detail::Culprit, layout));
        if shown < findings.len() {
            text.push_str(&format!("    {} more in the report\n", findings.len() - shown));
        }
    }
    text.push_str(&instead_text(results, layout));
    let page = results.folder.join(PAGE);
    text.push_str(&paint.faint(&format!("\nReport: {}\n", page.display())));
    text
}

fn places_text(results: &WhyResults, places: &[PlaceRuns], layout: &Layout) -> String {
    let rate = results.work.as_ref().map(|work| format!("{}/s", work.unit));
    let mut columns = vec![
        ("place", Align::Left),
        ("runs", Align::Right),
        ("median", Align::Right),
        ("fastest", Align::Right),
        ("slowest", Align::Right),
    ];
    if let Some(rate) = &rate {
        columns.push((rate, Align::Right));
    }
    let mut table = Table::new(&columns);
    for runs in places {
        let shown = |wall: Option<Nanos>| wall.map_or_else(|| "-".to_owned(), |w| w.to_string());
        let mut row = vec![
            runs.place.clone(),
            runs.walls.len().to_string(),
            shown(runs.median()),
            shown(runs.walls.iter().min().copied()),
            shown(runs.walls.iter().max().copied()),
        ];
        if let (Some(work), Some(median)) = (&results.work, runs.median()) {
            row.push(number(work.rate(median)));
        }
        table.row(row);
    }
    let mut text = table.render(layout.width());
    for runs in places {
        if let Some(problem) = &runs.problem {
            text.push_str(&wrap(
                &clean(&format!("{}: {problem}", runs.place)),
                layout.width(),
                "  ",
            ));
        }
        if !runs.failures.is_empty() {
            let codes: Vec<String> = runs.failures.iter().map(ToString::to_string).collect();
            text.push_str(&format!(
                "  {}: the command ended with exit code {}\n",
                runs.place,
                codes.join(", ")
            ));
        }
    }
    text
}

fn difference_text(against: &Comparison, layout: &Layout) -> String {
    let comparison = &against.report.comparison;
    let told = against.explained();
    let mut text = format!(
        "\n{}  {}\n",
        layout.paint().heading("Where the extra time is"),
        layout.paint().faint(&format!(
            "{} per run in {}, {}",
            signed_duration(float(comparison.extra_ns())),
            against.label,
            explained_share(told)
        ))
    );
    let mut table = Table::new(&[
        ("extra", Align::Right),
        ("low", Align::Right),
        ("high", Align::Right),
        ("share", Align::Right),
        ("cause", Align::Left),
        ("function", Align::Left),
        ("program", Align::Left),
        ("finding", Align::Left),
    ]);
    let rows: Vec<(&Difference, Option<&str>)> = against.rows().collect();
    for (row, finding) in rows.iter().take(MOST_ROWS) {
        let end = |end: Option<i64>| end.map_or_else(String::new, |ns| signed_duration(float(ns)));
        table.row([
            signed_duration(float(row.extra_ns)),
            end(row.spread.map(|spread| spread.low_ns)),
            end(row.spread.map(|spread| spread.high_ns)),
            told.map_or_else(|| "-".to_owned(), |_| percent(row.share)),
            row.cause.to_string(),
            clean(&row.function).into_owned(),
            clean(&row.process).into_owned(),
            finding.unwrap_or("-").to_owned(),
        ]);
    }
    text.push_str(&table.render(layout.width()));
    if rows.len() > MOST_ROWS {
        text.push_str(&format!("{} smaller rows are in the report\n", rows.len() - MOST_ROWS));
    }
    text
}

/// What the places differ in, and how much time that acts on.
fn mechanisms_text(results: &WhyResults, main: &Comparison, layout: &Layout) -> String {
    let mechanisms: &[Mechanism] = &main.report.mechanisms;
    if mechanisms.is_empty() {
        return String::new();
    }
    let baseline = results.baseline().map_or("baseline", |runs| runs.place.as_str());
    let mut table = Table::new(&[
        ("affects", Align::Right),
        ("what", Align::Left),
        (main.label.as_str(), Align::Left),
        (baseline, Align::Left),
    ]);
    for found in mechanisms {
        let told =
            |value: &Option<String>| clean(&fact_value(found.fact, value.as_deref())).into_owned();
        table.row([
            signed_duration(float(i64::try_from(found.extra.0).unwrap_or(i64::MAX))),
            found.what.to_owned(),
            told(&found.candidate),
            told(&found.baseline),
        ]);
    }
    let heading = layout.paint().heading("Differences between the places");
    format!("\n{heading}\n{}", table.render(layout.width()))
}

fn instead_text(results: &WhyResults, layout: &Layout) -> String {
    let Some((line, places)) = &results.instead else { return String::new() };
    let paint = layout.paint();
    let mut text = format!("\n{}  {}\n", paint.heading("Instead"), paint.faint(&clean(line)));
    text.push_str(&places_text(results, places, layout));
    for (place, wall, gain) in results.gains() {
        let told = wall_text(results, wall);
        text.push_str(&format!("  in {place}: {told}, {}\n", gained(gain)));
    }
    text
}

/// A gain in words; what lies within the band of equal runs is no gain.
fn gained(gain: f64) -> String {
    let band = 1.0 + culprit_findings::SAME_BAND;
    if gain < band && gain > 1.0 / band {
        "as fast as the command".to_owned()
    } else {
        format!("{} times as fast as the command", number(gain))
    }
}

#[expect(clippy::cast_precision_loss, reason = "53 bits hold 104 days of nanoseconds")]
fn float(ns: i64) -> f64 {
    ns as f64
}
