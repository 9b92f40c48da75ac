//! The table `rollup_contacts`: contacts against the interactions that name them.

use std::collections::BTreeMap;

use culprit_model::{Row as _, table};

use super::is_stale;
use crate::error::Error;
use crate::import::parallel;
use crate::schema::{Bytes, ContactKey, ContactRollup};
use crate::store::{Draft, FilePlace, Store, StoreFile};

table! {
    /// What the sums need of an interaction.
    VisitOfContact in "interactions" {
        /// Whose it is.
        contact_id: ContactKey,
    }
}

table! {
    /// What the sums need of a contact.
    CountedContact in "contacts" {
        /// Its key.
        contact_id: ContactKey,
        /// Its shard.
        shard: u32,
        /// Whether it has a row.
        recorded: bool,
        /// Shards with a row for it.
        shards: u32,
        /// Whether it is known by name.
        known: bool,
        /// What the source says of its visits.
        reported_interactions: Option<u32>,
        /// Size of its facets.
        facets_bytes: Bytes,
    }
}

/// Shard, and whether there is a row, a name, a visit.
type Group = (u32, bool, bool, bool);

/// Counts anew when rows have changed.
pub(super) fn write(draft: &Draft, next: &Store) -> Result<(), Error> {
    if !is_stale::<ContactRollup>(next) {
        return Ok(());
    }
    let visits = visits(next)?;
    let files: Vec<&StoreFile> = next.files(CountedContact::TABLE.name).collect();
    let parts = parallel(files, |file| Ok(sums(&next.read_file(file)?, &visits)))?;
    let mut groups: BTreeMap<Group, ContactRollup> = BTreeMap::new();
    for row in parts.into_iter().flatten() {
        let group = (row.shard, row.recorded, row.known, row.visited);
        match groups.get_mut(&group) {
            Some(sum) => add(sum, &row),
            None => {
                groups.insert(group, row);
            }
        }
    }
    let rows: Vec<ContactRollup> = groups.into_values().collect();
    draft.replace(&FilePlace::default(), &rows)
}

/// The visits of each contact, by key.
fn visits(next: &Store) -> Result<Vec<u32>, Error> {
    let files: Vec<&StoreFile> = next.files(VisitOfContact::TABLE.name).collect();
    let mut visits: Vec<u32> = Vec::new();
    // Some files at a time, so that not all keys are in memory twice.
    for some in files.chunks(64) {
        for rows in parallel(some.to_vec(), |file| next.read_file::<VisitOfContact>(file))? {
            for row in rows {
                let Ok(at) = usize::try_from(row.contact_id.0) else { continue };
                if at >= visits.len() {
                    visits.resize(at + 1, 0);
                }
                visits[at] = visits[at].saturating_add(1);
            }
        }
    }
    Ok(visits)
}

fn sums(contacts: &[CountedContact], visits: &[u32]) -> Vec<ContactRollup> {
    let mut groups: BTreeMap<Group, ContactRollup> = BTreeMap::new();
    for contact in contacts {
        let at = usize::try_from(contact.contact_id.0).unwrap_or(usize::MAX);
        let counted = u64::from(visits.get(at).copied().unwrap_or(0));
        let reported = contact.reported_interactions.map(u64::from);
        let one = ContactRollup {
            shard: contact.shard,
            recorded: contact.recorded,
            known: contact.known,
            visited: counted > 0,
            contacts: 1,
            in_several_shards: u64::from(contact.shards > 1),
            facets_bytes: contact.facets_bytes,
            interactions: counted,
            reported: u64::from(reported.is_some()),
            wrong_total: u64::from(reported.is_some_and(|total| total != counted)),
            reported_more: reported.map_or(0, |total| total.saturating_sub(counted)),
            reported_less: reported.map_or(0, |total| counted.saturating_sub(total)),
        };
        let group = (one.shard, one.recorded, one.known, one.visited);
        match groups.get_mut(&group) {
            Some(sum) => add(sum, &one),
            None => {
                groups.insert(group, one);
            }
        }
    }
    groups.into_values().collect()
}

fn add(sum: &mut ContactRollup, one: &ContactRollup) {
    sum.contacts += one.contacts;
    sum.in_several_shards += one.in_several_shards;
    sum.facets_bytes.0 += one.facets_bytes.0;
    sum.interactions += one.interactions;
    sum.reported += one.reported;
    sum.wrong_total += one.wrong_total;
    sum.reported_more += one.reported_more;
    sum.reported_less += one.reported_less;
}
