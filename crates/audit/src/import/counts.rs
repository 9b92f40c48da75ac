//! What an import counts: for each source, and in all.

use super::plan::{PlannedSource, SourceFormat};

/// A source while it is read.
#[derive(Debug, Clone)]
pub(crate) struct SourceState {
    pub(crate) format: &'static str,
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
    pub(crate) rejected: u64,
    pub(crate) ignored: u64,
    pub(crate) unchanged: u64,
    pub(crate) digest: u64,
    /// The first rejected row, and why.
    pub(crate) first_reject: Option<(u64, &'static str)>,
}

impl SourceState {
    pub(crate) fn new(format: SourceFormat, source: &PlannedSource) -> Self {
        use culprit_model::Label as _;
        Self {
            format: format.word(),
            name: source.path.display().to_string(),
            bytes: 0,
            rows: 0,
            rejected: 0,
            ignored: 0,
            unchanged: 0,
            digest: 0,
            first_reject: None,
        }
    }
}

/// What an import did.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Counts {
    /// Rows or lines that were read.
    pub rows: u64,
    /// Rows that could not be read.
    pub rejected: u64,
    /// Rows that the store had already, in this or a newer version; of logs and events, visits.
    pub unchanged: u64,
    /// Rows of tables that a store does not need.
    pub ignored: u64,
    /// Interactions that were new or newer.
    pub interactions: u64,
    /// Those that replaced an older version.
    pub replaced: u64,
    /// Page views of these.
    pub page_views: u64,
    /// Other events of these.
    pub events: u64,
    /// Contacts that were not in the store.
    pub contacts: u64,
    /// Facets that were new or newer, the events of interactions among them.
    pub facets: u64,
    /// Texts of dictionaries that are longer than 8,192 bytes, of which the rest is not stored.
    pub texts_cut: u64,
    /// Interactions whose start or end cannot be read.
    pub bad_dates: u64,
    /// Interactions that end before they start.
    pub ends_before_start: u64,
    /// Interactions whose events are damaged.
    pub bad_events: u64,
    /// Events that belong to no visit because the source does not say to which.
    pub without_visit: u64,
    /// Times that the clock of `--tz` never showed.
    pub times_skipped: u64,
    /// Times that the clock of `--tz` showed twice.
    pub times_repeated: u64,
    /// Interactions whose place `--geoip` gave.
    pub located: u64,
    /// Contacts and interactions that are new or newer and changed longer before the shard's
    /// watermark than a row may be late.
    pub late: u64,
}
