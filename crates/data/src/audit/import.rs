//! `culprit-data audit import`.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use culprit_audit::clean::CleanError;
use culprit_audit::{
    CopyOptions, Error, ImportOptions, ImportProgress, Imported, LogField, SourceFormat, Store,
    import, import_postgres, import_sqlserver,
};
use culprit_model::{Label as _, counted};
use serde_json::{Value, json};

use super::text::{SCHEMA, put, put_json};
use super::{database, failure, stop_flag, time_zone};
use crate::audit_args::AuditImportArgs;
use crate::failure::Failure;
use crate::output::Talk;

/// Bytes between two lines of progress.
const STEP: u64 = 32 << 20;
/// Time between two lines about copies.
const COPY_STEP: Duration = Duration::from_millis(200);

/// Runs it.
///
/// # Errors
/// When nothing was imported.
pub(crate) fn run(args: &AuditImportArgs, json: bool, talk: &Talk) -> Result<(), Failure> {
    if !(0.0..=1.0).contains(&args.tolerance) {
        return Err(Failure::bad_input(format!("`--tolerance {}` is not a share", args.tolerance))
            .hint("give a number from 0 to 1"));
    }
    let options = options(args)?;
    let stop = stop_flag()?;
    let shows = !talk.is_quiet() && io::stderr().is_terminal();
    let mut next = 0;
    let mut progress = |at: ImportProgress| {
        if shows && (at.bytes >= next || at.writing) {
            next = at.bytes + STEP;
            show(at);
        }
    };
    let copying = CopyOptions {
        schema: args.schema.clone(),
        changed_only: args.changed_only,
        copied: Arc::default(),
    };
    let copies = shows.then(|| CopyProgress::show(Arc::clone(&copying.copied)));
    let result = imported(args, (&options, &copying), &stop, &mut progress);
    drop(copies);
    if shows {
        // Back to the line's beginning, and clear it.
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
    let imported = result?;
    let nothing = nothing_imported(args, &imported);
    for warning in &imported.warnings {
        talk.warn(&format!("warning: {warning}\n"));
    }
    warn_of_rejects(&imported, talk);
    if let Some(failure) = nothing {
        return Err(failure);
    }
    if json {
        return put_json(&document(args, &imported));
    }
    put(&text(args, &imported).map_err(|error| failure(&error))?)
}

/// The failure of a first import of logs or events that have no row of their format.
fn nothing_imported(args: &AuditImportArgs, imported: &Imported) -> Option<Failure> {
    let counts = &imported.counts;
    let is_empty = counts.rows > 0 && counts.ignored + counts.rejected == counts.rows;
    let is_first = !imported.changed && Store::open(&args.output).is_err();
    let fails = is_empty && is_first && imported.format.is_joined();
    let hint = match imported.format {
        SourceFormat::JsonLog => {
            "name the fields with `--field address=NAME`, `--field path=NAME` and the others of \
             docs/audit.md"
        }
        _ => "check that `--from` names the format of the sources",
    };
    fails.then(|| {
        Failure::bad_input("nothing was imported: no row is one that a store needs").hint(hint)
    })
}

/// Says how many rows could not be read, and where to look for the reasons.
pub(super) fn warn_of_rejects(imported: &Imported, talk: &Talk) {
    if imported.counts.rejected == 0 {
        return;
    }
    let first = imported.first_reject.as_deref().unwrap_or("unknown");
    let reasons = match imported.changed {
        true => "the table `rejects` has them with reasons".to_owned(),
        false => format!("first {first}"),
    };
    talk.warn(&format!(
        "{} of {} cannot be read: {reasons}\n",
        imported.counts.rejected,
        counted(imported.counts.rows, "row")
    ));
}

/// Shows how much of databases was copied, until it is dropped. An import of files copies nothing.
struct CopyProgress {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl CopyProgress {
    fn show(copied: Arc<AtomicU64>) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        let thread = Some(std::thread::spawn(move || {
            let mut before = 0;
            while !seen.load(Ordering::Relaxed) {
                let now = copied.load(Ordering::Relaxed);
                // What follows the copies has a progress of its own.
                if now > before {
                    let _ = write!(io::stderr(), "\r\x1b[K{} MiB copied", now >> 20);
                }
                before = now;
                std::thread::park_timeout(COPY_STEP);
            }
        }));
        Self { ended, thread }
    }
}

impl Drop for CopyProgress {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            thread.join().ok();
        }
    }
}

fn imported(
    args: &AuditImportArgs,
    (options, copying): (&ImportOptions, &CopyOptions),
    stop: &AtomicBool,
    progress: &mut dyn FnMut(ImportProgress),
) -> Result<Imported, Failure> {
    let texts = || -> Vec<String> {
        args.sources.iter().map(|source| source.to_string_lossy().into_owned()).collect()
    };
    let password = args.password_file.as_deref();
    match options.format {
        SourceFormat::XdbPostgres => {
            expect_server(&texts(), SQL_SERVER, ("xdb-postgres", "xdb-sqlserver"))?;
            let dsns = database::dsns(&texts(), password)?;
            import_postgres(options, (&dsns, copying), stop, progress)
                .map_err(|error| from_database(&error))
        }
        SourceFormat::XdbSqlServer => {
            expect_server(&texts(), POSTGRES, ("xdb-sqlserver", "xdb-postgres"))?;
            let dsns = database::sqlserver_dsns(&texts(), password)?;
            import_sqlserver(options, (&dsns, copying), stop, progress)
                .map_err(|error| from_database(&error))
        }
        _ if args.changed_only => {
            Err(Failure::bad_input("`--changed-only` is for databases".to_owned())
                .hint("for files, `culprit audit refresh STORE` reads the new and changed ones"))
        }
        _ => import(options, stop, progress).map_err(|error| failure(&error)),
    }
}

/// How addresses of databases in PostgreSQL begin.
const POSTGRES: [&str; 2] = ["postgres://", "postgresql://"];
/// How those in SQL Server begin.
const SQL_SERVER: [&str; 2] = ["sqlserver://", "mssql://"];

/// Refuses addresses of the other kind of server. The message has no address: it may have a password.
fn expect_server(
    texts: &[String],
    others: [&str; 2],
    (format, other): (&str, &str),
) -> Result<(), Failure> {
    let is_other = |scheme: &&str| texts.iter().any(|text| text.starts_with(*scheme));
    let Some(scheme) = others.into_iter().find(is_other) else { return Ok(()) };
    let what = format!("`--from {format}` does not read databases at `{scheme}` addresses");
    Err(Failure::bad_input(what).hint(format!("give `--from {other}`")))
}

/// The failure of an import from a database.
fn from_database(error: &CleanError) -> Failure {
    match error {
        CleanError::Store(error) => failure(error),
        other => database::failure(other),
    }
}

fn options(args: &AuditImportArgs) -> Result<ImportOptions, Failure> {
    let Some(format) = SourceFormat::named(&args.from) else {
        return Err(Failure::bad_input(format!("unknown format `{}`", args.from)));
    };
    let field = |text: &String| {
        let pair = text.split_once('=').filter(|(_, name)| !name.is_empty());
        let pair =
            pair.and_then(|(word, name)| Some((LogField::from_word(word)?, name.to_owned())));
        pair.ok_or_else(|| {
            let words: Vec<_> = LogField::ALL.iter().map(|field| field.word()).collect();
            Failure::bad_input(format!("`--field {text}` names no field"))
                .hint(format!("give one of {}, then `=` and the name", words.join(", ")))
        })
    };
    Ok(ImportOptions {
        store: args.output.clone(),
        format,
        sources: args.sources.clone(),
        shards: args.shards,
        hash_ip: args.hash_ip.clone(),
        zone: args.tz.as_deref().map(time_zone).transpose()?,
        fields: args.field.iter().map(field).collect::<Result<_, _>>()?,
        geoip: args.geoip.clone(),
        tolerance: args.tolerance,
        strict: args.strict,
        late_ms: culprit_audit::LATE_MS,
    })
}

/// What the store had already: rows, or the visits that requests and events become.
pub(super) fn unchanged(imported: &Imported) -> String {
    let noun = if imported.format.is_joined() { "visit" } else { "row" };
    counted(imported.counts.unchanged, noun)
}

/// The interactions that were new or newer, and how many of them replaced an older version.
pub(super) fn interactions(imported: &Imported) -> String {
    let all = counted(imported.counts.interactions, "interaction");
    match imported.counts.replaced {
        0 => all,
        replaced => format!("{all} ({replaced} replaced)"),
    }
}

pub(super) fn show(at: ImportProgress) {
    let mib = |bytes: u64| bytes >> 20;
    let text = if at.writing {
        format!("{} read, writing the store", counted(at.rows, "row"))
    } else {
        let rows = counted(at.rows, "row");
        format!("{rows}, {} of {} MiB", mib(at.bytes), mib(at.total_bytes))
    };
    let _ = write!(io::stderr(), "\r\x1b[K{text}");
}

fn document(args: &AuditImportArgs, imported: &Imported) -> Value {
    json!({
        "schema": SCHEMA,
        "store": args.output.display().to_string(),
        "changed": imported.changed,
        "resumed": imported.resumed,
        "format": imported.format.word(),
        "warnings": imported.warnings,
        "counts": imported.counts,
    })
}

fn text(args: &AuditImportArgs, imported: &Imported) -> Result<String, Error> {
    let counts = &imported.counts;
    let mut text = format!(
        "{} read. New: {}, {}, {}, {}\n",
        counted(counts.rows, "row"),
        interactions(imported),
        counted(counts.page_views, "page view"),
        counted(counts.contacts, "contact"),
        counted(counts.facets, "facet")
    );
    if imported.resumed {
        text.push_str(
            "The interrupted import went on where it was: these counts are of the rest.\n",
        );
    }
    if counts.unchanged > 0 {
        let unchanged = unchanged(imported);
        text.push_str(&format!("{unchanged} already in the store, in this or a newer version\n"));
    }
    let notes = [
        (counts.rejected, "row", "cannot be read"),
        (counts.ignored, "row", "of a kind that a store does not need"),
        (
            counts.without_visit,
            "event",
            "without a visit: the source does not say to which it belongs",
        ),
        (counts.located, "interaction", "with a place from `--geoip`"),
        (counts.bad_dates, "interaction", "without a readable start or end"),
        (counts.ends_before_start, "interaction", "with an end before the start"),
        (counts.bad_events, "interaction", "with damaged events"),
        (counts.texts_cut, "text", "longer than 8,192 bytes: the rest is not stored"),
    ];
    for (count, noun, what) in notes.iter().filter(|(count, ..)| *count > 0) {
        text.push_str(&format!("{} {what}\n", counted(*count, noun)));
    }
    if !imported.changed {
        text.push_str(match Store::open(&args.output) {
            Ok(_) => "Nothing is new: the store is as it was.\n",
            Err(_) => "Nothing was imported: no store was made.\n",
        });
        return Ok(text);
    }
    let store = Store::open(&args.output)?;
    for table in culprit_audit::schema::TABLES {
        let name = table.table.name;
        if store.rows(name) > 0 {
            text.push_str(&rows_and_bytes(store.rows(name), store.bytes(name), name));
        }
    }
    Ok(text)
}

/// A line of a list of files or tables.
pub(super) fn rows_and_bytes(rows: u64, bytes: u64, name: &str) -> String {
    format!("{:>17} {:>20}  {name}\n", counted(rows, "row"), counted(bytes, "byte"))
}
