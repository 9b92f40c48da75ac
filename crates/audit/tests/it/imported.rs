//! A sample that was imported: a store whose truth is known.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use culprit_audit::{
    AuditStore, ImportOptions, SampleFormat, SampleOptions, SourceFormat, Truth, import,
    write_sample,
};
use culprit_query::{Limits, Stop};
use tempfile::TempDir;

/// A store, what is true of it, and the folder that holds both.
pub(crate) struct Imported {
    pub(crate) truth: Truth,
    pub(crate) store: PathBuf,
    _folder: TempDir,
}

/// Makes a sample with this share of robots, and imports it.
pub(crate) fn imported(interactions: u64, robots: f64) -> Imported {
    let folder = tempfile::tempdir().unwrap();
    let formats = vec![SampleFormat::XdbJson];
    let options = SampleOptions { interactions, robots, seed: 11, days: 60, formats, malformed: 0 };
    let sample = folder.path().join("sample");
    let truth = write_sample(&sample, &options, &AtomicBool::new(false)).unwrap();
    let store = folder.path().join("store");
    read(&sample, &store);
    Imported { truth, store, _folder: folder }
}

/// Imports a sample into a store.
pub(crate) fn read(sample: &Path, store: &Path) {
    let all = std::fs::read_dir(sample).unwrap().map(|entry| entry.unwrap().path());
    let rows = all.filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.contains("json") && name != "truth.json"
    });
    let options = ImportOptions::new(store.to_owned(), SourceFormat::XdbJson, rows.collect());
    import(&options, &AtomicBool::new(false), &mut |_| {}).unwrap();
}

impl Imported {
    /// The store with this much memory for each question.
    pub(crate) fn open(&self, memory_mib: u64) -> AuditStore {
        let limits = Limits { memory_bytes: memory_mib << 20, threads: 2 };
        AuditStore::open(&self.store, limits, Stop::default()).unwrap()
    }
}
