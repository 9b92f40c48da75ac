//! `culprit-data audit visits`.

use culprit_audit::robots::{GroupBy, RobotReport};
use culprit_audit::visits::{
    Attribute, Bucket, NoExtrapolation, PlaceSpec, Published, RobotVisits, VisitOptions,
    VisitReport, VisitRow, visits,
};
use culprit_model::counted;
use culprit_report::percent;
use serde_json::{Value, json};

use super::question::{
    Recognition, failure, open, put_json_of, put_of, recognised, recognised_text,
};
use super::text::{SCHEMA, finding_text, findings_json, table};
use super::time_zone;
use crate::audit_args::AuditVisitsArgs;
use crate::failure::Failure;
use crate::output::Talk;

/// Runs it.
///
/// # Errors
/// When the place or the zone makes no sense, or a question cannot be answered.
pub(super) fn run(args: &AuditVisitsArgs, json: bool, talk: &Talk) -> Result<(), Failure> {
    let place = PlaceSpec::parse(&args.place).map_err(|why| {
        Failure::bad_input(format!("cannot read `--place {}`: {why}", args.place))
    })?;
    let zone = time_zone(&args.tz)?;
    let store = open(&args.store, talk)?;
    let recognition = Recognition::read(&args.how, talk)?;
    let judged = recognition.judge(&store, GroupBy::UserAgent)?;
    let options = VisitOptions {
        place,
        zone,
        by: match args.by.as_str() {
            "week" => Bucket::Week,
            "hour" => Bucket::Hour,
            _ => Bucket::Day,
        },
        min_sessions: args.min_sessions,
        attribute: match args.attribute.as_str() {
            "contact" => Attribute::Contact,
            _ => Attribute::Interaction,
        },
        robots: match args.robots.as_str() {
            "only" => RobotVisits::Only,
            "split" => RobotVisits::Split,
            _ => RobotVisits::Exclude,
        },
        robot_agents: judged.robot_agents(),
        extrapolate: args.extrapolate,
    };
    let report = visits(&store, &options).map_err(failure)?;
    for warning in &report.warnings {
        talk.warn(&format!("warning: {warning}\n"));
    }
    if json {
        return put_json_of(&store, document(args, &report, &judged), talk);
    }
    let mut text = visit_table(&report, options.robots == RobotVisits::Split);
    text.push_str(&format!(
        "\n{} of {}; the import rejected {}.\n",
        report.shards,
        counted(report.shards + report.shards_missing, "shard"),
        counted(report.rows_rejected, "row")
    ));
    text.push_str(&extrapolated_text(&report));
    text.push_str(&recognised_text(&judged));
    text.push_str(&published_text(&report.published));
    if args.explain {
        let step = |step: &culprit_audit::visits::VisitStep| {
            vec![step.rows.to_string(), step.what.clone()]
        };
        text.push('\n');
        text.push_str(&table(&["count", "of"], &report.steps.iter().map(step).collect::<Vec<_>>()));
    }
    report.finding().iter().for_each(|finding| text.push_str(&finding_text(finding)));
    put_of(&store, &text, talk)
}

/// What all shards would have, or why nobody can say; empty where nobody asked.
fn extrapolated_text(report: &VisitReport) -> String {
    let all = report.shards + report.shards_missing;
    match &report.extrapolated {
        None => String::new(),
        Some(Ok(all_shards)) => format!(
            "All {all} shards: about {:.0} visits, with 95 % confidence {:.0} to {:.0}.\n",
            all_shards.visits, all_shards.low, all_shards.high
        ),
        Some(Err(why)) => format!("Nothing is extrapolated: {}.\n", no_extrapolation_text(*why)),
    }
}

fn no_extrapolation_text(why: NoExtrapolation) -> String {
    match why {
        NoExtrapolation::Complete => "no shard is missing".to_owned(),
        NoExtrapolation::OneShard => "one shard does not show how much shards differ".to_owned(),
        NoExtrapolation::Overlapping(contacts) => format!(
            "{} with a row in several shards: visits of the missing ones may be counted already",
            counted(contacts.get(), "contact")
        ),
    }
}

fn visit_table(report: &VisitReport, split: bool) -> String {
    let row = |row: &VisitRow| {
        let seconds = |ms: f64| format!("{:.1} s", ms / 1000.0);
        let mut cells = vec![
            row.start.clone(),
            row.sessions.to_string(),
            row.contacts.to_string(),
            row.pages.to_string(),
            format!("{:.2}", row.pages_mean),
            format!("{:.1}", row.pages_median),
            row.pages_p90.to_string(),
            percent(row.single_share),
            row.duration_median_ms.map_or_else(|| "-".to_owned(), seconds),
            row.robots_excluded.to_string(),
            row.shards.to_string(),
        ];
        if split {
            cells.push(if row.robots { "robots" } else { "others" }.to_owned());
        }
        cells
    };
    let mut headings = vec![
        "from",
        "visits",
        "contacts",
        "pages",
        "mean",
        "median",
        "p90",
        "one page",
        "median time",
        "robots left out",
        "shards",
    ];
    if split {
        headings.push("by");
    }
    table(&headings, &report.rows.iter().map(row).collect::<Vec<_>>())
}

fn published_text(published: &Published) -> String {
    if !published.is_possible {
        return String::new();
    }
    let mut text = format!(
        "A query over InteractionsCache finds {} of {} and counts {} instead of {}.\n",
        published.cached_contacts,
        counted(published.contacts, "contact"),
        counted(published.sessions, "visit"),
        published.own_sessions
    );
    if let Some(rows) = published.rows_by_shard_threshold {
        text.push_str(&format!(
            "With its threshold divided by the shards it keeps {} instead of {}.\n",
            counted(rows, "row"),
            published.rows
        ));
    }
    text
}

fn extrapolated_json(report: &VisitReport) -> Value {
    match &report.extrapolated {
        None => Value::Null,
        Some(Ok(all)) => json!({"visits": all.visits, "low": all.low, "high": all.high}),
        Some(Err(why)) => json!({"left_out": no_extrapolation_text(*why)}),
    }
}

fn document(args: &AuditVisitsArgs, report: &VisitReport, judged: &RobotReport) -> Value {
    let row = |row: &VisitRow| {
        json!({
            "from": row.start,
            "robots": row.robots,
            "sessions": row.sessions,
            "contacts": row.contacts,
            "pages": row.pages,
            "pages_mean": row.pages_mean,
            "pages_median": row.pages_median,
            "pages_p90": row.pages_p90,
            "single_share": row.single_share,
            "duration_median_ms": row.duration_median_ms,
            "robots_excluded": row.robots_excluded,
            "shards": row.shards,
        })
    };
    let step =
        |step: &culprit_audit::visits::VisitStep| json!({"what": step.what, "rows": step.rows});
    let published = &report.published;
    json!({
        "schema": SCHEMA,
        "place": args.place,
        "time_zone": args.tz,
        "by": args.by,
        "attribute": args.attribute,
        "robots": args.robots,
        "rows": report.rows.iter().map(row).collect::<Vec<_>>(),
        "shards": report.shards,
        "shards_missing": report.shards_missing,
        "extrapolated": extrapolated_json(report),
        "rows_rejected": report.rows_rejected,
        "steps": report.steps.iter().map(step).collect::<Vec<_>>(),
        "published": {
            "contacts": published.contacts,
            "cached_contacts": published.cached_contacts,
            "sessions": published.sessions,
            "own_sessions": published.own_sessions,
            "rows_by_shard_threshold": published.rows_by_shard_threshold,
            "rows": published.rows,
        },
        "recognition": recognised(judged),
        "warnings": report.warnings,
        "findings": findings_json(report.finding().as_slice()),
    })
}
