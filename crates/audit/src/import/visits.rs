//! Interactions during an import: their keys, and the rows of each day and shard.
//!
//! New rows collect in memory. When there are too many, each day's are written as a *part*. At the
//! end a day's file is made of its layers: the store's file, the parts, what is in memory; of two
//! versions of an interaction the one of the later layer counts, because only newer versions are
//! taken in.

use std::collections::BTreeMap;
use std::path::Path;

use culprit_model::{Row, table};
use rustc_hash::{FxHashMap, FxHashSet};

use super::batch::{Guid, UNSEEN};
use super::index::GuidIndex;
use super::visit_rows::{VisitRows, read_stored};
use crate::error::Error;
use crate::schema::{
    AddressKey, InteractionId, InteractionKey, InteractionRow, PlaceKey, SourceKey,
};
use crate::store::{Draft, FilePlace, Store};
use crate::time::DAY_MS;

/// No row; no place and no address that this import or a facet without a row says.
pub(crate) const NONE: u32 = u32::MAX;
/// The newest address facet says no place, or no address.
const NOWHERE: u32 = u32::MAX - 1;

/// What is known of an interaction while the import runs.
#[derive(Debug, Clone, Copy)]
struct Slot {
    last_modified: i64,
    /// When the newest address facet was changed.
    located: i64,
    /// The day that has its row.
    bucket: u32,
    place: u32,
    address: u32,
    /// What tells two versions of one time apart: requests of a visit of a log, what the events of an
    /// analytics tool give, else 0.
    rank: u64,
}

table! {
    /// What tells versions of one visit apart besides its end.
    VisitRequests in "traffic" {
        /// The visit.
        interaction_id: InteractionKey,
        /// Its requests.
        requests: u32,
    }
}

/// Of an interaction that nothing is known of.
const EMPTY: Slot = Slot {
    last_modified: i64::MIN,
    located: UNSEEN,
    bucket: NONE,
    place: NONE,
    address: NONE,
    rank: 0,
};

impl Slot {
    /// The place that the newest address facet says; none when nothing new is known of it.
    fn place(&self) -> Option<Option<PlaceKey>> {
        let place = Some(self.place).filter(|place| *place != NONE)?;
        Some(Some(PlaceKey(place)).filter(|_| place != NOWHERE))
    }

    /// The address, likewise.
    fn address(&self) -> Option<Option<AddressKey>> {
        let address = Some(self.address).filter(|address| *address != NONE)?;
        Some(Some(AddressKey(u64::from(address))).filter(|_| address != NOWHERE))
    }

    /// Takes the place and the address of an earlier version where this import read none.
    fn inherit(&mut self, (place, address): LocatedAt) {
        if self.place == NONE {
            self.place = place.map_or(NONE, |place| place.0);
        }
        if self.address == NONE {
            self.address = address.map_or(NONE, |one| u32::try_from(one.0).unwrap_or(NONE));
        }
    }
}

/// The place and the address of an interaction.
type LocatedAt = (Option<PlaceKey>, Option<AddressKey>);

/// When an interaction was changed last, and what tells versions of that time apart.
pub(crate) type Version = (Option<i64>, u64);

/// One day and shard.
#[derive(Debug)]
struct Bucket {
    place: FilePlace,
    memory: VisitRows,
    /// For each row in memory, where its views, events and traffic end.
    spans: Vec<[u32; 3]>,
    /// The row in memory of an interaction; made when one is replaced.
    latest: Option<FxHashMap<u64, u32>>,
    /// Rows in memory that a later one replaced.
    replaced: Vec<u32>,
    parts: Vec<u32>,
    /// Interactions whose row went to another day.
    gone: Vec<u64>,
    touched: bool,
}

/// All interactions.
#[derive(Debug, Default)]
pub(crate) struct Visits {
    index: GuidIndex,
    slots: Vec<Slot>,
    buckets: Vec<Bucket>,
    places: BTreeMap<FilePlace, u32>,
    /// The bucket of the row that was added last: the next one is of the same day, as a rule.
    last: u32,
    parts: u32,
    /// The store's interactions without a row.
    unmatched: Vec<InteractionId>,
    /// Rows in memory, of all tables.
    pub(crate) in_memory: usize,
}

/// The file of interactions without a row.
fn unmatched_place() -> FilePlace {
    FilePlace { day: None, shard: None, name: Some("unmatched".to_owned()) }
}

fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

impl Visits {
    /// The keys of a store's interactions.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub(crate) fn read(store: &Store) -> Result<Self, Error> {
        let mut all = Self::default();
        let keys = usize::try_from(store.manifest().interaction_keys).unwrap_or(0);
        for file in store.files(InteractionId::TABLE.name) {
            let matched = file.shard.is_some();
            let place = FilePlace { day: Some(file.day), shard: file.shard, name: None };
            let bucket = if matched { all.bucket(place) } else { NONE };
            for row in store.read_file::<InteractionId>(file)? {
                let Ok(at) = usize::try_from(row.interaction_id.0) else { continue };
                if at >= all.slots.len() {
                    all.slots.resize(at + 1, EMPTY);
                }
                let last_modified = row.last_modified.map_or(i64::MIN, |time| time.0);
                let rank = row.version_rank.unwrap_or(0);
                let mut slot = Slot { last_modified, bucket, rank, ..EMPTY };
                all.index.set(number(at), [row.guid_high, row.guid_low]);
                if !matched {
                    slot.place = row.unmatched_place_id.map_or(NONE, |place| place.0);
                    let address = row.unmatched_address_id;
                    slot.address = address.map_or(NONE, |one| u32::try_from(one.0).unwrap_or(NONE));
                    all.unmatched.push(row);
                }
                all.slots[at] = slot;
            }
        }
        all.slots.resize(all.slots.len().max(keys), EMPTY);
        all.index.reach(all.slots.len());
        for file in store.files(VisitRequests::TABLE.name) {
            for row in store.read_file::<VisitRequests>(file)? {
                let at = usize::try_from(row.interaction_id.0).ok();
                if let Some(slot) = at.and_then(|at| all.slots.get_mut(at)) {
                    slot.rank = u64::from(row.requests);
                }
            }
        }
        Ok(all)
    }

    fn bucket(&mut self, place: FilePlace) -> u32 {
        if let Some(bucket) = self.places.get(&place) {
            return *bucket;
        }
        let bucket = number(self.buckets.len());
        self.places.insert(place.clone(), bucket);
        self.buckets.push(Bucket {
            place,
            memory: VisitRows::default(),
            spans: Vec::new(),
            latest: None,
            replaced: Vec::new(),
            parts: Vec::new(),
            gone: Vec::new(),
            touched: false,
        });
        bucket
    }

    /// The key of an interaction, which is new when it was never seen.
    pub(crate) fn key(&mut self, guid: Guid) -> u32 {
        let (key, new) = self.index.key(guid);
        if new {
            self.slots.push(EMPTY);
        }
        key
    }

    /// True when there is a row of it.
    pub(crate) fn has_row(&self, key: u32) -> bool {
        self.slots[key as usize].bucket != NONE
    }

    /// How many have a key.
    pub(crate) fn keys(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Whether a row of this version would be taken in: there is none, or an older one. A visit of a
    /// log may go on within the second in which an earlier import saw its end: then it has more
    /// requests. Events of analytics tools may arrive late: then the visit has more of them.
    pub(crate) fn wants(&self, key: u32, (last_modified, rank): Version) -> bool {
        let slot = &self.slots[key as usize];
        let known = (slot.last_modified, slot.rank);
        slot.bucket == NONE || last_modified.is_some_and(|time| (time, rank) > known)
    }

    /// The rows of the day to which an interaction of this version is to be added, after
    /// [`Visits::wants`]. [`Visits::added`] must follow.
    pub(crate) fn rows(
        &mut self,
        key: u32,
        (start, shard): (Option<i64>, u32),
        (last_modified, rank): Version,
    ) -> (u32, &mut VisitRows) {
        let day = start.map(|ms| ms.div_euclid(DAY_MS));
        let place = FilePlace { day: Some(day), shard: Some(shard), name: None };
        if self.buckets.get(self.last as usize).is_none_or(|last| last.place != place) {
            self.last = self.bucket(place);
        }
        let at = self.last;
        let slot = &mut self.slots[key as usize];
        let before = std::mem::replace(&mut slot.bucket, at);
        slot.last_modified = last_modified.unwrap_or(i64::MIN);
        slot.rank = rank;
        if before != NONE && before != at {
            let old = &mut self.buckets[before as usize];
            old.gone.push(u64::from(key));
            old.touched = true;
            replace_in_memory(old, key);
        }
        let bucket = &mut self.buckets[at as usize];
        bucket.touched = true;
        if before == at {
            replace_in_memory(bucket, key);
        } else if before != NONE {
            bucket.gone.retain(|gone| *gone != u64::from(key));
        }
        if let Some(latest) = &mut bucket.latest {
            latest.insert(u64::from(key), number(bucket.memory.rows.len()));
        }
        (at, &mut bucket.memory)
    }

    /// Ends what [`Visits::rows`] began.
    pub(crate) fn added(&mut self, at: u32, rows: usize) {
        let Bucket { memory, spans, .. } = &mut self.buckets[at as usize];
        let ends = [memory.views.len(), memory.events.len(), memory.traffic.len()];
        spans.push(ends.map(number));
        self.in_memory += rows;
    }

    /// Notes that the store has the address facet of an interaction, with this time.
    pub(crate) fn has_address_facet(&mut self, key: u64, time: i64) {
        let slot = usize::try_from(key).ok().and_then(|at| self.slots.get_mut(at));
        slot.into_iter().for_each(|slot| slot.located = slot.located.max(time));
    }

    /// Notes the place and the address that a facet of this time says of an interaction, whether its
    /// row was read or not, if no other is as new. Of two facets with one time the first one counts.
    pub(crate) fn locate(
        &mut self,
        key: u32,
        time: i64,
        (place, address): (Option<u32>, Option<u32>),
    ) {
        let slot = &mut self.slots[key as usize];
        if time <= slot.located {
            return;
        }
        slot.located = time;
        let before = (slot.place, slot.address);
        slot.place = place.unwrap_or(NOWHERE);
        slot.address = address.unwrap_or(NOWHERE);
        if slot.bucket != NONE && before != (slot.place, slot.address) {
            self.buckets[slot.bucket as usize].touched = true;
        }
    }

    /// Takes the rows out of memory: each bucket's as a part.
    pub(crate) fn flush(&mut self, folder: &Path) -> Result<(), Error> {
        let mut work = Vec::new();
        for bucket in self.buckets.iter_mut().filter(|bucket| !bucket.memory.rows.is_empty()) {
            bucket.parts.push(self.parts);
            work.push((self.parts, take_memory(bucket)));
            self.parts += 1;
        }
        self.in_memory = 0;
        super::parallel(work, |(part, rows)| rows.write_part(folder, part)).map(drop)
    }

    /// Writes the files of the days that changed. True when there is one.
    pub(crate) fn write(&mut self, draft: &Draft, store: &Store) -> Result<bool, Error> {
        let moved = moved_facts(&self.buckets, store)?;
        for (key, facts) in moved {
            self.slots[key as usize].inherit(facts);
        }
        let mut work = Vec::new();
        for bucket in self.buckets.iter_mut().filter(|bucket| bucket.touched) {
            let memory = take_memory(bucket);
            work.push((&*bucket, memory));
        }
        let slots = &self.slots;
        let write = |(bucket, memory): (&Bucket, VisitRows)| {
            let (rows, changed) = merge(bucket, memory, slots, (draft, store))?;
            if changed {
                draft.replace(&bucket.place, &rows.rows)?;
                draft.replace(&bucket.place, &rows.ids)?;
                draft.replace(&bucket.place, &rows.traffic)?;
                draft.replace(&bucket.place, &rows.views)?;
                draft.replace(&bucket.place, &rows.events)?;
            }
            Ok(changed)
        };
        let days = super::parallel(work, write)?.contains(&true);
        let unmatched = self.without_row();
        if unmatched == self.unmatched {
            return Ok(days);
        }
        draft.replace(&unmatched_place(), &unmatched)?;
        Ok(true)
    }

    /// The interactions without a row, ordered by key.
    fn without_row(&self) -> Vec<InteractionId> {
        let row = |(slot, key): (&Slot, u32)| {
            let guid = self.index.guid(key);
            (slot.bucket == NONE && self.index.has(key)).then(|| InteractionId {
                interaction_id: InteractionKey(u64::from(key)),
                guid_high: guid[0],
                guid_low: guid[1],
                last_modified: None,
                version_rank: None,
                source_id: SourceKey(0),
                source_row: 0,
                unmatched_place_id: slot.place().flatten(),
                unmatched_address_id: slot.address().flatten(),
            })
        };
        self.slots.iter().zip(0..).filter_map(row).collect()
    }
}

/// Where the store's rows of interactions are that went to another day. A facet is not exported
/// again when only the interaction changed, so its place stays.
fn moved_facts(buckets: &[Bucket], store: &Store) -> Result<Vec<(u32, LocatedAt)>, Error> {
    let mut moved = Vec::new();
    for bucket in buckets.iter().filter(|bucket| !bucket.gone.is_empty()) {
        let gone: FxHashSet<u64> = bucket.gone.iter().copied().collect();
        for row in read_stored::<InteractionRow>(store, &bucket.place)? {
            let key = row.interaction_id.0;
            if gone.contains(&key) {
                moved.push((u32::try_from(key).unwrap_or(NONE), (row.place_id, row.address_id)));
            }
        }
    }
    Ok(moved)
}

/// Marks the row in memory of an interaction as replaced, if there is one.
fn replace_in_memory(bucket: &mut Bucket, key: u32) {
    let rows = &bucket.memory.rows;
    let latest = bucket.latest.get_or_insert_with(|| {
        rows.iter().zip(0..).map(|(row, at)| (row.interaction_id.0, at)).collect()
    });
    bucket.replaced.extend(latest.remove(&u64::from(key)));
}

/// Takes a bucket's rows out of memory, without the replaced ones.
fn take_memory(bucket: &mut Bucket) -> VisitRows {
    let mut memory = std::mem::take(&mut bucket.memory);
    let spans = std::mem::take(&mut bucket.spans);
    let mut replaced = std::mem::take(&mut bucket.replaced);
    bucket.latest = None;
    if replaced.is_empty() {
        return memory;
    }
    replaced.sort_unstable();
    for at in replaced.into_iter().rev() {
        let at = at as usize;
        let from = if at == 0 { [0; 3] } else { spans[at - 1] };
        let to = spans[at];
        memory.rows[at].interaction_id = InteractionKey(u64::MAX);
        memory.ids[at].interaction_id = InteractionKey(u64::MAX);
        let range = |n: usize| from[n] as usize..to[n] as usize;
        memory.views[range(0)].iter_mut().for_each(|v| v.interaction_id.0 = u64::MAX);
        memory.events[range(1)].iter_mut().for_each(|v| v.interaction_id.0 = u64::MAX);
        memory.traffic[range(2)].iter_mut().for_each(|v| v.interaction_id.0 = u64::MAX);
    }
    memory.retain(|key| key.0 != u64::MAX);
    memory
}

/// The rows of a day: of all its layers the latest version of each interaction. Whether they differ
/// from the store's.
fn merge(
    bucket: &Bucket,
    memory: VisitRows,
    slots: &[Slot],
    (draft, store): (&Draft, &Store),
) -> Result<(VisitRows, bool), Error> {
    let mut changed =
        !memory.rows.is_empty() || !bucket.parts.is_empty() || !bucket.gone.is_empty();
    let mut layers = vec![VisitRows::read_stored(store, &bucket.place)?];
    for part in &bucket.parts {
        layers.push(VisitRows::read_part(&draft.parts(), *part)?);
    }
    layers.push(memory);
    let stored: FxHashMap<InteractionKey, LocatedAt> = layers[0]
        .rows
        .iter()
        .map(|row| (row.interaction_id, (row.place_id, row.address_id)))
        .collect();
    layers.retain(|layer| layer.len() > 0);
    if layers.len() > 1 || !bucket.gone.is_empty() {
        let mut latest: FxHashMap<InteractionKey, usize> = FxHashMap::default();
        for (at, layer) in layers.iter().enumerate() {
            latest.extend(layer.rows.iter().map(|row| (row.interaction_id, at)));
        }
        for gone in &bucket.gone {
            latest.remove(&InteractionKey(*gone));
        }
        for (at, layer) in layers.iter_mut().enumerate() {
            layer.retain(|key| latest.get(&key) == Some(&at));
        }
    }
    let mut layers = layers.into_iter();
    let mut rows = layers.next().unwrap_or_default();
    layers.for_each(|layer| rows.append(layer));
    rows.sort();
    for row in &mut rows.rows {
        let slot = usize::try_from(row.interaction_id.0).ok().and_then(|at| slots.get(at));
        let Some(slot) = slot else { continue };
        let before = (row.place_id, row.address_id);
        if let Some((place, address)) = stored.get(&row.interaction_id) {
            row.place_id = row.place_id.or(*place);
            row.address_id = row.address_id.or(*address);
        }
        row.place_id = slot.place().unwrap_or(row.place_id);
        row.address_id = slot.address().unwrap_or(row.address_id);
        changed |= before != (row.place_id, row.address_id);
    }
    Ok((rows, changed))
}
