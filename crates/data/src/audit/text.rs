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
            && cells.clone().all(|cell| {
                cell == "-" || cell.starts_with(|c: char| c == '<' || c.is_ascii_digit())
            })
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
        let rows = [["a", "1"], ["bc", "20 %"], ["d", "<0.1 %"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let shown = "x        n\na        1\nbc    20 %\nd   <0.1 %\n";
        assert_eq!(table(&["x", "n"], &rows), shown);
    }
}
