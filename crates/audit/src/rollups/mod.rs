//! Sums beside the rows: what questions about all of a store need again and again.
//!
//! ```text
//! days       rollup_day: interactions by day, place, shard and label
//! facets     rollup_facets, rollup_facet_days: sizes of facets, one file for each file of facets
//! contacts   rollup_contacts: contacts by whether they have rows and visits
//! agents     rollup_agents: what the visits of each user agent have in common
//! ```
//!
//! Whatever changes rows or labels ends with [`write_rollups`]. All sums are exact. But for `rollup_day`,
//! they know no labels: questions that leave labelled rows out read the rows.

mod agents;
mod contacts;
mod days;
mod facets;

use culprit_model::Row;

use crate::error::Error;
use crate::schema::{AgentHour, AgentRollup, Contact, ContactRollup, InteractionRow};
use crate::store::{Draft, Store, StoreFile};

/// Brings the sums of a store's next state up to date. `relabelled` is true when labels of
/// interactions came or went.
///
/// # Errors
/// When a table cannot be read or written.
pub(crate) fn write_rollups(draft: &Draft, relabelled: bool) -> Result<(), Error> {
    let next = Store::from_manifest(draft.folder(), draft.manifest());
    days::write(draft, &next, relabelled)?;
    facets::write(draft, &next)?;
    contacts::write(draft, &next)?;
    agents::write(draft, &next)
}

/// The tables whose sums are of all rows together: they follow from the rows alone.
pub(crate) const OF_ALL_ROWS: [&str; 3] =
    [ContactRollup::TABLE.name, AgentRollup::TABLE.name, AgentHour::TABLE.name];

/// True when sums over all contacts and interactions are not those of the store's rows: a file of these is
/// new, or there are no sums.
fn is_stale<R: Row>(next: &Store) -> bool {
    let rows = [Contact::TABLE.name, InteractionRow::TABLE.name];
    let changed = rows.iter().any(|table| next.files(table).any(StoreFile::is_new));
    changed || next.files(R::TABLE.name).next().is_none()
}
