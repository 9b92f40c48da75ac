//! Carries a plan out in a live database, batch by batch.
//!
//! ```text
//! BEGIN, lock the keys' rows
//! compare each key's state with the plan: the others are skipped
//! DELETE .. RETURNING: facets first, the row itself last
//! the deleted rows -> archive, on the disk; its digest and the transaction's number -> journal
//! COMMIT -> journal
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::super::error::CleanError;
use super::super::folder::{PlanFolder, digest, write_durably};
use super::super::guard::{Guard, GuardResult};
use super::super::journal::{Archive, ArchivedTable, BatchState, Event, Journal, Skipped};
use super::super::keys::ArchivedRow;
use super::super::label::is_stopped;
use super::super::make::refuse;
use super::super::status::skipped_rows;
use super::session::Session;
use super::states::{ask, count_gone, open_target, target_guards};
use super::{Batch, Dsn, batches_of, of_shard, roles};
use crate::error::Error;

/// Milliseconds of a day.
const DAY_MS: i64 = crate::time::DAY_MS;
/// Milliseconds of a minute.
const MINUTE_MS: i64 = 60_000;

/// How to apply a plan.
#[derive(Debug)]
pub struct ApplyOptions<'a> {
    /// One database for all shards, or one a shard.
    pub dsns: &'a [Dsn],
    /// Guards that are overridden.
    pub allowed: &'a [Guard],
    /// Where the backup is, in words.
    pub backup: Option<&'a str>,
    /// Longest wait for a lock in milliseconds.
    pub lock_wait_ms: u32,
    /// Rows of all tables that are deleted in a second at most; none without a limit.
    pub rows_per_second: Option<u32>,
    /// Minutes of the day (UTC) from and to which batches may begin; none at all times.
    pub window: Option<(u32, u32)>,
    /// The clock: milliseconds since 1970-01-01 UTC.
    pub now: fn() -> i64,
}

/// What was done by all runs of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Deleted rows by table.
    pub rows: BTreeMap<String, u64>,
    /// Keys whose rows were left alone: the GUID and why.
    pub skipped: Vec<(String, String)>,
    /// Batches that this run did.
    pub batches: u64,
    /// Keys whose rows must be gone.
    pub expected_gone: u64,
    /// Keys whose rows are gone.
    pub seen_gone: u64,
}

/// Applies a plan, or goes on where an earlier run was. `stop` ends it between two batches.
///
/// # Errors
/// When the plan was changed, a guard fails, an archive is damaged, a stop condition is met, or the
/// database refuses.
pub fn apply_postgres(
    plan: &Path,
    options: &ApplyOptions<'_>,
    stop: &AtomicBool,
) -> Result<Applied, CleanError> {
    let folder = PlanFolder::open(plan)?;
    let mut sessions = open_target(&folder, options.dsns)?;
    let _lease = folder.lock()?;
    sessions.iter_mut().try_for_each(Session::expect_delete_rights)?;
    sessions.iter_mut().try_for_each(Session::lease)?;
    let mut journal = Journal::open(plan)?;
    if journal.undo_began() {
        let hint = "`culprit audit clean plan` makes a new plan for what is left";
        return Err(CleanError::state(plan, "it was undone, at least in part", hint));
    }
    let mut guards = target_guards(&folder, &mut sessions, (options.now)())?;
    guards.push(backup(options.backup));
    refuse(guards, options.allowed)?;
    let batches = batches_of(&folder)?;
    settle_open(&folder, &mut journal, &mut sessions, &batches)?;
    check_archives(&folder, &journal)?;
    journal.append(Event::Started {
        at_ms: (options.now)(),
        plan: folder.plan.digest.clone(),
        allowed: options.allowed.iter().map(ToString::to_string).collect(),
        backup: options.backup.map(str::to_owned),
    })?;
    let mut run =
        Run { folder: &folder, journal, sessions, options, began: (options.now)(), rows: 0 };
    let done = run.all(&batches, stop)?;
    run.finish(&batches, done)
}

/// The guard on the backup.
fn backup(text: Option<&str>) -> GuardResult {
    let text = text.filter(|text| !text.trim().is_empty());
    let why =
        text.map_or_else(|| "no backup is named".to_owned(), |t| format!("the backup is {t}"));
    GuardResult::new(Guard::Backup, text.is_some(), why)
}

/// Asks the database how the transactions of a killed run ended.
pub(super) fn settle_open(
    folder: &PlanFolder,
    journal: &mut Journal,
    sessions: &mut [Session],
    batches: &[Batch],
) -> Result<(), CleanError> {
    let wrong = |batch: u64| {
        CleanError::state(
            &folder.path,
            format!("the database no longer knows how the transaction of batch {batch} ended"),
            "look whether its rows are there: if not, they are in the plan's archive only",
        )
    };
    for (number, state) in journal.batches() {
        let (transaction, undo) = match &state {
            BatchState::Open { transaction, .. } => (transaction, false),
            BatchState::Undoing { transaction, .. } => (transaction, true),
            _ => continue,
        };
        let Some(batch) = batches.iter().find(|batch| batch.number == number) else {
            return Err(wrong(number));
        };
        let session = of_shard(sessions, batch.shard);
        let committed = session.committed(transaction)?.ok_or_else(|| wrong(number))?;
        journal.append(match (committed, undo) {
            (true, false) => Event::Committed { batch: number },
            (false, false) => Event::RolledBack { batch: number },
            (true, true) => Event::Undone { batch: number },
            (false, true) => Event::UndoRolledBack { batch: number },
        })?;
    }
    Ok(())
}

/// Checks the digest of every archive that an undo would need: without them nothing more is deleted.
fn check_archives(folder: &PlanFolder, journal: &Journal) -> Result<(), CleanError> {
    for (batch, state) in journal.batches() {
        if let BatchState::Committed { archive: Some(archive) } = state {
            archive_bytes(folder, batch, &archive)?;
        }
    }
    Ok(())
}

/// The bytes of an archive, if they are what the journal says.
pub(super) fn archive_bytes(
    folder: &PlanFolder,
    batch: u64,
    archive: &Archive,
) -> Result<Vec<u8>, CleanError> {
    let wrong = |why: String| CleanError::Archive { file: archive.file.clone(), batch, why };
    let bytes =
        std::fs::read(folder.path.join(&archive.file)).map_err(|error| wrong(error.to_string()))?;
    if digest(&bytes) != archive.sha256 {
        return Err(wrong("its digest is not the one in the journal".to_owned()));
    }
    Ok(bytes)
}

/// SHA-256 of rows, sorted.
pub(super) fn rows_digest(rows: &mut [&str]) -> String {
    rows.sort_unstable();
    let mut text = String::new();
    for row in rows {
        text.push_str(row);
        text.push('\n');
    }
    digest(text.as_bytes())
}

/// Why no batch may begin at a minute of the day (UTC); none when one may.
fn outside_window((from, to): (u32, u32), minute: u32, began: bool) -> Option<String> {
    let inside =
        if from <= to { (from..to).contains(&minute) } else { minute >= from || minute < to };
    let clock = |minute: u32| format!("{:02}:{:02} UTC", minute / 60, minute % 60);
    match (inside, began) {
        (true, _) => None,
        (false, true) => {
            Some(format!("the window of `--window` is over; it begins again at {}", clock(from)))
        }
        (false, false) => Some(format!(
            "it is {}, and the window of `--window` begins at {}",
            clock(minute),
            clock(from)
        )),
    }
}

struct Run<'a> {
    folder: &'a PlanFolder,
    journal: Journal,
    sessions: Vec<Session>,
    options: &'a ApplyOptions<'a>,
    /// When this run began (ms).
    began: i64,
    /// Rows that this run deleted.
    rows: u64,
}

impl Run<'_> {
    /// Does all batches that are not done. How many it did.
    fn all(&mut self, batches: &[Batch], stop: &AtomicBool) -> Result<u64, CleanError> {
        let states = self.journal.batches();
        let (mut done, mut new) = (states.len() as u64, 0);
        for batch in batches.iter().filter(|batch| !states.contains_key(&batch.number)) {
            let ended = |why: &str, asked| CleanError::Stopped {
                done,
                batches: batches.len() as u64,
                why: why.to_owned(),
                asked,
            };
            let begun = if is_stopped(stop) {
                Err(ended("interrupted", true))
            } else if let Some(why) = self.outside_window(new) {
                Err(ended(&why, false))
            } else {
                self.batch(batch).map_err(|error| match error {
                    CleanError::Target { why, doing, server } => ended(
                        &format!("batch {}: cannot {doing} {server}: {why}", batch.number),
                        false,
                    ),
                    other => other,
                })
            };
            if let Err(error) = begun {
                let event = Event::Stopped { at_ms: (self.options.now)(), why: error.to_string() };
                self.journal.append(event)?;
                return Err(error);
            }
            done += 1;
            new += 1;
            self.throttle();
        }
        Ok(new)
    }

    /// Why no batch may begin now; none when one may. This run did `new` batches.
    fn outside_window(&self, new: u64) -> Option<String> {
        let minute = (self.options.now)().rem_euclid(DAY_MS) / MINUTE_MS;
        outside_window(self.options.window?, u32::try_from(minute).unwrap_or(0), new > 0)
    }

    /// Waits until no more rows than allowed were deleted in each second of this run.
    fn throttle(&self) {
        let Some(limit) = self.options.rows_per_second else { return };
        let due = self.rows * 1000 / u64::from(limit.max(1));
        let passed = u64::try_from((self.options.now)() - self.began).unwrap_or(0);
        std::thread::sleep(Duration::from_millis(due.saturating_sub(passed)));
    }

    /// Does one batch, or nothing of it.
    fn batch(&mut self, batch: &Batch) -> Result<(), CleanError> {
        let archived = self.delete(batch);
        let session = of_shard(&mut self.sessions, batch.shard);
        match archived {
            Ok(rows) => {
                // If this fails, nobody knows how it ended: the next run asks the database.
                session.run("commit at", "COMMIT")?;
                self.journal.append(Event::Committed { batch: batch.number })?;
                self.rows += rows;
                Ok(())
            }
            Err(error) => {
                let rolled_back = session.roll_back();
                let open = self.journal.batches().contains_key(&batch.number);
                if rolled_back && open {
                    self.journal.append(Event::RolledBack { batch: batch.number })?;
                }
                Err(error)
            }
        }
    }

    /// Deletes the rows of a batch and archives them; the transaction is left open. How many rows.
    fn delete(&mut self, batch: &Batch) -> Result<u64, CleanError> {
        let session = of_shard(&mut self.sessions, batch.shard);
        session.begin(self.options.lock_wait_ms)?;
        let tables: Vec<_> =
            roles(batch.kind).iter().filter_map(|role| session.tables.get(role).cloned()).collect();
        let ids: Vec<String> = batch.keys.iter().map(super::super::keys::PlanKey::guid).collect();
        // The row before its facets: what inserts a facet needs the row, too.
        for table in tables.iter().rev() {
            session.rows_of("lock rows of", &table.lock(), &ids)?;
        }
        let states = ask(session, batch.kind, &batch.keys)?;
        let (mut keys, mut skipped) = (Vec::new(), Vec::new());
        for (key, id) in batch.keys.iter().zip(&ids) {
            let why = match states.get(id) {
                Some(state) if !state.present => "its rows are gone",
                Some(state) if state.named => "interactions that are not deleted name it",
                Some(state) if state.version == key.state.as_str() => {
                    keys.push(id.as_str());
                    continue;
                }
                Some(_) => "it was changed after the plan was made",
                None => "its rows are gone",
            };
            skipped.push(Skipped { id: id.clone(), why: why.to_owned() });
        }
        let mut rows: Vec<ArchivedRow> = Vec::new();
        for table in tables.iter().filter(|_| !keys.is_empty()) {
            let sql = super::sql::with_ids(&table.delete(), keys.iter().copied());
            let deleted = session.copy_out("delete rows of", &sql)?;
            rows.extend(deleted.iter().map(|row| ArchivedRow {
                source_table: table.name.as_str().into(),
                row: row.as_str().into(),
            }));
        }
        let transaction = session.transaction()?;
        let archive = self.archive(batch.number, &rows)?;
        self.journal.append(Event::Archived {
            batch: batch.number,
            transaction,
            archive,
            keys: keys.len() as u64,
            skipped,
        })?;
        Ok(rows.len() as u64)
    }

    /// Writes the archive of a batch; none without rows.
    fn archive(&self, batch: u64, rows: &[ArchivedRow]) -> Result<Option<Archive>, CleanError> {
        if rows.is_empty() {
            return Ok(None);
        }
        let mut by_table: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for row in rows {
            by_table
                .entry(row.source_table.as_str().to_owned())
                .or_default()
                .push(row.row.as_str());
        }
        let tables = by_table.into_iter().map(|(table, mut rows)| {
            let sha256 = rows_digest(&mut rows);
            (table, ArchivedTable { rows: rows.len() as u64, sha256 })
        });
        let tables = tables.collect();
        let bytes = culprit_recording::rows_to_parquet(rows).map_err(Error::Encode)?;
        let file = format!("archive/batch-{batch:06}.parquet");
        write_durably(&self.folder.path.join(&file), &bytes)?;
        Ok(Some(Archive { file, sha256: digest(&bytes), tables }))
    }

    /// Counts what is gone, and what should be.
    fn finish(mut self, batches: &[Batch], new: u64) -> Result<Applied, CleanError> {
        let skipped = skipped_rows(&self.journal.events);
        let left: std::collections::BTreeSet<&str> =
            skipped.iter().map(|(id, _)| id.as_str()).collect();
        let mut applied = Applied { batches: new, ..Applied::default() };
        for batch in batches {
            let ids = batch.keys.iter().map(super::super::keys::PlanKey::guid);
            let ids: Vec<String> = ids.filter(|id| !left.contains(id.as_str())).collect();
            applied.expected_gone += ids.len() as u64;
            let session = of_shard(&mut self.sessions, batch.shard);
            applied.seen_gone += count_gone(session, batch.kind, &ids)?;
        }
        for state in self.journal.batches().values() {
            let BatchState::Committed { archive: Some(archive) } = state else { continue };
            for (table, rows) in &archive.tables {
                *applied.rows.entry(table.clone()).or_default() += rows.rows;
            }
        }
        applied.skipped = skipped;
        self.journal.append(Event::Finished {
            at_ms: (self.options.now)(),
            expected_gone: applied.expected_gone,
            seen_gone: applied.seen_gone,
        })?;
        if applied.expected_gone != applied.seen_gone {
            return Err(CleanError::Unexpected {
                what: "keys without rows in the source",
                expected: applied.expected_gone.to_string(),
                seen: applied.seen_gone.to_string(),
            });
        }
        Ok(applied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_has_not_begun_is_not_over() {
        let (night, evening) = ((60, 120), (23 * 60, 60));
        let at = |hour: u32, minute: u32| hour * 60 + minute;
        let why = outside_window(night, at(23, 41), false).unwrap();
        assert_eq!(why, "it is 23:41 UTC, and the window of `--window` begins at 01:00 UTC");
        let why = outside_window(night, at(2, 0), true).unwrap();
        assert_eq!(why, "the window of `--window` is over; it begins again at 01:00 UTC");
        assert_eq!(outside_window(night, at(1, 59), false), None);
        assert_eq!(outside_window(evening, at(0, 59), true), None);
        assert!(outside_window(evening, at(1, 0), true).is_some());
    }
}
