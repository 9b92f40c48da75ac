//! What a plan is, and how far its execution is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::error::CleanError;
use super::folder::PlanFolder;
use super::folders::StoreFolders;
use super::journal::{BatchState, Event, batches, events};
use super::label::has_labels;
use super::plan::{CleanLevel, Plan};
use super::postgres::batch_count;
use crate::store::Store;

culprit_model::labels! {
    /// How far a plan is.
    PlanState ("state") {
        /// Nothing was done, or a killed run had not changed anything yet.
        Planned = "planned",
        /// It is carried out.
        Applied = "applied",
        /// Some of its batches are carried out.
        Partly = "partly-applied",
        /// It was carried out and put back.
        Undone = "undone",
        /// Its store was changed since, or cannot be read.
        Unknown = "unknown",
    }
}

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
    /// How far it is, as its store or its journal says.
    pub state: PlanState,
    /// When the last step was, in milliseconds since 1970-01-01 UTC; none before the first.
    pub at_ms: Option<i64>,
    /// The old store beside the rebuilt one.
    pub kept: Option<PathBuf>,
    /// A folder that a killed run left beside the store.
    pub left_over: Option<PathBuf>,
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
    let finished = matches!(last, Some(Event::Finished { .. }));
    let (mut kept, mut left_over) = (None, None);
    if opened.level == CleanLevel::Store {
        let folders = StoreFolders::new(&opened, &events);
        kept = folders.old_store().map(Path::to_owned);
        left_over = folders.left_over().map(Path::to_owned);
    }
    Ok(Status {
        state: state(&opened, &events, (&counts, finished)),
        at_ms: events.iter().rev().find_map(Event::at_ms),
        kept,
        left_over,
        plan: opened.plan,
        batches: counts,
        archived,
        skipped,
        stopped: stopped.flatten(),
        finished,
    })
}

/// How far a plan is. The target itself says it where it is a store.
fn state(
    folder: &PlanFolder,
    events: &[Event],
    (counts, finished): (&BatchCounts, bool),
) -> PlanState {
    let path = Path::new(&folder.plan.store.path);
    match folder.level {
        CleanLevel::Label => {
            let labels = Store::open(path).and_then(|s| has_labels(&s, &folder.plan.digest));
            match labels {
                Ok(Some(true)) => PlanState::Applied,
                Ok(Some(false)) => PlanState::Undone,
                Ok(None) => PlanState::Planned,
                Err(_) => PlanState::Unknown,
            }
        }
        CleanLevel::Store => {
            let folders = StoreFolders::new(folder, events);
            let is_old = folders.is_old().unwrap_or(false);
            // An undo begins only where the rebuilt store is at its place.
            let undone = events.iter().any(|event| matches!(event, Event::UndoStarted { .. }));
            match (is_old, folders.is_rebuilt().unwrap_or(false)) {
                (true, _) if undone => PlanState::Undone,
                (true, _) => PlanState::Planned,
                (false, true) => PlanState::Applied,
                (false, false) => PlanState::Unknown,
            }
        }
        CleanLevel::Source if finished && counts.undone == 0 => PlanState::Applied,
        CleanLevel::Source if counts.committed + counts.open > 0 => PlanState::Partly,
        CleanLevel::Source if counts.undone > 0 => PlanState::Undone,
        CleanLevel::Source => PlanState::Planned,
    }
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
