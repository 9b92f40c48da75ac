//! Level `store`: the store without the rows is written beside the old one, and the two folders are
//! exchanged in one step.
//!
//! Dictionaries stay whole, and a contact keeps its key and GUID without anything else: keys are
//! positions, and later imports go on from them. The folders themselves show what was done:
//! the list of files in each has a digest that the plan and the journal name.

use std::path::{Path, PathBuf};

use culprit_query::Limits;
use rustc_hash::FxHashSet;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::Outcome;
use super::error::CleanError;
use super::folder::PlanFolder;
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
    let path = Path::new(&folder.plan.store.path).to_owned();
    let mut journal = Journal::open(plan)?;
    if !is_applied(&journal.events, &path)? {
        check_guards(&folder.plan, allowed, now_ms)?;
        journal.append(Event::started(&folder, (allowed, now_ms)))?;
        expect_generation(&folder, &Store::open(&path)?)?;
        // Nobody imports while the folders change places.
        let none = || Error::NoStore { path: path.clone() };
        let old = Draft::begin(&path, |stored, _| stored.ok_or_else(none))?;
        let (beside, kept) = (sibling(&path, &folder, "new"), sibling(&path, &folder, "before"));
        remove(&beside)?;
        rebuild(&folder, &path, &beside)?;
        let kept_name = kept.display().to_string();
        let digest = store_digest(&beside)?;
        journal.append(Event::Rebuilt { at_ms: now_ms, digest, kept: kept_name })?;
        remove(&old.parts())?;
        exchange(&beside, &path)?;
        drop(old);
        std::fs::rename(&beside, &kept).map_err(|error| Error::io("rename", &beside, error))?;
        journal.append(Event::Exchanged { at_ms: now_ms })?;
    } else if let Some(beside) = exchanged_only(&folder, &path) {
        let kept = sibling(&path, &folder, "before");
        std::fs::rename(&beside, &kept).map_err(|error| Error::io("rename", &beside, error))?;
        journal.append(Event::Exchanged { at_ms: now_ms })?;
    }
    compare(folder.plan.after, sums(&path, limits)?)
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
    let path = Path::new(&folder.plan.store.path).to_owned();
    let mut journal = Journal::open(plan)?;
    if !journal.events.iter().any(|event| matches!(event, Event::Rebuilt { .. })) {
        return Err(never_applied(plan));
    }
    if store_digest(&path)? != folder.plan.store.digest {
        let old = old_store(&folder, &journal, &path)?;
        let digest = folder.plan.digest.clone();
        journal.append(Event::UndoStarted { at_ms: now_ms, plan: digest })?;
        exchange(&old, &path)?;
        remove(&old)?;
        journal.append(Event::UndoFinished { at_ms: now_ms })?;
    } else {
        // What a killed run began to write; the store itself is the old one.
        remove(&sibling(&path, &folder, "new"))?;
    }
    compare(folder.plan.before, sums(&path, limits)?)
}

/// The folder of the old store, if the rebuilt one is at its place as it was made.
fn old_store(folder: &PlanFolder, journal: &Journal, path: &Path) -> Result<PathBuf, CleanError> {
    let kept = sibling(path, folder, "before");
    if !is_applied(&journal.events, path)? {
        let why = "its store was changed after it was rebuilt, as by an import";
        let hint = match kept.exists() {
            true => format!(
                "the old store is `{}`, without what was imported since: import the new sources into \
                 it, and use that one",
                kept.display()
            ),
            false => "import all sources into a new store".to_owned(),
        };
        return Err(CleanError::state(&folder.path, why, hint));
    }
    let is_old =
        |name: &Path| store_digest(name).is_ok_and(|digest| digest == folder.plan.store.digest);
    if is_old(&kept) {
        return Ok(kept);
    }
    exchanged_only(folder, path).ok_or_else(|| {
        let hint = format!(
            "restore `{}` from a backup, or import all sources into a new store",
            kept.display()
        );
        CleanError::state(&folder.path, "the old store beside the rebuilt one is gone", hint)
    })
}

/// The old store under its first name: a run was killed between the exchange and the renaming.
fn exchanged_only(folder: &PlanFolder, path: &Path) -> Option<PathBuf> {
    let beside = sibling(path, folder, "new");
    let digest = store_digest(&beside).ok()?;
    (digest == folder.plan.store.digest).then_some(beside)
}

/// True when the store at its place is the rebuilt one.
pub(super) fn is_applied(events: &[Event], path: &Path) -> Result<bool, CleanError> {
    let now = store_digest(path)?;
    let rebuilt = |event: &Event| matches!(event, Event::Rebuilt { digest, .. } if *digest == now);
    Ok(events.iter().any(rebuilt))
}

/// A folder beside the store.
pub(super) fn sibling(path: &Path, folder: &PlanFolder, what: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{name}.{what}-{}", &folder.plan.digest[..8]))
}

fn remove(path: &Path) -> Result<(), CleanError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", path, error).into())
        }
        _ => Ok(()),
    }
}

/// Exchanges two folders in one step.
fn exchange(one: &Path, other: &Path) -> Result<(), CleanError> {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)
        .map_err(|error| Error::io("exchange", other, error.into()).into())
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
