//! Imports: sources become a store, or what is new in them is added to one.
//!
//! ```text
//! plan      the files, their formats
//! source    a file as chunks that end between two rows
//! run       chunks to batches on all cores, in order
//! xdb, ...  one folder a family of formats: a chunk's rows as a batch
//! joins     requests and events of many chunks to visits
//! gather    batches to rows of the store: keys, versions, days
//! store     the next state of the store, committed in one step
//! ```
//!
//! Rows are told apart by their GUID. A row that the store has in this or a newer version
//! (`LastModified`) is left out, so importing a source twice adds nothing.

mod address;
mod batch;
mod contacts;
mod copies;
mod counts;
mod detect;
mod dictionaries;
mod dry;
mod duplicates;
mod events;
mod gather;
mod geoip;
mod index;
mod joins;
mod logs;
mod long;
mod parallel;
mod plan;
mod postgres;
mod refresh;
mod room;
mod run;
mod source;
mod sqlserver;
mod values;
mod visit_rows;
mod visits;
mod warnings;
mod xdb;
mod zone;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use self::address::AddressHasher;
use self::counts::SourceState;
use self::gather::Gatherer;
use self::geoip::GeoIp;
use self::joins::Joins;
use self::plan::{Plan, PlannedSource};
use self::run::Progress;
use self::warnings::all_warnings;
use crate::error::Error;
use crate::rollups::write_rollups;
use crate::store::{Draft, Manifest, Resume, Store};
use crate::visits::Zone;

pub(crate) use self::parallel::parallel;
pub(crate) use self::xdb::EVENTS;

pub use self::copies::CopyOptions;
pub use self::counts::Counts;
pub use self::dry::{SourceRows, read_source};
pub use self::logs::LogField;
pub use self::plan::SourceFormat;
pub use self::postgres::import_postgres;
pub use self::refresh::{RefreshOptions, Refreshed, Watermark, refresh};
pub use self::sqlserver::{SqlServerDsn, import_sqlserver};

/// What to import.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// The store's folder, which is made when there is none.
    pub store: PathBuf,
    /// What the sources are.
    pub format: SourceFormat,
    /// Files and folders.
    pub sources: Vec<PathBuf>,
    /// Shards of the source, from 1 to 256: its one-byte shard keys are divided among them. Without a
    /// number, those of the store, or the usual ones of the format.
    pub shards: Option<u32>,
    /// Key for hashes of addresses; without it they are stored as they are.
    pub hash_ip: Option<String>,
    /// Zone of times that name no offset; UTC without one.
    pub zone: Option<Zone>,
    /// Names of fields of logs, besides the known ones.
    pub fields: Vec<(LogField, String)>,
    /// Databases that say where an address is, in the MaxMind format.
    pub geoip: Vec<PathBuf>,
    /// Share of the rows of each source that may be rejected, from 0 to 1.
    pub tolerance: f64,
    /// True when no row may be rejected.
    pub strict: bool,
    /// How long after a change its row may arrive, in milliseconds: rows that changed earlier than
    /// this before the shard's watermark are taken and counted as late.
    pub late_ms: i64,
}

impl ImportOptions {
    /// The options without which nothing can be imported; all others are those that hold when nobody says
    /// anything else.
    #[must_use]
    pub fn new(store: PathBuf, format: SourceFormat, sources: Vec<PathBuf>) -> Self {
        Self {
            store,
            format,
            sources,
            shards: None,
            hash_ip: None,
            zone: None,
            fields: Vec::new(),
            geoip: Vec::new(),
            tolerance: 0.01,
            strict: false,
            late_ms: LATE_MS,
        }
    }
}

/// Two days: exports are nightly, and one of them may fail.
pub const LATE_MS: i64 = 2 * 24 * 3_600_000;

/// How far an import is.
#[derive(Debug, Clone, Copy)]
pub struct ImportProgress {
    /// Bytes of all sources, compressed where they are.
    pub total_bytes: u64,
    /// Bytes that were read, decompressed.
    pub bytes: u64,
    /// Rows that were read.
    pub rows: u64,
    /// True when all is read and the store's files are being written.
    pub writing: bool,
}

/// What an import did.
#[derive(Debug, Clone)]
pub struct Imported {
    /// Counts by kind; of an import that was continued, those of the rest.
    pub counts: Counts,
    /// True when the store was changed; false when everything was in it.
    pub changed: bool,
    /// True when an interrupted import was continued.
    pub resumed: bool,
    /// What the sources were.
    pub format: SourceFormat,
    /// What the reader must know.
    pub warnings: Vec<String>,
    /// The first row that cannot be read, and why.
    pub first_reject: Option<String>,
}

/// Imports sources. The store changes in one step at the end; when anything fails before it, the
/// store is as it was.
///
/// # Errors
/// When a source cannot be read or has too many rows that cannot be, the store cannot be read or
/// written, the options do not fit it, or `stop` was set.
pub fn import(
    options: &ImportOptions,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(ImportProgress),
) -> Result<Imported, Error> {
    let plan = plan::plan(options)?;
    import_planned(options, &plan, stop, progress)
}

/// Imports the sources of a plan.
fn import_planned(
    options: &ImportOptions,
    plan: &Plan,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(ImportProgress),
) -> Result<Imported, Error> {
    let hasher = AddressHasher::new(options.hash_ip.as_deref());
    let geoip = GeoIp::open(&options.geoip)?;
    let identity = identity(options, &plan.sources);
    let mut resume = None;
    let draft = Draft::begin(&options.store, |stored, suspended| {
        let base = stored.as_ref().map_or(0, |stored| stored.generation);
        let fits = |list: &Manifest| {
            let resume = list.resume.as_ref();
            resume.is_some_and(|resume| resume.plan == identity && resume.base == base)
                && list.missing_file(&options.store).is_none()
        };
        let missing = stored.as_ref().and_then(|stored| stored.missing_file(&options.store));
        if let Some(why) = missing {
            return Err(Error::Incomplete { path: options.store.clone(), why });
        }
        let mut next = match suspended.filter(fits) {
            Some(suspended) => suspended,
            None => stored.clone().unwrap_or_else(|| Manifest::new(plan.shards)),
        };
        check(&next, plan, &hasher, stored.is_some())?;
        resume = next.resume.take();
        Ok(next)
    })?;
    let reading = Reading { options, plan, hasher: &hasher, geoip };
    match read_and_write(reading, (identity, resume), &draft, (stop, progress)) {
        Ok(Ended::Done(imported)) => {
            if imported.changed {
                refresh::remember(&draft, options, plan)?;
                write_rollups(&draft, false)?;
                draft.commit()?
            } else {
                draft.abandon()?
            }
            Ok(imported)
        }
        Ok(Ended::Suspended(resume)) => {
            draft.suspend(resume)?;
            Err(Error::Stopped { resumable: true })
        }
        Err(error) => {
            // What failed matters more than what could not be cleaned up; the next import does.
            draft.abandon().ok();
            Err(error)
        }
    }
}

enum Ended {
    Done(Imported),
    Suspended(Resume),
}

/// What decides whether an interrupted import is the same one.
fn identity(options: &ImportOptions, sources: &[PlannedSource]) -> String {
    let mut text = format!("{options:?}");
    for source in sources {
        text.push_str(&format!("\n{} {}", source.path.display(), source.file.bytes));
    }
    format!("{:016x}", twox_hash::XxHash64::oneshot(0, text.as_bytes()))
}

/// Whether the plan fits the store.
fn check(
    manifest: &Manifest,
    plan: &Plan,
    hasher: &AddressHasher,
    exists: bool,
) -> Result<(), Error> {
    if exists && manifest.shards != plan.shards {
        return Err(Error::Shards { known: manifest.shards, asked: plan.shards });
    }
    if exists && manifest.generation > 0 && manifest.address_key.as_deref() != hasher.proof() {
        return Err(Error::Options(
            "the store was made with another `--hash-ip`, or without it: use the same key"
                .to_owned(),
        ));
    }
    Ok(())
}

/// What an import reads, and how.
struct Reading<'a> {
    options: &'a ImportOptions,
    plan: &'a Plan,
    hasher: &'a AddressHasher,
    geoip: GeoIp,
}

fn read_and_write(
    reading: Reading<'_>,
    (identity, resume): (String, Option<Resume>),
    draft: &Draft,
    (stop, progress): (&AtomicBool, &mut dyn FnMut(ImportProgress)),
) -> Result<Ended, Error> {
    let Reading { options, plan, hasher, geoip } = reading;
    let sources = &plan.sources;
    let base = draft.manifest();
    let store = Store::from_manifest(draft.folder(), base.clone());
    let states = sources.iter().map(|source| SourceState::new(plan.format, source)).collect();
    let mut joins = Joins::new(sources);
    let mut gatherer = Gatherer::begin(&store, (hasher.clone(), geoip), states)?;
    gatherer.late_ms = options.late_ms;
    let resumed = resume.is_some();
    let mut position = resume.as_ref().map_or((0, 0), |resume| (resume.source, resume.offset));
    if let Some(resume) = &resume {
        gatherer.sources[resume.source].rows = resume.rows;
    }
    let total_bytes = sources.iter().map(|source| source.file.bytes).sum();
    let mut so_far = ImportProgress { total_bytes, bytes: 0, rows: 0, writing: false };
    let begin = position;
    let done = run::run(sources, begin, stop, |read| {
        match read {
            Progress::Chunk(chunk) => {
                let before = gatherer.sources[chunk.source].rows;
                let batch = joins.take((chunk.source, before), chunk.rows);
                gatherer.absorb(chunk.source, &batch, draft)?;
                if let Some(visits) = joins.ended(hasher) {
                    gatherer.absorb(chunk.source, &visits, draft)?;
                }
                so_far.rows += batch.rows;
                gatherer.sources[chunk.source].bytes += chunk.bytes;
                position = (chunk.source, chunk.next_offset);
                so_far.bytes += chunk.bytes;
            }
            Progress::End { source, digest } => {
                gatherer.sources[source].digest = digest;
                check_rejects(options, &gatherer.sources[source])?;
                position = (source + 1, 0);
            }
        }
        progress(so_far);
        Ok(())
    })?;
    if !done && plan.format.is_joined() {
        return Err(Error::Stopped { resumable: false });
    }
    if plan.format.is_joined() {
        finish_joins((&mut joins, &mut gatherer), (options, hasher), draft)?;
    }
    so_far.writing = true;
    progress(so_far);
    let changed = gatherer.write(draft, &store)?;
    if done {
        let warnings = all_warnings((options, plan), (&gatherer, &joins), &store)?;
        let first_reject = gatherer.first_reject();
        let (mut counts, format) = (gatherer.counts, plan.format);
        // Rows of a source are numbered from its beginning; what is counted is what this run did.
        counts.rows -= resume.map_or(0, |resume| resume.rows).min(counts.rows);
        return Ok(Ended::Done(Imported {
            counts,
            changed,
            resumed,
            format,
            warnings,
            first_reject,
        }));
    }
    let (source, offset) = position;
    let rows = gatherer.sources.get(source).map_or(0, |source| source.rows);
    let base = resume.map_or(base.generation, |resume| resume.base);
    Ok(Ended::Suspended(Resume { plan: identity, source, offset, rows, base }))
}

/// Takes what became visits, or fitted to nothing, at the end of all sources.
fn finish_joins(
    (joins, gatherer): (&mut Joins, &mut Gatherer),
    (options, hasher): (&ImportOptions, &AddressHasher),
    draft: &Draft,
) -> Result<(), Error> {
    let last = gatherer.sources.len().saturating_sub(1);
    for visits in joins.finish(hasher) {
        gatherer.absorb(last, &visits, draft)?;
    }
    for (source, reject) in joins.orphans() {
        gatherer.reject(source, &reject, 0);
    }
    gatherer.sources.iter().try_for_each(|source| check_rejects(options, source))
}

/// Whether a source has few enough rows that could not be read.
fn check_rejects(options: &ImportOptions, source: &SourceState) -> Result<(), Error> {
    use culprit_model::Label as _;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a part of the rows, rounded down"
    )]
    let allowed = if options.strict { 0 } else { (source.rows as f64 * options.tolerance) as u64 };
    if source.rejected <= allowed {
        return Ok(());
    }
    let (row, why) = source.first_reject.unwrap_or((0, "unknown"));
    Err(Error::TooManyRejects {
        name: source.name.clone(),
        rejected: source.rejected,
        rows: source.rows,
        allowed,
        reason: format!("row {row}: {why}"),
        strict: options.strict,
        named_fields: SourceFormat::from_word(source.format)
            .is_some_and(SourceFormat::has_named_fields),
    })
}
