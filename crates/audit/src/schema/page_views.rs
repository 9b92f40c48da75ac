//! What happened during interactions.

use culprit_model::table;

use super::keys::{Bytes, InteractionKey, Millis, PathKey, TermKey, Utc};

table! {
    /// One page view. Files are ordered by `interaction_id`, then `seq`.
    PageView in "page_views" {
        /// The interaction.
        interaction_id: InteractionKey,
        /// Position among all events of the interaction, page views and others, counted from 0.
        seq: u32,
        /// When; none when it cannot be read.
        ts_utc: Option<Utc>,
        /// Path without query; none when the source has none.
        path_id: Option<PathKey>,
        /// Item of the content (GUID); none when the source has none.
        item_id: Option<TermKey>,
        /// Language; none when the source has none.
        language: Option<TermKey>,
        /// Time on the page as the source has it; none when it has none.
        duration_ms: Option<Millis>,
        /// Bytes of the event in the source's text.
        raw_bytes: Bytes,
    }
}

table! {
    /// One event that is no page view: a goal, an outcome, a download, a search. Files are ordered
    /// by `interaction_id`, then `seq`.
    VisitEvent in "events" {
        /// The interaction.
        interaction_id: InteractionKey,
        /// Position among all events of the interaction, page views and others, counted from 0.
        seq: u32,
        /// Type, as the source names it; none when it has none.
        type_id: Option<TermKey>,
        /// Definition (GUID); none when the source has none.
        definition_id: Option<TermKey>,
        /// When; none when it cannot be read.
        ts_utc: Option<Utc>,
        /// Bytes of the event in the source's text.
        raw_bytes: Bytes,
    }
}
