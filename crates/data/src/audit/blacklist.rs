//! `culprit-data audit blacklist`.

use culprit_audit::robots::GroupBy;
use culprit_audit::{BlacklistEntry, BlacklistReport, Leak, blacklist};
use culprit_model::counted;
use serde_json::{Value, json};

use super::question::{Recognition, failure, open_with_labelled, put_json_of, put_of, text};
use super::text::{SCHEMA, finding_text, findings_json, table};
use crate::audit_args::AuditBlacklistArgs;
use crate::audit_args::question_args::RobotArgs;
use crate::failure::Failure;
use crate::output::Talk;

/// Runs it.
///
/// # Errors
/// When the store or the list cannot be read, or a question cannot be answered.
pub(super) fn run(args: &AuditBlacklistArgs, json: bool, talk: &Talk) -> Result<(), Failure> {
    // What a clean-up labelled came in all the same.
    let store = open_with_labelled(&args.store, talk)?;
    let list = text(&args.list)?;
    if list.contains('\0') {
        return Err(Failure::bad_input(format!("`{}` is no text", args.list.display()))
            .hint("give a configuration with `excludedUserAgents`, or one user agent a line"));
    }
    // The list itself is what is examined, so it is none of the lists that judge.
    let how = RobotArgs {
        preset: "balanced".to_owned(),
        list: Vec::new(),
        allow: Vec::new(),
        networks: None,
    };
    let robots = Recognition::read(&how, talk)?.judge(&store, GroupBy::UserAgent)?;
    let name = args.list.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let report = blacklist(&store, &name, &list, &robots).map_err(failure)?;
    if report.entries.is_empty() {
        return Err(Failure::bad_input(format!("`{}` has no user agent", args.list.display()))
            .hint("give a configuration with `excludedUserAgents`, or one user agent a line"));
    }
    if json {
        return put_json_of(&store, document(&report), talk);
    }
    if args.patch {
        return put_of(&store, &report.patch, talk);
    }
    let mut text = entry_table(&report);
    if !report.patch.is_empty() {
        text.push_str(&format!("\n{}", report.patch));
    }
    report.finding().iter().for_each(|finding| text.push_str(&finding_text(finding)));
    put_of(&store, &text, talk)
}

fn entry_table(report: &BlacklistReport) -> String {
    let row = |entry: &BlacklistEntry| {
        let leaked: u64 = entry.leaks.iter().map(|leak| leak.interactions).sum();
        let mut remarks = Vec::new();
        if let Some(line) = entry.doubles {
            remarks.push(format!("the same as line {line}"));
        } else if entry.is_unseen() {
            remarks.push("no visit stored is like it: it works, or is not needed".to_owned());
        }
        if entry.has_twin && entry.doubles.is_none() {
            remarks.push("the stored spelling is another entry".to_owned());
        }
        if entry.begins > 0 {
            let stored = counted(entry.begins, "stored user agent");
            remarks.push(format!("misses {stored} with more text behind it"));
        }
        let differs = entry.leaks.iter().map(|leak| format!("leak by {}", leak.differs));
        remarks.extend(differs);
        if !entry.people.is_empty() {
            remarks.push("hits people".to_owned());
        }
        vec![
            entry.line.to_string(),
            entry.exact.to_string(),
            leaked.to_string(),
            remarks.join(", "),
            entry.text.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = report.entries.iter().map(row).collect();
    table(&["line", "stored exactly", "missed", "remark", "entry"], &rows)
}

fn document(report: &BlacklistReport) -> Value {
    let leak = |leak: &Leak| {
        json!({
            "user_agent": leak.stored,
            "interactions": leak.interactions,
            "differs": leak.differs,
        })
    };
    let entry = |entry: &BlacklistEntry| {
        json!({
            "line": entry.line,
            "user_agent": entry.text,
            "exact": entry.exact,
            "dead": entry.is_dead(),
            "unseen": entry.is_unseen(),
            "doubles": entry.doubles,
            "begins": entry.begins,
            "leaks": entry.leaks.iter().map(leak).collect::<Vec<_>>(),
            "people": entry.people,
        })
    };
    json!({
        "schema": SCHEMA,
        "entries": report.entries.iter().map(entry).collect::<Vec<_>>(),
        "leaked_interactions": report.leaked_interactions,
        "interactions": report.interactions,
        "patch": report.patch,
        "findings": findings_json(report.finding().as_slice()),
    })
}
