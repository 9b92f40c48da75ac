//! Findings as text: a list, and a rule's own page.

use culprit_findings::{Group, POSSIBLE, RuleDoc, Threshold};
use culprit_model::{Finding, Nanos, Text, Where, clean};

use crate::html::{function_of, most_expensive};
use crate::layout::{Layout, wrap};
use crate::units::{evidence_value, measured, percent};

/// Facts of a finding that a list shows; the JSON and the page have all.
const MOST_FACTS: usize = 6;
/// Frames of a typical stack that a list shows, from the leaf: few of the kernel, of which there may
/// be many before the first function that users wrote.
const MOST_KERNEL_FRAMES: usize = 2;
const MOST_FRAMES: usize = 8;

/// Which findings are told with reason, way out and evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// None: a list of titles.
    Titles,
    /// The culprit: the first one that costs time.
    Culprit,
    /// All.
    Full,
}

/// The findings, the dearest first.
#[must_use]
pub fn findings_text(findings: &[Finding], detail: Detail, layout: &Layout) -> String {
    if findings.is_empty() {
        return "Nothing stands out: no rule explains more than 1 % of the time.\n".to_owned();
    }
    let mut text = String::new();
    let culprit = most_expensive(findings);
    for (index, finding) in findings.iter().enumerate() {
        text.push_str(&head(index + 1, finding, layout));
        if detail == Detail::Full || (detail == Detail::Culprit && Some(index) == culprit) {
            text.push_str(&body(finding, layout));
        }
    }
    text
}

fn head(rank: usize, finding: &Finding, layout: &Layout) -> String {
    let paint = layout.paint();
    let severity = finding.severity.to_string();
    let cost = if finding.cost > Nanos::ZERO {
        format!(" · {}, {}", finding.cost, percent(finding.share))
    } else {
        String::new()
    };
    let possible = if finding.confidence < POSSIBLE { "possible, " } else { "" };
    let sure = percent(finding.confidence);
    let facts = format!("{}{cost} · {possible}{sure} sure", finding.id);
    let title = wrap(&clean(&finding.title), layout.width() - 4, "    ");
    format!(
        "{rank:>2}. {} {}\n{}",
        paint.severity(finding.severity, &format!("{severity:<6}")),
        paint.faint(&facts),
        paint.strong(title.trim_end_matches('\n')) + "\n"
    )
}

fn body(finding: &Finding, layout: &Layout) -> String {
    let mut text = String::new();
    let mut part = |name: &str, content: &str| {
        if !content.is_empty() {
            let indented = wrap(&clean(content), layout.width(), "           ");
            let label = format!("    {name:<7}");
            text.push_str(&indented.replacen("           ", &label, 1));
        }
    };
    part("why", &finding.why);
    let several = finding.fix.len() > 1;
    for (at, action) in finding.fix.iter().enumerate() {
        let bullet = if several { "- " } else { "" };
        part(if at == 0 { "fix" } else { "" }, &format!("{bullet}{action}"));
    }
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
    format!("{} / {}, {}{line}", at.process, at.thread, function_of(at))
}

/// The leaf end of the typical stack, innermost first: the cause, the kernel in short, the program.
fn stack(at: &Where) -> Vec<String> {
    let is_kernel = |frame: &&Text| frame.starts_with("[kernel]!");
    let (causes, frames) = match at.stack.split_last() {
        Some((cause, frames)) if !cause.contains('!') => (Some(cause), frames),
        _ => (None, &at.stack[..]),
    };
    let kernel = frames.iter().rev().take_while(is_kernel).count();
    let shown = causes.into_iter().chain(frames.iter().rev().take(kernel.min(MOST_KERNEL_FRAMES)));
    let mut lines: Vec<String> = shown.map(|frame| format!("< {frame}")).collect();
    if kernel > MOST_KERNEL_FRAMES {
        lines.push(format!("< {} more kernel frames", kernel - MOST_KERNEL_FRAMES));
    }
    let own = frames.iter().rev().skip(kernel);
    lines.extend(own.take(MOST_FRAMES).map(|frame| format!("< {frame}")));
    if frames.len() > kernel + MOST_FRAMES {
        lines.push(format!("< {} more frames", frames.len() - kernel - MOST_FRAMES));
    }
    lines
}

/// A rule's page for `culprit explain`.
#[must_use]
pub fn finding_page(doc: &RuleDoc, layout: &Layout) -> String {
    let paint = layout.paint();
    let mut text = format!("{}  {}\n", paint.heading(doc.id), paint.faint(doc.group.title()));
    text.push_str(&wrap(doc.claim, layout.width(), ""));
    let mut section = |name: &str, lines: &[String]| {
        if !lines.is_empty() {
            text.push_str(&format!("\n{}\n", paint.strong(name)));
        }
        lines.iter().for_each(|line| text.push_str(&wrap(line, layout.width(), "  ")));
    };
    let why = match doc.group {
        Group::Configuration | Group::Data => "Why it matters",
        _ => "Why it costs time",
    };
    for (name, items) in [
        ("Recognised by", &[doc.signature][..]),
        ("Not reported", doc.not_reported),
        (why, &[doc.why]),
        ("What to do", doc.fix),
    ] {
        let bullet = if items.len() > 1 { "- " } else { "" };
        section(name, &items.iter().map(|item| format!("{bullet}{item}")).collect::<Vec<_>>());
    }
    section("How to check", &check_lines(doc));
    section("Thresholds", &threshold_lines(doc));
    let used = WORDS.iter().filter(|(word, _)| says(doc, word));
    section("Words", &used.map(|(_, meaning)| (*meaning).to_owned()).collect::<Vec<_>>());
    text
}

/// What decides, a line each; none where nothing does.
fn threshold_lines(doc: &RuleDoc) -> Vec<String> {
    let line = |threshold: &Threshold| {
        let value = measured(threshold.value, threshold.unit);
        let line = format!("- {}: {value}. {}", threshold.what, threshold.reason);
        match threshold.source {
            BY_DEFINITION => line,
            source => format!("{line} Source: {source}"),
        }
    };
    let head = Some(THRESHOLDS.to_owned()).filter(|_| !doc.thresholds.is_empty());
    head.into_iter().chain(doc.thresholds.iter().map(line)).collect()
}

/// What stands above the thresholds of a finding.
const THRESHOLDS: &str = "These values decide whether Culprit lists the finding, and how severe it is. \
                          \"At half\" and \"at double\" say what half or twice the value would change.";
/// The source of a threshold that nothing else gives.
const BY_DEFINITION: &str = "definition";
/// Words of findings' pages that need a line, and the line.
const WORDS: [(&str, &str); 2] = [
    (
        "critical path",
        "The critical path is the chain of work and waits that determines when the run ends.",
    ),
    (
        "`info`",
        "`info` is the lowest severity: the finding costs less than 5 %, may be intended, or is only a fact.",
    ),
];

/// Whether a word is on a finding's page.
fn says(doc: &RuleDoc, word: &str) -> bool {
    let lists = doc.not_reported.iter().chain(doc.fix);
    let thresholds = doc.thresholds.iter().flat_map(|t| [&t.what, &t.reason]);
    let texts = [&doc.claim, &doc.signature, &doc.why, &doc.check];
    texts.into_iter().chain(lists).chain(thresholds).any(|text| text.contains(word))
}

/// How to check a fix: the command, and what must then hold.
fn check_lines(doc: &RuleDoc) -> Vec<String> {
    let Some((command, then)) = doc.check.split_once("; ") else {
        return vec![doc.check.to_owned()];
    };
    let mut lines = vec![command.to_owned(), format!("Then {then}.")];
    let of_services = !doc.not_reported.iter().any(|case| case.starts_with("services"));
    if of_services && command.contains("record") && command.contains("-- CMD") {
        lines.push(
            "For a running service, use `--pid N` or `--container NAME` instead of `-- CMD`."
                .to_owned(),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_shows_the_program_behind_many_frames_of_the_kernel() {
        let kernel = (0..9).map(|at| format!("[kernel]!do_step_{at}"));
        let frames = ["program!main", "program!load", "libc.so.6!read"].map(str::to_owned);
        let stack = frames.into_iter().chain(kernel).chain(["blocked.disk".to_owned()]);
        let at = Where { stack: stack.map(Text::from).collect(), ..Where::default() };
        let expected = [
            "< blocked.disk",
            "< [kernel]!do_step_8",
            "< [kernel]!do_step_7",
            "< 7 more kernel frames",
            "< libc.so.6!read",
            "< program!load",
            "< program!main",
        ];
        assert_eq!(super::stack(&at), expected);
    }

    #[test]
    fn a_page_has_its_command_apart_and_explains_its_words() {
        let catalogue = culprit_findings::catalogue();
        let page = |id| {
            let doc = catalogue.iter().find(|doc| doc.id == id).expect(id);
            finding_page(doc, &Layout::plain(100))
        };
        let quota = page("cpu-quota-throttling");
        assert!(
            quota.contains("  culprit record -o fixed.culprit -- CMD\n  Then the cost"),
            "{quota}"
        );
        assert!(quota.contains("--pid N"), "{quota}");
        assert!(quota.contains("\nWords\n  The critical path is"), "{quota}");
        let single = page("single-thread-limit");
        assert!(!single.contains("--pid N"), "services are not judged: {single}");
        assert!(single.contains(": 80 %. "), "{single}");
    }

    #[test]
    fn a_deep_stack_says_how_much_of_it_is_left_out() {
        let stack = (0..12).map(|at| Text::from(format!("program!step_{at}"))).collect();
        let lines = super::stack(&Where { stack, ..Where::default() });
        assert_eq!(lines.len(), MOST_FRAMES + 1);
        assert_eq!(lines.last().map(String::as_str), Some("< 4 more frames"));
    }
}
