//! Rows of visits on their way to the store: those of one day and shard, and parts of them on the disk.

use std::path::Path;

use culprit_model::Row;

use crate::error::Error;
use crate::schema::{
    InteractionId, InteractionKey, InteractionRow, PageView, VisitEvent, VisitTraffic,
};
use crate::store::{FilePlace, Store};

/// Rows of one day and shard.
#[derive(Debug, Default)]
pub(crate) struct VisitRows {
    pub(crate) rows: Vec<InteractionRow>,
    pub(crate) ids: Vec<InteractionId>,
    pub(crate) traffic: Vec<VisitTraffic>,
    pub(crate) views: Vec<PageView>,
    pub(crate) events: Vec<VisitEvent>,
}

impl VisitRows {
    pub(super) fn sort(&mut self) {
        self.rows.sort_by_key(|row| row.interaction_id);
        self.ids.sort_by_key(|row| row.interaction_id);
        self.traffic.sort_by_key(|row| row.interaction_id);
        self.views.sort_by_key(|row| (row.interaction_id, row.seq));
        self.events.sort_by_key(|row| (row.interaction_id, row.seq));
    }

    pub(super) fn retain(&mut self, keep: impl Fn(InteractionKey) -> bool) {
        self.rows.retain(|row| keep(row.interaction_id));
        self.ids.retain(|row| keep(row.interaction_id));
        self.traffic.retain(|row| keep(row.interaction_id));
        self.views.retain(|row| keep(row.interaction_id));
        self.events.retain(|row| keep(row.interaction_id));
    }

    pub(super) fn append(&mut self, mut other: Self) {
        self.rows.append(&mut other.rows);
        self.ids.append(&mut other.ids);
        self.traffic.append(&mut other.traffic);
        self.views.append(&mut other.views);
        self.events.append(&mut other.events);
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len() * 2 + self.traffic.len() + self.views.len() + self.events.len()
    }

    pub(super) fn write_part(&self, folder: &Path, part: u32) -> Result<(), Error> {
        write_part(folder, part, &self.rows)?;
        write_part(folder, part, &self.ids)?;
        write_part(folder, part, &self.traffic)?;
        write_part(folder, part, &self.views)?;
        write_part(folder, part, &self.events)
    }

    pub(super) fn read_part(folder: &Path, part: u32) -> Result<Self, Error> {
        Ok(Self {
            rows: read_part(folder, part)?,
            ids: read_part(folder, part)?,
            traffic: read_part(folder, part)?,
            views: read_part(folder, part)?,
            events: read_part(folder, part)?,
        })
    }

    pub(super) fn read_stored(store: &Store, place: &FilePlace) -> Result<Self, Error> {
        Ok(Self {
            rows: read_stored(store, place)?,
            ids: read_stored(store, place)?,
            traffic: read_stored(store, place)?,
            views: read_stored(store, place)?,
            events: read_stored(store, place)?,
        })
    }
}

/// The path of a part of a table.
fn part_path<R: Row>(folder: &Path, part: u32) -> std::path::PathBuf {
    folder.join(format!("{part}-{}.parquet", R::TABLE.name))
}

/// Writes a part; no rows make no file.
pub(super) fn write_part<R: Row>(folder: &Path, part: u32, rows: &[R]) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let bytes = culprit_recording::rows_to_passing_parquet(rows).map_err(Error::Encode)?;
    let path = part_path::<R>(folder, part);
    std::fs::write(&path, bytes).map_err(|error| Error::io("write", &path, error))
}

/// Reads a part.
pub(super) fn read_part<R: Row>(folder: &Path, part: u32) -> Result<Vec<R>, Error> {
    let path = part_path::<R>(folder, part);
    if path.exists() { crate::store::read_rows(&path.into()) } else { Ok(Vec::new()) }
}

/// The rows that a store has for a place.
pub(super) fn read_stored<R: Row>(store: &Store, place: &FilePlace) -> Result<Vec<R>, Error> {
    let mut rows = Vec::new();
    for file in store.files(R::TABLE.name).filter(|file| place.is_of(file)) {
        rows.append(&mut store.read_file::<R>(file)?);
    }
    Ok(rows)
}
