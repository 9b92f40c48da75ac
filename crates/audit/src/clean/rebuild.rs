//! Level `store`: the store without the rows is written beside the old one, and the two folders are
//! exchanged in one step.
//!
//! ```text
//! apply  started -> .new -> rebuilt -> .swap -> exchange -> .before -> exchanged
//! undo   undo-started -> .before to .swap -> exchange -> .deleted -> removed -> undo-finished
//! ```
//!
//! Dictionaries stay whole, and a contact keeps its key and GUID without anything else: keys are
//! positions, and later imports go on from them. The folders themselves show what was done:
//! the list of files in each has a digest that the plan and the journal name.

use std::path::Path;

use culprit_query::Limits;
use rustc_hash::FxHashSet;

use super::Outcome;
use super::error::CleanError;
use super::folder::PlanFolder;
use super::folders::{StoreFolders, remove, rename};
use super::guard::Guard;
use super::journal::{Event, Journal};
use super::label::{compare, expect_generation, keys, never_applied, sums};
use super::make::{check_guards, store_digest};
use super::plan::CleanLevel;
use crate::error::Error;
use crate::rollups::{OF_ALL_ROWS, write_rollups};
use crate::schema::{
    Contact, Facet, InteractionId, InteractionRow, LabelRow, LongValue, OwnerKind, PageView,
    Partition, TABLES, VisitEvent, VisitTraffic,
};
use crate::store::{Draft, FilePlace, Manifest, Store, StoreFile};

/// What leaves.
struct Leaving {
    interactions: FxHashSet<u64>,
    contacts: FxHashSet<u64>,
}

/// Rebuilds the store of a plan without what it selects. A second time changes nothing.
///
/// # Errors
/// When the plan or its store was changed, a guard fails, or a folder cannot be written.
pub fn apply_rebuild(
    plan: &Path,
    allowed: &[Guard],
    now_ms: i64,
    limits: Limits,
) -> Result<Outcome, CleanError> {
    let folder = PlanFolder::open(plan)?;
    folder.expect_level(CleanLevel::Store)?;
    let _lease = folder.lock()?;
    let mut journal = Journal::open(plan)?;
    let folders = StoreFolders::new(&folder, &journal.events);
    if folders.is_rebuilt()? {
        folders.clean()?;
        folders.name_old_store()?;
        if !matches!(journal.events.last(), Some(Event::Exchanged { .. })) {
            note(&mut journal, Event::Exchanged { at_ms: now_ms })?;
        }
    } else {
        check_guards(&folder.plan, allowed, now_ms)?;
        expect_generation(&folder, &Store::open(&folders.store)?)?;
        folders.clean()?;
        if let Some(path) = folders.in_the_way()? {
            return Err(in_the_way(&folder, path));
        }
        note(&mut journal, Event::started(&folder, (allowed, now_ms)))?;
        replace(&folder, &folders, &mut journal, now_ms)?;
    }
    compare(folder.plan.after, sums(&folders.store, limits)?)
}

/// Writes the rebuilt store, and puts it at the place of the old one.
fn replace(
    folder: &PlanFolder,
    folders: &StoreFolders,
    journal: &mut Journal,
    now_ms: i64,
) -> Result<(), CleanError> {
    let old = locked(&folders.store)?;
    // Somebody may have imported before it was locked.
    expect_generation(folder, &Store::open(&folders.store)?)?;
    rebuild(folder, &folders.store, &folders.new)?;
    let kept = folders.before.display().to_string();
    let digest = store_digest(&folders.new)?;
    note(journal, Event::Rebuilt { at_ms: now_ms, digest, kept })?;
    remove(&old.parts())?;
    rename(&folders.new, &folders.swap)?;
    folders.exchange()?;
    drop(old);
    rename(&folders.swap, &folders.before)?;
    note(journal, Event::Exchanged { at_ms: now_ms })
}

/// Puts the old store back. A second time changes nothing.
///
/// # Errors
/// When the plan was changed, an import has changed the rebuilt store since, or a folder cannot be
/// written.
pub fn undo_rebuild(plan: &Path, now_ms: i64, limits: Limits) -> Result<Outcome, CleanError> {
    let folder = PlanFolder::open(plan)?;
    folder.expect_level(CleanLevel::Store)?;
    let _lease = folder.lock()?;
    let mut journal = Journal::open(plan)?;
    let folders = StoreFolders::new(&folder, &journal.events);
    let cleaned = folders.clean()?;
    let rebuilt = journal.events.iter().any(|event| matches!(event, Event::Rebuilt { .. }));
    if folders.is_old()? && (rebuilt || cleaned) {
        // A run was killed after the old store was at its place again.
        if matches!(journal.events.last(), Some(Event::UndoStarted { .. })) {
            note(&mut journal, Event::UndoFinished { at_ms: now_ms })?;
        }
    } else if matches!(journal.events.last(), Some(Event::UndoFinished { .. })) {
        let why = "it was undone, and its store was changed since";
        return Err(CleanError::state(plan, why, "there is nothing to put back"));
    } else if rebuilt {
        put_back(&folder, &folders, &mut journal, now_ms)?;
    } else {
        return Err(never_applied(plan));
    }
    compare(folder.plan.before, sums(&folders.store, limits)?)
}

/// Puts the old store at the place of the rebuilt one, and deletes that.
fn put_back(
    folder: &PlanFolder,
    folders: &StoreFolders,
    journal: &mut Journal,
    now_ms: i64,
) -> Result<(), CleanError> {
    expect_old_store(folder, folders)?;
    // Nobody imports while the folders change places.
    let rebuilt = locked(&folders.store)?;
    let old = expect_old_store(folder, folders)?;
    let plan = folder.plan.digest.clone();
    note(journal, Event::UndoStarted { at_ms: now_ms, plan })?;
    folders.take_old_store(old)?;
    folders.exchange()?;
    drop(rebuilt);
    folders.delete(&folders.swap)?;
    note(journal, Event::UndoFinished { at_ms: now_ms })
}

/// The folder of the old store, if the rebuilt one is at its place as it was made.
fn expect_old_store<'a>(
    folder: &PlanFolder,
    folders: &'a StoreFolders,
) -> Result<&'a Path, CleanError> {
    let old = folders.old_store();
    if !folders.is_rebuilt()? {
        let why = "its store was changed after it was rebuilt, as by an import";
        let hint = match old {
            Some(old) => format!(
                "the old store is `{}`, without what was imported since: import the new sources into \
                 it, and use that one",
                old.display()
            ),
            None => "import all sources into a new store".to_owned(),
        };
        return Err(CleanError::state(&folder.path, why, hint));
    }
    old.ok_or_else(|| {
        let hint = format!(
            "restore `{}` from a backup, or import all sources into a new store",
            folders.before.display()
        );
        CleanError::state(&folder.path, "the old store beside the rebuilt one is gone", hint)
    })
}

/// The error of a store under a name that is needed.
fn in_the_way(folder: &PlanFolder, path: &Path) -> CleanError {
    let why = format!("`{}` is there already", path.display());
    CleanError::state(&folder.path, why, "give that folder another name")
}

/// Locks a store: nobody imports into it meanwhile.
fn locked(store: &Path) -> Result<Draft, CleanError> {
    let none = || Error::NoStore { path: store.to_owned() };
    Ok(Draft::begin(store, |stored, _| stored.ok_or_else(none))?)
}

/// Writes a step to the journal.
fn note(journal: &mut Journal, event: Event) -> Result<(), CleanError> {
    journal.append(event)?;
    #[cfg(test)]
    super::stops::after_step()?;
    Ok(())
}

/// Writes the store without what leaves.
fn rebuild(folder: &PlanFolder, from: &Path, to: &Path) -> Result<(), CleanError> {
    let mut leaving =
        Leaving { interactions: FxHashSet::default(), contacts: FxHashSet::default() };
    for key in keys(folder)? {
        match key.kind {
            OwnerKind::Interaction => leaving.interactions.insert(key.id),
            OwnerKind::Contact => leaving.contacts.insert(key.id),
        };
    }
    let old = Store::open(from)?;
    let empty = Manifest { files: Vec::new(), ..old.manifest().clone() };
    let draft = Draft::begin(to, |_, _| Ok(empty))?;
    let mut links = Vec::new();
    let kept = TABLES.iter().filter(|table| !OF_ALL_ROWS.contains(&table.table.name));
    for table in kept {
        let files: Vec<StoreFile> = old.files(table.table.name).cloned().collect();
        for file in files {
            let source = Source { store: &old, file: &file, partition: table.partition };
            if !source.filter(&leaving, &draft)? {
                links.push(file);
            }
        }
    }
    for file in &links {
        link(&from.join(&file.path), &to.join(&file.path))?;
    }
    draft.change(|next| next.files.extend(links));
    write_rollups(&draft, false)?;
    #[cfg(test)]
    super::stops::after_step()?;
    Ok(draft.commit()?)
}

/// Gives a file a second name, or copies it where names cannot be shared. Files of a store are never
/// changed, only replaced.
fn link(from: &Path, to: &Path) -> Result<(), CleanError> {
    let failed = |error| Error::io("write", to, error);
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::hard_link(from, to)
        .or_else(|_| std::fs::copy(from, to).map(drop))
        .map_err(|error| failed(error).into())
}

/// A file of the old store.
struct Source<'a> {
    store: &'a Store,
    file: &'a StoreFile,
    partition: Partition,
}

impl Source<'_> {
    /// Writes the file anew without what leaves; false when nothing of it leaves.
    fn filter(&self, leaving: &Leaving, draft: &Draft) -> Result<bool, CleanError> {
        let visit = |id: u64| !leaving.interactions.contains(&id);
        let owner = |kind: OwnerKind, id: u64| match kind {
            OwnerKind::Interaction => !leaving.interactions.contains(&id),
            OwnerKind::Contact => !leaving.contacts.contains(&id),
        };
        match self.file.table.as_str() {
            "interactions" => self.keep(draft, |row: &InteractionRow| visit(row.interaction_id.0)),
            "interaction_ids" => {
                self.keep(draft, |row: &InteractionId| visit(row.interaction_id.0))
            }
            "traffic" => self.keep(draft, |row: &VisitTraffic| visit(row.interaction_id.0)),
            "page_views" => self.keep(draft, |row: &PageView| visit(row.interaction_id.0)),
            "events" => self.keep(draft, |row: &VisitEvent| visit(row.interaction_id.0)),
            "facets" => self.keep(draft, |row: &Facet| owner(row.owner_kind, row.owner_id)),
            "long_values" => {
                self.keep(draft, |row: &LongValue| owner(row.owner_kind, row.owner_id))
            }
            "labels" => self.keep(draft, |row: &LabelRow| match row.entity.as_str() {
                "interaction" => owner(OwnerKind::Interaction, row.id),
                "contact" => owner(OwnerKind::Contact, row.id),
                _ => true,
            }),
            "contacts" => self.empty_contacts(leaving, draft),
            _ => Ok(false),
        }
    }

    fn keep<R: culprit_model::Row>(
        &self,
        draft: &Draft,
        keep: impl Fn(&R) -> bool,
    ) -> Result<bool, CleanError> {
        let mut rows: Vec<R> = self.store.read_file(self.file)?;
        let before = rows.len();
        rows.retain(keep);
        if rows.len() == before {
            return Ok(false);
        }
        draft.replace(&self.place(), &rows)?;
        Ok(true)
    }

    /// Contacts that leave keep their key and GUID.
    fn empty_contacts(&self, leaving: &Leaving, draft: &Draft) -> Result<bool, CleanError> {
        let mut rows: Vec<Contact> = self.store.read_file(self.file)?;
        let mut changed = false;
        for row in rows.iter_mut().filter(|row| leaving.contacts.contains(&row.contact_id.0)) {
            changed = true;
            *row = Contact::named(row.contact_id, [row.guid_high, row.guid_low], row.shard);
        }
        if changed {
            draft.replace(&self.place(), &rows)?;
        }
        Ok(changed)
    }

    /// Where the file belongs.
    fn place(&self) -> FilePlace {
        let name = Path::new(&self.file.path).file_name().unwrap_or_default().to_string_lossy();
        let named = name.rsplit_once("-g").map(|(name, _)| name.to_owned());
        let has_folders = self.file.path.contains("/day=");
        FilePlace {
            day: (self.partition == Partition::DayAndShard && has_folders).then_some(self.file.day),
            shard: self.file.shard,
            name: named,
        }
    }
}
