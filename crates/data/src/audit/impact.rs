//! `culprit-data audit impact`.

use culprit_audit::robots::{GroupBy, RobotReport};
use culprit_audit::{ImpactDay, ImpactReport, ImpactSums, impact};
use culprit_report::{percent, size};
use serde_json::{Value, json};

use super::question::{
    Recognition, failure, open, put_json_of, put_of, recognised, recognised_text,
};
use super::text::{SCHEMA, table};
use crate::audit_args::AuditImpactArgs;
use crate::failure::Failure;
use crate::output::Talk;

/// Days that are printed; the document has all.
const SHOWN_DAYS: usize = 14;

/// Runs it.
///
/// # Errors
/// When the store or a list cannot be read, or a question cannot be answered.
pub(super) fn run(args: &AuditImpactArgs, json: bool, talk: &Talk) -> Result<(), Failure> {
    let store = open(&args.store, talk)?;
    let recognition = Recognition::read(&args.robots, talk)?;
    let robots = recognition.judge(&store, GroupBy::UserAgent)?;
    let report = impact(&store, &robots.robot_agents()).map_err(failure)?;
    if json {
        return put_json_of(&store, document(&report, &robots), talk);
    }
    put_of(&store, &format!("{}\n{}", impact_text(&report), recognised_text(&robots)), talk)
}

fn impact_text(report: &ImpactReport) -> String {
    let (before, after) = (&report.before, &report.after);
    let row = |what: &str, before: String, after: String| vec![what.to_owned(), before, after];
    let storage = report.storage();
    let of_goals = |sums| conversion(sums, report.knows_goals);
    let rows = [
        row("visits", before.visits.to_string(), after.visits.to_string()),
        row("contacts", report.contacts_before.to_string(), report.contacts_after.to_string()),
        row(
            "pages a visit",
            format!("{:.2}", before.pages_mean()),
            format!("{:.2}", after.pages_mean()),
        ),
        row("conversion", of_goals(before), of_goals(after)),
        row("visits with one page", percent(before.single_share()), percent(after.single_share())),
        row("storage", size(storage.0), size(storage.1)),
    ];
    let mut text = table(&["", "now", "without robots and contacts without visits"], &rows);
    text.push_str(&format!(
        "\nContacts that only have interactions of robots: {}. Contacts without interactions: {}.\n",
        report.contacts_of_robots, report.contacts_without
    ));
    let days = &report.days[report.days.len().saturating_sub(SHOWN_DAYS)..];
    if days.len() < report.days.len() {
        text.push_str(&format!("\nThe last {} of {} days:\n", days.len(), report.days.len()));
    } else {
        text.push('\n');
    }
    let row = |day: &ImpactDay| {
        vec![
            culprit_audit::visits::day_text(day.day),
            day.before.visits.to_string(),
            day.after.visits.to_string(),
            format!("{:.2}", day.before.pages_mean()),
            format!("{:.2}", day.after.pages_mean()),
        ]
    };
    let headings = ["day (UTC)", "visits", "without robots", "pages a visit", "without robots"];
    text.push_str(&table(&headings, &days.iter().map(row).collect::<Vec<_>>()));
    text
}

/// The share of visits with a goal, or that no source knows of goals.
pub(super) fn conversion(sums: &ImpactSums, knows_goals: bool) -> String {
    sums.conversion(knows_goals).map_or_else(|| "unknown".to_owned(), percent)
}

fn sums(report: &ImpactReport, sums: &ImpactSums) -> Value {
    json!({
        "visits": sums.visits,
        "pages": sums.pages,
        "pages_mean": sums.pages_mean(),
        "single_share": sums.single_share(),
        "conversion": sums.conversion(report.knows_goals),
        "raw_bytes": sums.raw_bytes,
    })
}

fn document(report: &ImpactReport, robots: &RobotReport) -> Value {
    let day = |day: &ImpactDay| {
        json!({
            "day": culprit_audit::visits::day_text(day.day),
            "before": sums(report, &day.before),
            "after": sums(report, &day.after),
        })
    };
    let storage = report.storage();
    json!({
        "schema": SCHEMA,
        "before": sums(report, &report.before),
        "after": sums(report, &report.after),
        "recognition": recognised(robots),
        "contacts_before": report.contacts_before,
        "contacts_after": report.contacts_after,
        "contacts_of_robots": report.contacts_of_robots,
        "contacts_without": report.contacts_without,
        "storage_before_bytes": storage.0,
        "storage_after_bytes": storage.1,
        "days": report.days.iter().map(day).collect::<Vec<_>>(),
    })
}
