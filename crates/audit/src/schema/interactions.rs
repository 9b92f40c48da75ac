//! Interactions: the hot table, its GUIDs, and what only access logs know of them.

use culprit_model::{labels, table};

use super::keys::{
    AddressKey, Bytes, ContactKey, InteractionKey, Millis, PlaceKey, SourceKey, TermKey,
    UserAgentKey, Utc,
};

labels! {
    /// Who began an interaction.
    Initiator ("initiator") {
        /// The source does not say.
        Unknown = "unknown",
        /// The contact.
        Contact = "contact",
        /// The brand.
        Brand = "brand",
    }
}

labels! {
    /// What could be read of a row.
    ParseState ("parse state") {
        /// Everything.
        Whole = "whole",
        /// The start or the end is missing or out of range; the row has no duration.
        BadDate = "bad-date",
        /// The end is before the start; the row has no duration.
        EndBeforeStart = "end-before-start",
        /// The events are not valid JSON; the ones before the damage are counted.
        BadEvents = "bad-events",
    }
}

table! {
    /// A visit: what one contact did in one session. From an access log: requests of one address
    /// and user agent with less than 30 minutes between them. Files are ordered by
    /// `interaction_id`.
    InteractionRow in "interactions" {
        /// Its key.
        interaction_id: InteractionKey,
        /// Whose it is. The contact may have no row of its own in the source:
        /// `contacts.recorded` is then false.
        contact_id: ContactKey,
        /// Number of the shard, counted from 0; 0 for sources without shards.
        shard: u32,
        /// Start; none when it cannot be read or is outside of the years 1990 to 2100.
        start_utc: Option<Utc>,
        /// End minus start; none when either is missing or the end is before the start.
        duration_ms: Option<Millis>,
        /// Who began it.
        initiator: Initiator,
        /// Channel (GUID); none when the source has none.
        channel_id: Option<TermKey>,
        /// Campaign (GUID); none when the source has none.
        campaign_id: Option<TermKey>,
        /// Device profile (GUID); none when the source has none.
        device_id: Option<TermKey>,
        /// User agent; none when the source has none, which is not the same as an empty one.
        ua_id: Option<UserAgentKey>,
        /// Address of the client; none when the source has none.
        address_id: Option<AddressKey>,
        /// Place of the visit itself, from its own address facet or from `--geoip`; none when
        /// unknown.
        place_id: Option<PlaceKey>,
        /// Page views.
        pages: u32,
        /// Events that are no page views.
        events: u32,
        /// Goals among the events.
        goals: u32,
        /// Outcomes (orders and the like) among the events.
        outcomes: u32,
        /// Engagement value, as stored; 0 when the source has none.
        value: i64,
        /// Bytes of the row in the source's text, events and user agent included.
        raw_bytes: Bytes,
        /// What could be read of it.
        parse_state: ParseState,
    }
}

table! {
    /// GUID, version and origin of each row of `interactions`, in the same order. One more file,
    /// `unmatched`, has the interactions that only facets name: those have no row.
    InteractionId in "interaction_ids" {
        /// Its key.
        interaction_id: InteractionKey,
        /// The first 16 hexadecimal digits of its GUID as a number. For access logs: half of a
        /// hash of the visitor and of the first request.
        guid_high: u64,
        /// The last 16 hexadecimal digits.
        guid_low: u64,
        /// When the source changed the row last; of two rows with one GUID the later one counts.
        last_modified: Option<Utc>,
        /// Of two versions with one `last_modified` the one with the larger number counts: for events of
        /// analytics tools their number, then a hash of them; none for other sources.
        version_rank: Option<u64>,
        /// Where it was read; 0 without a row.
        source_id: SourceKey,
        /// Number of the row or line in its source, counted from 1; 0 without a row.
        source_row: u64,
        /// Place of an interaction without a row, for the import that reads the row; none else.
        unmatched_place_id: Option<PlaceKey>,
        /// Address of an interaction without a row; none else.
        unmatched_address_id: Option<AddressKey>,
    }
}

table! {
    /// What a visit of an access log requested. Analytics databases do not know this.
    VisitTraffic in "traffic" {
        /// The visit.
        interaction_id: InteractionKey,
        /// Requests.
        requests: u32,
        /// Requests for images, styles, scripts, fonts, media.
        assets: u32,
        /// Requests with the method HEAD.
        heads: u32,
        /// Answers with a status from 400 to 499.
        client_errors: u32,
        /// Requests for `/robots.txt`.
        robots_txt: u32,
        /// Distinct paths of the page views.
        distinct_paths: u32,
        /// Bytes of the answers' bodies; 0 where the log has none.
        sent_bytes: Bytes,
    }
}
