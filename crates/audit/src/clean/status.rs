//! What a plan is, and how far its execution is.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::CleanError;
use super::folder::PlanFolder;
use super::journal::{BatchState, Event, batches, events};
use super::plan::Plan;
use super::postgres::batch_count;

/// Batches by how far they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BatchCounts {
    /// All of the plan; 0 for plans without batches.
    pub all: u64,
    /// Deleted from the source.
    pub committed: u64,
    /// Put back.
    pub undone: u64,
    /// Interrupted; the next command asks the database how they ended.
    pub open: u64,
}

/// How far a plan is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The plan.
    pub plan: Plan,
    /// Its batches.
    pub batches: BatchCounts,
    /// Rows in archives of batches that are deleted and not put back, by table.
    pub archived: BTreeMap<String, u64>,
    /// Keys whose rows were left alone: the GUID and why.
    pub skipped: Vec<(String, String)>,
    /// Why it stopped last; none when it did not, or went on since.
    pub stopped: Option<String>,
    /// True when the last batch is done and its rows are gone.
    pub finished: bool,
}

/// Reads a plan, checks that it is as it was made, and reads its journal.
///
/// # Errors
/// When it is no plan, or was changed.
pub fn status(folder: &Path) -> Result<Status, CleanError> {
    let opened = PlanFolder::open(folder)?;
    let events = events(folder)?;
    let mut counts = BatchCounts { all: batch_count(&opened)?, ..BatchCounts::default() };
    let mut archived: BTreeMap<String, u64> = BTreeMap::new();
    let states = batches(&events);
    for state in states.values() {
        match state {
            BatchState::Open { .. } | BatchState::Undoing { .. } => counts.open += 1,
            BatchState::Undone => counts.undone += 1,
            BatchState::Committed { archive } => {
                counts.committed += 1;
                for (table, rows) in archive.iter().flat_map(|archive| &archive.tables) {
                    *archived.entry(table.clone()).or_default() += rows.rows;
                }
            }
        }
    }
    let skipped = skipped_rows(&events);
    let stopped = events.iter().rev().find_map(|event| match event {
        Event::Stopped { why, .. } => Some(Some(why.clone())),
        Event::Started { .. } | Event::Finished { .. } => Some(None),
        _ => None,
    });
    let last = events.iter().rev().find(|event| {
        matches!(event, Event::Finished { .. } | Event::UndoStarted { .. } | Event::Started { .. })
    });
    Ok(Status {
        plan: opened.plan,
        batches: counts,
        archived,
        skipped,
        stopped: stopped.flatten(),
        finished: matches!(last, Some(Event::Finished { .. })),
    })
}

/// Keys whose rows were left alone: of each batch what its last run said.
pub(super) fn skipped_rows(events: &[Event]) -> Vec<(String, String)> {
    let mut by_batch = BTreeMap::new();
    for event in events {
        if let Event::Archived { batch, skipped, .. } = event {
            by_batch.insert(*batch, skipped);
        }
    }
    let rows = by_batch.into_values().flatten();
    rows.map(|skipped| (skipped.id.clone(), skipped.why.clone())).collect()
}
