//! Facets and long values during an import, by owner: of two facets of one name the newer one
//! counts, with its long values.

use std::collections::BTreeMap;
use std::path::Path;

use culprit_model::{Row as _, table};
use rustc_hash::FxHashMap;

use super::batch::facet_time;
use super::contacts::Contacts;
use super::dictionaries::Dictionaries;
use super::visit_rows::{read_part, read_stored, write_part};
use super::visits::Visits;
use super::xdb::{CLASSIFICATION, IP_INFO, MEASURES};
use crate::error::Error;
use crate::schema::{Facet, LongValue, OwnerKind, SourceKey, TermKey, TermKind, Utc};
use crate::store::{Draft, FilePlace, Store};

table! {
    /// When the source changed a facet.
    FacetTime in "facets" {
        /// What it belongs to.
        owner_kind: OwnerKind,
        /// Key of its owner.
        owner_id: u64,
        /// Its name.
        facet_key: TermKey,
        /// When the source changed it last.
        last_modified: Option<Utc>,
    }
}

/// Tells contacts and visits when the store's facets were changed that say something of them, so that
/// no older facet replaces what these said.
///
/// # Errors
/// When the table cannot be read.
pub(crate) fn facet_times(
    store: &Store,
    dictionaries: &Dictionaries,
    (contacts, visits): (&mut Contacts, &mut Visits),
) -> Result<(), Error> {
    let key = |name| dictionaries.known_term(TermKind::FacetKey, name);
    let (located, classified, measured) = (key(IP_INFO), key(CLASSIFICATION), key(MEASURES));
    if [located, classified, measured] == [None; 3] {
        return Ok(());
    }
    for file in store.files(FacetTime::TABLE.name) {
        for row in store.read_file::<FacetTime>(file)? {
            let time = facet_time(row.last_modified.map(|time| time.0));
            match (row.owner_kind, Some(row.facet_key)) {
                (OwnerKind::Interaction, key) if key == located => {
                    visits.has_address_facet(row.owner_id, time);
                }
                (OwnerKind::Contact, key) if key == classified => {
                    contacts.has_classification(row.owner_id, time);
                }
                (OwnerKind::Contact, key) if key == measured => {
                    contacts.has_measures(row.owner_id, time);
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Facets and long values, each facet of an owner once.
#[derive(Debug, Default)]
struct ValueRows {
    facets: Vec<Facet>,
    longs: Vec<LongValue>,
}

#[derive(Debug, Default)]
struct Bucket {
    memory: ValueRows,
    /// For each facet in memory, where its long values end.
    spans: Vec<u32>,
    parts: Vec<u32>,
}

/// What decides which facet it is.
fn identity(facet: &Facet) -> (OwnerKind, u64, TermKey) {
    (facet.owner_kind, facet.owner_id, facet.facet_key)
}

/// Kind of owners, shard, and number of the block of owners.
type BucketKey = (OwnerKind, u32, u64);

/// All facets that an import reads.
#[derive(Debug)]
pub(crate) struct Values {
    /// Owners whose facets are in one file.
    block: u64,
    buckets: Vec<(BucketKey, Bucket)>,
    places: BTreeMap<BucketKey, usize>,
    /// The bucket that was filled last: the next facet is of the same one, as a rule.
    last: usize,
    parts: u32,
    /// Rows in memory, of both tables.
    pub(crate) in_memory: usize,
    /// Rows of facets by their source, which follow each other.
    rows: Vec<(SourceKey, u64)>,
    /// The name of the events of interactions, which are no rows of their own.
    events: Option<TermKey>,
}

/// What the files of facets became.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Facets that were new or newer.
    pub(crate) facets: u64,
    /// By source, rows of facets that were older than what was there, or the same.
    pub(crate) unchanged: BTreeMap<SourceKey, u64>,
}

impl Values {
    /// None yet, of a store with so many owners a file.
    pub(crate) fn new(block: u64) -> Self {
        Self {
            block: block.max(1),
            buckets: Vec::new(),
            places: BTreeMap::new(),
            last: 0,
            parts: 0,
            in_memory: 0,
            rows: Vec::new(),
            events: None,
        }
    }

    /// Adds a facet with its long values.
    pub(crate) fn add(
        &mut self,
        facet: Facet,
        is_events: bool,
        longs: impl Iterator<Item = LongValue>,
    ) {
        match (is_events, self.rows.last_mut()) {
            (true, _) => self.events = Some(facet.facet_key),
            (false, Some((source, rows))) if *source == facet.source_id => *rows += 1,
            (false, _) => self.rows.push((facet.source_id, 1)),
        }
        let key = (facet.owner_kind, facet.shard, facet.owner_id / self.block);
        let bucket = self.bucket(key);
        let before = bucket.memory.longs.len();
        bucket.memory.facets.push(facet);
        bucket.memory.longs.extend(longs);
        let after = bucket.memory.longs.len();
        bucket.spans.push(u32::try_from(after).unwrap_or(u32::MAX));
        self.in_memory += 1 + after - before;
    }

    fn bucket(&mut self, key: BucketKey) -> &mut Bucket {
        if self.buckets.get(self.last).is_none_or(|(last, _)| *last != key) {
            self.last = *self.places.entry(key).or_insert(self.buckets.len());
            if self.last == self.buckets.len() {
                self.buckets.push((key, Bucket::default()));
            }
        }
        &mut self.buckets[self.last].1
    }

    /// Takes the rows out of memory: each bucket's as a part.
    pub(crate) fn flush(&mut self, folder: &Path) -> Result<(), Error> {
        let mut work = Vec::new();
        let buckets = self.buckets.iter_mut().map(|(_, bucket)| bucket);
        for bucket in buckets.filter(|bucket| !bucket.spans.is_empty()) {
            bucket.parts.push(self.parts);
            work.push((
                self.parts,
                std::mem::take(&mut bucket.memory),
                std::mem::take(&mut bucket.spans),
            ));
            self.parts += 1;
        }
        self.in_memory = 0;
        let write = |(part, rows, spans): (u32, ValueRows, Vec<u32>)| {
            let rows = newest(rows, &spans);
            write_part(folder, part, &rows.facets)?;
            write_part(folder, part, &rows.longs)
        };
        super::parallel(work, write).map(drop)
    }

    /// Writes the files that changed, and the contacts' sums.
    pub(crate) fn write(
        &mut self,
        draft: &Draft,
        store: &Store,
        contacts: &mut Contacts,
    ) -> Result<Written, Error> {
        let events = self.events;
        let mut work = Vec::new();
        for (key, bucket) in &mut self.buckets {
            let memory = std::mem::take(&mut bucket.memory);
            let spans = std::mem::take(&mut bucket.spans);
            work.push((*key, &bucket.parts, memory, spans));
        }
        let write = |((kind, shard, block), parts, memory, spans): (_, &Vec<u32>, _, Vec<u32>)| {
            let place = FilePlace {
                day: None,
                shard: Some(shard),
                name: Some(format!("{kind}-{block:06}")),
            };
            let (rows, new) = merge(&place, parts, (memory, &spans), (draft, store, events))?;
            if new.facets > 0 {
                draft.replace(&place, &rows.facets)?;
                draft.replace(&place, &rows.longs)?;
            }
            let sums = if kind == OwnerKind::Contact { sums(&rows.facets) } else { Vec::new() };
            Ok((new, sums))
        };
        let mut total = Written::default();
        for (source, rows) in std::mem::take(&mut self.rows) {
            *total.unchanged.entry(source).or_default() += rows;
        }
        for (new, sums) in super::parallel(work, write)? {
            total.facets += new.facets;
            for (source, rows) in new.rows {
                let left = total.unchanged.entry(source).or_default();
                *left = left.saturating_sub(rows);
            }
            for (owner, bytes) in sums {
                contacts.set_facets_bytes(owner, bytes);
            }
        }
        Ok(total)
    }
}

/// Bytes of the facets of each owner.
fn sums(facets: &[Facet]) -> Vec<(u64, u64)> {
    let mut sums: Vec<(u64, u64)> = Vec::new();
    for facet in facets {
        match sums.last_mut() {
            Some((owner, bytes)) if *owner == facet.owner_id => *bytes += facet.bytes_utf8.0,
            _ => sums.push((facet.owner_id, facet.bytes_utf8.0)),
        }
    }
    sums
}

/// The newest facet of each owner and name with its long values, ordered.
fn newest(rows: ValueRows, spans: &[u32]) -> ValueRows {
    let ValueRows { facets, longs } = rows;
    let mut order: Vec<usize> = (0..facets.len()).collect();
    // Of two with one time the first one counts.
    order.sort_by_key(|at| {
        let facet = &facets[*at];
        (identity(facet), std::cmp::Reverse(facet.last_modified), *at)
    });
    order.dedup_by_key(|at| identity(&facets[*at]));
    let mut kept = ValueRows {
        facets: Vec::with_capacity(order.len()),
        longs: Vec::with_capacity(longs.len()),
    };
    for at in order {
        let from = if at == 0 { 0 } else { spans[at - 1] as usize };
        kept.longs.extend_from_slice(&longs[from..spans[at] as usize]);
        kept.facets.push(facets[at].clone());
    }
    kept
}

/// Facets of a file that are not in the store as they are.
#[derive(Debug, Default)]
struct NewFacets {
    facets: u64,
    /// Those that are rows of their own, by source.
    rows: BTreeMap<SourceKey, u64>,
}

impl NewFacets {
    fn add(&mut self, facet: &Facet, events: Option<TermKey>) {
        self.facets += 1;
        if facet.owner_kind != OwnerKind::Interaction || Some(facet.facet_key) != events {
            *self.rows.entry(facet.source_id).or_default() += 1;
        }
    }
}

/// The facets of one file: of all its layers the newest ones, and which are new. `events` is the name of
/// the events of interactions.
fn merge(
    place: &FilePlace,
    parts: &[u32],
    (memory, spans): (ValueRows, &[u32]),
    (draft, store, events): (&Draft, &Store, Option<TermKey>),
) -> Result<(ValueRows, NewFacets), Error> {
    let folder = draft.parts();
    let stored =
        ValueRows { facets: read_stored(store, place)?, longs: read_stored(store, place)? };
    let known: FxHashMap<_, _> =
        stored.facets.iter().map(|facet| (identity(facet), facet.last_modified)).collect();
    let mut layers = vec![stored];
    for part in parts {
        let facets = read_part(&folder, *part)?;
        layers.push(ValueRows { facets, longs: read_part(&folder, *part)? });
    }
    layers.push(newest(memory, spans));
    layers.retain(|layer| !layer.facets.is_empty());
    let rows = match layers.len() {
        // Ordered, and each facet once.
        1 => layers.remove(0),
        _ => merged(layers),
    };
    let mut new = NewFacets::default();
    for facet in &rows.facets {
        if known.get(&identity(facet)) != Some(&facet.last_modified) {
            new.add(facet, events);
        }
    }
    Ok((rows, new))
}

/// The newest of the facets of several layers.
fn merged(layers: Vec<ValueRows>) -> ValueRows {
    let (mut rows, mut spans) = (ValueRows::default(), Vec::new());
    for layer in layers {
        let mut longs = layer.longs.into_iter().peekable();
        for facet in layer.facets {
            let own = |long: &LongValue| {
                (long.owner_id, long.facet_key) == (facet.owner_id, facet.facet_key)
            };
            while let Some(long) = longs.next_if(own) {
                rows.longs.push(long);
            }
            spans.push(u32::try_from(rows.longs.len()).unwrap_or(u32::MAX));
            rows.facets.push(facet);
        }
    }
    newest(rows, &spans)
}
