//! What the source has for each key: compared with the store when a plan is made, with the plan in a
//! dry run and in every batch.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::error::CleanError;
use super::super::folder::PlanFolder;
use super::super::guard::{Guard, GuardResult};
use super::super::keys::PlanKey;
use super::super::make::{age, refuse};
use super::super::plan::{CleanLevel, PlanTarget};
use super::super::select::{OtherRows, Selected};
use super::session::Session;
use super::sql::{gone, states};
use super::{Dsn, batches_of, of_shard, open_all, roles};
use crate::schema::OwnerKind;

/// Keys that are asked for at once.
const CHUNK: usize = 5_000;

/// What the source has for a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// True when any row is there.
    pub(crate) present: bool,
    /// Hash of the row's, its facets' and its identifiers' versions.
    pub(crate) version: String,
    /// When the row was changed last (ms).
    modified: Option<i64>,
    /// When a facet was changed last (ms).
    facets: Option<i64>,
    /// True when the source knows the contact by name.
    known: bool,
    /// True when interactions name the contact.
    pub(crate) named: bool,
}

/// Asks for the states of keys of one kind.
pub(crate) fn ask(
    session: &mut Session,
    kind: OwnerKind,
    keys: &[PlanKey],
) -> Result<BTreeMap<String, State>, CleanError> {
    let sql = states(&session.tables, kind);
    let ids: Vec<String> = keys.iter().map(PlanKey::guid).collect();
    let rows = session.rows_of("read", &sql, &ids)?;
    let state = |row: &postgres::Row| {
        let state = State {
            present: row.get(1),
            version: row.get(2),
            modified: row.get(3),
            facets: row.get(4),
            known: row.get(5),
            named: row.get(6),
        };
        (row.get(0), state)
    };
    Ok(rows.iter().map(state).collect())
}

/// Reads what the source has for each selected key, and takes the keys out that are not as the store
/// has them. `again` selects anew without some interactions: what is left of their contacts follows
/// from it.
pub(crate) fn read_states(
    (dsns, schema): (&[Dsn], &str),
    shards: u32,
    found: &mut Selected,
    again: impl FnOnce(&OtherRows) -> Result<Selected, CleanError>,
) -> Result<PlanTarget, CleanError> {
    let mut sessions = open_all(dsns, schema, shards)?;
    sessions.iter_mut().try_for_each(Session::read_only)?;
    let (interactions, other) =
        compare_keys(&mut sessions, shards, &std::mem::take(&mut found.interactions), found)?;
    if other.count() > 0 {
        *found = again(&other)?;
    }
    found.interactions = interactions;
    let contacts = std::mem::take(&mut found.contacts);
    let (contacts, other_contacts) = compare_keys(&mut sessions, shards, &contacts, found)?;
    found.contacts = contacts;
    let counts = &mut found.counts;
    counts.missing = (other.missing.len() + other_contacts.missing.len()) as u64;
    counts.changed = (other.changed.len() + other_contacts.changed.len()) as u64;
    counts.interactions = found.interactions.len() as u64;
    counts.contacts = found.contacts.len() as u64;
    found.count_facets();
    Session::target(&sessions)
}

/// The keys of one kind that the source has as the store has them, each with its state; the others.
fn compare_keys(
    sessions: &mut [Session],
    shards: u32,
    keys: &[PlanKey],
    found: &Selected,
) -> Result<(Vec<PlanKey>, OtherRows), CleanError> {
    let newest = |key: &PlanKey| found.facets.get(&(key.kind, key.id)).map_or(i64::MIN, |f| f.0);
    // A key is planned only if the source still has what the selection was made from.
    let unchanged = |key: &PlanKey, state: &State| {
        state.modified == key.last_modified.map(|time| time.0)
            && state.facets.unwrap_or(i64::MIN) <= newest(key)
            && state.known == (key.kind == OwnerKind::Contact && found.known.contains(&key.id))
    };
    let (mut same, mut other) = (Vec::with_capacity(keys.len()), OtherRows::default());
    for shard in 0..shards {
        let of: Vec<PlanKey> = keys.iter().filter(|key| key.shard == shard).cloned().collect();
        for chunk in of.chunks(CHUNK) {
            let Some(first) = chunk.first() else { continue };
            let states = ask(of_shard(sessions, shard), first.kind, chunk)?;
            for key in chunk {
                match states.get(&key.guid()) {
                    Some(state) if state.present && unchanged(key, state) => {
                        let state = state.version.as_str().into();
                        same.push(PlanKey { state, ..key.clone() });
                    }
                    Some(state) if state.present => {
                        other.changed.insert(key.id);
                    }
                    _ => {
                        other.missing.insert(key.id);
                    }
                }
            }
        }
    }
    Ok((same, other))
}

/// What a dry run found in the source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Keys that are as planned: interactions and contacts.
    pub same: u64,
    /// Keys whose rows were changed since; they would be skipped.
    pub changed: u64,
    /// Keys whose rows are gone already.
    pub missing: u64,
    /// What the guards found, those of the plan included.
    pub guards: Vec<GuardResult>,
}

impl Verified {
    /// Refuses what `apply` would refuse: guards that fail and are not overridden.
    ///
    /// # Errors
    /// When there are any.
    pub fn expect_guards(&self, allowed: &[Guard]) -> Result<(), CleanError> {
        refuse(self.guards.clone(), allowed)
    }
}

/// Compares a plan with the source; nothing is changed.
///
/// # Errors
/// When the plan was changed, or the database cannot be read or has other tables now.
pub fn verify_postgres(plan: &Path, dsns: &[Dsn], now_ms: i64) -> Result<Verified, CleanError> {
    let folder = PlanFolder::open(plan)?;
    let mut sessions = open_target(&folder, dsns)?;
    sessions.iter_mut().try_for_each(Session::read_only)?;
    sessions.iter_mut().try_for_each(Session::expect_delete_rights)?;
    let mut found =
        Verified { guards: target_guards(&folder, &mut sessions, now_ms)?, ..Verified::default() };
    for batch in batches_of(&folder)? {
        let states = ask(of_shard(&mut sessions, batch.shard), batch.kind, &batch.keys)?;
        for key in &batch.keys {
            match states.get(&key.guid()) {
                Some(state) if !state.present => found.missing += 1,
                Some(state) if state.version == key.state.as_str() => found.same += 1,
                Some(_) => found.changed += 1,
                None => found.missing += 1,
            }
        }
    }
    Ok(found)
}

/// Opens the databases of a plan; refuses them when their tables were changed.
pub(super) fn open_target(folder: &PlanFolder, dsns: &[Dsn]) -> Result<Vec<Session>, CleanError> {
    folder.expect_level(CleanLevel::Source)?;
    let wrong = |why: String| CleanError::Plan { path: folder.path.clone(), why };
    let Some(target) = &folder.plan.target else {
        return Err(CleanError::state(
            &folder.path,
            "it is SQL text only",
            "run its files in `forward` yourself, in their order; those in `undo` put the rows back",
        ));
    };
    let sessions = open_all(dsns, &target.schema, folder.plan.store.shards)?;
    if let Some(other) = sessions.iter().find(|one| one.definition != target.definition) {
        return Err(wrong(format!(
            "the tables of {} were changed after the plan was made",
            other.server()
        )));
    }
    Ok(sessions)
}

/// The guards that need the target, after those of the plan.
pub(super) fn target_guards(
    folder: &PlanFolder,
    sessions: &mut [Session],
    now_ms: i64,
) -> Result<Vec<GuardResult>, CleanError> {
    let mut results = folder.plan.guards.clone();
    results.push(age(&folder.plan, now_ms));
    results.push(other_target(folder, sessions));
    let effects: Vec<GuardResult> =
        sessions.iter_mut().map(Session::side_effects).collect::<Result<_, _>>()?;
    let failed = effects.iter().find(|result| !result.passed);
    results.extend(failed.or(effects.first()).cloned());
    Ok(results)
}

/// The guard on which database it is.
pub(super) fn other_target(folder: &PlanFolder, sessions: &[Session]) -> GuardResult {
    let planned = folder.plan.target.as_ref();
    let expected: Vec<&str> =
        planned.iter().flat_map(|target| &target.identities).map(String::as_str).collect();
    let seen: Vec<&str> = sessions.iter().map(|session| session.identity.as_str()).collect();
    let servers: Vec<&str> = planned.iter().flat_map(|t| &t.servers).map(String::as_str).collect();
    let now: Vec<&str> = sessions.iter().map(Session::server).collect();
    let why = if expected == seen {
        format!("it is the database of the plan: {}", now.join(", "))
    } else {
        format!("the plan is for {}, not for {}", servers.join(", "), now.join(", "))
    };
    GuardResult::new(Guard::OtherTarget, expected == seen, why)
}

/// Keys of these whose row is gone.
pub(super) fn count_gone(
    session: &mut Session,
    kind: OwnerKind,
    ids: &[String],
) -> Result<u64, CleanError> {
    let Some(table) = roles(kind).last().and_then(|role| session.tables.get(role)) else {
        return Ok(0);
    };
    let sql = gone(table);
    let rows = session.rows_of("read", &sql, ids)?;
    let count: i64 = rows.first().map(|row| row.get(0)).unwrap_or_default();
    Ok(u64::try_from(count).unwrap_or(0))
}
