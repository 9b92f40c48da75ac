//! Reads a source without a store: what it holds.

use std::path::Path;

use super::address::AddressHasher;
use super::batch::Batch;
use super::joins::Joins;
use super::plan::{SourceFormat, reader_of};
use crate::error::Error;

/// What a source holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceRows {
    /// Rows or lines.
    pub rows: u64,
    /// Rows that cannot be read.
    pub rejected: u64,
    /// Rows that a store does not need, and events of no visit.
    pub ignored: u64,
    /// Interactions.
    pub interactions: u64,
    /// Page views of these.
    pub page_views: u64,
    /// Other events of these.
    pub events: u64,
    /// Facets, the events of interactions among them.
    pub facets: u64,
}

/// Reads the bytes of a source, which are not compressed, and counts what they hold. The name
/// matters for formats that are known by it.
///
/// # Errors
/// When the source is not of the format.
pub fn read_source(format: SourceFormat, name: &str, bytes: &[u8]) -> Result<SourceRows, Error> {
    let (reader, skip) = reader_of(format, (Path::new(name), bytes))?;
    let hasher = AddressHasher::new(None);
    let mut joins = Joins::default();
    let mut found = SourceRows::default();
    let rows = reader.read(bytes.get(skip..).unwrap_or_default(), b"");
    found.add(&joins.take((0, 0), rows));
    for batch in joins.finish(&hasher) {
        found.add(&batch);
    }
    found.rejected += joins.orphans().len() as u64;
    Ok(found)
}

impl SourceRows {
    fn add(&mut self, batch: &Batch) {
        self.rows += batch.rows;
        self.rejected += batch.rejects.len() as u64;
        self.ignored += batch.ignored + batch.without_visit;
        self.interactions += batch.visits.len() as u64;
        for visit in &batch.visits {
            self.page_views += u64::from(visit.views.end - visit.views.start);
            self.events += u64::from(visit.events.end - visit.events.start);
        }
        self.facets += batch.facets.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_counted_without_a_store() {
        let log = b"10.0.0.1 - - [28/Nov/2026:23:12:14 +0000] \"GET / HTTP/1.1\" 200 1\nx\n";
        let found = read_source(SourceFormat::AccessLog, "access.log", log).unwrap();
        let wanted = SourceRows {
            rows: 2,
            rejected: 1,
            interactions: 1,
            page_views: 1,
            ..SourceRows::default()
        };
        assert_eq!(found, wanted);
        assert!(read_source(SourceFormat::Bcp, "orders.dat", b"").is_err());
    }
}
