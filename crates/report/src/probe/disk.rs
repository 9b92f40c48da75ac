//! `bench disk --explain --json`.

use culprit_probe::Probe as _;
use culprit_probe::probes::disk::Disk;
use serde::Serialize;
use serde_json::Value;

use crate::json::SCHEMA;

/// What a workload on a file does.
#[derive(Debug, Serialize)]
pub struct DiskDocument {
    schema: u32,
    probe: &'static str,
    workload: Value,
    words: Vec<String>,
    remarks: Vec<String>,
}

impl DiskDocument {
    /// The document of a workload.
    #[must_use]
    pub fn new(disk: &Disk, words: &[String], remarks: &[String]) -> Self {
        Self {
            schema: SCHEMA,
            probe: disk.id(),
            workload: disk.workload(),
            words: words.to_vec(),
            remarks: remarks.to_vec(),
        }
    }
}
