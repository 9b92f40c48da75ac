//! Level `label`: rows of the table `labels`, which reports leave out. Nothing is removed.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use culprit_model::{Row as _, Text, counted};
use culprit_query::{Limits, Stop};

use super::Outcome;
use super::error::CleanError;
use super::folder::{CONTACTS, INTERACTIONS, PlanFolder, key_file};
use super::guard::Guard;
use super::journal::{Event, Journal};
use super::keys::PlanKey;
use super::plan::{CleanLevel, PlanSums};
use super::select::{EXCLUDED, labelled};
use crate::error::Error;
use crate::impact::impact;
use crate::opened::AuditStore;
use crate::rollups::write_rollups;
use crate::schema::{ImportRun, InteractionRow, LabelRow};
use crate::store::{Draft, FilePlace, Manifest, Store};

/// What `runs.command` says of labels.
const COMMAND: &str = "clean";

/// Labels what a plan selects, and asks the store what reports show then. A second time changes
/// nothing.
///
/// # Errors
/// When the plan or its store was changed, or the store cannot be read or written.
pub fn apply_labels(
    plan: &Path,
    (allowed, now_ms): (&[Guard], i64),
    limits: Limits,
) -> Result<Outcome, CleanError> {
    let folder = PlanFolder::open(plan)?;
    folder.expect_level(CleanLevel::Label)?;
    let _lease = folder.lock()?;
    let path = Path::new(&folder.plan.store.path).to_owned();
    let store = Store::open(&path)?;
    if let Some(run) = run_of(&store, &folder.plan.digest)? {
        if !store.read::<LabelRow>()?.iter().any(|label| label.run_id == run) {
            let hint = "`culprit audit clean plan` makes a new plan";
            return Err(CleanError::state(plan, "it was undone", hint));
        }
        let labels = store.read::<LabelRow>()?.iter().filter(|label| label.run_id == run).count();
        let mut journal = Journal::open(plan)?;
        // A run may have been killed before it wrote this.
        if !journal.events.iter().any(|event| matches!(event, Event::Labelled { .. })) {
            journal.append(Event::Labelled { at_ms: now_ms, run, labels: labels as u64 })?;
        }
        // Imports may have added visits since.
        return compare(unlabelled(&store)?, sums(&path, limits)?);
    }
    expect_generation(&folder, &store)?;
    let mut journal = Journal::open(plan)?;
    journal.append(Event::started(&folder, (allowed, now_ms)))?;
    let run = add_labels(&folder, &path)?;
    let labels = keys(&folder)?.len() as u64;
    journal.append(Event::Labelled { at_ms: now_ms, run, labels })?;
    compare(folder.plan.after, sums(&path, limits)?)
}

/// Writes the labels of a plan. The run that they are of.
fn add_labels(folder: &PlanFolder, path: &Path) -> Result<u32, CleanError> {
    let keys = keys(folder)?;
    let mut run = 0;
    change(path, |store, draft| {
        let mut runs = store.read::<ImportRun>()?;
        let run_id = u32::try_from(runs.len() + 1).unwrap_or(u32::MAX);
        run = run_id;
        runs.push(ImportRun {
            run_id,
            command: COMMAND.into(),
            rule_version: folder.plan.digest.as_str().into(),
            thresholds: folder.plan.recognition.to_string().into(),
            counts: serde_json::to_string(&folder.plan.counts).unwrap_or_default().into(),
            watermark: None,
        });
        let mut labels = store.read::<LabelRow>()?;
        labels.extend(keys.iter().map(|key| label(key, run_id)));
        draft.replace(&FilePlace::default(), &labels)?;
        draft.replace(&FilePlace::default(), &runs)
    })?;
    Ok(run)
}

/// The sums of all interactions without a label, counted from the rows.
fn unlabelled(store: &Store) -> Result<PlanSums, CleanError> {
    let labelled = labelled(store)?.interactions;
    let mut sums = PlanSums::default();
    for file in store.files(InteractionRow::TABLE.name) {
        for row in store.read_file::<InteractionRow>(file)? {
            if !labelled.contains(&row.interaction_id.0) {
                sums.add(&row);
            }
        }
    }
    Ok(sums)
}

/// Removes the labels of a plan. A second time changes nothing.
///
/// # Errors
/// When the plan was changed, or the store cannot be read or written.
pub fn undo_labels(plan: &Path, now_ms: i64, limits: Limits) -> Result<Outcome, CleanError> {
    let folder = PlanFolder::open(plan)?;
    folder.expect_level(CleanLevel::Label)?;
    let _lease = folder.lock()?;
    let path = Path::new(&folder.plan.store.path).to_owned();
    let store = Store::open(&path)?;
    let Some(run) = run_of(&store, &folder.plan.digest)? else {
        return Err(never_applied(plan));
    };
    let before = store.read::<LabelRow>()?;
    if before.iter().any(|label| label.run_id == run) {
        let mut journal = Journal::open(plan)?;
        let digest = folder.plan.digest.clone();
        journal.append(Event::UndoStarted { at_ms: now_ms, plan: digest })?;
        change(&path, |store, draft| {
            let mut labels = store.read::<LabelRow>()?;
            labels.retain(|label| label.run_id != run);
            draft.replace(&FilePlace::default(), &labels)
        })?;
        journal.append(Event::UndoFinished { at_ms: now_ms })?;
    }
    // Imports may have added visits since the plan was made.
    compare(unlabelled(&Store::open(&path)?)?, sums(&path, limits)?)
}

/// The error of an undo with nothing to undo.
pub(super) fn never_applied(plan: &Path) -> CleanError {
    CleanError::state(plan, "it was never applied", "there is nothing to put back")
}

/// Whether the store has the labels of a plan; none when it never had them.
pub(super) fn has_labels(store: &Store, digest: &str) -> Result<Option<bool>, Error> {
    let Some(run) = run_of(store, digest)? else { return Ok(None) };
    Ok(Some(store.read::<LabelRow>()?.iter().any(|label| label.run_id == run)))
}

/// The run that labelled by this plan.
fn run_of(store: &Store, digest: &str) -> Result<Option<u32>, Error> {
    let runs = store.read::<ImportRun>()?;
    let ours =
        |run: &&ImportRun| run.command.as_str() == COMMAND && run.rule_version.as_str() == digest;
    Ok(runs.iter().find(ours).map(|run| run.run_id))
}

/// Refuses a store that an import has changed since the plan was made.
pub(super) fn expect_generation(folder: &PlanFolder, store: &Store) -> Result<(), CleanError> {
    let planned = &folder.plan.store;
    if store.generation() == planned.generation
        && super::make::store_digest(Path::new(&planned.path))? == planned.digest
    {
        return Ok(());
    }
    let why = "its store was changed after the plan was made".to_owned();
    Err(CleanError::Plan { path: folder.path.clone(), why })
}

/// The keys of all shards.
pub(super) fn keys(folder: &PlanFolder) -> Result<Vec<PlanKey>, CleanError> {
    let mut all = Vec::new();
    for kind in [INTERACTIONS, CONTACTS] {
        for shard in 0..folder.plan.store.shards {
            all.extend(folder.keys(&key_file(kind, shard))?);
        }
    }
    Ok(all)
}

fn label(key: &PlanKey, run_id: u32) -> LabelRow {
    LabelRow {
        entity: Text::from(key.kind.to_string().as_str()),
        id: key.id,
        label: EXCLUDED.into(),
        signals: Text::default(),
        score_e3: 0,
        run_id,
    }
}

/// Changes a store in one step.
fn change(
    path: &Path,
    write: impl FnOnce(&Store, &Draft) -> Result<(), Error>,
) -> Result<(), CleanError> {
    let none = || Error::NoStore { path: path.to_owned() };
    let draft = Draft::begin(path, |stored: Option<Manifest>, _| stored.ok_or_else(none))?;
    let store = Store::from_manifest(path, draft.manifest());
    match write(&store, &draft).and_then(|()| write_rollups(&draft, true)) {
        Ok(()) => Ok(draft.commit()?),
        Err(error) => {
            draft.abandon().ok();
            Err(error.into())
        }
    }
}

/// What reports show: asked as every report asks.
pub(super) fn sums(path: &Path, limits: Limits) -> Result<PlanSums, CleanError> {
    let store = AuditStore::open(path, limits, Stop::default())?;
    Ok(impact(&store, &[])?.before.into())
}

/// The outcome, which is an error unless expected and seen sums are equal.
pub(super) fn compare(expected: PlanSums, seen: PlanSums) -> Result<Outcome, CleanError> {
    if expected == seen {
        return Ok(Outcome { expected, seen });
    }
    let text = |sums: PlanSums| {
        format!("{} with {}", counted(sums.visits, "visit"), counted(sums.pages, "page"))
    };
    Err(CleanError::Unexpected {
        what: "reports of the store",
        expected: text(expected),
        seen: text(seen),
    })
}

/// True when the user stopped the program.
pub(super) fn is_stopped(stop: &AtomicBool) -> bool {
    stop.load(std::sync::atomic::Ordering::Relaxed)
}
