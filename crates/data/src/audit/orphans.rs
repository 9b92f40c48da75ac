//! `culprit-data audit orphans`.

use culprit_audit::{OrphanFacets, OrphanReport, orphans};
use culprit_model::counted;
use culprit_report::{percent, size};
use serde_json::{Value, json};

use super::question::{failure, open, put_json_of, put_of};
use super::text::{SCHEMA, finding_text, findings_json, table};
use crate::audit_args::AuditOrphansArgs;
use crate::failure::Failure;
use crate::output::Talk;

/// Runs it.
///
/// # Errors
/// When the store cannot be read, or a question cannot be answered.
pub(super) fn run(args: &AuditOrphansArgs, json: bool, talk: &Talk) -> Result<(), Failure> {
    let store = open(&args.store, talk)?;
    let report = orphans(&store).map_err(failure)?;
    if json {
        return put_json_of(&store, document(&report), talk);
    }
    let row = |id: &str, count: u64, of: u64, what: String| {
        vec![id.to_owned(), count.to_string(), of.to_string(), what]
    };
    let mut rows = vec![
        row(
            "O1",
            report.without,
            report.contacts,
            format!(
                "contacts without interactions ({}), {} of them known by name, {}",
                percent(report.without_share()),
                report.without_known,
                size(report.without_bytes)
            ),
        ),
        row(
            "O2",
            report.unrecorded,
            report.contacts + report.unrecorded,
            format!(
                "contacts without a row of their own, named by {}",
                counted(report.unrecorded_visits, "interaction")
            ),
        ),
    ];
    rows.extend(report.facets.iter().map(|facets| {
        let what = format!("facets without their {}, {}", facets.owner, size(facets.orphan_bytes));
        row("O3", facets.orphans, facets.facets, what)
    }));
    rows.push(row(
        "O4",
        report.wrong_total,
        report.reported,
        format!(
            "contacts whose reported total is wrong: {} too many, {} too few",
            counted(report.reported_more, "interaction"),
            report.reported_less
        ),
    ));
    let several = "contacts with a row in several shards".to_owned();
    rows.push(row("", report.in_several_shards, report.contacts, several));
    let mut text = table(&["", "count", "of", "what"], &rows);
    report.finding().iter().for_each(|finding| text.push_str(&finding_text(finding)));
    put_of(&store, &text, talk)
}

fn document(report: &OrphanReport) -> Value {
    let facets = |facets: &OrphanFacets| {
        json!({
            "owner": facets.owner,
            "facets": facets.facets,
            "orphans": facets.orphans,
            "orphan_bytes": facets.orphan_bytes,
        })
    };
    json!({
        "schema": SCHEMA,
        "contacts": report.contacts,
        "without_interactions": report.without,
        "without_interactions_share": report.without_share(),
        "without_interactions_known": report.without_known,
        "without_interactions_bytes": report.without_bytes,
        "unrecorded_contacts": report.unrecorded,
        "unrecorded_interactions": report.unrecorded_visits,
        "facets": report.facets.iter().map(facets).collect::<Vec<_>>(),
        "reported_totals": report.reported,
        "wrong_totals": report.wrong_total,
        "reported_too_many": report.reported_more,
        "reported_too_few": report.reported_less,
        "in_several_shards": report.in_several_shards,
        "findings": findings_json(report.finding().as_slice()),
    })
}
