//! The findings as cards: title and cost first, the rest behind a click.

use culprit_model::{Finding, Nanos, Where};

use super::markup::Markup;
use crate::units::{evidence_value, percent};

/// The section of all findings; an empty list says so.
pub fn findings_section(body: &mut Markup, findings: &[Finding], lead: &str) {
    body.element("section", &[("id", "findings")], |body| {
        body.leaf("h2", &[], "Findings");
        body.prose("p", &[("class", "lead")], lead);
        if findings.is_empty() {
            body.leaf("p", &[], "Nothing stands out: no rule explains more than 1 % of the time.");
        }
        // The culprit itself is read without a click.
        let open = most_expensive(findings).unwrap_or(0);
        for (index, finding) in findings.iter().enumerate() {
            card(body, finding, index == open);
        }
    });
}

/// The position of the culprit: the first finding that costs time, as findings are ranked.
#[must_use]
pub fn most_expensive(findings: &[Finding]) -> Option<usize> {
    findings.iter().position(|finding| finding.cost > Nanos::ZERO)
}

/// The function that a place is at. Where generated code is, its module says nothing to anybody.
#[must_use]
pub fn function_of(at: &Where) -> String {
    match at.module.as_str() {
        "[jit]" => at.function.to_string(),
        module => format!("{module}!{}", at.function),
    }
}

fn card(body: &mut Markup, finding: &Finding, open: bool) {
    let severity = finding.severity.to_string();
    let class = format!("finding {severity}");
    let mut attributes = vec![("class", class.as_str())];
    if open {
        attributes.push(("open", ""));
    }
    body.element("details", &attributes, |body| {
        body.element("summary", &[], |body| summary(body, finding));
        body.element("div", &[("class", "body")], |body| {
            let takes_time = finding.cost > Nanos::ZERO;
            let why = if takes_time { "Why it costs time" } else { "Why it matters" };
            block(body, why, &finding.why);
            fix(body, finding);
            evidence(body, finding);
            if !finding.check.is_empty() {
                body.element("div", &[("class", "wide")], |body| {
                    body.leaf("h3", &[], "Check it");
                    body.leaf("pre", &[], &finding.check);
                });
            }
            for at in finding.at.iter().take(3) {
                place(body, at);
            }
        });
    });
}

fn summary(body: &mut Markup, finding: &Finding) {
    let severity = finding.severity.to_string();
    body.element("div", &[], |body| {
        body.prose("div", &[("class", "title")], &finding.title);
        body.element("div", &[("class", "meta")], |body| {
            body.leaf("span", &[("class", &format!("pill {severity}"))], &severity);
            body.leaf("code", &[], finding.id);
            body.text(&format!(" · {} sure", percent(finding.confidence)));
        });
    });
    if finding.cost.0 > 0 {
        body.element("div", &[("class", "cost")], |body| {
            body.text(&finding.cost.to_string());
            body.leaf("small", &[], &format!("{} of the time", percent(finding.share)));
        });
    }
}

fn block(body: &mut Markup, heading: &'static str, text: &str) {
    body.element("div", &[], |body| {
        body.leaf("h3", &[], heading);
        body.prose("p", &[], text);
    });
}

fn fix(body: &mut Markup, finding: &Finding) {
    body.element("div", &[], |body| {
        body.leaf("h3", &[], "What to do");
        body.element("ul", &[], |body| {
            for action in &finding.fix {
                body.prose("li", &[], action);
            }
        });
    });
}

fn evidence(body: &mut Markup, finding: &Finding) {
    if finding.evidence.is_empty() {
        return;
    }
    body.element("div", &[], |body| {
        body.leaf("h3", &[], "Evidence");
        body.element("table", &[], |table| {
            for fact in &finding.evidence {
                table.element("tr", &[], |row| {
                    row.prose("td", &[], &fact.what);
                    row.leaf("td", &[("class", "num")], &evidence_value(fact));
                });
            }
        });
    });
}

fn place(body: &mut Markup, at: &Where) {
    body.element("div", &[("class", "wide")], |body| {
        body.element("h3", &[], |heading| {
            heading.text(&format!("Where: {} / {}, ", at.process, at.thread));
            heading.leaf("code", &[], &function_of(at));
            if let (Some(file), Some(line)) = (&at.file, at.line) {
                heading.text(&format!(" at {file}:{line}"));
            }
        });
        let stack: Vec<&str> = at.stack.iter().map(|frame| frame.as_str()).collect();
        body.leaf("pre", &[], &stack.join("\n"));
    });
}
