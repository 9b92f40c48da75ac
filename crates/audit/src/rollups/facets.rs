//! The tables `rollup_facets` and `rollup_facet_days`: for each file of `facets` one of each, of the same
//! name.

use std::collections::BTreeMap;

use culprit_model::{Row as _, table};
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::import::parallel;
use crate::schema::{Bytes, FacetDay, FacetSize, OwnerKind, TermKey, Utc};
use crate::store::{Draft, FilePlace, Store, StoreFile};
use crate::time::DAY_MS;

table! {
    /// What the sums need of a facet.
    SizedFacet in "facets" {
        /// What it belongs to.
        owner_kind: OwnerKind,
        /// Its name.
        facet_key: TermKey,
        /// Its last change.
        last_modified: Option<Utc>,
        /// Its size.
        bytes_utf8: Bytes,
        /// Its size in UTF-16.
        bytes_utf16: Bytes,
    }
}

/// Writes the sums of files that are new or have none, and removes those of files that are gone.
pub(super) fn write(draft: &Draft, next: &Store) -> Result<(), Error> {
    let place = |file: &StoreFile| file.shard_place();
    let summed: Vec<FilePlace> = next.files(FacetSize::TABLE.name).map(place).collect();
    let (mut there, mut work) = (Vec::new(), Vec::new());
    for file in next.files(SizedFacet::TABLE.name) {
        let at = place(file);
        if file.is_new() || !summed.contains(&at) {
            work.push((at.clone(), file));
        }
        there.push(at);
    }
    for gone in summed.iter().filter(|place| !there.contains(place)) {
        draft.replace::<FacetSize>(gone, &[])?;
        draft.replace::<FacetDay>(gone, &[])?;
    }
    parallel(work, |(place, file)| {
        let (sizes, days) = sums(place.shard.unwrap_or(0), &next.read_file(file)?);
        draft.replace(&place, &sizes)?;
        draft.replace(&place, &days)
    })
    .map(drop)
}

/// The sums of the facets of one file, ordered.
fn sums(shard: u32, facets: &[SizedFacet]) -> (Vec<FacetSize>, Vec<FacetDay>) {
    let mut sizes: FxHashMap<(OwnerKind, TermKey, Bytes), (u64, u64)> = FxHashMap::default();
    let mut days: BTreeMap<i64, u64> = BTreeMap::new();
    for facet in facets {
        let size = (facet.owner_kind, facet.facet_key, facet.bytes_utf8);
        let (count, utf16) = sizes.entry(size).or_default();
        *count += 1;
        *utf16 += facet.bytes_utf16.0;
        if let Some(time) = facet.last_modified {
            *days.entry(time.0.div_euclid(DAY_MS)).or_default() += facet.bytes_utf8.0;
        }
    }
    let size = |((owner_kind, facet_key, bytes_utf8), (facets, utf16))| FacetSize {
        owner_kind,
        facet_key,
        shard,
        bytes_utf8,
        facets,
        bytes_utf16: Bytes(utf16),
    };
    let mut sizes: Vec<FacetSize> = sizes.into_iter().map(size).collect();
    sizes.sort_by_key(|size| (size.owner_kind, size.facet_key, size.bytes_utf8));
    let day = |(day, bytes): (i64, u64)| FacetDay {
        day: Utc(day.saturating_mul(DAY_MS)),
        shard,
        bytes_utf8: Bytes(bytes),
    };
    (sizes, days.into_iter().map(day).collect())
}
