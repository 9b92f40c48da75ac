//! The tables of a plan's folder: keys of what is to leave, and rows that left.

use culprit_model::{Text, table};

use crate::schema::{OwnerKind, Utc};

table! {
    /// A row that a plan removes. Files are ordered by GUID, one file a kind and shard.
    PlanKey in "plan_keys" {
        /// What it is.
        kind: OwnerKind,
        /// Key of `interactions` or `contacts` in the store.
        id: u64,
        /// Number of its shard.
        shard: u32,
        /// The first 16 hexadecimal digits of its GUID as a number.
        guid_high: u64,
        /// The last 16 hexadecimal digits.
        guid_low: u64,
        /// When the source changed the row last, as the store has it; none for a contact without a
        /// row.
        last_modified: Option<Utc>,
        /// What the source had for the row when the plan was made: a hash of its version, its
        /// facets' versions and, for contacts, its identifiers. Empty in plans without a database.
        state: Text,
    }
}

table! {
    /// A row that was deleted, whole, in the order of deletion.
    ArchivedRow in "archived_rows" {
        /// Its table in the source.
        source_table: Text,
        /// Its values in the order of the columns in `plan.json`, in the text format of `COPY`.
        row: Text,
    }
}

impl PlanKey {
    /// The GUID as text.
    pub(crate) fn guid(&self) -> String {
        guid_text([self.guid_high, self.guid_low])
    }
}

/// A GUID as databases write it, in lower case.
pub(crate) fn guid_text(guid: [u64; 2]) -> String {
    let mut text = Vec::with_capacity(36);
    crate::sample::put_guid(&mut text, guid);
    String::from_utf8_lossy(&text).into_owned()
}
