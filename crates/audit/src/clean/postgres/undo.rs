//! Puts the rows of a plan back: its batches in reverse order, each from its archive.
//!
//! A row whose key was taken meanwhile is kept as it is and counted. All others must come out of the
//! database as they went into the archive, else the batch is rolled back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use culprit_model::counted;

use super::super::error::CleanError;
use super::super::folder::PlanFolder;
use super::super::guard::Guard;
use super::super::journal::{Archive, BatchState, Event, Journal};
use super::super::keys::ArchivedRow;
use super::super::label::{is_stopped, never_applied};
use super::super::make::refuse;
use super::apply::{ApplyOptions, archive_bytes, rows_digest, settle_open};
use super::session::Session;
use super::states::{open_target, other_target};
use super::{Batch, batches_of, of_shard, roles};

/// Rows that were not put back that are named.
const KEPT_ROWS: usize = 1000;

/// What was put back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undone {
    /// Batches that this run put back.
    pub batches: u64,
    /// Their rows by table.
    pub rows: BTreeMap<String, u64>,
    /// Archived rows whose key was taken meanwhile; the other row stays.
    pub kept: u64,
    /// Table and key of these rows: the first 1,000.
    pub kept_rows: Vec<(String, String)>,
    /// Batches that are still deleted.
    pub left: u64,
}

/// Undoes a plan, or one batch of it. `options.allowed` may override `other-target` and
/// `side-effects`.
///
/// # Errors
/// When the plan was changed, an archive is damaged, or the database refuses.
pub fn undo_postgres(
    plan: &Path,
    options: &ApplyOptions<'_>,
    only: Option<u64>,
    stop: &AtomicBool,
) -> Result<Undone, CleanError> {
    let folder = PlanFolder::open(plan)?;
    let mut sessions = open_target(&folder, options.dsns)?;
    let _lease = folder.lock()?;
    sessions.iter_mut().try_for_each(Session::expect_insert_right)?;
    sessions.iter_mut().try_for_each(Session::lease)?;
    let mut journal = Journal::open(plan)?;
    check(&folder, &mut sessions, options.allowed)?;
    let batches = batches_of(&folder)?;
    settle_open(&folder, &mut journal, &mut sessions, &batches)?;
    let states = journal.batches();
    if states.is_empty() {
        return Err(never_applied(plan));
    }
    journal
        .append(Event::UndoStarted { at_ms: (options.now)(), plan: folder.plan.digest.clone() })?;
    if let Some(number) =
        only.filter(|number| !matches!(states.get(number), Some(BatchState::Committed { .. })))
    {
        return Err(CleanError::Options(format!("batch {number} is not deleted")));
    }
    let mut undo = Undo { folder: &folder, journal, sessions, options, undone: Undone::default() };
    let chosen = |number: &u64| only.is_none_or(|only| only == *number);
    let mut left = 0;
    for (number, state) in states.iter().rev() {
        let BatchState::Committed { archive } = state else { continue };
        let Some(batch) = batches.iter().find(|batch| batch.number == *number) else { continue };
        if !chosen(number) {
            left += 1;
            continue;
        }
        if is_stopped(stop) {
            return Err(CleanError::Stopped {
                done: undo.undone.batches,
                batches: states.len() as u64,
                why: "interrupted".to_owned(),
                asked: true,
            });
        }
        let done = undo.batch(batch, archive.as_ref());
        done.map_err(|error| stopped(error, &undo.journal, *number))?;
    }
    undo.undone.left = left;
    undo.journal.append(Event::UndoFinished { at_ms: (options.now)() })?;
    Ok(undo.undone)
}

/// The error of an undo that stopped at a batch, with how far all batches are.
fn stopped(error: CleanError, journal: &Journal, failed: u64) -> CleanError {
    let states = journal.batches();
    let all = |wanted: fn(&BatchState) -> bool| -> Vec<u64> {
        let found = states.iter().rev().filter(|(_, state)| wanted(state));
        found.map(|(number, _)| *number).collect()
    };
    let put_back = all(|state| matches!(state, BatchState::Undone));
    // A batch whose commit failed is in neither: the next run asks the database how it ended.
    let mut left = all(|state| matches!(state, BatchState::Committed { .. }));
    // The one that failed is first: the others are those that `--only-batch` may name.
    left.sort_by_key(|number| *number != failed);
    CleanError::Undo { error: Box::new(error), put_back, left }
}

fn check(
    folder: &PlanFolder,
    sessions: &mut [Session],
    allowed: &[Guard],
) -> Result<(), CleanError> {
    let mut results = vec![other_target(folder, sessions)];
    for session in sessions {
        results.push(session.side_effects()?);
    }
    refuse(results, allowed)
}

struct Undo<'a> {
    folder: &'a PlanFolder,
    journal: Journal,
    sessions: Vec<Session>,
    options: &'a ApplyOptions<'a>,
    undone: Undone,
}

impl Undo<'_> {
    /// Puts one batch back, or nothing of it.
    fn batch(&mut self, batch: &Batch, archive: Option<&Archive>) -> Result<(), CleanError> {
        let Some(archive) = archive else {
            self.journal.append(Event::Undone { batch: batch.number })?;
            self.undone.batches += 1;
            return Ok(());
        };
        let rows = self.archived(batch.number, archive)?;
        let inserted = self.insert(batch, archive, &rows);
        let session = of_shard(&mut self.sessions, batch.shard);
        match inserted {
            Ok((by_table, kept)) => {
                session.run("commit at", "COMMIT")?;
                self.journal.append(Event::Undone { batch: batch.number })?;
                self.undone.batches += 1;
                self.undone.kept += kept;
                for (table, count) in by_table {
                    *self.undone.rows.entry(table).or_default() += count;
                }
                Ok(())
            }
            Err(error) => {
                let rolled_back = session.roll_back();
                let states = self.journal.batches();
                let open = matches!(states.get(&batch.number), Some(BatchState::Undoing { .. }));
                if rolled_back && open {
                    self.journal.append(Event::UndoRolledBack { batch: batch.number })?;
                }
                Err(error)
            }
        }
    }

    /// The rows of an archive, by table.
    fn archived(
        &self,
        batch: u64,
        archive: &Archive,
    ) -> Result<BTreeMap<String, Vec<String>>, CleanError> {
        let wrong = |why: String| CleanError::Archive { file: archive.file.clone(), batch, why };
        let bytes = archive_bytes(self.folder, batch, archive)?;
        let rows: Vec<ArchivedRow> = culprit_recording::rows_from_parquet(&bytes)
            .map_err(|error| wrong(error.to_string()))?;
        let mut by_table: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in rows {
            let table = row.source_table.as_str().to_owned();
            by_table.entry(table).or_default().push(row.row.as_str().to_owned());
        }
        Ok(by_table)
    }

    /// Inserts the rows of a batch; the transaction is left open. How many by table, and how many
    /// rows were there already.
    fn insert(
        &mut self,
        batch: &Batch,
        archive: &Archive,
        rows: &BTreeMap<String, Vec<String>>,
    ) -> Result<(BTreeMap<String, u64>, u64), CleanError> {
        let session = of_shard(&mut self.sessions, batch.shard);
        session.begin(self.options.lock_wait_ms)?;
        let tables: Vec<_> =
            roles(batch.kind).iter().filter_map(|role| session.tables.get(role).cloned()).collect();
        let (mut counts, mut kept) = (BTreeMap::new(), 0);
        for table in tables.iter().rev() {
            let Some(rows) = rows.get(&table.name) else { continue };
            session.run("insert rows at", &table.staging())?;
            let copy = format!("COPY pg_temp.culprit_undo ({}) FROM STDIN", table.list());
            session.copy_in("insert rows at", &copy, rows.iter().map(String::as_str))?;
            let back = session.copy_out("insert rows at", &table.insert())?;
            session.run("insert rows at", "DROP TABLE pg_temp.culprit_undo")?;
            compare(&table.name, archive, rows, &back)?;
            kept += (rows.len() - back.len()) as u64;
            let returned: BTreeSet<&str> = back.iter().map(String::as_str).collect();
            let stayed = rows.iter().filter(|row| !returned.contains(row.as_str()));
            let room = KEPT_ROWS.saturating_sub(self.undone.kept_rows.len());
            let stayed = stayed.take(room).map(|row| (table.name.clone(), table.key_of(row)));
            self.undone.kept_rows.extend(stayed);
            counts.insert(table.name.clone(), back.len() as u64);
        }
        let transaction = session.transaction()?;
        let all = counts.values().sum();
        self.journal.append(Event::Undoing {
            batch: batch.number,
            transaction,
            rows: all,
            kept,
        })?;
        Ok((counts, kept))
    }
}

/// Whether rows came out of the database as they went into the archive.
fn compare(
    table: &str,
    archive: &Archive,
    archived: &[String],
    back: &[String],
) -> Result<(), CleanError> {
    let expected = archive.tables.get(table).map(|table| table.sha256.as_str()).unwrap_or_default();
    let all: BTreeSet<&str> = archived.iter().map(String::as_str).collect();
    let same = if back.len() == archived.len() {
        rows_digest(&mut back.iter().map(String::as_str).collect::<Vec<_>>()) == expected
    } else {
        back.iter().all(|row| all.contains(row.as_str()))
    };
    if same {
        return Ok(());
    }
    Err(CleanError::Unexpected {
        what: "inserted rows, after the database changed them",
        expected: format!("{} of `{table}` as archived", counted(archived.len() as u64, "row")),
        seen: counted(back.len() as u64, "other row"),
    })
}
