//! Digests of a store that do not depend on its keys: two stores of the same content have the same,
//! in whatever order their rows came.
//!
//! Keys are numbers in the order of first sight, so a store that grew and one that was made at once
//! have other keys. A row's hash takes GUIDs and texts instead of keys; the digest of a day and shard
//! is the sum of its rows' hashes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use culprit_model::{Row, Text, counted};

use crate::error::Error;
use crate::schema::{
    Address, Contact, DayRollup, Facet, InteractionId, InteractionRow, OwnerKind, PageView,
    PathText, PlaceKey, StoredPlace, Term, TermKey, UserAgent, Utc, VisitEvent, VisitTraffic,
};
use crate::store::{Store, StoreFile};
use crate::time::DAY_MS;
use crate::visits::day_text;

/// Rows and the sum of their hashes.
type Sum = (u64, u64);

/// The digest of each day and shard of each table, by its name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreDigests {
    sums: BTreeMap<String, Sum>,
}

impl StoreDigests {
    /// One line for each part in which two stores differ.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let names: std::collections::BTreeSet<&String> =
            self.sums.keys().chain(other.sums.keys()).collect();
        let rows = |all: &Self, name: &String| all.sums.get(name).map_or(0, |sum| sum.0);
        names
            .into_iter()
            .filter(|name| self.sums.get(*name) != other.sums.get(*name))
            .map(|name| match (rows(self, name), rows(other, name)) {
                (own, others) if own == others => {
                    format!("{name}: {}, and some have other values", counted(own, "row"))
                }
                (own, others) => format!("{name}: {}, made anew {others}", counted(own, "row")),
            })
            .collect()
    }

    fn add(&mut self, table: &str, part: &str, text: &str) {
        let hash = twox_hash::XxHash64::oneshot(0, text.as_bytes());
        let sum = self.sums.entry(format!("{table} {part}")).or_default();
        sum.0 += 1;
        sum.1 = sum.1.wrapping_add(hash);
    }
}

/// Texts and GUIDs by key.
struct Names {
    agents: Vec<Text>,
    paths: Vec<Text>,
    terms: Vec<Text>,
    places: Vec<String>,
    addresses: Vec<u64>,
    contacts: BTreeMap<u64, [u64; 2]>,
    visits: BTreeMap<u64, [u64; 2]>,
}

/// The digests of a store.
///
/// # Errors
/// When a table cannot be read.
pub fn digests(store: &Store) -> Result<StoreDigests, Error> {
    let mut all = StoreDigests::default();
    let names = Names::read(store, &mut all)?;
    let mut text = String::new();
    let put = &mut |all: &mut StoreDigests, file: &StoreFile, write: &dyn Fn(&mut String)| {
        text.clear();
        write(&mut text);
        all.add(&file.table, &part(file), &text);
    };
    each::<InteractionRow>(store, |file, row| {
        put(&mut all, file, &|text| names.interaction(row, text));
    })?;
    each::<VisitTraffic>(store, |file, row| {
        let VisitTraffic { interaction_id, requests, assets, heads, .. } = row;
        let visit = names.visits.get(&interaction_id.0);
        put(&mut all, file, &|text| {
            let _ = write!(
                text,
                "{visit:?} {requests} {assets} {heads} {} {} {} {}",
                row.client_errors, row.robots_txt, row.distinct_paths, row.sent_bytes.0
            );
        });
    })?;
    each::<PageView>(store, |file, row| {
        put(&mut all, file, &|text| names.view(row, text));
    })?;
    each::<VisitEvent>(store, |file, row| {
        put(&mut all, file, &|text| names.event(row, text));
    })?;
    for ((day, shard, place), sums) in rollups(store)? {
        let place = place.and_then(|key| names.places.get(key.0 as usize));
        let part = format!("{} shard {shard}", day_text(Some(day.0.div_euclid(DAY_MS))));
        all.add(DayRollup::TABLE.name, &part, &format!("{place:?} {sums:?}"));
    }
    each::<Facet>(store, |file, row| {
        put(&mut all, file, &|text| names.facet(row, text));
    })?;
    Ok(all)
}

/// The sums of days, by day, shard and place.
type DaySums = BTreeMap<(Utc, u32, Option<PlaceKey>), [u64; 5]>;

/// The sums of each day, shard and place, whatever labels the rows have: an import gives none.
fn rollups(store: &Store) -> Result<DaySums, Error> {
    let mut all = DaySums::new();
    for row in store.read::<DayRollup>()? {
        let more = [row.sessions, row.pages, row.single, row.duration_ms, row.with_duration];
        let sums = all.entry((row.day, row.shard, row.place_id)).or_default();
        sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
    Ok(all)
}

/// Day and shard of a file.
fn part(file: &StoreFile) -> String {
    let day = file.day.map_or_else(String::new, |day| format!("{} ", day_text(Some(day))));
    format!("{day}shard {}", file.shard.unwrap_or(0))
}

fn each<R: Row>(store: &Store, mut take: impl FnMut(&StoreFile, &R)) -> Result<(), Error> {
    for file in store.files(R::TABLE.name) {
        store.read_file::<R>(file)?.iter().for_each(|row| take(file, row));
    }
    Ok(())
}

impl Names {
    /// Reads the dictionaries and keys; contacts and keys are digested on the way.
    fn read(store: &Store, all: &mut StoreDigests) -> Result<Self, Error> {
        let place = |row: StoredPlace| {
            let StoredPlace { country, region, city, postal, latitude_e6, longitude_e6, .. } = row;
            let (asn, organisation, zone) = (row.asn, row.organisation, row.time_zone);
            format!(
                "{country:?} {region:?} {city:?} {postal:?} {latitude_e6:?} {longitude_e6:?} {asn:?} \
                 {organisation:?} {zone:?} {:?}",
                row.origin
            )
        };
        let mut contacts = BTreeMap::new();
        each::<Contact>(store, |file, row| {
            let guid = [row.guid_high, row.guid_low];
            contacts.insert(row.contact_id.0, guid);
            let Contact { recorded, shards, created, last_modified, known, identifiers, .. } = row;
            let text = format!(
                "{guid:?} {recorded} {shards} {created:?} {last_modified:?} {known} {identifiers} \
                 {:?} {:?} {:?} {:?} {:?} {}",
                row.token_high,
                row.token_low,
                row.classification,
                row.override_classification,
                row.reported_interactions,
                row.facets_bytes.0
            );
            all.add(&file.table, &part(file), &text);
        })?;
        let mut visits = BTreeMap::new();
        each::<InteractionId>(store, |file, row| {
            let guid = [row.guid_high, row.guid_low];
            visits.insert(row.interaction_id.0, guid);
            all.add(&file.table, &part(file), &format!("{guid:?} {:?}", row.last_modified));
        })?;
        Ok(Self {
            agents: store.read::<UserAgent>()?.into_iter().map(|row| row.text).collect(),
            paths: store.read::<PathText>()?.into_iter().map(|row| row.text).collect(),
            terms: store.read::<Term>()?.into_iter().map(|row| row.text).collect(),
            places: store.read::<StoredPlace>()?.into_iter().map(place).collect(),
            addresses: store.read::<Address>()?.iter().map(|row| row.hash).collect(),
            contacts,
            visits,
        })
    }

    fn term(&self, key: Option<TermKey>) -> Option<&Text> {
        self.terms.get(key?.0 as usize)
    }

    fn interaction(&self, row: &InteractionRow, text: &mut String) {
        let address = row.address_id.and_then(|key| usize::try_from(key.0).ok());
        let _ = write!(
            text,
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            self.visits.get(&row.interaction_id.0),
            self.contacts.get(&row.contact_id.0),
            row.start_utc,
            row.duration_ms,
            row.initiator,
            self.term(row.channel_id),
            self.term(row.campaign_id),
            self.term(row.device_id),
            row.ua_id.and_then(|key| self.agents.get(key.0 as usize)),
            address.and_then(|at| self.addresses.get(at)),
            row.place_id.and_then(|key| self.places.get(key.0 as usize)),
        );
        let InteractionRow { pages, events, goals, outcomes, value, raw_bytes, .. } = row;
        let (bytes, state) = (raw_bytes.0, row.parse_state);
        let _ = write!(text, " {pages} {events} {goals} {outcomes} {value} {bytes} {state:?}");
    }

    fn view(&self, row: &PageView, text: &mut String) {
        let _ = write!(
            text,
            "{:?} {} {:?} {:?} {:?} {:?} {:?} {}",
            self.visits.get(&row.interaction_id.0),
            row.seq,
            row.ts_utc,
            row.path_id.and_then(|key| self.paths.get(key.0 as usize)),
            self.term(row.item_id),
            self.term(row.language),
            row.duration_ms,
            row.raw_bytes.0
        );
    }

    fn event(&self, row: &VisitEvent, text: &mut String) {
        let _ = write!(
            text,
            "{:?} {} {:?} {:?} {:?} {}",
            self.visits.get(&row.interaction_id.0),
            row.seq,
            self.term(row.type_id),
            self.term(row.definition_id),
            row.ts_utc,
            row.raw_bytes.0
        );
    }

    fn facet(&self, row: &Facet, text: &mut String) {
        let owner = match row.owner_kind {
            OwnerKind::Contact => self.contacts.get(&row.owner_id),
            OwnerKind::Interaction => self.visits.get(&row.owner_id),
        };
        let _ = write!(
            text,
            "{owner:?} {:?} {:?} {} {} {} {:?}",
            self.term(Some(row.facet_key)),
            row.last_modified,
            row.chars,
            row.bytes_utf8.0,
            row.bytes_utf16.0,
            row.json_state
        );
    }
}
