//! Tables and findings for people, and findings for programs.

use std::io::{self, Write as _};

use culprit_model::{Finding, clean};
use serde_json::{Value, json};

use crate::failure::Failure;

/// The version of every JSON document of culprit.
pub(super) const SCHEMA: u32 = 1;
/// Longest text in a column that is not the last.
const WIDEST: usize = 60;

/// A table: text columns on the left, numbers on the right.
pub(super) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let is_number = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.clone().next().is_some()
            && cells
                .clone()
                .all(|cell| cell == "-" || cell.starts_with(|c: char| c.is_ascii_digit()))
    };
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
        cells
            .map(|width| width.min(WIDEST))
            .chain([headings[at].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let columns: Vec<(bool, usize)> =
        (0..headings.len()).map(|at| (is_number(at), width(at))).collect();
    let line = |cells: &[&str]| {
        let padded = cells.iter().zip(&columns).map(|(cell, (right, width))| {
            let cell = clean(cell);
            if *right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut text = line(headings);
    for row in rows {
        text.push_str(&line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    text
}

/// A share as people read it.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A size as people read it.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (0..UNITS.len() - 1).find(|unit| bytes < 1 << (10 * (unit + 1)));
    let unit = unit.unwrap_or(UNITS.len() - 1);
    let value = bytes as f64 / (1u64 << (10 * unit)) as f64;
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// A finding as text.
pub(super) fn finding_text(finding: &Finding) -> String {
    let mut text = format!("\n{}: {}\n", finding.id, clean(&finding.title));
    text.push_str(&format!("  why    {}\n", finding.why));
    for fix in &finding.fix {
        text.push_str(&format!("  fix    {fix}\n"));
    }
    text.push_str(&format!("  check  {}\n", finding.check));
    text
}

/// Findings as docs/json.md has them.
pub(super) fn findings_json(findings: &[Finding]) -> Vec<Value> {
    let finding = |finding: &Finding| {
        let fact = |fact: &culprit_model::Evidence| json!({"what": fact.what.as_str(), "value": fact.value, "unit": fact.unit.as_str()});
        json!({
            "id": finding.id,
            "title": finding.title,
            "severity": finding.severity.to_string(),
            "confidence": finding.confidence,
            "cost_ns": finding.cost.0,
            "share": finding.share,
            "where": [],
            "evidence": finding.evidence.iter().map(fact).collect::<Vec<_>>(),
            "why": finding.why,
            "fix": finding.fix.join("\n"),
            "check": finding.check,
        })
    };
    findings.iter().map(finding).collect()
}

/// Prints a text, or a document in its place.
///
/// # Errors
/// When stdout cannot take it.
pub(super) fn put(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that goes away (`| head`) is no error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::refused(format!("cannot write to stdout: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Prints a document.
///
/// # Errors
/// When stdout cannot take it.
pub(super) fn put_json(document: &Value) -> Result<(), Failure> {
    put(&format!("{document}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_on_the_right() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["bc".to_owned(), "20 %".to_owned()]];
        assert_eq!(table(&["x", "n"], &rows), "x      n\na      1\nbc  20 %\n");
    }

    #[test]
    fn sizes_have_one_decimal() {
        assert_eq!(
            [size(0), size(1023), size(1536), size(5 << 30)],
            ["0 B", "1023 B", "1.5 KiB", "5.0 GiB"]
        );
    }
}
