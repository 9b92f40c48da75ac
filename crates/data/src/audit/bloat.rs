//! `culprit-data audit bloat` and `cap`.

use culprit_audit::{BloatReport, CapPoint, CapReport, Sizes};
use serde_json::{Value, json};

use super::question::{failure, open};
use super::text::{SCHEMA, finding_text, findings_json, percent, put, put_json, size, table};
use crate::audit_args::{AuditBloatArgs, AuditCapArgs};
use crate::failure::Failure;
use crate::output::Talk;

/// Runs `bloat`.
///
/// # Errors
/// When the store cannot be read, or a question cannot be answered.
pub(super) fn run(args: &AuditBloatArgs, json: bool, talk: &Talk) -> Result<(), Failure> {
    let report = culprit_audit::bloat(&open(&args.store, talk)?, args.top).map_err(failure)?;
    if json {
        return put_json(&document(&report));
    }
    put(&bloat_text(&report, args.top as usize))
}

fn sizes_row(sizes: &Sizes) -> Vec<String> {
    let or_dash = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |v| v.to_string());
    vec![
        sizes.values.to_string(),
        size(sizes.bytes),
        percent(sizes.share),
        or_dash(sizes.p50),
        or_dash(sizes.p90),
        or_dash(sizes.p99),
        or_dash(sizes.p999),
        sizes.max.to_string(),
    ]
}

const SIZE_HEADINGS: [&str; 8] = ["values", "bytes", "share", "p50", "p90", "p99", "p99.9", "max"];

fn bloat_text(report: &BloatReport, top: usize) -> String {
    let headings = |first: &[&'static str]| [first, &SIZE_HEADINGS].concat();
    let facets = report.facets.iter().map(|facet| {
        [vec![facet.facet.clone(), facet.owner.clone()], sizes_row(&facet.sizes)].concat()
    });
    let mut text = table(&headings(&["facet", "of"]), &facets.collect::<Vec<_>>());
    let texts = report.paths.iter().filter(|path| path.kind == "text");
    let paths: Vec<Vec<String>> = texts
        .take(top)
        .map(|path| {
            [vec![path.path.clone()], sizes_row(&path.sizes), vec![size(path.repeated_bytes)]]
                .concat()
        })
        .collect();
    text.push('\n');
    let mut path_headings = headings(&["path of texts"]);
    path_headings.push("repeated");
    text.push_str(&table(&path_headings, &paths));
    let values = report.top.iter().map(|value| {
        let dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let owner = format!("{} {}", value.owner.0, value.owner.1);
        vec![
            value.bytes.to_string(),
            value.path.clone(),
            dash(&value.host),
            dash(&value.junk),
            owner,
        ]
    });
    text.push('\n');
    text.push_str(&table(
        &["bytes", "largest values", "host", "looks like", "owner"],
        &values.collect::<Vec<_>>(),
    ));
    let junk = report
        .junk
        .iter()
        .map(|junk| vec![junk.junk.clone(), junk.values.to_string(), size(junk.bytes)]);
    text.push('\n');
    text.push_str(&table(
        &["long values that look like", "values", "bytes"],
        &junk.collect::<Vec<_>>(),
    ));
    if let Some(growth) = report.growth_per_day() {
        text.push_str(&format!(
            "\nFacets grow by {growth:.0} bytes a day (mean of the last 30 days).\n"
        ));
    }
    report.finding().iter().for_each(|finding| text.push_str(&finding_text(finding)));
    text
}

fn sizes_json(sizes: &Sizes) -> Value {
    json!({
        "values": sizes.values,
        "bytes": sizes.bytes,
        "utf16_bytes": sizes.bytes_utf16,
        "share": sizes.share,
        "p50_bytes": sizes.p50,
        "p90_bytes": sizes.p90,
        "p99_bytes": sizes.p99,
        "p999_bytes": sizes.p999,
        "max_bytes": sizes.max,
    })
}

fn document(report: &BloatReport) -> Value {
    let facets = report.facets.iter().map(|facet| {
        json!({"facet": facet.facet, "owner": facet.owner, "sizes": sizes_json(&facet.sizes)})
    });
    let paths = report.paths.iter().map(|path| {
        json!({
            "path": path.path,
            "kind": path.kind,
            "sizes": sizes_json(&path.sizes),
            "max_elements": path.max_elements,
            "repeated_bytes": path.repeated_bytes,
        })
    });
    let top = report.top.iter().map(|value| {
        json!({
            "path": value.path,
            "bytes": value.bytes,
            "host": value.host,
            "junk": value.junk,
            "owner": value.owner.0,
            "owner_id": value.owner.1,
        })
    });
    let junk = report
        .junk
        .iter()
        .map(|junk| json!({"junk": junk.junk, "values": junk.values, "bytes": junk.bytes}));
    let days = report.days.iter().map(|(day, bytes)| json!({"day": day, "bytes": bytes}));
    json!({
        "schema": SCHEMA,
        "facet_bytes": report.bytes,
        "facets": facets.collect::<Vec<_>>(),
        "paths": paths.collect::<Vec<_>>(),
        "largest": top.collect::<Vec<_>>(),
        "junk": junk.collect::<Vec<_>>(),
        "days": days.collect::<Vec<_>>(),
        "growth_per_day_bytes": report.growth_per_day(),
        "findings": findings_json(report.finding().as_slice()),
    })
}

/// Runs `cap`.
///
/// # Errors
/// When no path has that name, or a question cannot be answered.
pub(super) fn cap(args: &AuditCapArgs, json: bool, talk: &Talk) -> Result<(), Failure> {
    let store = open(&args.store, talk)?;
    let report = culprit_audit::cap(&store, &args.path, args.limit).map_err(failure)?;
    if json {
        return put_json(&cap_document(&report));
    }
    put(&cap_text(&report))
}

fn cap_text(report: &CapReport) -> String {
    let asked = &report.asked;
    let mut text = format!(
        "A limit of {} bytes for `{}` cuts {} of {} values, of {} owners, and saves {} of {}.\n\n",
        asked.limit,
        report.path,
        asked.cut,
        report.values,
        asked.owners,
        size(asked.saved),
        size(report.bytes)
    );
    let row = |point: &CapPoint| {
        let numbers = [point.limit, point.cut, point.owners];
        let mut row: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        row.push(size(point.saved));
        row
    };
    let rows: Vec<Vec<String>> = report.curve.iter().map(row).collect();
    text.push_str(&table(&["limit", "values cut", "owners", "saved"], &rows));
    text.push_str(&match report.suggested {
        Some(limit) => format!(
            "\nSuggested limit: {limit} bytes. It cuts at most 0.1 % of the values and makes at \
             least 80 % of the possible saving.\n"
        ),
        None => "\nNo limit both cuts at most 0.1 % of the values and makes 80 % of the possible \
                 saving.\n"
            .to_owned(),
    });
    text.push_str(&format!(
        "Long values of one owner together: {} at most; 999 of 1,000 owners have at most {}.\n",
        size(report.container_max),
        size(report.container_p999)
    ));
    text
}

fn cap_document(report: &CapReport) -> Value {
    let point = |point: &CapPoint| {
        json!({
            "limit_bytes": point.limit,
            "saved_bytes": point.saved,
            "values_cut": point.cut,
            "owners": point.owners,
        })
    };
    json!({
        "schema": SCHEMA,
        "path": report.path,
        "values": report.values,
        "bytes": report.bytes,
        "asked": point(&report.asked),
        "curve": report.curve.iter().map(point).collect::<Vec<_>>(),
        "suggested_bytes": report.suggested,
        "container_max_bytes": report.container_max,
        "container_p999_bytes": report.container_p999,
    })
}
