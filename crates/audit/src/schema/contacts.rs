//! Contacts.

use culprit_model::table;

use super::keys::{Bytes, ContactKey, SourceKey, Utc};

table! {
    /// A contact: whom the source takes for one person. From an access log: one address with one
    /// user agent, which is no person. Files are ordered by `contact_id`.
    Contact in "contacts" {
        /// Its key.
        contact_id: ContactKey,
        /// The first 16 hexadecimal digits of its GUID as a number. For access logs: half of a
        /// keyed hash of address and user agent.
        guid_high: u64,
        /// The last 16 hexadecimal digits.
        guid_low: u64,
        /// Number of the shard that its row, else its first interaction, was read from.
        shard: u32,
        /// True when the source has a row for the contact itself, or is an access log. False when
        /// only interactions or facets name it.
        recorded: bool,
        /// Shards with a row for this contact; more than 1 is an error of the source.
        shards: u32,
        /// When the source made it.
        created: Option<Utc>,
        /// When the source changed it last; of two rows the later one counts.
        last_modified: Option<Utc>,
        /// The first 16 hexadecimal digits of the concurrency token as a number.
        token_high: Option<u64>,
        /// The last 16 hexadecimal digits of the concurrency token.
        token_low: Option<u64>,
        /// True when an identifier of type 1 (known) was read for it.
        known: bool,
        /// Identifiers that were read for it. The identifiers themselves are not stored.
        identifiers: u32,
        /// Stored classification (900 and more: robot); none when the source has none.
        classification: Option<i64>,
        /// Classification that overrides the stored one; none when the source has none.
        override_classification: Option<i64>,
        /// `EngagementMeasures.TotalInteractionCount`; none when the source has none.
        reported_interactions: Option<u32>,
        /// Bytes of its facets in UTF-8.
        facets_bytes: Bytes,
        /// Where its row was read; none when `recorded` is false.
        source_id: Option<SourceKey>,
        /// Number of the row in its source, counted from 1; none when `recorded` is false.
        source_row: Option<u64>,
    }
}

impl Contact {
    /// A contact that only interactions or facets name: nothing is known of it but its GUID and its shard.
    #[must_use]
    pub fn named(contact_id: ContactKey, [guid_high, guid_low]: [u64; 2], shard: u32) -> Self {
        Self {
            contact_id,
            guid_high,
            guid_low,
            shard,
            recorded: false,
            shards: 0,
            created: None,
            last_modified: None,
            token_high: None,
            token_low: None,
            known: false,
            identifiers: 0,
            classification: None,
            override_classification: None,
            reported_interactions: None,
            facets_bytes: Bytes(0),
            source_id: None,
            source_row: None,
        }
    }
}
