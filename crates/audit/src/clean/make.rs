//! Making a plan: the selection, its keys, what the guards find. Only the plan's folder is written.

use std::path::Path;

use culprit_model::counted;

use super::error::CleanError;
use super::folder::{CONTACTS, INTERACTIONS, NewFolder, PARTIAL, digest, key_file};
use super::guard::{Guard, GuardResult, PLAN_DAYS};
use super::keys::PlanKey;
use super::plan::{CleanLevel, PLAN_SCHEMA, Plan, PlanStore, PlanTarget};
use super::postgres::{PlannedTarget, read_states};
use super::select::{OtherRows, Rules, Selected, Selection, select};
use super::sqlserver;
use crate::error::Error;
use crate::store::{MANIFEST, Store};
use crate::time::DAY_MS;

/// What to plan.
#[derive(Debug)]
pub struct PlanOptions<'a> {
    /// The store's folder.
    pub store: &'a Path,
    /// The plan's folder, which must not exist or be empty.
    pub output: &'a Path,
    /// Where rows leave from.
    pub level: CleanLevel,
    /// What leaves.
    pub selection: &'a Selection,
    /// The database; for the level `source` only.
    pub target: Option<PlannedTarget>,
    /// Days for which rows must be kept.
    pub retention_days: u32,
    /// Rows of a batch at most: interactions or contacts.
    pub batch_rows: u32,
    /// Now: milliseconds since 1970-01-01 UTC.
    pub now_ms: i64,
}

/// Makes a plan. Nothing but its folder is written.
///
/// # Errors
/// When the store or the database cannot be read, nothing is selected, or the folder cannot be
/// written.
pub fn make_plan(options: &PlanOptions<'_>) -> Result<Plan, CleanError> {
    let store = Store::open(options.store)?;
    let (found, target) = selected(options, &store)?;
    let guards = found.facts.results();
    let mut folder = NewFolder::create(options.output)?;
    let mut files = |kind: &str, keys: &[PlanKey]| {
        (0..store.shards()).try_for_each(|shard| {
            let of: Vec<PlanKey> = keys.iter().filter(|key| key.shard == shard).cloned().collect();
            folder.write_rows(&key_file(kind, shard), &of)
        })
    };
    files(INTERACTIONS, &found.interactions)?;
    files(CONTACTS, &found.contacts)?;
    files(PARTIAL, &found.partial)?;
    match &options.target {
        Some(PlannedTarget::Postgres { .. }) => {
            if let Some(target) = &target {
                super::postgres::write_sql(&mut folder, target)?;
            }
        }
        Some(PlannedTarget::SqlServer { schema }) => {
            sqlserver::write_sql(&mut folder, schema, &found, options.batch_rows)?;
        }
        None => {}
    }
    folder.finish(Plan {
        schema: PLAN_SCHEMA,
        made_ms: options.now_ms,
        level: options.level.to_string(),
        selection: options.selection.text.clone(),
        recognition: options.selection.recognition.clone(),
        store: PlanStore {
            path: absolute(options.store)?,
            generation: store.generation(),
            digest: store_digest(options.store)?,
            shards: store.shards(),
        },
        target,
        counts: found.counts,
        spared: found.spared,
        before: found.before,
        after: found.after,
        days: found.days,
        guards,
        batch_rows: options.batch_rows,
        files: std::collections::BTreeMap::new(),
        digest: String::new(),
    })
}

/// What a plan names: what the selection names in the store, and what of it the database still has.
fn selected(
    options: &PlanOptions<'_>,
    store: &Store,
) -> Result<(Selected, Option<PlanTarget>), CleanError> {
    let none = OtherRows::default();
    let rules = Rules {
        selection: options.selection,
        young_after: options.now_ms - i64::from(options.retention_days) * DAY_MS,
        retention_days: options.retention_days,
        skip_labelled: options.level == CleanLevel::Label,
        other: &none,
    };
    let mut found = select(store, &rules)?;
    let nothing = |found: &Selected| found.interactions.is_empty() && found.contacts.is_empty();
    if nothing(&found) {
        let why = format!("nothing is selected by `{}`", options.selection.text);
        return Err(CleanError::Options(why));
    }
    let target = match &options.target {
        Some(PlannedTarget::Postgres { dsns, schema }) => {
            let again = |other: &OtherRows| select(store, &Rules { other, ..rules });
            Some(read_states((dsns, schema), store.shards(), &mut found, again)?)
        }
        _ => None,
    };
    if nothing(&found) {
        let why = format!(
            "the database has none of the rows that `{}` selects as the store has them",
            options.selection.text
        );
        return Err(CleanError::Options(why));
    }
    Ok((found, target))
}

fn absolute(path: &Path) -> Result<String, CleanError> {
    let path = std::fs::canonicalize(path).map_err(|error| Error::io("read", path, error))?;
    Ok(path.display().to_string())
}

/// SHA-256 of a store's list of files.
pub(super) fn store_digest(store: &Path) -> Result<String, CleanError> {
    let path = store.join(MANIFEST);
    let bytes = std::fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
    Ok(digest(&bytes))
}

/// The guards that do not need the target: those of the plan, and its age.
///
/// # Errors
/// When one fails that is not allowed.
pub(super) fn check_guards(plan: &Plan, allowed: &[Guard], now_ms: i64) -> Result<(), CleanError> {
    let mut results = plan.guards.clone();
    results.push(age(plan, now_ms));
    refuse(results, allowed)
}

/// The guard on the age of a plan; one from the future is as doubtful as an old one.
pub(super) fn age(plan: &Plan, now_ms: i64) -> GuardResult {
    let days = (now_ms - plan.made_ms).div_euclid(DAY_MS);
    let passed = u64::try_from(days).is_ok_and(|days| days < PLAN_DAYS);
    let why = match u64::try_from(days) {
        Ok(days) => {
            format!("the plan is {} old; the limit is {PLAN_DAYS} days", counted(days, "day"))
        }
        Err(_) => "the plan was made later than now: check the clock".to_owned(),
    };
    GuardResult::new(Guard::PlanAge, passed, why)
}

/// An error of the results that failed and are not allowed.
pub(super) fn refuse(results: Vec<GuardResult>, allowed: &[Guard]) -> Result<(), CleanError> {
    let stops = |result: &GuardResult| !result.passed && !allowed.contains(&result.guard);
    let failed: Vec<GuardResult> = results.into_iter().filter(stops).collect();
    if failed.is_empty() { Ok(()) } else { Err(CleanError::Guards(failed)) }
}
