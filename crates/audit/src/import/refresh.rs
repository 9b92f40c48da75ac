//! Brings a store up to date: its imports are done again with the files that are new or changed.
//!
//! Rows of tables are compared by key and version, so a file that did not change has nothing new.
//! Requests and events become visits together with those of other files, so all files of such an
//! import are read again when one of them changed. Either way the store holds what an import of all
//! sources into an empty store would.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use culprit_model::Label as _;

use super::plan::{Plan, PlannedSource, has_files, plan};
use super::{ImportOptions, ImportProgress, Imported, LogField, SourceFormat, import_planned};
use crate::digests::{StoreDigests, digests};
use crate::error::Error;
use crate::schema::ImportSource;
use crate::store::{Draft, RememberedImport, Store};
use crate::visits::Zone;

/// What to refresh.
#[derive(Debug, Clone)]
pub struct RefreshOptions {
    /// The store.
    pub store: PathBuf,
    /// The key that its addresses are hashed with.
    pub hash_ip: Option<String>,
    /// Share of the rows of each source that may be rejected, from 0 to 1.
    pub tolerance: f64,
    /// How long after a change its row may arrive, in milliseconds.
    pub late_ms: i64,
    /// True to import all sources into an empty store, too, and to compare the two.
    pub verify: bool,
}

/// How far a shard was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermark {
    /// The latest change of a row that was read; milliseconds since 1970.
    pub newest_ms: i64,
    /// Where the next export must begin for late rows to be in it.
    pub from_ms: i64,
}

/// What a refresh did.
#[derive(Debug, Clone)]
pub struct Refreshed {
    /// One for each import that had something to read.
    pub imports: Vec<Imported>,
    /// Files of sources.
    pub files: u64,
    /// Files that were read.
    pub files_read: u64,
    /// Files that were read and are not there any more. Their rows stay.
    pub gone: Vec<String>,
    /// By shard, for sources that say when a row changed.
    pub watermarks: BTreeMap<u32, Watermark>,
    /// Where the store differs from one that is made anew; none without `verify`.
    pub differences: Option<Vec<String>>,
}

/// Keeps in the store's list what an import read and how.
pub(super) fn remember(draft: &Draft, options: &ImportOptions, plan: &Plan) -> Result<(), Error> {
    // Copies of a database are removed after the import.
    if plan.format.is_database() {
        return Ok(());
    }
    let absolute =
        |path: &PathBuf| std::path::absolute(path).map_err(|error| Error::io("find", path, error));
    let fields = options.fields.iter();
    let import = RememberedImport {
        format: plan.format.word().to_owned(),
        sources: options.sources.iter().map(absolute).collect::<Result<_, _>>()?,
        zone: options.zone.map(Zone::name),
        fields: fields.map(|(field, name)| (field.word().to_owned(), name.clone())).collect(),
        geoip: options.geoip.iter().map(absolute).collect::<Result<_, _>>()?,
    };
    let mut read = Vec::new();
    let copies = plan.copies.iter().map(|copy| (&copy.path, copy.file));
    for (path, file) in plan.sources.iter().map(|source| (&source.path, source.file)).chain(copies)
    {
        read.push((absolute(path)?.display().to_string(), file));
    }
    draft.change(|next| {
        if !next.imports.contains(&import) {
            next.imports.push(import);
        }
        next.read.extend(read);
    });
    Ok(())
}

/// Brings a store up to date.
///
/// # Errors
/// When the store or a source cannot be read, a source has too many rows that cannot be, or `stop`
/// was set.
pub fn refresh(
    options: &RefreshOptions,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(ImportProgress),
) -> Result<Refreshed, Error> {
    let store = Store::open(&options.store)?;
    let imports = store.manifest().imports.clone();
    if imports.is_empty() {
        return Err(not_remembered(&store, &options.store)?);
    }
    let mut done = Refreshed {
        imports: Vec::new(),
        files: 0,
        files_read: 0,
        gone: store
            .manifest()
            .read
            .keys()
            .filter(|path| !Path::new(path).exists())
            .cloned()
            .collect(),
        watermarks: BTreeMap::new(),
        differences: None,
    };
    for import in &imports {
        let mut again = again(import, options, &store)?;
        // What is gone was imported, and is named.
        again.sources.retain(|source| has_files(source));
        if again.sources.is_empty() {
            continue;
        }
        let mut plan = plan(&again)?;
        done.files += plan.sources.len() as u64;
        keep_changed(&mut plan, &store);
        done.files_read += plan.sources.len() as u64;
        if !plan.sources.is_empty() {
            done.imports.push(import_planned(&again, &plan, stop, progress)?);
        }
    }
    let store = Store::open(&options.store)?;
    for (shard, newest_ms) in store.watermarks() {
        let from_ms = newest_ms.saturating_sub(options.late_ms);
        done.watermarks.insert(*shard, Watermark { newest_ms: *newest_ms, from_ms });
    }
    if options.verify {
        let anew = made_anew(&imports, options, &store, (stop, progress))?;
        done.differences = Some(digests(&store)?.differences(&anew));
    }
    Ok(done)
}

/// The error of a store that does not say what can be imported again.
fn not_remembered(store: &Store, path: &Path) -> Result<Error, Error> {
    let sources = store.read::<ImportSource>()?;
    let mut formats = sources.iter().filter_map(|source| SourceFormat::from_word(&source.format));
    let database = formats.find(|format| format.is_database());
    Ok(match database {
        Some(format) => Error::FromDatabase { path: path.to_owned(), format: format.word() },
        None => Error::Options(
            "the store does not say what it was made of: import the sources again".to_owned(),
        ),
    })
}

/// Leaves only the files that are not as they were when they were read.
fn keep_changed(plan: &mut Plan, store: &Store) {
    let read = &store.manifest().read;
    let is_new = |source: &PlannedSource| {
        let path = std::path::absolute(&source.path).ok();
        path.and_then(|path| read.get(&path.display().to_string())) != Some(&source.file)
    };
    let changed = plan.sources.iter().any(is_new);
    let joined = plan.format.is_joined();
    plan.sources.retain(|source| changed && (joined || is_new(source)));
}

/// The options of an import that is done again.
fn again(
    import: &RememberedImport,
    options: &RefreshOptions,
    store: &Store,
) -> Result<ImportOptions, Error> {
    let unknown =
        |word: &str| Error::Options(format!("the store was made with `{word}`, which is unknown"));
    let field = |(word, name): &(String, String)| {
        let field = LogField::from_word(word).ok_or_else(|| unknown(word))?;
        Ok((field, name.clone()))
    };
    let zone = |word: &String| Zone::parse(word).ok_or_else(|| unknown(word));
    let format = SourceFormat::from_word(&import.format).ok_or_else(|| unknown(&import.format))?;
    Ok(ImportOptions {
        store: options.store.clone(),
        format,
        sources: import.sources.clone(),
        shards: format.has_shards().then(|| store.shards()),
        hash_ip: options.hash_ip.clone(),
        zone: import.zone.as_ref().map(zone).transpose()?,
        fields: import.fields.iter().map(field).collect::<Result<_, Error>>()?,
        geoip: import.geoip.clone(),
        tolerance: options.tolerance,
        strict: false,
        late_ms: options.late_ms,
    })
}

/// The digests of a store that is made of all sources, and removed again.
fn made_anew(
    imports: &[RememberedImport],
    options: &RefreshOptions,
    store: &Store,
    (stop, progress): (&AtomicBool, &mut dyn FnMut(ImportProgress)),
) -> Result<StoreDigests, Error> {
    let beside = std::path::absolute(&options.store)
        .map_err(|error| Error::io("find", &options.store, error))?;
    let beside = beside.parent().unwrap_or(Path::new("."));
    let folder = tempfile::Builder::new()
        .prefix(".culprit-verify-")
        .tempdir_in(beside)
        .map_err(|error| Error::io("create a folder in", beside, error))?;
    let path = folder.path().join("store");
    for import in imports {
        let mut again = ImportOptions { store: path.clone(), ..again(import, options, store)? };
        again.sources.retain(|source| has_files(source));
        if again.sources.is_empty() {
            continue;
        }
        import_planned(&again, &plan(&again)?, stop, progress)?;
    }
    match Store::open(&path) {
        // Nothing is left of the sources.
        Err(Error::NoStore { .. }) => Ok(StoreDigests::default()),
        opened => digests(&opened?),
    }
}
