//! Findings as text: a list, and a rule's own page.

use culprit_findings::RuleDoc;
use culprit_model::{Finding, Nanos, Where};

use crate::output::{Output, clean, evidence_value, number, percent, wrap};

/// Facts of a finding that a list shows; the JSON and the page have all.
const MOST_FACTS: usize = 6;
/// Frames of a typical stack that a list shows, from the leaf.
const MOST_FRAMES: usize = 6;

/// Which findings are told with reason, way out and evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// None: a list of titles.
    Titles,
    /// The culprit: the first one that costs time.
    Culprit,
    /// All.
    Full,
}

/// The findings, the dearest first.
pub(crate) fn findings_text(findings: &[Finding], detail: Detail, output: &Output) -> String {
    if findings.is_empty() {
        return "Nothing stands out: no rule explains more than 1 % of the time.\n".to_owned();
    }
    let mut text = String::new();
    let culprit = culprit(findings);
    for (index, finding) in findings.iter().enumerate() {
        text.push_str(&head(index + 1, finding, output));
        if detail == Detail::Full || (detail == Detail::Culprit && Some(index) == culprit) {
            text.push_str(&body(finding, output));
        }
    }
    text
}

/// The position of the culprit: the first finding that costs time, as findings are ranked.
pub(crate) fn culprit(findings: &[Finding]) -> Option<usize> {
    findings.iter().position(|finding| finding.cost > Nanos::ZERO)
}

fn head(rank: usize, finding: &Finding, output: &Output) -> String {
    let paint = output.paint();
    let severity = finding.severity.to_string();
    let cost = if finding.cost > Nanos::ZERO {
        format!(" · {}, {}", finding.cost, percent(finding.share))
    } else {
        String::new()
    };
    let facts = format!("{}{cost} · {} sure", finding.id, percent(finding.confidence));
    let title = wrap(&clean(&finding.title), output.width() - 4, "    ");
    format!(
        "{rank:>2}. {} {}\n{}",
        paint.severity(finding.severity, &format!("{severity:<6}")),
        paint.faint(&facts),
        paint.strong(title.trim_end_matches('\n')) + "\n"
    )
}

fn body(finding: &Finding, output: &Output) -> String {
    let mut text = String::new();
    let mut part = |name: &str, content: &str| {
        if !content.is_empty() {
            let indented = wrap(&clean(content), output.width(), "           ");
            let label = format!("    {name:<7}");
            text.push_str(&indented.replacen("           ", &label, 1));
        }
    };
    part("why", &finding.why);
    part("fix", &finding.fix);
    part("check", &finding.check);
    for fact in finding.evidence.iter().take(MOST_FACTS) {
        part("fact", &format!("{}: {}", fact.what, evidence_value(fact)));
    }
    if let Some(at) = finding.at.first() {
        part("where", &place(at));
        for frame in stack(at) {
            part("", &frame);
        }
    }
    text.push('\n');
    text
}

/// Process, thread, function and line.
fn place(at: &Where) -> String {
    let line = match (&at.file, at.line) {
        (Some(file), Some(line)) => format!(" at {file}:{line}"),
        _ => String::new(),
    };
    format!("{} / {}, {}!{}{line}", at.process, at.thread, at.module, at.function)
}

/// The leaf end of the typical stack, innermost first.
fn stack(at: &Where) -> Vec<String> {
    let mut frames: Vec<String> =
        at.stack.iter().rev().take(MOST_FRAMES).map(|frame| format!("< {frame}")).collect();
    if at.stack.len() > MOST_FRAMES {
        frames.push(format!("< {} more frames", at.stack.len() - MOST_FRAMES));
    }
    frames
}

/// A rule's page for `culprit explain`.
pub(crate) fn finding_page(doc: &RuleDoc, output: &Output) -> String {
    let paint = output.paint();
    let mut text = format!("{}  {}\n", paint.heading(doc.id), paint.faint(doc.group.title()));
    text.push_str(&wrap(doc.claim, output.width(), ""));
    for (name, content) in [
        ("Recognised by", doc.signature),
        ("Why it costs time", doc.why),
        ("What to do", doc.fix),
        ("How to check", doc.check),
    ] {
        text.push_str(&format!(
            "\n{}\n{}",
            paint.strong(name),
            wrap(content, output.width(), "  ")
        ));
    }
    if !doc.thresholds.is_empty() {
        text.push_str(&format!("\n{}\n", paint.strong("Thresholds")));
    }
    for threshold in doc.thresholds {
        let line = format!(
            "{}: {} {}. {} Source: {}",
            threshold.what,
            number(threshold.value),
            threshold.unit,
            threshold.reason,
            threshold.source
        );
        text.push_str(&wrap(&line, output.width(), "  "));
    }
    text
}
