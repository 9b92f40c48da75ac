//! What is particular to folders of recordings: their groups, and findings added up.

use culprit_model::{Label as _, Metric, counted};
use culprit_report::html::function_of;

use super::{share, value};
use crate::fleet::{FleetFacts, FleetFinding, FleetFindings};
use crate::output::{Align, Output, Table, clean, percent, wrap};

/// Groups of a finding that a text shows; the JSON has all.
const GROUPS: usize = 5;

/// The groups of a sum as a table; nothing where there are none.
pub(crate) fn groups_text(facts: &FleetFacts, metric: Metric, output: &Output) -> String {
    let Some(by) = &facts.by else { return String::new() };
    let whole = facts.groups.iter().fold(0_u64, |sum, group| sum.saturating_add(group.total));
    let headings = [
        ("total", Align::Right),
        ("", Align::Right),
        ("recordings", Align::Right),
        (by.as_str(), Align::Left),
    ];
    let mut table = Table::new(&headings);
    for group in &facts.groups {
        table.row([
            value(metric, group.total),
            percent(share(group.total, whole)),
            group.recordings.to_string(),
            clean(&group.name).into_owned(),
        ]);
    }
    table.render(output.width()) + "\n"
}

/// Findings of a folder, at most `limit` unless that is 0.
pub(crate) fn fleet_findings_text(
    all: &FleetFindings,
    by: Option<&str>,
    limit: usize,
    output: &Output,
) -> String {
    let mut text = output.paint().faint(&format!(
        "findings of {}, shares of {} of measured time",
        counted(all.recordings as u64, "recording"),
        all.whole
    )) + "\n";
    if all.findings.is_empty() {
        text.push_str(
            "Nothing stands out: no rule explains more than 1 % of a recording's time.\n",
        );
    }
    let kept = if limit == 0 { all.findings.len() } else { limit.min(all.findings.len()) };
    for (rank, found) in (1..).zip(&all.findings[..kept]) {
        let paint = output.paint();
        let severity = format!("{:<6}", found.worst.severity.word());
        let cost = percent(share(found.cost.0, all.whole.0));
        let facts = format!(
            "{} · {}, {cost} · in {} of {}",
            found.worst.id,
            found.cost,
            found.recordings,
            counted(all.recordings as u64, "recording")
        );
        text.push_str(&format!(
            "{rank:>2}. {} {}\n",
            paint.severity(found.worst.severity, &severity),
            paint.faint(&facts)
        ));
        text.push_str(&body(found, by, output));
    }
    if kept < all.findings.len() {
        text.push_str(&format!(
            "{} more findings; `--limit 0` shows all.\n",
            all.findings.len() - kept
        ));
    }
    text
}

fn body(found: &FleetFinding, by: Option<&str>, output: &Output) -> String {
    const INDENT: &str = "             ";
    let mut text = String::new();
    let mut part = |name: &str, content: &str| {
        let indented = wrap(&clean(content), output.width(), INDENT);
        text.push_str(&indented.replacen(INDENT, &format!("    {name:<9}"), 1));
    };
    if let Some(at) = found.worst.at.first() {
        part("where", &function_of(at));
    }
    if let Some(by) = by {
        let group = |(name, cost, recordings): &(String, culprit_model::Nanos, usize)| {
            format!("{name} {cost} ({})", counted(*recordings as u64, "recording"))
        };
        let mut groups: Vec<String> = found.groups.iter().take(GROUPS).map(group).collect();
        if found.groups.len() > GROUPS {
            groups.push(format!("{} more", found.groups.len() - GROUPS));
        }
        part(by, &groups.join(", "));
    }
    part("worst", &format!("{} in {}", found.worst.title, found.worst_file.display()));
    part("details", &format!("culprit findings {}", found.worst_file.display()));
    text
}
