//! The table `rollup_day`: sums of interactions by day, place and shard, beside the rows.
//!
//! Days whose rows are as they were keep their sums, so a refresh costs what its new days cost. Distinct
//! contacts and quantiles are not in it: they do not add up, and sketches that add up would give other
//! numbers than the rows do.

use std::collections::{BTreeMap, BTreeSet};

use culprit_model::{Row as _, Text, table};
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::import::parallel;
use crate::schema::{DayRollup, InteractionKey, LabelRow, Millis, PlaceKey, Utc};
use crate::store::{Draft, FilePlace, Store, StoreFile};
use crate::time::DAY_MS;

/// The zone of the days: that of the store's files.
const ZONE: &str = "UTC";
/// What labels of interactions are about.
const INTERACTION: &str = "interaction";

table! {
    /// What the sums need of an interaction.
    DayVisit in "interactions" {
        /// Its key.
        interaction_id: InteractionKey,
        /// Its length.
        duration_ms: Option<Millis>,
        /// Its place.
        place_id: Option<PlaceKey>,
        /// Its page views.
        pages: u32,
    }
}

/// Place and verdict.
type Group = (Option<PlaceKey>, Option<Text>);
/// Labels of interactions by key.
type Labels = FxHashMap<u64, Text>;

/// Brings the sums of a store's next state up to date. `relabelled` is true when labels of
/// interactions came or went.
///
/// # Errors
/// When a table cannot be read or written.
pub(super) fn write(draft: &Draft, next: &Store, relabelled: bool) -> Result<(), Error> {
    let stored = next.read::<DayRollup>()?;
    let day_and_shard = |row: &DayRollup| (row.day.0.div_euclid(DAY_MS), row.shard);
    let known: BTreeSet<(i64, u32)> = stored.iter().map(day_and_shard).collect();
    let labels = labels(next)?;
    let (mut days, mut work) = (BTreeSet::new(), Vec::new());
    for file in next.files(DayVisit::TABLE.name) {
        // Rows without a start belong to no day.
        let (Some(day), Some(shard)) = (file.day, file.shard) else { continue };
        if relabelled || file.is_new() || !known.contains(&(day, shard)) {
            work.push((day, shard, file.clone()));
        } else {
            days.insert((day, shard));
        }
    }
    let mut rows: Vec<DayRollup> = stored.clone();
    rows.retain(|row| days.contains(&day_and_shard(row)));
    let sum = |(day, shard, file): (i64, u32, StoreFile)| {
        Ok(sums((day, shard), &next.read_file(&file)?, &labels))
    };
    parallel(work, sum)?.into_iter().for_each(|sums| rows.extend(sums));
    rows.sort_by(|a, b| order(a).cmp(&order(b)));
    if rows == stored { Ok(()) } else { draft.replace(&FilePlace::default(), &rows) }
}

fn order(row: &DayRollup) -> (Utc, Option<PlaceKey>, u32, Option<&Text>) {
    (row.day, row.place_id, row.shard, row.label.as_ref())
}

fn labels(store: &Store) -> Result<Labels, Error> {
    let rows = store.read::<LabelRow>()?.into_iter();
    let of_visits = rows.filter(|row| row.entity.as_str() == INTERACTION);
    Ok(of_visits.map(|row| (row.id, row.label)).collect())
}

/// The sums of the rows of one day and shard.
fn sums((day, shard): (i64, u32), rows: &[DayVisit], labels: &Labels) -> Vec<DayRollup> {
    let mut groups: BTreeMap<Group, DayRollup> = BTreeMap::new();
    for row in rows {
        let label = labels.get(&row.interaction_id.0).cloned();
        let group = groups.entry((row.place_id, label.clone())).or_insert_with(|| DayRollup {
            day: Utc(day.saturating_mul(DAY_MS)),
            time_zone: ZONE.into(),
            place_id: row.place_id,
            shard,
            label,
            sessions: 0,
            pages: 0,
            single: 0,
            duration_ms: 0,
            with_duration: 0,
        });
        group.sessions += 1;
        group.pages += u64::from(row.pages);
        group.single += u64::from(row.pages <= 1);
        group.duration_ms = group.duration_ms.saturating_add(row.duration_ms.map_or(0, |ms| ms.0));
        group.with_duration += u64::from(row.duration_ms.is_some());
    }
    groups.into_values().collect()
}
