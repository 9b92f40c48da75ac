//! `culprit config snapshot` and `culprit config diff`.

use culprit_config::{Snapshot, difference};
use culprit_report::config::json::ConfigDiffDocument;
use culprit_report::config::{html, text};

use super::config::{gaps_or_done, inspected, outcome, write_page};
use crate::args::{ConfigDiffArgs, ConfigSnapshotArgs};
use crate::failure::{Context as _, Failure, Outcome};
use crate::files;
use crate::output::Output;
use crate::running::{Side, read_snapshot, redactor_with};

/// Writes a snapshot.
///
/// # Errors
/// When there is no configuration, or the file cannot be written.
pub(super) fn snapshot(args: &ConfigSnapshotArgs, output: &mut Output) -> Result<Outcome, Failure> {
    if args.sources.subject.snapshot.is_some() {
        return Err(Failure::bad_input("cannot make a snapshot of a snapshot")
            .hint("copy the file, or name what it was made of"));
    }
    let key = match &args.like {
        Some(path) => Some(key_of(path)?),
        None => None,
    };
    let inspection = inspected(&args.sources, None, redactor_with(key, None)?)?;
    let outcome = outcome(&inspection.found);
    let snapshot = Snapshot::new(&inspection.subject, &inspection.redactor, inspection.found);
    let snapshot = if args.no_key { snapshot.without_key() } else { snapshot };
    let text = snapshot.to_text().or_refused(|| "cannot write the snapshot".to_owned())?;
    files::write_whole(&args.output, text.as_bytes())?;
    let keys: usize = snapshot.configurations.iter().map(|one| one.effective.len()).sum();
    let keys = if keys == 1 { "1 key".to_owned() } else { format!("{keys} keys") };
    output.say(&format!("wrote {}: {keys} of the {}", args.output.display(), snapshot.subject));
    Ok(outcome)
}

/// The key of a snapshot.
fn key_of(path: &std::path::Path) -> Result<[u8; 32], Failure> {
    read_snapshot(path, Some("no key of this name"))?.key.ok_or_else(|| {
        Failure::bad_input(format!("cannot use `--like {}`: it has no key", path.display()))
            .hint("it was written with `--no-key`")
    })
}

/// Compares two sides.
///
/// # Errors
/// When a side cannot be read.
pub(super) fn diff(args: &ConfigDiffArgs, output: &mut Output) -> Result<Outcome, Failure> {
    let sides = [Side::parse(&args.before, args)?, Side::parse(&args.after, args)?];
    // What is read now takes the key of the snapshot that it is compared with.
    let mut key = None;
    for side in &sides {
        if let (Side::Snapshot(path), None) = (side, key) {
            key = read_snapshot(path, Some("no key of this name"))?.key;
        }
    }
    let redactor = redactor_with(key, None)?;
    let mut read = Vec::new();
    for side in &sides {
        read.push(match side {
            Side::Snapshot(path) => {
                let mut snapshot = read_snapshot(path, None)?;
                // Both sides may be of one folder.
                snapshot.subject = format!("{} ({})", path.display(), snapshot.subject);
                snapshot
            }
            Side::Live(args) => {
                let inspection = inspected(args, None, redactor.clone())?;
                Snapshot::new(&inspection.subject, &redactor, inspection.found)
            }
        });
    }
    let [before, after] = read.as_slice() else { return Ok(Outcome::Done) };
    let found = difference(before, after);
    if let Some(path) = &args.html {
        write_page(path, &html::diff_page((before, after), &found), output)?;
    }
    if output.wants_json() {
        output.document(&ConfigDiffDocument::new((before, after), &found))?;
    } else if args.html.is_none() {
        let text = text::diff((before, after), &found, output.layout());
        output.print(&text)?;
    }
    let differs = !found.keys.is_empty() || !found.alone.is_empty();
    if args.fail_on_difference && differs {
        return Ok(Outcome::Found);
    }
    Ok(gaps_or_done(read.iter().flat_map(|side| &side.configurations)))
}
