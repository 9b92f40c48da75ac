//! `culprit-data audit refresh`.

use std::io::{self, IsTerminal as _, Write as _};

use culprit_audit::visits::day_text;
use culprit_audit::{ImportProgress, RefreshOptions, Refreshed, refresh};
use culprit_model::{Label as _, counted};
use serde_json::{Value, json};

use super::text::{SCHEMA, put, put_json, table};
use super::{failure, import, stop_flag};
use crate::audit_args::AuditRefreshArgs;
use crate::failure::Failure;
use crate::output::Talk;

const HOUR_MS: i64 = 3_600_000;

/// Runs it.
///
/// # Errors
/// When a source cannot be read, or with `--verify` the store differs from one made anew.
pub(super) fn run(args: &AuditRefreshArgs, json: bool, talk: &Talk) -> Result<(), Failure> {
    let options = RefreshOptions {
        store: args.store.clone(),
        hash_ip: args.hash_ip.clone(),
        tolerance: args.tolerance,
        late_ms: i64::from(args.late) * HOUR_MS,
        verify: args.verify,
    };
    let stop = stop_flag()?;
    let shows = !talk.is_quiet() && io::stderr().is_terminal();
    let mut progress = |at: ImportProgress| {
        if shows {
            import::show(at);
        }
    };
    let result = refresh(&options, &stop, &mut progress);
    if shows {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
    let done = result.map_err(|error| failure(&error))?;
    for warning in done.imports.iter().flat_map(|import| &import.warnings) {
        talk.warn(&format!("warning: {warning}\n"));
    }
    done.imports.iter().for_each(|imported| import::warn_of_rejects(imported, talk));
    for path in &done.gone {
        talk.warn(&format!(
            "warning: `{path}` is not there any more; its rows stay in the store\n"
        ));
    }
    if json {
        put_json(&document(&done))?
    } else {
        put(&text(&done))?
    }
    let differs = done.differences.iter().flatten().count();
    if differs > 0 {
        return Err(Failure::found(format!(
            "the store differs from one made anew in {}",
            counted(differs as u64, "part")
        ))
        .hint("import the sources into a new store, and use that one"));
    }
    Ok(())
}

fn document(done: &Refreshed) -> Value {
    let imports = done.imports.iter().map(|import| {
        json!({
            "format": import.format.word(),
            "changed": import.changed,
            "counts": import.counts,
            "warnings": import.warnings,
        })
    });
    let marks = done.watermarks.iter().map(|(shard, mark)| {
        json!({"shard": shard, "newest_ms": mark.newest_ms, "from_ms": mark.from_ms})
    });
    json!({
        "schema": SCHEMA,
        "files": done.files,
        "files_read": done.files_read,
        "gone": done.gone,
        "imports": imports.collect::<Vec<_>>(),
        "watermarks": marks.collect::<Vec<_>>(),
        "differences": done.differences,
    })
}

fn text(done: &Refreshed) -> String {
    let mut out = format!("{} of {} files are new or changed\n", done.files_read, done.files);
    for import in &done.imports {
        let counts = &import.counts;
        out.push_str(&format!(
            "{}: {} read. New: {}, {}. Already in the store: {}\n",
            import.format,
            counted(counts.rows, "row"),
            import::interactions(import),
            counted(counts.contacts, "contact"),
            import::unchanged(import)
        ));
    }
    let mark = |(shard, mark): (&u32, &culprit_audit::Watermark)| {
        vec![shard.to_string(), moment(mark.newest_ms), moment(mark.from_ms)]
    };
    if !done.watermarks.is_empty() {
        let rows: Vec<_> = done.watermarks.iter().map(mark).collect();
        out.push_str(&table(&["shard", "newest change (UTC)", "next export from"], &rows));
    }
    match done.differences.as_deref() {
        None => {}
        Some([]) => out.push_str("A store made anew has the same content.\n"),
        Some(all) => all.iter().for_each(|line| out.push_str(&format!("differs: {line}\n"))),
    }
    out
}

/// A point in time to the second.
pub(super) fn moment(ms: i64) -> String {
    let (day, second) = (ms.div_euclid(24 * HOUR_MS), ms.rem_euclid(24 * HOUR_MS) / 1000);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{} {hour:02}:{minute:02}:{:02}", day_text(Some(day)), second % 60)
}
