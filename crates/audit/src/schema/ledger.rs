//! What was imported, what was rejected, and what questions concluded.

use culprit_model::{Text, table};

use super::keys::{Bytes, SourceKey, Utc};

table! {
    /// A file or table that was imported, ordered by key.
    ImportSource in "sources" {
        /// Its key.
        source_id: SourceKey,
        /// The import that read it.
        run_id: u32,
        /// Format, as `--from` names it.
        format: Text,
        /// Path of the file, or name of the table.
        name: Text,
        /// Bytes that were read.
        bytes: Bytes,
        /// Rows or lines that were read.
        rows: u64,
        /// Rows that were rejected.
        rejected: u64,
        /// Rows that the store already had in this or a newer version; of logs and events, visits.
        unchanged: u64,
        /// XXH64 of its bytes, decompressed, with seed 0. It shows that a file changed. It is no
        /// proof against forgery.
        digest: u64,
    }
}

table! {
    /// A row that could not be read. Of each source and reason at most 1,000 are kept; the counts in
    /// `sources` are of all.
    RejectedRow in "rejects" {
        /// Where.
        source_id: SourceKey,
        /// Number of the row or line, counted from 1.
        source_row: u64,
        /// Why.
        reason: Text,
        /// Bytes of the row.
        bytes: Bytes,
        /// The beginning of the row; letters and digits of values are replaced.
        sample: Text,
    }
}

table! {
    /// An import, or a run of a question that stores its result.
    ImportRun in "runs" {
        /// Its number, counted from 1.
        run_id: u32,
        /// What ran: `import`, `robots`, ...
        command: Text,
        /// Version of its rules.
        rule_version: Text,
        /// Thresholds and lists, as JSON.
        thresholds: Text,
        /// Rows by table and other counts, as JSON.
        counts: Text,
        /// Largest `LastModified` that was read; none when there was none.
        watermark: Option<Utc>,
    }
}

table! {
    /// A verdict that a question gave and that reports can honour.
    LabelRow in "labels" {
        /// What it is about: `interaction`, `contact`, `user-agent`, `address`.
        entity: Text,
        /// Key of the row.
        id: u64,
        /// The verdict.
        label: Text,
        /// Signals that fired, joined by commas.
        signals: Text,
        /// Sum of the signals' weights in thousandths.
        score_e3: i64,
        /// The run that gave it.
        run_id: u32,
    }
}
