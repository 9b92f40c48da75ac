//! Facets and long values during an import, by owner: of two facets of one name the newer one
//! counts, with its long values.

use std::collections::BTreeMap;
use std::path::Path;

use rustc_hash::FxHashMap;

use super::contacts::Contacts;
use super::visits::{read_part, read_stored, write_part};
use crate::error::Error;
use crate::schema::{Facet, LongValue, OwnerKind, TermKey};
use crate::store::{Draft, FilePlace, Store};

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

/// All facets that an import reads.
#[derive(Debug)]
pub(crate) struct Values {
    /// Owners whose facets are in one file.
    block: u64,
    buckets: BTreeMap<(OwnerKind, u32, u64), Bucket>,
    parts: u32,
    /// Rows in memory, of both tables.
    pub(crate) in_memory: usize,
    added: u64,
}

/// What the files of facets became.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Written {
    /// Facets that were new or newer.
    pub(crate) facets: u64,
    /// Facets that were older than what was there, or the same.
    pub(crate) unchanged: u64,
}

impl Values {
    /// None yet, of a store with so many owners a file.
    pub(crate) fn new(block: u64) -> Self {
        Self { block: block.max(1), buckets: BTreeMap::new(), parts: 0, in_memory: 0, added: 0 }
    }

    /// Adds a facet with its long values.
    pub(crate) fn add(&mut self, facet: Facet, longs: impl Iterator<Item = LongValue>) {
        let key = (facet.owner_kind, facet.shard, facet.owner_id / self.block);
        let bucket = self.buckets.entry(key).or_default();
        let before = bucket.memory.longs.len();
        bucket.memory.facets.push(facet);
        bucket.memory.longs.extend(longs);
        let after = bucket.memory.longs.len();
        bucket.spans.push(u32::try_from(after).unwrap_or(u32::MAX));
        self.in_memory += 1 + after - before;
        self.added += 1;
    }

    /// Takes the rows out of memory: each bucket's as a part.
    pub(crate) fn flush(&mut self, folder: &Path) -> Result<(), Error> {
        let mut work = Vec::new();
        for bucket in self.buckets.values_mut().filter(|bucket| !bucket.spans.is_empty()) {
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
            let (rows, written) = merge(&place, parts, (memory, &spans), (draft, store))?;
            if written > 0 {
                draft.replace(&place, &rows.facets)?;
                draft.replace(&place, &rows.longs)?;
            }
            let sums = if kind == OwnerKind::Contact { sums(&rows.facets) } else { Vec::new() };
            Ok((written, sums))
        };
        let mut total = Written::default();
        for (written, sums) in super::parallel(work, write)? {
            total.facets += written;
            for (owner, bytes) in sums {
                contacts.set_facets_bytes(owner, bytes);
            }
        }
        total.unchanged = self.added - total.facets.min(self.added);
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
    let mut kept = ValueRows::default();
    for at in order {
        let from = if at == 0 { 0 } else { spans[at - 1] as usize };
        kept.longs.extend_from_slice(&longs[from..spans[at] as usize]);
        kept.facets.push(facets[at].clone());
    }
    kept
}

/// The facets of one file: of all its layers the newest ones. How many are not in the store as they
/// are.
fn merge(
    place: &FilePlace,
    parts: &[u32],
    (memory, spans): (ValueRows, &[u32]),
    (draft, store): (&Draft, &Store),
) -> Result<(ValueRows, u64), Error> {
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
    let new = |facet: &&Facet| known.get(&identity(facet)) != Some(&facet.last_modified);
    let written = rows.facets.iter().filter(new).count() as u64;
    Ok((rows, written))
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
