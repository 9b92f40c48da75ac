//! Plans and what became of them, for people and for programs.

use std::collections::BTreeMap;
use std::path::Path;

use culprit_audit::clean::{Applied, GuardResult, Plan, PlanSums, Status, Undone, Verified};
use culprit_model::counted;
use culprit_report::size;
use serde_json::{Value, json};

use super::refresh::moment;
use super::text::{SCHEMA, table};

/// Days and rows that are printed; the documents have all.
const SHOWN: usize = 20;

/// What `--confirm` must say.
pub(super) fn confirmation(plan: &Plan) -> &str {
    plan.digest.get(..8).unwrap_or_default()
}

/// A plan.
pub(super) fn plan(plan: &Plan) -> String {
    let counts = &plan.counts;
    let mut text = format!(
        "Plan {} at level `{}`: `{}`\n{} and {} leave ({}).\n",
        confirmation(plan),
        plan.level,
        plan.selection,
        counted(counts.interactions, "interaction"),
        counted(counts.contacts, "contact"),
        size(counts.raw_bytes + counts.facet_bytes)
    );
    let notes = [
        (
            counts.partial_contacts,
            "contact",
            "will lose some interactions: rebuild the calculated facets (keys/partial-contacts-*.parquet)",
        ),
        (counts.changed, "selected row", "changed in the source after the import: not in the plan"),
        (counts.missing, "selected row", "missing in the source: not in the plan"),
    ];
    for (count, noun, what) in notes.iter().filter(|(count, ..)| *count > 0) {
        text.push_str(&format!("{} {what}\n", counted(*count, noun)));
    }
    for (guard, count) in &plan.spared {
        text.push_str(&format!("{} left out by `--spare {guard}`\n", counted(*count, "row")));
    }
    let row = |what: &str, before: u64, after: u64| {
        vec![what.to_owned(), before.to_string(), after.to_string()]
    };
    let (before, after) = (&plan.before, &plan.after);
    text.push('\n');
    text.push_str(&table(
        &["reports", "now", "after"],
        &[
            row("visits", before.visits, after.visits),
            row("pages", before.pages, after.pages),
            row("visits with one page", before.single, after.single),
            row("visits with a conversion", before.converted, after.converted),
        ],
    ));
    let mut days: BTreeMap<&str, u64> = BTreeMap::new();
    for day in &plan.days {
        *days.entry(&day.day).or_default() += day.interactions;
    }
    let all = days.len();
    let rows: Vec<Vec<String>> = days
        .into_iter()
        .take(SHOWN)
        .map(|(day, count)| vec![day.to_owned(), count.to_string()])
        .collect();
    text.push('\n');
    text.push_str(&table(&["day (UTC)", "interactions that leave"], &rows));
    if all > rows.len() {
        text.push_str(&format!("The first {} of {all} days.\n", rows.len()));
    }
    text.push('\n');
    text.push_str(&guards(&plan.guards));
    text
}

fn guards(results: &[GuardResult]) -> String {
    let row = |result: &GuardResult| {
        let state = if result.passed { "passed" } else { "stops" };
        vec![result.guard.to_string(), state.to_owned(), result.why.clone()]
    };
    table(&["guard", "", "because"], &results.iter().map(row).collect::<Vec<_>>())
}

/// What reports show.
pub(super) fn visits_and_pages(sums: PlanSums) -> String {
    format!("{} with {}", counted(sums.visits, "visit"), counted(sums.pages, "page"))
}

/// The command that puts back what a plan took away.
pub(super) fn way_back(plan: &Plan, folder: &Path) -> String {
    let target = if plan.target.is_some() { " --against DSN" } else { "" };
    format!(
        "To put it back: culprit audit clean undo {}{target} --execute --confirm {}\n",
        folder.display(),
        confirmation(plan)
    )
}

/// The command that carries a plan out, and the guards that stop it.
pub(super) fn next_step(plan: &Plan, folder: &Path) -> String {
    let stops = plan.guards.iter().filter(|guard| !guard.passed && plan.level != "label");
    let stops: Vec<String> = stops.map(|guard| format!("`{}`", guard.guard)).collect();
    match stops.is_empty() {
        true => command(plan, folder),
        false => format!(
            "{} {}: make another plan, or add `--allow GUARD` for each\n{}",
            if stops.len() == 1 { "This guard stops it:" } else { "These guards stop it:" },
            stops.join(", "),
            command(plan, folder)
        ),
    }
}

fn command(plan: &Plan, folder: &Path) -> String {
    let folder = folder.display();
    match (plan.level.as_str(), &plan.target) {
        ("source", None) => {
            format!("Read the files in {folder}/forward, then run them in their order.\n")
        }
        ("source", Some(_)) => format!(
            "To carry it out: culprit audit clean apply {folder} --against DSN --backup TEXT \
             --execute --confirm {}\n",
            confirmation(plan)
        ),
        _ => format!(
            "To carry it out: culprit audit clean apply {folder} --execute --confirm {}\n",
            confirmation(plan)
        ),
    }
}

/// A plan as a document.
pub(super) fn plan_json(plan: &Plan) -> Value {
    json!({"schema": SCHEMA, "confirm": confirmation(plan), "plan": plan})
}

/// How far a plan is.
pub(super) fn status(status: &Status) -> String {
    let batches = &status.batches;
    let mut text = format!(
        "Plan {} at level `{}`: {}, {}\n",
        confirmation(&status.plan),
        status.plan.level,
        counted(status.plan.counts.interactions, "interaction"),
        counted(status.plan.counts.contacts, "contact")
    );
    text.push_str(&match status.at_ms {
        Some(at) => format!("State: {}. Last step: {} UTC\n", status.state, moment(at)),
        None => format!("State: {}\n", status.state),
    });
    if let Some(kept) = &status.kept {
        text.push_str(&format!("The old store is `{}`\n", kept.display()));
    }
    if let Some(left) = &status.left_over {
        text.push_str(&format!(
            "A run that was killed left `{}`. Nothing needs it: `apply` and `undo` delete it\n",
            left.display()
        ));
    }
    if batches.all > 0 {
        text.push_str(&format!(
            "{}: {} deleted, {} put back, {} interrupted, {} not begun\n",
            counted(batches.all, "batch"),
            batches.committed,
            batches.undone,
            batches.open,
            batches.all.saturating_sub(batches.committed + batches.undone + batches.open)
        ));
    }
    text.push_str(&rows("in the archive from", &status.archived));
    text.push_str(&skipped(&status.skipped));
    if let Some(why) = &status.stopped {
        text.push_str(&format!("It stopped: {why}\n"));
    }
    text
}

/// How far a plan is, as a document.
pub(super) fn status_json(status: &Status) -> Value {
    let batches = &status.batches;
    json!({
        "schema": SCHEMA,
        "confirm": confirmation(&status.plan),
        "level": status.plan.level,
        "state": status.state.to_string(),
        "at_ms": status.at_ms,
        "kept": status.kept.as_ref().map(|path| path.display().to_string()),
        "left_over": status.left_over.as_ref().map(|path| path.display().to_string()),
        "batches": {
            "all": batches.all,
            "deleted": batches.committed,
            "undone": batches.undone,
            "interrupted": batches.open,
        },
        "archived_rows": status.archived,
        "skipped": skipped_json(&status.skipped),
        "stopped": status.stopped,
        "finished": status.finished,
    })
}

fn rows(what: &str, by_table: &BTreeMap<String, u64>) -> String {
    let line = |(table, count): (&String, &u64)| {
        format!("{:>17} {what} {table}\n", counted(*count, "row"))
    };
    by_table.iter().map(line).collect()
}

fn skipped(skipped: &[(String, String)]) -> String {
    let mut text = String::new();
    if skipped.is_empty() {
        return text;
    }
    text.push_str(&format!("{} left alone:\n", counted(skipped.len() as u64, "key")));
    for (id, why) in skipped.iter().take(SHOWN) {
        text.push_str(&format!("  {id}  {why}\n"));
    }
    if skipped.len() > SHOWN {
        text.push_str(&format!(
            "  and {} more: `culprit audit clean status PLAN --json` has all\n",
            skipped.len() - SHOWN
        ));
    }
    text
}

fn skipped_json(skipped: &[(String, String)]) -> Vec<Value> {
    skipped.iter().map(|(id, why)| json!({"id": id, "why": why})).collect()
}

/// A dry run.
pub(super) fn verified(found: &Verified) -> String {
    format!(
        "Keys as planned: {}. Changed since, and would be left alone: {}. Gone: {}.\n\n{}",
        found.same,
        found.changed,
        found.missing,
        guards(&found.guards)
    )
}

/// A dry run as a document.
pub(super) fn verified_json(found: &Verified) -> Value {
    json!({
        "schema": SCHEMA,
        "same": found.same,
        "changed": found.changed,
        "missing": found.missing,
        "guards": found.guards,
    })
}

/// What was deleted.
pub(super) fn applied(done: &Applied) -> String {
    let before = match done.batches {
        0 => "Nothing was left to do. What earlier runs did:\n",
        _ => "",
    };
    format!(
        "{before}{}{}Keys without rows in the source: expected {}, seen {}.\n",
        rows("deleted from", &done.rows),
        skipped(&done.skipped),
        done.expected_gone,
        done.seen_gone
    )
}

/// What was deleted, as a document.
pub(super) fn applied_json(done: &Applied) -> Value {
    json!({
        "schema": SCHEMA,
        "level": "source",
        "batches": done.batches,
        "deleted_rows": done.rows,
        "skipped": skipped_json(&done.skipped),
        "expected_gone": done.expected_gone,
        "seen_gone": done.seen_gone,
    })
}

/// What was put back.
pub(super) fn undone(done: &Undone) -> String {
    let mut text = rows("put back into", &done.rows);
    if done.kept > 0 {
        text.push_str(&format!(
            "{} not put back: other rows have the keys now\n",
            counted(done.kept, "archived row")
        ));
        for (table, key) in done.kept_rows.iter().take(SHOWN) {
            text.push_str(&format!("  {key}  {table}\n"));
        }
        if done.kept > SHOWN as u64 {
            text.push_str(&format!(
                "  and {} more: `--json` has the first 1,000\n",
                done.kept - SHOWN as u64
            ));
        }
    }
    let batches = counted(done.batches, "batch");
    text.push_str(&format!("{batches} put back, {} still deleted.\n", done.left));
    text
}

/// What was put back, as a document.
pub(super) fn undone_json(done: &Undone) -> Value {
    let kept = done.kept_rows.iter().map(|(table, key)| json!({"table": table, "key": key}));
    let kept: Vec<Value> = kept.collect();
    json!({
        "schema": SCHEMA,
        "level": "source",
        "batches": done.batches,
        "rows": done.rows,
        "kept": done.kept,
        "kept_rows": kept,
        "left": done.left,
    })
}
