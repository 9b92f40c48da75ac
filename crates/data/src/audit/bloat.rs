//! `culprit-data audit bloat` and `cap`.

use culprit_audit::robots::GroupBy;
use culprit_audit::visits::day_text;
use culprit_audit::{
    AuditStore, BloatReport, CapPoint, CapReport, Price, Sizes, WriterGuard, writer_guards,
};
use culprit_model::counted;
use culprit_report::{percent, size};
use serde_json::{Value, json};

use super::question::{Recognition, failure, open, put_json_of, put_of};
use super::text::{SCHEMA, finding_text, findings_json, table};
use crate::audit_args::{AuditBloatArgs, AuditCapArgs};
use crate::failure::Failure;
use crate::output::Talk;

/// What values and bytes of paths are where rows have left the store.
pub(super) const ESTIMATED: &str = "Values and bytes of paths are estimates: rows of these facets were \
                                    replaced, removed or labelled since they were read.";

/// Runs `bloat`.
///
/// # Errors
/// When the store or a list cannot be read, or a question cannot be answered.
pub(super) fn run(args: &AuditBloatArgs, json: bool, talk: &Talk) -> Result<(), Failure> {
    let budget = args.budget.map(|gib| bytes_of(gib, "--budget")).transpose()?;
    if args.price.is_some_and(|price| !(0.0..1e9).contains(&price)) {
        return Err(Failure::bad_input("`--price` is not a price").hint("give euros, such as 0.1"));
    }
    let store = open(&args.store, talk)?;
    let report = culprit_audit::bloat(&store, args.top).map_err(failure)?;
    let cost = args.price.map(|price| cost(args, price, &store, talk)).transpose()?;
    if json {
        return put_json_of(&store, document(&report, cost.as_ref(), budget), talk);
    }
    let mut text = bloat_text(&report, args.top as usize, &args.unit);
    cost.iter().for_each(|cost| text.push_str(&cost.text()));
    budget.iter().for_each(|bytes| text.push_str(&budget_text(&report, *bytes)));
    report.finding().iter().for_each(|finding| text.push_str(&finding_text(finding)));
    put_of(&store, &text, talk)
}

/// What rows and facets cost, and what of it robots and contacts without visits take.
struct Cost {
    price: Price,
    bytes: u64,
    removable: u64,
}

fn cost(
    args: &AuditBloatArgs,
    price: f64,
    store: &AuditStore,
    talk: &Talk,
) -> Result<Cost, Failure> {
    let robots = Recognition::read(&args.robots, talk)?.judge(store, GroupBy::UserAgent)?;
    let impact = culprit_audit::impact(store, &robots.robot_agents()).map_err(failure)?;
    let (bytes, left) = impact.storage();
    let price = Price { per_gb_month: price, replicas: args.replicas, backups: args.backups };
    Ok(Cost { price, bytes, removable: bytes.saturating_sub(left) })
}

impl Cost {
    fn text(&self) -> String {
        let Self { price, bytes, removable } = self;
        format!(
            "\nRows and facets: {}, {:.2} euros a month with {}. Robots and contacts without \
             visits: {} of that, {:.2} euros.\n",
            size(*bytes),
            price.of(*bytes),
            counted(u64::from(1 + price.replicas + price.backups), "copy"),
            size(*removable),
            price.of(*removable)
        )
    }

    fn document(&self) -> Value {
        let Self { price, bytes, removable } = self;
        json!({
            "eur_per_gb_month": price.per_gb_month,
            "copies": 1 + price.replicas + price.backups,
            "bytes": bytes,
            "eur_per_month": price.of(*bytes),
            "removable_bytes": removable,
            "removable_eur_per_month": price.of(*removable),
        })
    }
}

fn budget_text(report: &BloatReport, budget: u64) -> String {
    let of = size(budget);
    match report.reaches(budget) {
        Some(_) if report.bytes >= budget => format!("\nFacets have more than {of} already.\n"),
        Some(day) => {
            format!("\nFacets reach {of} on {}, if they grow on so.\n", day_text(Some(day)))
        }
        None => format!("\nFacets do not grow: they do not reach {of}.\n"),
    }
}

/// GiB as bytes.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to fit")]
fn bytes_of(gib: f64, option: &str) -> Result<u64, Failure> {
    let bytes = gib * f64::from(1 << 30);
    if !(0.0..1e18).contains(&bytes) {
        return Err(Failure::bad_input(format!("`{option} {gib}` is not a size"))
            .hint("give GiB, such as 600"));
    }
    Ok(bytes as u64)
}

fn sizes_row(sizes: &Sizes, unit: &str) -> Vec<String> {
    let or_dash = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |v| v.to_string());
    let bytes = match unit {
        "utf16" => vec![size(sizes.bytes_utf16)],
        "both" => vec![size(sizes.bytes), size(sizes.bytes_utf16)],
        _ => vec![size(sizes.bytes)],
    };
    let rest = vec![
        percent(sizes.share),
        or_dash(sizes.p50),
        or_dash(sizes.p90),
        or_dash(sizes.p99),
        or_dash(sizes.p999),
        sizes.max.to_string(),
    ];
    [vec![sizes.values.to_string()], bytes, rest].concat()
}

fn size_headings(unit: &str) -> Vec<&'static str> {
    let bytes: &[&str] = match unit {
        "utf16" => &["in UTF-16"],
        "both" => &["in UTF-8", "in UTF-16"],
        _ => &["bytes"],
    };
    [&["values"], bytes, &["share", "p50", "p90", "p99", "p99.9", "max"]].concat()
}

fn bloat_text(report: &BloatReport, top: usize, unit: &str) -> String {
    if report.facets.is_empty() {
        return "The store has no facets, so no sizes are known. Logs have none.\n".to_owned();
    }
    let headings = |first: &[&'static str]| [first, &size_headings(unit)].concat();
    let facets = report.facets.iter().map(|facet| {
        [vec![facet.facet.clone(), facet.owner.clone()], sizes_row(&facet.sizes, unit)].concat()
    });
    let mut text = table(&headings(&["facet", "of"]), &facets.collect::<Vec<_>>());
    let texts = report.paths.iter().filter(|path| path.kind == "text");
    let paths: Vec<Vec<String>> = texts
        .take(top)
        .map(|path| {
            let repeated = path.repeated_bytes.map_or_else(|| "-".to_owned(), size);
            [vec![path.path.clone()], sizes_row(&path.sizes, unit), vec![repeated]].concat()
        })
        .collect();
    text.push('\n');
    let mut path_headings = headings(&["path of texts"]);
    path_headings.push("repeated, from 64 bytes on");
    text.push_str(&table(&path_headings, &paths));
    if report.paths.iter().any(|path| path.estimated) {
        text.push_str(&format!("{ESTIMATED}\n"));
    }
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

fn document(report: &BloatReport, cost: Option<&Cost>, budget: Option<u64>) -> Value {
    let facets = report.facets.iter().map(|facet| {
        json!({"facet": facet.facet, "owner": facet.owner, "sizes": sizes_json(&facet.sizes)})
    });
    let paths = report.paths.iter().map(|path| {
        json!({
            "path": path.path,
            "kind": path.kind,
            "estimated": path.estimated,
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
        "cost": cost.map(Cost::document),
        "budget_bytes": budget,
        "budget_reached": budget.and_then(|bytes| report.reaches(bytes)).map(|day| day_text(Some(day))),
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
    let guards = match args.guards {
        true => writer_guards(&store, &report, &args.schema).map_err(failure)?,
        false => Vec::new(),
    };
    if json {
        return put_json_of(&store, cap_document(&report, &guards), talk);
    }
    let mut text = cap_text(&report);
    if args.guards {
        text.push_str(&guards_head(&report));
    }
    guards.iter().for_each(|guard| text.push_str(&format!("\n{}", guard.text)));
    put_of(&store, &text, talk)
}

/// Which limit the guards hold, and where it comes from.
fn guards_head(report: &CapReport) -> String {
    let asked = report.asked.limit;
    let other = report.suggested.filter(|limit| *limit != asked);
    let other = other.map(|limit| format!("; the suggested one is `--limit {limit}`"));
    format!("\nGuards for `--limit {asked}`{}:\n", other.unwrap_or_default())
}

fn cap_text(report: &CapReport) -> String {
    let asked = &report.asked;
    let mut text = format!(
        "A limit of {} bytes for `{}` cuts {} of {}, of {}, and saves {} of {}.\n{}\n",
        asked.limit,
        report.path,
        asked.cut,
        counted(report.values, "value"),
        counted(asked.owners, "owner"),
        size(asked.saved),
        size(report.bytes),
        if report.estimated { format!("{ESTIMATED}\n") } else { String::new() }
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
        "Values of 64 bytes or more of one owner together: {} at most; 999 of 1,000 owners have at most \
         {}.\n",
        size(report.container_max),
        size(report.container_p999)
    ));
    text
}

fn cap_document(report: &CapReport, guards: &[WriterGuard]) -> Value {
    let guard = |guard: &WriterGuard| json!({"target": guard.target, "text": guard.text});
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
        "estimated": report.estimated,
        "asked": point(&report.asked),
        "curve": report.curve.iter().map(point).collect::<Vec<_>>(),
        "suggested_bytes": report.suggested,
        "container_max_bytes": report.container_max,
        "container_p999_bytes": report.container_p999,
        "guards": guards.iter().map(guard).collect::<Vec<_>>(),
    })
}
