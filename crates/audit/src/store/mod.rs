//! A store: a folder of Parquet files and the list of those that belong to it.
//!
//! ```text
//! import -> part files below .parts/          import/gather
//!        -> TABLE/.../gN.parquet.new          store/write
//!        -> renamed, store.json replaced, old files removed: the commit
//! ```
//!
//! A reader that goes by `store.json` sees whole imports only. An import that is killed leaves
//! files that are in no list; the next one removes them.

mod manifest;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use culprit_model::{Row, Text};
use culprit_query::TableFile;

use crate::error::Error;

pub use manifest::StoreFile;
pub(crate) use manifest::{MANIFEST, Manifest, ReadFile, RememberedImport, Resume};
pub(crate) use write::{Draft, Place as FilePlace, expect_place, is_begun};

/// A store, opened to be read.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    manifest: Manifest,
}

impl Store {
    /// Opens a store.
    ///
    /// # Errors
    /// [`Error::NoStore`] where there is none; [`Error::Manifest`] when its list is damaged.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let folder = folder.as_ref().to_owned();
        match Manifest::read(&folder.join(MANIFEST))? {
            Some(manifest) => Ok(Self { folder, manifest }),
            None => Err(Error::NoStore { path: folder }),
        }
    }

    pub(crate) fn from_manifest(folder: &Path, manifest: Manifest) -> Self {
        Self { folder: folder.to_owned(), manifest }
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Number of the last import that changed the store, counted from 1.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.manifest.generation
    }

    /// Shards of the source.
    #[must_use]
    pub fn shards(&self) -> u32 {
        self.manifest.shards
    }

    /// By shard, the latest time at which the source had changed one of the rows that were read;
    /// milliseconds since 1970.
    #[must_use]
    pub fn watermarks(&self) -> &BTreeMap<u32, i64> {
        &self.manifest.watermarks
    }

    /// The files of a table, ordered by path.
    pub fn files(&self, table: &str) -> impl Iterator<Item = &StoreFile> {
        self.manifest.files.iter().filter(move |file| file.table == table)
    }

    /// The path of a file.
    #[must_use]
    pub fn path(&self, file: &StoreFile) -> PathBuf {
        self.folder.join(&file.path)
    }

    /// A file with what is known of its bytes.
    pub(crate) fn table_file(&self, file: &StoreFile) -> TableFile {
        TableFile { path: self.path(file), digest: file.digest }
    }

    /// What is wrong with the first file of the list that is not there as it was written; none when
    /// all are.
    pub(crate) fn missing_file(&self) -> Option<String> {
        self.manifest.missing_file(&self.folder)
    }

    /// The rows of one file.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn read_file<R: Row>(&self, file: &StoreFile) -> Result<Vec<R>, Error> {
        read_rows(&self.table_file(file))
    }

    /// All rows of a table, in the order of its files. They are all in memory: for small tables.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged.
    pub fn read<R: Row>(&self) -> Result<Vec<R>, Error> {
        let mut rows = Vec::new();
        for file in self.files(R::TABLE.name) {
            rows.extend(self.read_file::<R>(file)?);
        }
        Ok(rows)
    }

    /// Rows of a table, without reading it.
    #[must_use]
    pub fn rows(&self, table: &str) -> u64 {
        self.files(table).map(|file| file.rows).sum()
    }

    /// Bytes of a table.
    #[must_use]
    pub fn bytes(&self, table: &str) -> u64 {
        self.files(table).map(|file| file.bytes).sum()
    }
}

/// The rows of a Parquet file.
pub(crate) fn read_rows<R: Row>(file: &TableFile) -> Result<Vec<R>, Error> {
    let path = &file.path;
    let bytes = std::fs::read(path).map_err(|error| Error::io("read", path, error))?;
    if !file.may_be(&bytes) {
        return Err(Error::Damaged { path: path.clone() });
    }
    culprit_recording::rows_from_parquet(&bytes)
        .map_err(|source| Error::Table { path: path.clone(), source })
}

/// A text of a dictionary: at most this many bytes of it are stored.
pub(crate) const LONGEST_TEXT: usize = 8192;

/// A text as it is stored, and whether it was cut.
pub(crate) fn stored_text(text: &str) -> (Text, bool) {
    if text.len() <= LONGEST_TEXT {
        return (text.into(), false);
    }
    let end = (0..=LONGEST_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    (text[..end].into(), true)
}
