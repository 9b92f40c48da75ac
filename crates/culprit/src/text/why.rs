//! The answer of `why` as text.

use culprit_engine::compare::Difference;
use culprit_findings::Mechanism;
use culprit_report::text::{Detail, findings_text};

use crate::output::{Align, Output, Table, bytes, clean, number, percent, signed_duration, wrap};
use crate::why::{Against, Answer, PlaceRuns};

/// Findings that the answer shows; the page has all.
const MOST_FINDINGS: usize = 5;
/// Rows of the difference that the answer shows.
const MOST_ROWS: usize = 6;

/// The answer: verdict, places, where the extra time is, findings, what else helps.
pub(crate) fn why_text(answer: &Answer, output: &Output) -> String {
    let paint = output.paint();
    let mut text = format!("{}\n", paint.faint(&clean(&answer.command.join(" "))));
    text.push_str(&paint.strong(wrap(&clean(&answer.verdict()), output.width(), "").trim_end()));
    text.push('\n');
    if let Some(because) = answer.because() {
        text.push_str(&wrap(&clean(&format!("Cause: {because}.")), output.width(), ""));
    }
    for other in answer.others() {
        text.push_str(&wrap(&clean(&other), output.width(), ""));
    }
    text.push('\n');
    text.push_str(&places_text(answer, &answer.places, output));
    for note in &answer.notes {
        text.push_str(&wrap(&clean(note), output.width(), "  "));
    }
    if let Some(main) = answer.main() {
        text.push_str(&difference_text(main, output));
        text.push_str(&mechanisms_text(answer, main, output));
    }
    if answer.main().is_some() {
        let findings = answer.findings();
        text.push_str(&format!("\n{}\n", paint.heading("Findings")));
        let shown = findings.len().min(MOST_FINDINGS);
        text.push_str(&findings_text(&findings[..shown], Detail::Culprit, output.layout()));
        if shown < findings.len() {
            text.push_str(&format!("    {} more in the report\n", findings.len() - shown));
        }
    }
    text.push_str(&instead_text(answer, output));
    let page = answer.folder.join("report.html");
    text.push_str(&paint.faint(&format!("\nReport: {}\n", page.display())));
    text
}

fn places_text(answer: &Answer, places: &[PlaceRuns], output: &Output) -> String {
    let rate = answer.work.as_ref().map(|work| format!("{}/s", work.unit));
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
        let shown = |wall: Option<culprit_model::Nanos>| {
            wall.map_or_else(|| "-".to_owned(), |w| w.to_string())
        };
        let mut row = vec![
            runs.place.clone(),
            runs.walls.len().to_string(),
            shown(runs.median()),
            shown(runs.walls.iter().min().copied()),
            shown(runs.walls.iter().max().copied()),
        ];
        if let (Some(work), Some(median)) = (&answer.work, runs.median()) {
            row.push(number(work.rate(median)));
        }
        table.row(row);
    }
    let mut text = table.render(output.width());
    for runs in places {
        if let Some(problem) = &runs.problem {
            text.push_str(&wrap(
                &clean(&format!("{}: {problem}", runs.place)),
                output.width(),
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

/// How much of the extra time findings tell of, in words.
pub(crate) fn told_share(share: Option<f64>) -> String {
    match share {
        Some(share) => format!("findings explain {} of it", percent(share)),
        None => "too little for shares".to_owned(),
    }
}

fn difference_text(against: &Against, output: &Output) -> String {
    let comparison = &against.report.comparison;
    let told = against.told_share();
    let mut text = format!(
        "\n{}  {}\n",
        output.paint().heading("Where the extra time is"),
        output.paint().faint(&format!(
            "{} per run in {}, {}",
            signed_duration(float(comparison.extra_ns())),
            against.place,
            told_share(told)
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
    text.push_str(&table.render(output.width()));
    if rows.len() > MOST_ROWS {
        text.push_str(&format!("{} smaller rows are in the report\n", rows.len() - MOST_ROWS));
    }
    text
}

/// What the places differ in, and how much time that acts on.
fn mechanisms_text(answer: &Answer, main: &Against, output: &Output) -> String {
    let mechanisms: &[Mechanism] = &main.report.mechanisms;
    if mechanisms.is_empty() {
        return String::new();
    }
    let baseline = answer.baseline().map_or("baseline", |runs| runs.place.as_str());
    let mut table = Table::new(&[
        ("affects", Align::Right),
        ("what", Align::Left),
        (main.place.as_str(), Align::Left),
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
    let heading = output.paint().heading("Differences between the places");
    format!("\n{heading}\n{}", table.render(output.width()))
}

/// A fact of a place in words: `0.50 CPU` of `50000000 ns in 100000000 ns`, `64 MiB` of bytes.
pub(crate) fn fact_value(fact: &str, value: Option<&str>) -> String {
    let read = |text: &str, unit: &str| -> Option<f64> { text.strip_suffix(unit)?.parse().ok() };
    let cpus = |value: &str| {
        let (time, period) = value.split_once(" in ")?;
        let cpus = read(time, " ns")? / read(period, " ns").filter(|period| *period > 0.0)?;
        Some(format!("{} {}", number(cpus), if cpus > 1.0 { "CPUs" } else { "CPU" }))
    };
    let told = match (fact, value) {
        ("cpu-quota" | "memory-limit", None) => Some("no limit".to_owned()),
        ("cpu-quota", Some(value)) => cpus(value),
        ("memory-limit", Some(value)) => read(value, " bytes").map(bytes),
        _ => None,
    };
    told.unwrap_or_else(|| value.unwrap_or("none").to_owned())
}

fn instead_text(answer: &Answer, output: &Output) -> String {
    let Some((line, places)) = &answer.instead else { return String::new() };
    let paint = output.paint();
    let mut text = format!("\n{}  {}\n", paint.heading("Instead"), paint.faint(&clean(line)));
    text.push_str(&places_text(answer, places, output));
    for (place, wall, gain) in answer.gains() {
        let told = answer.told(wall);
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

#[cfg(test)]
mod tests {
    use super::fact_value;

    #[test]
    fn limits_of_places_have_the_units_that_users_give() {
        let quota = |value| fact_value("cpu-quota", Some(value));
        assert_eq!(quota("50000000 ns in 100000000 ns"), "0.50 CPU");
        assert_eq!(quota("100000000 ns in 100000000 ns"), "1 CPU");
        assert_eq!(quota("200000000 ns in 100000000 ns"), "2 CPUs");
        assert_eq!(quota("half"), "half");
        assert_eq!(fact_value("memory-limit", Some("67108864 bytes")), "64 MiB");
        assert_eq!(fact_value("memory-limit", None), "no limit");
        assert_eq!(fact_value("seccomp", None), "none");
    }
}
