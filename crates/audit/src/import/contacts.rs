//! Contacts during an import: all of them in memory.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::batch::{FacetFacts, Guid, RawContact, RawIdentifier};
use crate::error::Error;
use crate::schema::{Bytes, Contact, ContactKey, SourceKey, Utc};
use crate::store::{Draft, FilePlace, Store};

/// What is known of a contact for as long as the import runs.
#[derive(Debug, Clone, Copy)]
struct Passing {
    /// Facets that are older do not change the row.
    facets_until: i64,
    /// Identifiers that this import read.
    identifiers: u32,
}

/// All contacts.
#[derive(Debug, Default)]
pub(crate) struct Contacts {
    index: FxHashMap<Guid, u32>,
    rows: Vec<Contact>,
    passing: Vec<Passing>,
    changed: BTreeSet<u32>,
}

impl Contacts {
    /// The contacts of a store.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub(crate) fn read(store: &Store) -> Result<Self, Error> {
        let mut rows = store.read::<Contact>()?;
        rows.sort_by_key(|row| row.contact_id);
        let mut all = Self::default();
        for (row, at) in rows.iter().zip(0_u32..) {
            all.index.insert([row.guid_high, row.guid_low], at);
            let facets_until = row.last_modified.map_or(i64::MIN, |time| time.0);
            all.passing.push(Passing { facets_until, identifiers: 0 });
        }
        all.rows = rows;
        Ok(all)
    }

    /// The key of a contact, which is new when it was never seen.
    pub(crate) fn key(&mut self, guid: Guid, shard: u32, from_log: bool) -> u32 {
        if let Some(key) = self.index.get(&guid) {
            return *key;
        }
        let key = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        self.index.insert(guid, key);
        self.passing.push(Passing { facets_until: i64::MIN, identifiers: 0 });
        self.rows.push(Contact {
            recorded: from_log,
            shards: u32::from(from_log),
            ..Contact::named(ContactKey(u64::from(key)), guid, shard)
        });
        self.changed.insert(shard);
        key
    }

    /// Takes a row of the table of contacts. False when the store has it in this or a newer
    /// version.
    pub(crate) fn add(&mut self, raw: &RawContact, source: SourceKey, row: u64) -> bool {
        let key = self.key(raw.guid, raw.shard, false);
        let contact = &mut self.rows[key as usize];
        if contact.recorded && contact.shard != raw.shard && contact.shards < 2 {
            contact.shards = 2;
            self.changed.insert(contact.shard);
        }
        if contact.recorded && raw.last_modified.map(Utc) <= contact.last_modified {
            return false;
        }
        // Before the row was seen, the shard was that of what named the contact.
        if !contact.recorded && contact.shard != raw.shard {
            self.changed.insert(contact.shard);
            contact.shard = raw.shard;
        }
        contact.recorded = true;
        contact.shards = contact.shards.max(1);
        contact.created = raw.created.map(Utc);
        contact.last_modified = raw.last_modified.map(Utc);
        contact.token_high = raw.token.map(|token| token[0]);
        contact.token_low = raw.token.map(|token| token[1]);
        contact.source_id = Some(source);
        contact.source_row = Some(row);
        self.changed.insert(contact.shard);
        true
    }

    /// Takes an identifier. Identifiers have no version, so each import counts them anew.
    pub(crate) fn identify(&mut self, raw: &RawIdentifier) {
        let key = self.key(raw.guid, raw.shard, false) as usize;
        self.passing[key].identifiers += 1;
        let contact = &mut self.rows[key];
        let identifiers = contact.identifiers.max(self.passing[key].identifiers);
        if identifiers > contact.identifiers || (raw.known && !contact.known) {
            contact.identifiers = identifiers;
            contact.known |= raw.known;
            self.changed.insert(contact.shard);
        }
    }

    /// Takes what a facet says.
    pub(crate) fn describe(&mut self, key: u32, facts: &FacetFacts, last_modified: Option<i64>) {
        let says = facts.classification.is_some()
            || facts.override_classification.is_some()
            || facts.reported_interactions.is_some();
        let time = last_modified.unwrap_or(i64::MIN);
        let (contact, passing) = (&mut self.rows[key as usize], &mut self.passing[key as usize]);
        if !says || time < passing.facets_until {
            return;
        }
        passing.facets_until = time;
        let before = (
            contact.classification,
            contact.override_classification,
            contact.reported_interactions,
        );
        contact.classification = facts.classification.or(before.0);
        contact.override_classification = facts.override_classification.or(before.1);
        contact.reported_interactions = facts.reported_interactions.or(before.2);
        let after = (
            contact.classification,
            contact.override_classification,
            contact.reported_interactions,
        );
        if before != after {
            self.changed.insert(contact.shard);
        }
    }

    /// Sets the bytes of a contact's facets.
    pub(crate) fn set_facets_bytes(&mut self, key: u64, bytes: u64) {
        let contact = usize::try_from(key).ok().and_then(|key| self.rows.get_mut(key));
        if let Some(contact) = contact.filter(|contact| contact.facets_bytes.0 != bytes) {
            contact.facets_bytes = Bytes(bytes);
            self.changed.insert(contact.shard);
        }
    }

    /// Writes the shards that have changed. True when one has.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn write(&self, draft: &Draft) -> Result<bool, Error> {
        for shard in &self.changed {
            let rows: Vec<Contact> =
                self.rows.iter().filter(|row| row.shard == *shard).cloned().collect();
            let place = FilePlace { shard: Some(*shard), ..FilePlace::default() };
            draft.replace(&place, &rows)?;
        }
        Ok(!self.changed.is_empty())
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }
}
