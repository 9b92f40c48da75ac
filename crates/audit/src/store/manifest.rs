//! `store.json`: which files belong to the store. It is replaced in one step, so a reader sees the
//! store before an import or after it.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The version of the store's form.
const SCHEMA: u32 = 1;
/// What a new list may be, before the user's umask: as the tables are.
const MODE: u32 = 0o666;
/// The name of the list.
pub(crate) const MANIFEST: &str = "store.json";

/// Owners whose facets are in one file: several files are made at once, and all their rows are in
/// memory then.
const FACET_BLOCK: u64 = 1 << 18;

/// What stores have that do not say it.
fn first_facet_block() -> u64 {
    1 << 20
}

/// A file of a table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StoreFile {
    /// The table.
    pub table: String,
    /// Path below the store's folder.
    pub path: String,
    /// Day of its rows, in days since 1970-01-01 UTC; none for rows without a start and for tables
    /// that are not by day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<i64>,
    /// Shard of its rows; none for tables that are not by shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<u32>,
    /// Rows.
    pub rows: u64,
    /// Bytes.
    pub bytes: u64,
    /// XXH64 of its bytes with seed 0; none in lists of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<u64>,
}

/// The list of files and what the next import must know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) schema: u32,
    /// Counts the imports that changed the store; the number is part of new files' names.
    pub(crate) generation: u64,
    /// Shards that keys are divided among.
    pub(crate) shards: u32,
    /// Hash of the key of `--hash-ip`; none when addresses are stored as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) address_key: Option<String>,
    /// Interactions that have a key, with or without a row.
    pub(crate) interaction_keys: u64,
    /// Largest `LastModified` by shard.
    #[serde(default)]
    pub(crate) watermarks: BTreeMap<u32, i64>,
    /// Owners whose facets are in one file.
    #[serde(default = "first_facet_block")]
    pub(crate) facet_block: u64,
    /// What was imported, to do it again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) imports: Vec<RememberedImport>,
    /// Files of sources by path, as they were when they were read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) read: BTreeMap<String, ReadFile>,
    /// All files, ordered.
    pub(crate) files: Vec<StoreFile>,
    /// Where an interrupted import was; never in `store.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resume: Option<Resume>,
}

/// What was imported and how; the key of addresses is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RememberedImport {
    /// Format, never `auto`.
    pub(crate) format: String,
    /// Absolute paths.
    pub(crate) sources: Vec<PathBuf>,
    /// Zone of times without an offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) zone: Option<String>,
    /// Meanings and names of fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) fields: Vec<(String, String)>,
    /// Absolute paths of databases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) geoip: Vec<PathBuf>,
}

/// A file of a source when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReadFile {
    pub(crate) bytes: u64,
    /// When it was changed last, in nanoseconds since 1970; 0 where that is unknown.
    pub(crate) modified_ns: u64,
}

/// Where an interrupted import was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Resume {
    /// Hash of the sources' names and sizes and of the options.
    pub(crate) plan: String,
    /// The source that is to be read next.
    pub(crate) source: usize,
    /// Bytes of it that were read.
    pub(crate) offset: u64,
    /// Its rows so far.
    pub(crate) rows: u64,
    /// Generation of `store.json` that it was based on.
    pub(crate) base: u64,
}

impl Manifest {
    /// The list of an empty store.
    pub(crate) fn new(shards: u32) -> Self {
        Self {
            schema: SCHEMA,
            generation: 0,
            shards,
            address_key: None,
            interaction_keys: 0,
            watermarks: BTreeMap::new(),
            facet_block: FACET_BLOCK,
            imports: Vec::new(),
            read: BTreeMap::new(),
            files: Vec::new(),
            resume: None,
        }
    }

    /// Reads the list; none where there is no file.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, Error> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", path, error)),
        };
        let failed = |why: String| Error::Manifest { path: path.to_owned(), why };
        let manifest: Self =
            serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
        if manifest.schema > SCHEMA {
            let why = format!("a newer version wrote it in format {}", manifest.schema);
            return Err(failed(why));
        }
        // A path out of the folder is damage or an attack.
        let leaves = |file: &&StoreFile| {
            let path = Path::new(&file.path);
            !path.components().all(|part| matches!(part, std::path::Component::Normal(_)))
        };
        match manifest.files.iter().find(leaves) {
            Some(file) => Err(failed(format!("`{}` is outside of the store", file.path))),
            None => Ok(Some(manifest)),
        }
    }

    /// What is wrong with the first file of the list that is not in the store's folder as it was written;
    /// none when all are.
    pub(crate) fn missing_file(&self, folder: &Path) -> Option<String> {
        self.files.iter().find_map(|file| {
            let name = &file.path;
            match std::fs::metadata(folder.join(name)) {
                Ok(found) if found.len() == file.bytes => None,
                Ok(found) => Some(format!("`{name}` has {} of {} bytes", found.len(), file.bytes)),
                Err(error) => Some(format!("cannot read `{name}`: {error}")),
            }
        })
    }

    /// Writes the list under a temporary name and renames it.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Error> {
        let json = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::io("write", path, error.into()))?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let failed = |source| Error::io("write", path, source);
        let mut file = tempfile::Builder::new()
            .prefix(".store-")
            .suffix(".tmp")
            .permissions(Permissions::from_mode(MODE))
            .tempfile_in(folder)
            .map_err(failed)?;
        file.write_all(&json).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }
}
