//! From a selection to the rows of the store that it names, and what is left without them.
//!
//! One pass over the interactions, file by file: memory holds the contacts and the selected keys.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::error::CleanError;
use super::facts::GuardFacts;
use super::guard::Guard;
use super::keys::PlanKey;
use super::plan::{DayCount, PlanCounts, PlanSums};
use crate::fold::fold;
use crate::import::EVENTS;
use crate::robots::{Band, RobotReport};
use crate::schema::{
    Contact, Facet, InteractionId, InteractionRow, LabelRow, OwnerKind, Term, TermKind, UserAgent,
    Utc,
};
use crate::store::{Store, StoreFile};
use crate::time::DAY_MS;

/// What `labels.label` says of rows that reports leave out.
pub(crate) const EXCLUDED: &str = "excluded";

/// What is to leave.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// As it was typed.
    pub text: String,
    /// Keys of user agents: all interactions with one of them.
    pub agents: BTreeSet<u32>,
    /// Contacts that never had an interaction.
    pub without_interactions: bool,
    /// Guards whose rows are left out of the selection.
    pub spare: BTreeSet<Guard>,
    /// What verdicts rest on, as JSON.
    pub recognition: serde_json::Value,
}

/// The user agents with a verdict of one of these bands.
#[must_use]
pub fn agents_of(report: &RobotReport, bands: &[Band]) -> BTreeSet<u32> {
    let groups = report.groups.iter().filter(|group| bands.contains(&group.verdict.band));
    groups.filter_map(|group| u32::try_from(group.key.0?).ok()).collect()
}

/// The user agents that contain a text, in any case.
///
/// # Errors
/// When the table cannot be read.
pub fn agents_with(store: &Store, text: &str) -> Result<BTreeSet<u32>, crate::error::Error> {
    let wanted = fold(text);
    let agents = store.read::<UserAgent>()?;
    let has = |agent: &&UserAgent| fold(agent.text.as_str()).contains(&wanted);
    Ok(agents.iter().filter(has).map(|agent| agent.ua_id.0).collect())
}

/// What a selection names.
#[derive(Debug, Default)]
pub(crate) struct Selected {
    pub(crate) interactions: Vec<PlanKey>,
    pub(crate) contacts: Vec<PlanKey>,
    pub(crate) partial: Vec<PlanKey>,
    pub(crate) counts: PlanCounts,
    pub(crate) spared: BTreeMap<String, u64>,
    pub(crate) before: PlanSums,
    pub(crate) after: PlanSums,
    pub(crate) days: Vec<DayCount>,
    pub(crate) facts: GuardFacts,
    /// When the newest facet of a selected row was changed, by kind and key, and the bytes of its
    /// facets.
    pub(crate) facets: FxHashMap<(OwnerKind, u64), (i64, u64)>,
    /// Selected contacts that the store knows by name.
    pub(crate) known: FxHashSet<u64>,
}

/// What must be known of a contact.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContactFacts {
    guid: [u64; 2],
    shard: u32,
    last_modified: Option<Utc>,
    known: bool,
    recorded: bool,
    young: bool,
    visits: u32,
    chosen: u32,
}

/// Rows that reports leave out already.
#[derive(Debug, Default)]
pub(crate) struct Labelled {
    pub(crate) interactions: FxHashSet<u64>,
    pub(crate) contacts: FxHashSet<u64>,
}

/// Reads the labels of a store.
pub(crate) fn labelled(store: &Store) -> Result<Labelled, CleanError> {
    let mut found = Labelled::default();
    for row in store.read::<LabelRow>()? {
        if row.label.as_str() == EXCLUDED {
            match row.entity.as_str() {
                "interaction" => found.interactions.insert(row.id),
                "contact" => found.contacts.insert(row.id),
                _ => false,
            };
        }
    }
    Ok(found)
}

/// How a selection is applied to a store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub(crate) selection: &'a Selection,
    /// Rows that changed later are young.
    pub(crate) young_after: i64,
    pub(crate) retention_days: u32,
    /// True when rows that are labelled already are not selected again.
    pub(crate) skip_labelled: bool,
    /// Interactions that the source does not have as the store has them.
    pub(crate) other: &'a OtherRows,
}

/// Rows of one kind that the source does not have as the store has them, by key.
#[derive(Debug, Default)]
pub(crate) struct OtherRows {
    /// The source has none. They leave nothing, and no contact has them.
    pub(crate) missing: FxHashSet<u64>,
    /// The source has another version. They stay, and so do their contacts.
    pub(crate) changed: FxHashSet<u64>,
}

/// Applies a selection.
pub(crate) fn select(store: &Store, rules: &Rules<'_>) -> Result<Selected, CleanError> {
    let labelled = labelled(store)?;
    let mut contacts = contacts(store, rules)?;
    let mut found = Selected::default();
    let mut days: DaySums = BTreeMap::new();
    let mut shards = BTreeSet::new();
    let files: Vec<StoreFile> = store.files("interactions").cloned().collect();
    for file in &files {
        shards.extend(file.shard);
        let rows: Vec<InteractionRow> = store.read_file(file)?;
        let ids = ids_of(store, file)?;
        for row in &rows {
            let is_labelled = labelled.interactions.contains(&row.interaction_id.0);
            if rules.other.missing.contains(&row.interaction_id.0) {
                add(row, (is_labelled, false), &mut found, &mut days);
                continue;
            }
            let chosen = choose(row, &mut contacts, rules, &mut found)
                && !(is_labelled && rules.skip_labelled)
                && !rules.other.changed.contains(&row.interaction_id.0);
            add(row, (is_labelled, chosen), &mut found, &mut days);
            if !chosen {
                continue;
            }
            let contact = contacts.get_mut(&row.contact_id.0);
            let known = contact.as_ref().is_some_and(|contact| contact.known);
            found.facts.known_interactions += u64::from(known);
            found.facts.young += u64::from(is_young(row, rules));
            if let Some(contact) = contact {
                contact.chosen += 1;
            }
            let id = ids.get(&row.interaction_id.0);
            found.interactions.push(key(OwnerKind::Interaction, row, id));
        }
    }
    shards.extend(contacts.values().filter(|c| c.recorded).map(|contact| contact.shard));
    choose_contacts(&contacts, &labelled, rules, &mut found);
    finish(store, rules, (&shards, days), &mut found)?;
    Ok(found)
}

/// The contacts of a store.
fn contacts(store: &Store, rules: &Rules<'_>) -> Result<FxHashMap<u64, ContactFacts>, CleanError> {
    let mut all = FxHashMap::default();
    let files: Vec<StoreFile> = store.files("contacts").cloned().collect();
    for file in &files {
        for row in store.read_file::<Contact>(file)? {
            let touched = row.last_modified.max(row.created);
            let facts = ContactFacts {
                guid: [row.guid_high, row.guid_low],
                shard: row.shard,
                last_modified: row.last_modified,
                known: row.known,
                recorded: row.recorded,
                young: touched.is_some_and(|time| time.0 > rules.young_after),
                visits: 0,
                chosen: 0,
            };
            all.insert(row.contact_id.0, facts);
        }
    }
    Ok(all)
}

/// GUID and version of interactions by key.
type Identities = FxHashMap<u64, ([u64; 2], Option<Utc>)>;
/// Selected and all interactions by day and shard.
type DaySums = BTreeMap<(String, u32), (u64, u64)>;

/// GUID and version of the interactions of a file.
fn ids_of(store: &Store, file: &StoreFile) -> Result<Identities, CleanError> {
    let mut ids = Identities::default();
    let same = |other: &&StoreFile| {
        (other.day, other.shard) == (file.day, file.shard) && !other.path.contains("/unmatched-")
    };
    let files: Vec<StoreFile> = store.files("interaction_ids").filter(same).cloned().collect();
    for file in &files {
        for row in store.read_file::<InteractionId>(file)? {
            ids.insert(row.interaction_id.0, ([row.guid_high, row.guid_low], row.last_modified));
        }
    }
    Ok(ids)
}

/// True when an interaction is selected and not spared.
fn choose(
    row: &InteractionRow,
    contacts: &mut FxHashMap<u64, ContactFacts>,
    rules: &Rules<'_>,
    found: &mut Selected,
) -> bool {
    let contact = contacts.get_mut(&row.contact_id.0);
    let known = contact.as_ref().is_some_and(|contact| contact.known);
    if let Some(contact) = contact {
        contact.visits += 1;
    }
    if !row.ua_id.is_some_and(|agent| rules.selection.agents.contains(&agent.0)) {
        return false;
    }
    let converted = row.goals > 0 || row.outcomes > 0;
    let reasons = [
        (Guard::KnownContact, known),
        (Guard::Conversion, converted),
        (Guard::Retention, is_young(row, rules)),
    ];
    if let Some((guard, _)) =
        reasons.iter().find(|(guard, fires)| *fires && rules.selection.spare.contains(guard))
    {
        *found.spared.entry(guard.to_string()).or_default() += 1;
        return false;
    }
    true
}

/// True for an interaction that must be kept for now; one without a start may be young.
fn is_young(row: &InteractionRow, rules: &Rules<'_>) -> bool {
    row.start_utc.is_none_or(|start| start.0 > rules.young_after)
}

/// Adds an interaction to the sums.
fn add(
    row: &InteractionRow,
    (labelled, chosen): (bool, bool),
    found: &mut Selected,
    days: &mut DaySums,
) {
    let converted = row.goals > 0 || row.outcomes > 0;
    if !labelled {
        found.before.add(row);
        if !chosen {
            found.after.add(row);
        }
    }
    let day = row.start_utc.map(|start| start.0.div_euclid(DAY_MS));
    let entry = days.entry((crate::visits::day_text(day), row.shard)).or_default();
    entry.0 += u64::from(chosen);
    entry.1 += 1;
    found.facts.interactions += 1;
    if chosen {
        found.counts.raw_bytes += row.raw_bytes.0;
        found.facts.converted += u64::from(converted);
    }
}

fn key(kind: OwnerKind, row: &InteractionRow, id: Option<&([u64; 2], Option<Utc>)>) -> PlanKey {
    let ([guid_high, guid_low], last_modified) = id.copied().unwrap_or_default();
    PlanKey {
        kind,
        id: row.interaction_id.0,
        shard: row.shard,
        guid_high,
        guid_low,
        last_modified,
        state: culprit_model::Text::default(),
    }
}

/// Contacts that are left without interactions, that had none, and that keep some.
fn choose_contacts(
    contacts: &FxHashMap<u64, ContactFacts>,
    labelled: &Labelled,
    rules: &Rules<'_>,
    found: &mut Selected,
) {
    let mut ids: Vec<u64> = contacts.keys().copied().collect();
    ids.sort_unstable();
    for id in ids {
        let Some(contact) = contacts.get(&id) else { continue };
        let key = PlanKey {
            kind: OwnerKind::Contact,
            id,
            shard: contact.shard,
            guid_high: contact.guid[0],
            guid_low: contact.guid[1],
            last_modified: contact.last_modified,
            state: culprit_model::Text::default(),
        };
        if contact.chosen > 0 && contact.chosen < contact.visits {
            found.partial.push(key);
            continue;
        }
        let without = contact.visits == 0;
        let wanted = if without {
            contact.recorded && rules.selection.without_interactions
        } else {
            contact.chosen > 0
        };
        if !wanted || (rules.skip_labelled && labelled.contacts.contains(&id)) {
            continue;
        }
        let reasons = [(Guard::KnownContact, contact.known), (Guard::Retention, contact.young)];
        let spare = &rules.selection.spare;
        if let Some((guard, _)) =
            reasons.iter().find(|(guard, fires)| *fires && spare.contains(guard))
        {
            *found.spared.entry(guard.to_string()).or_default() += 1;
            // It stays, without the interactions that leave.
            found.partial.extend((contact.chosen > 0).then_some(key));
            continue;
        }
        found.facts.young += u64::from(contact.young);
        if contact.known {
            found.facts.known_contacts += 1;
            found.known.insert(id);
        }
        found.contacts.push(key);
    }
}

fn finish(
    store: &Store,
    rules: &Rules<'_>,
    (shards, days): (&BTreeSet<u32>, DaySums),
    found: &mut Selected,
) -> Result<(), CleanError> {
    let mut by_day: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for ((day, _), (chosen, all)) in &days {
        let sum = by_day.entry(day).or_default();
        *sum = (sum.0 + chosen, sum.1 + all);
    }
    let larger = |a: (u64, u64), b: (u64, u64)| {
        (u128::from(a.0) * u128::from(b.1)).cmp(&(u128::from(b.0) * u128::from(a.1)))
    };
    let worst = by_day.iter().filter(|(_, sum)| sum.0 > 0).max_by(|a, b| larger(*a.1, *b.1));
    found.facts.worst_day = worst.map(|(day, sum)| ((*day).to_owned(), sum.0, sum.1));
    found.days = days
        .into_iter()
        .filter(|(_, (chosen, _))| *chosen > 0)
        .map(|((day, shard), (interactions, _))| DayCount { day, shard, interactions })
        .collect();
    found.facts.selected = found.interactions.len() as u64;
    found.facts.retention_days = rules.retention_days;
    found.facts.shards = store.shards();
    found.facts.empty_shards = (0..store.shards()).filter(|n| !shards.contains(n)).collect();
    for keys in [&mut found.interactions, &mut found.contacts, &mut found.partial] {
        keys.sort_by_key(|key| (key.shard, key.guid_high, key.guid_low));
    }
    found.counts.interactions = found.interactions.len() as u64;
    found.counts.contacts = found.contacts.len() as u64;
    found.counts.partial_contacts = found.partial.len() as u64;
    facets(store, found)
}

/// Sizes and versions of the facets of what is selected.
fn facets(store: &Store, found: &mut Selected) -> Result<(), CleanError> {
    let wanted: FxHashSet<(OwnerKind, u64)> =
        found.interactions.iter().chain(&found.contacts).map(|key| (key.kind, key.id)).collect();
    // The events of an interaction are part of its row, which was counted.
    let terms = store.read::<Term>()?;
    let is_events = |term: &&Term| term.kind == TermKind::FacetKey && *term.text == *EVENTS;
    let events = terms.iter().find(is_events).map(|term| term.term_id);
    let files: Vec<StoreFile> = store.files("facets").cloned().collect();
    for file in &files {
        for row in store.read_file::<Facet>(file)? {
            let owner = (row.owner_kind, row.owner_id);
            if wanted.contains(&owner) {
                let in_row = owner.0 == OwnerKind::Interaction && Some(row.facet_key) == events;
                let time = row.last_modified.map_or(i64::MIN, |time| time.0);
                let (newest, bytes) = found.facets.entry(owner).or_insert((time, 0));
                *newest = time.max(*newest);
                *bytes += if in_row { 0 } else { row.bytes_utf8.0 };
            }
        }
    }
    found.count_facets();
    Ok(())
}

impl OtherRows {
    /// How many they are.
    pub(crate) fn count(&self) -> usize {
        self.missing.len() + self.changed.len()
    }
}

impl Selected {
    /// Adds up the facets of what is selected.
    pub(crate) fn count_facets(&mut self) {
        let keys = self.interactions.iter().chain(&self.contacts);
        let bytes = keys.filter_map(|key| self.facets.get(&(key.kind, key.id)));
        self.counts.facet_bytes = bytes.map(|(_, bytes)| bytes).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(spare: &[Guard]) -> Selected {
        let contact = |young, visits, chosen| ContactFacts {
            guid: [0; 2],
            shard: 0,
            last_modified: None,
            known: false,
            recorded: true,
            young,
            visits,
            chosen,
        };
        let contacts = [
            (1, contact(true, 0, 0)),
            (2, contact(true, 2, 2)),
            (3, contact(false, 2, 2)),
            (4, contact(true, 2, 1)),
        ];
        let spare = spare.iter().copied().collect();
        let rules = Rules {
            selection: &Selection { without_interactions: true, spare, ..Selection::default() },
            young_after: 0,
            retention_days: 90,
            skip_labelled: true,
            other: &OtherRows::default(),
        };
        let mut found = Selected::default();
        let labelled = Labelled::default();
        choose_contacts(&contacts.into_iter().collect(), &labelled, &rules, &mut found);
        found
    }

    /// Also of contacts that leave with their interactions: those may be older than the contact's row.
    #[test]
    fn young_contacts_that_leave_are_counted_or_spared() {
        let keys = |all: &[PlanKey]| all.iter().map(|key| key.id).collect::<Vec<_>>();
        let all = chosen(&[]);
        assert_eq!((keys(&all.contacts), keys(&all.partial)), (vec![1, 2, 3], vec![4]));
        assert_eq!(all.facts.young, 2);
        let spared = chosen(&[Guard::Retention]);
        assert_eq!((keys(&spared.contacts), keys(&spared.partial)), (vec![3], vec![2, 4]));
        assert_eq!((spared.facts.young, spared.spared["retention"]), (0, 2));
    }
}
