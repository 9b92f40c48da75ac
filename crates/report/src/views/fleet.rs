//! What is particular to folders of recordings: their groups, and findings added up.

use std::path::PathBuf;

use culprit_model::{Finding, Label as _, Loss, Metric, Nanos, clean, counted};

use super::{share, value};
use crate::html::function_of;
use crate::layout::{Align, Layout, Table, wrap};
use crate::units::percent;

/// What a folder's sum is made of.
#[derive(Debug, Clone, Default)]
pub struct FleetFacts {
    /// Recordings in the sum.
    pub recordings: usize,
    /// Those of them whose run time is the busy time of all threads, because no command ended.
    pub services: usize,
    /// What they are grouped by.
    pub by: Option<String>,
    /// The groups, the largest first.
    pub groups: Vec<GroupTotal>,
    /// Files that are not in the sum.
    pub left_out: Vec<LeftOut>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupTotal {
    /// Its name: a host, an image, a version, a day, a label's value.
    pub name: String,
    /// Recordings in it.
    pub recordings: usize,
    /// The sum of what a filter's threads and time range keep, in the metric's unit.
    pub total: u64,
}

/// Findings of a folder.
#[derive(Debug, Default)]
pub struct FleetFindings {
    /// Recordings that were judged.
    pub recordings: usize,
    /// Files that were not.
    pub left_out: Vec<LeftOut>,
    /// What is missing of the recordings.
    pub losses: Vec<Loss>,
    /// What shares are of: the sum of what the recordings' own shares are of.
    pub whole: Nanos,
    /// The findings, the dearest first.
    pub findings: Vec<FleetFinding>,
}

/// One rule at one place in the code, in all recordings.
#[derive(Debug)]
pub struct FleetFinding {
    /// What it costs in all of them.
    pub cost: Nanos,
    /// The recordings that have it.
    pub recordings: usize,
    /// The finding of the recording in which it costs most.
    pub worst: Finding,
    /// That recording.
    pub worst_file: PathBuf,
    /// Cost and recordings by group, the dearest first; empty unless they were asked for.
    pub groups: Vec<(String, Nanos, usize)>,
}

/// A file that is not in the sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

/// Groups of a finding that a text shows; the JSON has all.
const GROUPS: usize = 5;

/// The groups of a sum as a table; nothing where there are none.
#[must_use]
pub fn groups_text(facts: &FleetFacts, metric: Metric, layout: &Layout) -> String {
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
    table.render(layout.width()) + "\n"
}

/// Findings of a folder, at most `limit` unless that is 0.
#[must_use]
pub fn fleet_findings_text(
    all: &FleetFindings,
    by: Option<&str>,
    limit: usize,
    layout: &Layout,
) -> String {
    let mut text = layout.paint().faint(&format!(
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
        let paint = layout.paint();
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
        text.push_str(&body(found, by, layout));
    }
    if kept < all.findings.len() {
        text.push_str(&format!(
            "{} more findings; `--limit 0` shows all.\n",
            all.findings.len() - kept
        ));
    }
    text
}

fn body(found: &FleetFinding, by: Option<&str>, layout: &Layout) -> String {
    const INDENT: &str = "             ";
    let mut text = String::new();
    let mut part = |name: &str, content: &str| {
        let indented = wrap(&clean(content), layout.width(), INDENT);
        text.push_str(&indented.replacen(INDENT, &format!("    {name:<9}"), 1));
    };
    if let Some(at) = found.worst.at.first() {
        part("where", &function_of(at));
    }
    if let Some(by) = by {
        let group = |(name, cost, recordings): &(String, Nanos, usize)| {
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
