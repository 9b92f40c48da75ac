//! Sums beside the rows. Imports and clean-ups keep them up to date.

use culprit_model::{Text, table};

use super::facets::OwnerKind;
use super::keys::{Bytes, PlaceKey, TermKey, UserAgentKey, Utc};

table! {
    /// Sums of the interactions of one day, place and shard. Imports and clean-ups keep them up to
    /// date. Distinct contacts and quantiles do not add up, so they are not in it.
    DayRollup in "rollup_day" {
        /// First moment of the day.
        day: Utc,
        /// Time zone of the day (IANA).
        time_zone: Text,
        /// Place; none when unknown.
        place_id: Option<PlaceKey>,
        /// Number of the shard.
        shard: u32,
        /// Verdict on these interactions; none when there was none.
        label: Option<Text>,
        /// Interactions.
        sessions: u64,
        /// Page views.
        pages: u64,
        /// Interactions with one page view at most.
        single: u64,
        /// Sum of the durations in milliseconds.
        duration_ms: u64,
        /// Interactions with a duration.
        with_duration: u64,
    }
}

table! {
    /// How many facets have the same name and size. One file for each file of `facets`.
    FacetSize in "rollup_facets" {
        /// What they belong to.
        owner_kind: OwnerKind,
        /// Name of the facets.
        facet_key: TermKey,
        /// Number of the shard.
        shard: u32,
        /// Bytes of the text of each in UTF-8.
        bytes_utf8: Bytes,
        /// Facets of this size.
        facets: u64,
        /// Bytes of their texts in UTF-16, added up.
        bytes_utf16: Bytes,
    }
}

table! {
    /// Facets by the day of their last change. One file for each file of `facets`.
    FacetDay in "rollup_facet_days" {
        /// First moment of the day (UTC).
        day: Utc,
        /// Number of the shard.
        shard: u32,
        /// Bytes of their texts in UTF-8.
        bytes_utf8: Bytes,
    }
}

table! {
    /// Contacts against the interactions that name them. Labels do not change these sums.
    ContactRollup in "rollup_contacts" {
        /// Number of the shard.
        shard: u32,
        /// True when the source has a row for them.
        recorded: bool,
        /// True when the source knows them by name.
        known: bool,
        /// True when interactions name them.
        visited: bool,
        /// Contacts.
        contacts: u64,
        /// Those with a row in several shards.
        in_several_shards: u64,
        /// Bytes of their facets in UTF-8.
        facets_bytes: Bytes,
        /// Interactions that name them.
        interactions: u64,
        /// Contacts whose total of interactions the source reports.
        reported: u64,
        /// Those whose reported total is not the counted one.
        wrong_total: u64,
        /// Interactions that are reported and that nobody counts.
        reported_more: u64,
        /// Interactions that are not reported.
        reported_less: u64,
    }
}

table! {
    /// The interactions of one user agent. Labels do not change these sums.
    AgentRollup in "rollup_agents" {
        /// User agent; none for interactions without one.
        ua_id: Option<UserAgentKey>,
        /// Interactions.
        interactions: u64,
        /// Interactions with one page view at most.
        single: u64,
        /// Page views of the longest interaction.
        max_pages: u32,
        /// Interactions with a goal or an outcome.
        converted: u64,
        /// Interactions with several pages and less than a second for each.
        hurried: u64,
        /// Interactions on Saturdays and Sundays (UTC).
        weekend: u64,
        /// Interactions with a start.
        timed: u64,
        /// Start of the first one.
        first_utc: Option<Utc>,
        /// Start of the last one.
        last_utc: Option<Utc>,
        /// Distinct contacts.
        contacts: u64,
        /// Contacts with more than one of these interactions.
        returning_contacts: u64,
        /// Interactions of the contact with the most.
        busiest_contact: u64,
        /// Contacts that the source knows by name.
        known_contacts: u64,
        /// Interactions of contacts that the source classifies as robots.
        stored_robot: u64,
        /// Interactions of contacts with any classification.
        classified: u64,
        /// Distinct addresses.
        addresses: u64,
        /// Gaps between the starts of consecutive interactions.
        gaps: u64,
        /// Their sum in milliseconds.
        gap_ms: u64,
        /// The sum of their squares in square milliseconds, divided by 10^15, without its fraction.
        gap_squares_high: u64,
        /// The rest of this division.
        gap_squares_low: u64,
    }
}

table! {
    /// The interactions of one user agent by the hour of the day. Labels do not change these sums.
    AgentHour in "rollup_agent_hours" {
        /// User agent; none for interactions without one.
        ua_id: Option<UserAgentKey>,
        /// Hour of the day (UTC), from 0 to 23.
        hour_of_day: u32,
        /// Interactions that began in it.
        interactions: u64,
    }
}

#[expect(clippy::derivable_impls, reason = "`table!` takes no attributes but documents")]
impl Default for AgentRollup {
    fn default() -> Self {
        Self {
            ua_id: None,
            interactions: 0,
            single: 0,
            max_pages: 0,
            converted: 0,
            hurried: 0,
            weekend: 0,
            timed: 0,
            first_utc: None,
            last_utc: None,
            contacts: 0,
            returning_contacts: 0,
            busiest_contact: 0,
            known_contacts: 0,
            stored_robot: 0,
            classified: 0,
            addresses: 0,
            gaps: 0,
            gap_ms: 0,
            gap_squares_high: 0,
            gap_squares_low: 0,
        }
    }
}
