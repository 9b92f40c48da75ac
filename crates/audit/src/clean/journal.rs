//! What was done to a target, one JSON document a line. A line is on the disk before the next step
//! begins, and is never changed.
//!
//! ```text
//! archived   the rows of a batch are in its archive; the transaction is open
//! committed  the transaction is committed          (or rolled-back)
//! undoing    the rows of a batch are inserted; the transaction is open
//! undone     the transaction is committed          (or undo-rolled-back)
//! ```
//!
//! A process that is killed between two lines leaves `archived` or `undoing`: the database itself
//! then says how the transaction ended, by its number.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::CleanError;
use super::folder::PlanFolder;
use super::guard::Guard;
use crate::error::Error;

/// The file.
pub(crate) const JOURNAL: &str = "journal.jsonl";

/// A row that was left alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Skipped {
    /// Its GUID.
    pub(crate) id: String,
    /// Why.
    pub(crate) why: String,
}

/// Rows of a table in an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArchivedTable {
    pub(crate) rows: u64,
    /// SHA-256 of the rows, sorted, each with a line break.
    pub(crate) sha256: String,
}

/// The archive of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Archive {
    /// Path below the plan's folder.
    pub(crate) file: String,
    pub(crate) sha256: String,
    /// By table of the source.
    pub(crate) tables: BTreeMap<String, ArchivedTable>,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Event {
    /// A process began to apply the plan.
    Started {
        at_ms: i64,
        plan: String,
        allowed: Vec<String>,
        backup: Option<String>,
    },
    /// The archive of a batch is on the disk; none for a batch without rows.
    Archived {
        batch: u64,
        transaction: String,
        archive: Option<Archive>,
        keys: u64,
        skipped: Vec<Skipped>,
    },
    Committed {
        batch: u64,
    },
    RolledBack {
        batch: u64,
    },
    /// A stop condition was met.
    Stopped {
        at_ms: i64,
        why: String,
    },
    /// All batches are done.
    Finished {
        at_ms: i64,
        expected_gone: u64,
        seen_gone: u64,
    },
    /// A process began to undo the plan.
    UndoStarted {
        at_ms: i64,
        plan: String,
    },
    Undoing {
        batch: u64,
        transaction: String,
        rows: u64,
        kept: u64,
    },
    Undone {
        batch: u64,
    },
    UndoRolledBack {
        batch: u64,
    },
    UndoFinished {
        at_ms: i64,
    },
    /// The store has the labels of the plan.
    Labelled {
        at_ms: i64,
        run: u32,
        labels: u64,
    },
    /// The rebuilt store is at its place, and the old one beside it.
    Exchanged {
        at_ms: i64,
    },
    /// The rebuilt store, before it takes the old one's place.
    Rebuilt {
        at_ms: i64,
        digest: String,
        kept: String,
    },
}

impl Event {
    /// A process begins to apply a plan without a backup.
    pub(crate) fn started(folder: &PlanFolder, (allowed, at_ms): (&[Guard], i64)) -> Self {
        Self::Started {
            at_ms,
            plan: folder.plan.digest.clone(),
            allowed: allowed.iter().map(ToString::to_string).collect(),
            backup: None,
        }
    }

    /// When it was written; none for a step of a batch.
    pub(crate) fn at_ms(&self) -> Option<i64> {
        match self {
            Self::Started { at_ms, .. }
            | Self::Stopped { at_ms, .. }
            | Self::Finished { at_ms, .. }
            | Self::UndoStarted { at_ms, .. }
            | Self::UndoFinished { at_ms }
            | Self::Labelled { at_ms, .. }
            | Self::Exchanged { at_ms }
            | Self::Rebuilt { at_ms, .. } => Some(*at_ms),
            _ => None,
        }
    }
}

/// How far a batch is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BatchState {
    /// The transaction's end is unknown.
    Open {
        transaction: String,
        archive: Option<Archive>,
    },
    Committed {
        archive: Option<Archive>,
    },
    /// The undoing transaction's end is unknown.
    Undoing {
        transaction: String,
        archive: Option<Archive>,
    },
    Undone,
}

/// A journal, open to be appended to.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    pub(crate) events: Vec<Event>,
}

/// Reads the whole lines of a journal; how many bytes they are.
fn read(path: &Path) -> Result<(Vec<Event>, u64), CleanError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(Error::io("read", path, error).into()),
    };
    // A line without its end was being written when the machine stopped; what follows a line is
    // begun after it only, so nothing was done because of it.
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
    let mut events = Vec::new();
    for (number, line) in bytes[..whole].split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let event = serde_json::from_slice(line).map_err(|error| {
            CleanError::state(
                path,
                format!("line {} of the journal is damaged: {error}", number + 1),
                "restore `journal.jsonl` from a backup of the plan's folder: it says which rows are \
                 deleted, and those are in the plan's archive only",
            )
        })?;
        events.push(event);
    }
    Ok((events, whole as u64))
}

/// The events of a plan, without opening its journal to be written.
pub(crate) fn events(folder: &Path) -> Result<Vec<Event>, CleanError> {
    Ok(read(&folder.join(JOURNAL))?.0)
}

impl Journal {
    /// Opens the journal of a plan; a line without its end is cut off.
    pub(crate) fn open(folder: &Path) -> Result<Self, CleanError> {
        let path = folder.join(JOURNAL);
        let (events, whole) = read(&path)?;
        let failed = |error| Error::io("write", &path, error);
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() > whole {
            file.set_len(whole).map_err(failed)?;
        }
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        Ok(Self { path, file, events })
    }

    /// Appends a line and waits until the disk has it.
    pub(crate) fn append(&mut self, event: Event) -> Result<(), CleanError> {
        let failed = |error| Error::io("write", &self.path, error);
        let mut line = serde_json::to_vec(&event).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).and_then(|()| self.file.sync_data()).map_err(failed)?;
        self.events.push(event);
        Ok(())
    }

    /// How far each batch is; batches that were never begun, or rolled back, are not in it.
    pub(crate) fn batches(&self) -> BTreeMap<u64, BatchState> {
        batches(&self.events)
    }

    /// True after the first step of an undo.
    pub(crate) fn undo_began(&self) -> bool {
        self.events.iter().any(|event| matches!(event, Event::UndoStarted { .. }))
    }
}

/// How far each batch is.
pub(crate) fn batches(events: &[Event]) -> BTreeMap<u64, BatchState> {
    let mut states: BTreeMap<u64, BatchState> = BTreeMap::new();
    let mut archives: BTreeMap<u64, Option<Archive>> = BTreeMap::new();
    for event in events {
        match event {
            Event::Archived { batch, transaction, archive, .. } => {
                archives.insert(*batch, archive.clone());
                let (transaction, archive) = (transaction.clone(), archive.clone());
                states.insert(*batch, BatchState::Open { transaction, archive });
            }
            Event::Committed { batch } | Event::UndoRolledBack { batch } => {
                let archive = archives.get(batch).cloned().flatten();
                states.insert(*batch, BatchState::Committed { archive });
            }
            Event::RolledBack { batch } => {
                states.remove(batch);
            }
            Event::Undoing { batch, transaction, .. } => {
                let archive = archives.get(batch).cloned().flatten();
                let transaction = transaction.clone();
                states.insert(*batch, BatchState::Undoing { transaction, archive });
            }
            Event::Undone { batch } => {
                states.insert(*batch, BatchState::Undone);
            }
            _ => {}
        }
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_cut_off_and_a_damaged_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path()).unwrap();
        journal.append(Event::Committed { batch: 1 }).unwrap();
        let path = folder.path().join(JOURNAL);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend_from_slice(b"{\"event\":\"comm");
        std::fs::write(&path, &bytes).unwrap();
        let mut journal = Journal::open(folder.path()).unwrap();
        journal.append(Event::Undone { batch: 1 }).unwrap();
        let expected = [Event::Committed { batch: 1 }, Event::Undone { batch: 1 }];
        assert_eq!(events(folder.path()).unwrap(), expected);
        assert_eq!(batches(&expected).get(&1), Some(&BatchState::Undone));
        std::fs::write(&path, b"{\"event\":\"comm\n{\"event\":\"committed\",\"batch\":2}\n")
            .unwrap();
        assert!(matches!(events(folder.path()), Err(CleanError::State { .. })));
    }

    #[test]
    fn the_last_line_of_a_batch_says_how_far_it_is() {
        let archived = |batch| Event::Archived {
            batch,
            transaction: "7".to_owned(),
            archive: None,
            keys: 1,
            skipped: Vec::new(),
        };
        let undoing = Event::Undoing { batch: 1, transaction: "9".to_owned(), rows: 1, kept: 0 };
        let events = [
            archived(1),
            Event::Committed { batch: 1 },
            archived(2),
            Event::RolledBack { batch: 2 },
            archived(3),
            undoing.clone(),
        ];
        let found = batches(&events);
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [1, 3]);
        assert!(matches!(found[&1], BatchState::Undoing { .. }), "{found:?}");
        assert!(matches!(found[&3], BatchState::Open { .. }), "{found:?}");
        let found = batches(&[archived(1), undoing, Event::UndoRolledBack { batch: 1 }]);
        assert!(matches!(found[&1], BatchState::Committed { .. }), "{found:?}");
    }
}
