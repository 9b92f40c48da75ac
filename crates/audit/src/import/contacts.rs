//! Contacts during an import: all of them in memory, each in half of what its row takes.

use std::collections::BTreeSet;
use std::path::Path;

use culprit_model::Row as _;

use super::batch::{FacetFacts, Guid, RawContact, RawIdentifier, UNSEEN};
use super::index::GuidIndex;
use crate::error::Error;
use crate::schema::{Bytes, Contact, ContactKey, SourceKey, Utc};
use crate::store::{Draft, FilePlace, Store};

/// Contacts in one file: what is written is in memory as rows, as columns and encoded.
const BLOCK: usize = 1 << 18;
/// No point in time.
const NEVER: i64 = i64::MIN;
/// The place of the behaviour of a contact without one.
const UNDESCRIBED: u32 = u32::MAX;

/// What is known of a contact.
#[derive(Debug, Clone, Copy)]
struct Slot {
    created: i64,
    last_modified: i64,
    token: Guid,
    facets_bytes: u64,
    source_row: u64,
    /// Where its behaviour is; [`UNDESCRIBED`] for a contact without.
    behaviour: u32,
    identifiers: u32,
    /// Identifiers that this import read.
    identifiers_read: u32,
    source: u32,
    shard: u32,
    shards: u8,
    has_token: bool,
    /// True when the source has a row for it, or is a log.
    recorded: bool,
    /// True when `source` and `source_row` say where the row was read.
    read: bool,
    known: bool,
}

/// What facets say of how a contact behaves. Few contacts have such facets, so it is kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Behaviour {
    classification: Option<i64>,
    override_classification: Option<i64>,
    /// When the facet was changed that classifies it.
    classified: i64,
    reported: Option<u32>,
    /// When the facet was changed that counts its interactions.
    measured: i64,
}

impl Behaviour {
    /// Nothing is known.
    const UNKNOWN: Self = Self {
        classification: None,
        override_classification: None,
        classified: UNSEEN,
        reported: None,
        measured: UNSEEN,
    };

    fn of_row(row: &Contact) -> Self {
        Self {
            classification: row.classification,
            override_classification: row.override_classification,
            reported: row.reported_interactions,
            ..Self::UNKNOWN
        }
    }

    /// Takes what a facet of this time says.
    fn describe(&mut self, facts: FacetFacts, time: i64) {
        match facts {
            FacetFacts::Classified { level, override_level } if time > self.classified => {
                self.classified = time;
                (self.classification, self.override_classification) = (level, override_level);
            }
            FacetFacts::Measured { interactions } if time > self.measured => {
                self.measured = time;
                self.reported = interactions;
            }
            _ => {}
        }
    }
}

/// All contacts.
#[derive(Debug, Default)]
pub(crate) struct Contacts {
    index: GuidIndex,
    slots: Vec<Slot>,
    behaviours: Vec<Behaviour>,
    /// Shards and blocks of contacts that have changed.
    changed: BTreeSet<(u32, usize)>,
    /// Shards that the store has in one file.
    whole: BTreeSet<u32>,
}

fn time(value: i64) -> Option<Utc> {
    (value != NEVER).then_some(Utc(value))
}

impl Slot {
    /// One that was only named.
    fn named(shard: u32, from_log: bool) -> Self {
        Self {
            created: NEVER,
            last_modified: NEVER,
            token: Guid::default(),
            facets_bytes: 0,
            source_row: 0,
            behaviour: UNDESCRIBED,
            identifiers: 0,
            identifiers_read: 0,
            source: 0,
            shard,
            shards: u8::from(from_log),
            has_token: false,
            recorded: from_log,
            read: false,
            known: false,
        }
    }

    fn of_row(row: &Contact) -> Self {
        Self {
            created: row.created.map_or(NEVER, |time| time.0),
            last_modified: row.last_modified.map_or(NEVER, |time| time.0),
            token: [row.token_high.unwrap_or(0), row.token_low.unwrap_or(0)],
            facets_bytes: row.facets_bytes.0,
            source_row: row.source_row.unwrap_or(0),
            behaviour: UNDESCRIBED,
            identifiers: row.identifiers,
            identifiers_read: 0,
            source: row.source_id.map_or(0, |source| source.0),
            shard: row.shard,
            shards: u8::try_from(row.shards).unwrap_or(u8::MAX),
            has_token: row.token_high.is_some() && row.token_low.is_some(),
            recorded: row.recorded,
            read: row.source_id.is_some(),
            known: row.known,
        }
    }

    fn row(&self, key: u32, guid: Guid, behaviour: &Behaviour) -> Contact {
        Contact {
            contact_id: ContactKey(u64::from(key)),
            guid_high: guid[0],
            guid_low: guid[1],
            shard: self.shard,
            recorded: self.recorded,
            shards: u32::from(self.shards),
            created: time(self.created),
            last_modified: time(self.last_modified),
            token_high: self.has_token.then_some(self.token[0]),
            token_low: self.has_token.then_some(self.token[1]),
            known: self.known,
            identifiers: self.identifiers,
            classification: behaviour.classification,
            override_classification: behaviour.override_classification,
            reported_interactions: behaviour.reported,
            facets_bytes: Bytes(self.facets_bytes),
            source_id: self.read.then_some(SourceKey(self.source)),
            source_row: self.read.then_some(self.source_row),
        }
    }
}

impl Contacts {
    /// The contacts of a store.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub(crate) fn read(store: &Store) -> Result<Self, Error> {
        let mut all = Self::default();
        for file in store.files(Contact::TABLE.name) {
            let name = Path::new(&file.path).file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with('g') {
                all.whole.extend(file.shard);
            }
            for row in store.read_file::<Contact>(file)? {
                let Ok(key) = u32::try_from(row.contact_id.0) else { continue };
                let at = key as usize;
                if at >= all.slots.len() {
                    all.slots.resize(at + 1, Slot::named(0, false));
                }
                all.slots[at] = Slot::of_row(&row);
                let behaviour = Behaviour::of_row(&row);
                if behaviour != Behaviour::UNKNOWN {
                    *all.behaviour_mut(at) = behaviour;
                }
                all.index.set(key, [row.guid_high, row.guid_low]);
            }
        }
        Ok(all)
    }

    fn behaviour(&self, slot: &Slot) -> &Behaviour {
        self.behaviours.get(slot.behaviour as usize).unwrap_or(&Behaviour::UNKNOWN)
    }

    /// The behaviour of the contact in this slot.
    fn behaviour_mut(&mut self, at: usize) -> &mut Behaviour {
        let place = &mut self.slots[at].behaviour;
        if *place == UNDESCRIBED {
            *place = u32::try_from(self.behaviours.len()).unwrap_or(UNDESCRIBED);
            self.behaviours.push(Behaviour::UNKNOWN);
        }
        &mut self.behaviours[*place as usize]
    }

    fn change(&mut self, key: u32) {
        self.changed.insert((self.slots[key as usize].shard, key as usize / BLOCK));
    }

    /// The key of a contact, which is new when it was never seen.
    pub(crate) fn key(&mut self, guid: Guid, shard: u32, from_log: bool) -> u32 {
        let (key, new) = self.index.key(guid);
        if new {
            self.slots.push(Slot::named(shard, from_log));
            self.change(key);
        }
        key
    }

    /// Takes a row of the table of contacts. False when the store has it in this or a newer
    /// version.
    pub(crate) fn add(&mut self, raw: &RawContact, source: SourceKey, row: u64) -> bool {
        let key = self.key(raw.guid, raw.shard, false);
        let slot = self.slots[key as usize];
        if slot.recorded && slot.shard != raw.shard && slot.shards < 2 {
            self.slots[key as usize].shards = 2;
            self.change(key);
        }
        let last_modified = raw.last_modified.unwrap_or(NEVER);
        if slot.recorded && last_modified <= slot.last_modified {
            return false;
        }
        // Before the row was seen, the shard was that of what named the contact.
        if !slot.recorded && slot.shard != raw.shard {
            self.change(key);
            self.slots[key as usize].shard = raw.shard;
        }
        let slot = &mut self.slots[key as usize];
        slot.recorded = true;
        slot.shards = slot.shards.max(1);
        slot.created = raw.created.unwrap_or(NEVER);
        slot.last_modified = last_modified;
        slot.token = raw.token.unwrap_or_default();
        slot.has_token = raw.token.is_some();
        slot.read = true;
        slot.source = source.0;
        slot.source_row = row;
        self.change(key);
        true
    }

    /// Takes an identifier. Identifiers have no version, so each import counts them anew. False when the
    /// store knew of as many.
    pub(crate) fn identify(&mut self, raw: &RawIdentifier) -> bool {
        let key = self.key(raw.guid, raw.shard, false);
        let slot = &mut self.slots[key as usize];
        slot.identifiers_read += 1;
        let identifiers = slot.identifiers.max(slot.identifiers_read);
        if identifiers <= slot.identifiers && (slot.known || !raw.known) {
            return false;
        }
        slot.identifiers = identifiers;
        slot.known |= raw.known;
        self.change(key);
        true
    }

    /// Takes what a facet of this time says, if none of its name is as new. Of two facets with one time
    /// the first one counts.
    pub(crate) fn describe(&mut self, key: u32, facts: FacetFacts, time: i64) {
        if !matches!(facts, FacetFacts::Classified { .. } | FacetFacts::Measured { .. }) {
            return;
        }
        let behaviour = self.behaviour_mut(key as usize);
        let says =
            |now: &Behaviour| (now.classification, now.override_classification, now.reported);
        let before = says(behaviour);
        behaviour.describe(facts, time);
        if before != says(behaviour) {
            self.change(key);
        }
    }

    /// Notes that the store has the facet of a contact that classifies it, with this time.
    pub(crate) fn has_classification(&mut self, key: u64, time: i64) {
        if let Some(behaviour) = self.stored_behaviour(key) {
            behaviour.classified = behaviour.classified.max(time);
        }
    }

    /// Notes that the store has the facet of a contact that counts its interactions, with this time.
    pub(crate) fn has_measures(&mut self, key: u64, time: i64) {
        if let Some(behaviour) = self.stored_behaviour(key) {
            behaviour.measured = behaviour.measured.max(time);
        }
    }

    /// The behaviour of a contact of the store; none for a key without a contact.
    fn stored_behaviour(&mut self, key: u64) -> Option<&mut Behaviour> {
        let at = usize::try_from(key).ok().filter(|at| *at < self.slots.len())?;
        Some(self.behaviour_mut(at))
    }

    /// Sets the bytes of a contact's facets.
    pub(crate) fn set_facets_bytes(&mut self, key: u64, bytes: u64) {
        let Ok(key) = u32::try_from(key) else { return };
        let slot = self.slots.get_mut(key as usize);
        if let Some(slot) = slot.filter(|slot| slot.facets_bytes != bytes) {
            slot.facets_bytes = bytes;
            self.change(key);
        }
    }

    /// Writes the files that have changed. True when one has.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn write(&mut self, draft: &Draft) -> Result<bool, Error> {
        if self.changed.is_empty() {
            return Ok(false);
        }
        // A store whose shards have one file each gets files by block.
        let whole = std::mem::take(&mut self.whole);
        let all = self.slots.iter().zip(0..).filter(|(slot, _)| whole.contains(&slot.shard));
        self.changed.extend(all.map(|(slot, at): (_, usize)| (slot.shard, at / BLOCK)));
        for shard in whole {
            let place = FilePlace { shard: Some(shard), ..FilePlace::default() };
            draft.replace::<Contact>(&place, &[])?;
        }
        let write = |(shard, block): (u32, usize)| {
            let keys = block * BLOCK..self.slots.len().min((block + 1) * BLOCK);
            let row = |at: usize| {
                let key = u32::try_from(at).unwrap_or(u32::MAX);
                let slot = &self.slots[at];
                (slot.shard == shard && self.index.has(key))
                    .then(|| slot.row(key, self.index.guid(key), self.behaviour(slot)))
            };
            let rows: Vec<Contact> = keys.filter_map(row).collect();
            let name = Some(format!("{block:06}"));
            draft.replace(&FilePlace { day: None, shard: Some(shard), name }, &rows)
        };
        let changed = self.changed.iter().copied().collect();
        super::parallel(changed, write).map(|_| true)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }
}
