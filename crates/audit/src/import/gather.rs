//! Takes batches in the order of the sources and makes rows of the store of them.

use std::collections::BTreeMap;

use culprit_model::Text;

use super::address::AddressHasher;
use super::batch::{Batch, FacetFacts, RawFacet, RawLong, RawVisit, Reject, facet_time};
use super::contacts::Contacts;
use super::counts::{Counts, SourceState};
use super::dictionaries::{BatchKeys, Dictionaries};
use super::geoip::GeoIp;
use super::room::room;
use super::values::{Values, facet_times};
use super::visit_rows::VisitRows;
use super::visits::Visits;
use crate::error::Error;
use crate::json::Totals;
use crate::schema::{
    AddressKey, Bytes, ContactKey, Facet, ImportRun, ImportSource, InteractionId, InteractionKey,
    InteractionRow, JsonPath, LongValue, Millis, OwnerKind, PageView, PathKey, PlaceKey,
    RejectedRow, SourceKey, TermKey, TermKind, UserAgentKey, Utc, ValueKind, VisitEvent,
    VisitTraffic,
};
use crate::store::{Draft, FilePlace, Store};

/// Rejected rows of one source that are kept with a sample.
const KEPT_REJECTS: u64 = 1000;

/// What an import gathers.
#[derive(Debug)]
pub(crate) struct Gatherer {
    hasher: AddressHasher,
    geoip: GeoIp,
    dictionaries: Dictionaries,
    contacts: Contacts,
    visits: Visits,
    values: Values,
    json: BTreeMap<(TermKey, TermKey, ValueKind), Totals>,
    rejects: Vec<RejectedRow>,
    watermarks: BTreeMap<u32, i64>,
    /// The store's watermarks before the import.
    before: BTreeMap<u32, i64>,
    pub(crate) late_ms: i64,
    pub(crate) sources: Vec<SourceState>,
    /// Key of the first of the sources.
    first_source: u32,
    pub(crate) counts: Counts,
    /// Times that name no offset.
    pub(crate) times_local: u64,
}

impl Gatherer {
    /// Begins with what a store has.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn begin(
        store: &Store,
        (hasher, geoip): (AddressHasher, GeoIp),
        sources: Vec<SourceState>,
    ) -> Result<Self, Error> {
        let known = store.read::<ImportSource>()?;
        let dictionaries = Dictionaries::read(store)?;
        let (mut contacts, mut visits) = (Contacts::read(store)?, Visits::read(store)?);
        facet_times(store, &dictionaries, (&mut contacts, &mut visits))?;
        Ok(Self {
            hasher,
            geoip,
            dictionaries,
            contacts,
            visits,
            values: Values::new(store.manifest().facet_block),
            json: BTreeMap::new(),
            rejects: Vec::new(),
            watermarks: BTreeMap::new(),
            before: store.watermarks().clone(),
            late_ms: i64::MAX,
            sources,
            first_source: u32::try_from(known.len()).unwrap_or(u32::MAX),
            counts: Counts::default(),
            times_local: 0,
        })
    }

    fn source_key(&self, source: usize) -> SourceKey {
        SourceKey(self.first_source + u32::try_from(source).unwrap_or(0))
    }

    /// Takes the next batch of a source.
    ///
    /// # Errors
    /// When rows must be written and cannot be.
    pub(crate) fn absorb(
        &mut self,
        source: usize,
        batch: &Batch,
        draft: &Draft,
    ) -> Result<(), Error> {
        let mut keys = self.dictionaries.keys(batch, &self.hasher);
        keys.located = self.locate(batch)?;
        let base = self.sources[source].rows;
        let id = self.source_key(source);
        let before = self.contacts.len();
        for contact in &batch.contacts {
            let known = !self.contacts.add(contact, id, base + contact.row);
            self.sources[source].unchanged += u64::from(known);
            self.watermark(contact.shard, contact.last_modified, known);
        }
        for identifier in &batch.identifiers {
            let known = !self.contacts.identify(identifier);
            self.sources[source].unchanged += u64::from(known);
        }
        for visit in &batch.visits {
            let origin = visit.source.map_or((id, base), |source| (self.source_key(source), 0));
            let known = !self.visit(batch, &keys, visit, origin);
            self.sources[source].unchanged += u64::from(known);
            self.watermark(visit.shard, visit.last_modified, known || visit.from_log);
        }
        let paths = self.paths(batch, &keys);
        for facet in &batch.facets {
            self.facet(batch, &keys, facet, (id, base), &paths);
        }
        self.counts.contacts += (self.contacts.len() - before) as u64;
        self.note(source, batch, base);
        let room = room(self.contacts.len(), self.visits.keys());
        if self.visits.in_memory + self.values.in_memory > room {
            self.visits.flush(&draft.parts())?;
            self.values.flush(&draft.parts())?;
        }
        Ok(())
    }

    fn watermark(&mut self, shard: u32, last_modified: Option<i64>, known: bool) {
        if let Some(time) = last_modified {
            let before = self.before.get(&shard).filter(|_| !known);
            let late = before.is_some_and(|mark| time < mark.saturating_sub(self.late_ms));
            self.counts.late += u64::from(late);
            let mark = self.watermarks.entry(shard).or_insert(time);
            *mark = time.max(*mark);
        }
    }

    /// Counts a batch's rows and keeps its rejects.
    fn note(&mut self, source: usize, batch: &Batch, base: u64) {
        for reject in &batch.rejects {
            self.reject(source, reject, base);
        }
        let state = &mut self.sources[source];
        state.rows += batch.rows;
        state.ignored += batch.ignored;
        self.counts.without_visit += batch.without_visit;
        self.counts.times_skipped += batch.times_skipped;
        self.counts.times_repeated += batch.times_repeated;
        self.times_local += batch.times_local;
    }

    /// Counts a row that could not be read, of a source that had `base` rows before its batch.
    pub(crate) fn reject(&mut self, source: usize, reject: &Reject, base: u64) {
        let (id, row) = (self.source_key(source), base + reject.row);
        let state = &mut self.sources[source];
        state.first_reject.get_or_insert((row, reject.reason));
        if state.rejected < KEPT_REJECTS {
            self.rejects.push(RejectedRow {
                source_id: id,
                source_row: row,
                reason: reject.reason.into(),
                bytes: Bytes(reject.bytes),
                sample: Text::from(reject.sample.as_str()),
            });
        }
        state.rejected += 1;
    }

    /// The first row that cannot be read, and why.
    pub(crate) fn first_reject(&self) -> Option<String> {
        self.sources.iter().find_map(|source| {
            let (row, why) = source.first_reject?;
            Some(format!("row {row} of `{}`: {why}", source.name))
        })
    }

    /// The places of a batch's addresses.
    fn locate(&mut self, batch: &Batch) -> Result<Vec<Option<u32>>, Error> {
        if self.geoip.is_empty() {
            return Ok(Vec::new());
        }
        let mut located = Vec::with_capacity(batch.addresses.words.len());
        for address in &batch.addresses.words {
            let facts = self.geoip.locate(address)?;
            located.push(facts.map(|facts| self.dictionaries.place(&facts)));
        }
        Ok(located)
    }

    /// Takes an interaction. False when the store has it in this or a newer version.
    fn visit(
        &mut self,
        batch: &Batch,
        keys: &BatchKeys,
        raw: &RawVisit,
        (source, base): (SourceKey, u64),
    ) -> bool {
        let contact = self.contacts.key(raw.contact, raw.shard, raw.from_log);
        let key = self.visits.key(raw.guid);
        let requests = raw.traffic.map_or(0, |traffic| u64::from(traffic.requests));
        let version = (raw.last_modified, raw.rank.unwrap_or(requests));
        if !self.visits.wants(key, version) {
            return false;
        }
        let id = InteractionKey(u64::from(key));
        self.counts.replaced += u64::from(self.visits.has_row(key));
        let row = row(keys, raw, (id, contact), batch);
        self.count(&row);
        self.counts.located += u64::from(raw.place.is_none() && row.place_id.is_some());
        let (bucket, rows) = self.visits.rows(key, (raw.start, raw.shard), version);
        rows.rows.push(row);
        rows.ids.push(InteractionId {
            interaction_id: id,
            guid_high: raw.guid[0],
            guid_low: raw.guid[1],
            last_modified: raw.last_modified.map(Utc),
            version_rank: raw.rank,
            source_id: source,
            source_row: base + raw.row,
            unmatched_place_id: None,
            unmatched_address_id: None,
        });
        let added = push_details(rows, batch, keys, raw, id);
        self.visits.added(bucket, 2 + added);
        true
    }

    fn count(&mut self, row: &InteractionRow) {
        use crate::schema::ParseState;
        self.counts.interactions += 1;
        self.counts.page_views += u64::from(row.pages);
        self.counts.events += u64::from(row.events);
        match row.parse_state {
            ParseState::Whole => {}
            ParseState::BadDate => self.counts.bad_dates += 1,
            ParseState::EndBeforeStart => self.counts.ends_before_start += 1,
            ParseState::BadEvents => self.counts.bad_events += 1,
        }
    }

    /// The terms of the paths of a batch's trees; their sums are added.
    fn paths(&mut self, batch: &Batch, keys: &BatchKeys) -> Vec<Vec<TermKey>> {
        let mut terms = Vec::new();
        for (facet, tree) in &batch.trees {
            let facet = keys.term(TermKind::FacetKey, *facet);
            let mut of_tree = Vec::new();
            for (node, kind, totals) in tree.totals() {
                let node = node as usize;
                if of_tree.len() <= node {
                    of_tree.resize(node + 1, TermKey(u32::MAX));
                }
                let name = tree.name(u32::try_from(node).unwrap_or(0));
                of_tree[node] = self.dictionaries.term(TermKind::JsonPath, &name);
                self.json.entry((facet, of_tree[node], kind)).or_default().merge(totals);
            }
            terms.push(of_tree);
        }
        terms
    }

    fn facet(
        &mut self,
        batch: &Batch,
        keys: &BatchKeys,
        raw: &RawFacet,
        (source, base): (SourceKey, u64),
        paths: &[Vec<TermKey>],
    ) {
        let owner = match raw.owner_kind {
            OwnerKind::Contact => {
                let contact = self.contacts.key(raw.owner, raw.shard, false);
                self.contacts.describe(contact, raw.facts, facet_time(raw.last_modified));
                contact
            }
            OwnerKind::Interaction => {
                let key = self.visits.key(raw.owner);
                if let FacetFacts::Located { place: named, address } = raw.facts {
                    let place = keys.place(named, address);
                    self.counts.located += u64::from(named.is_none() && place.is_some());
                    let address = address.map(|address| keys.addresses[address as usize]);
                    self.visits.locate(key, facet_time(raw.last_modified), (place, address));
                }
                key
            }
        };
        let facet = Facet {
            owner_kind: raw.owner_kind,
            owner_id: u64::from(owner),
            shard: raw.shard,
            facet_key: keys.term(TermKind::FacetKey, raw.key),
            last_modified: raw.last_modified.map(Utc),
            chars: raw.chars,
            bytes_utf8: Bytes(raw.utf8),
            bytes_utf16: Bytes(raw.utf16),
            json_state: raw.state,
            source_id: source,
            source_row: base + raw.row,
        };
        let range = raw.longs.start as usize..raw.longs.end as usize;
        let long = |long: &RawLong| LongValue {
            owner_kind: facet.owner_kind,
            owner_id: facet.owner_id,
            shard: facet.shard,
            facet_key: facet.facet_key,
            path_id: paths[long.path.0 as usize][long.path.1 as usize],
            bytes_utf8: Bytes(long.utf8),
            bytes_utf16: Bytes(long.utf16),
            hash: long.hash,
            host: long.host.map(|host| keys.term(TermKind::Host, host)),
            junk: long.junk.map(|junk| keys.term(TermKind::Junk, junk)),
        };
        let longs = batch.longs[range].iter().map(long);
        self.values.add(facet.clone(), raw.is_events, longs);
    }

    /// Writes everything that changed. True when anything has.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub(crate) fn write(&mut self, draft: &Draft, store: &Store) -> Result<bool, Error> {
        let visits = self.visits.write(draft, store)?;
        let facets = self.values.write(draft, store, &mut self.contacts)?;
        self.counts.facets = facets.facets;
        let contacts = self.contacts.write(draft)?;
        let grown = self.dictionaries.write(draft)?;
        let changed = visits || facets.facets > 0 || contacts || grown;
        self.counts.rows = self.sources.iter().map(|source| source.rows).sum();
        self.counts.rejected = self.sources.iter().map(|source| source.rejected).sum();
        self.counts.ignored = self.sources.iter().map(|source| source.ignored).sum();
        for (source, rows) in &facets.unchanged {
            let at = source.0.saturating_sub(self.first_source) as usize;
            self.sources[at].unchanged += rows;
        }
        self.counts.unchanged = self.sources.iter().map(|source| source.unchanged).sum();
        self.counts.texts_cut = self.dictionaries.cut();
        if changed {
            self.write_ledger(draft, store)?;
        }
        Ok(changed)
    }

    fn write_ledger(&self, draft: &Draft, store: &Store) -> Result<(), Error> {
        let whole = FilePlace::default();
        let mut runs = store.read::<ImportRun>()?;
        let run_id = u32::try_from(runs.len() + 1).unwrap_or(u32::MAX);
        runs.push(ImportRun {
            run_id,
            command: "import".into(),
            rule_version: env!("CARGO_PKG_VERSION").into(),
            thresholds: Text::default(),
            counts: serde_json::to_string(&self.counts).unwrap_or_default().into(),
            watermark: self.watermarks.values().max().map(|time| Utc(*time)),
        });
        draft.replace(&whole, &runs)?;
        let mut sources = store.read::<ImportSource>()?;
        for (state, at) in self.sources.iter().zip(0..) {
            sources.push(ImportSource {
                source_id: self.source_key(at),
                run_id,
                format: state.format.into(),
                name: state.name.as_str().into(),
                bytes: Bytes(state.bytes),
                rows: state.rows,
                rejected: state.rejected,
                unchanged: state.unchanged,
                digest: state.digest,
            });
        }
        draft.replace(&whole, &sources)?;
        let mut rejects = store.read::<RejectedRow>()?;
        rejects.extend_from_slice(&self.rejects);
        draft.replace(&whole, &rejects)?;
        self.write_paths(draft, store)?;
        draft.change(|next| {
            next.interaction_keys = self.visits.keys();
            next.address_key = self.hasher.proof().map(str::to_owned);
            for (shard, time) in &self.watermarks {
                let mark = next.watermarks.entry(*shard).or_insert(*time);
                *mark = (*time).max(*mark);
            }
        });
        Ok(())
    }

    fn write_paths(&self, draft: &Draft, store: &Store) -> Result<(), Error> {
        let mut all = self.json.clone();
        for row in store.read::<JsonPath>()? {
            let totals = Totals {
                values: row.values,
                utf8: row.bytes_utf8.0,
                utf16: row.bytes_utf16.0,
                max_utf8: row.max_utf8.0,
                elements: row.elements,
                max_elements: row.max_elements,
            };
            all.entry((row.facet_key, row.path_id, row.kind)).or_default().merge(&totals);
        }
        let row = |((facet_key, path_id, kind), totals): ((_, _, _), Totals)| JsonPath {
            facet_key,
            path_id,
            kind,
            values: totals.values,
            bytes_utf8: Bytes(totals.utf8),
            bytes_utf16: Bytes(totals.utf16),
            max_utf8: Bytes(totals.max_utf8),
            elements: totals.elements,
            max_elements: totals.max_elements,
        };
        let rows: Vec<JsonPath> = all.into_iter().map(row).collect();
        draft.replace(&FilePlace::default(), &rows)
    }
}

fn row(
    keys: &BatchKeys,
    raw: &RawVisit,
    (id, contact): (InteractionKey, u32),
    batch: &Batch,
) -> InteractionRow {
    let term = |kind, number: Option<u32>| number.map(|number| keys.term(kind, number));
    let length = |range: &std::ops::Range<u32>| range.end - range.start;
    debug_assert!(raw.views.end as usize <= batch.views.len());
    InteractionRow {
        interaction_id: id,
        contact_id: ContactKey(u64::from(contact)),
        shard: raw.shard,
        start_utc: raw.start.map(Utc),
        duration_ms: raw.duration.map(Millis),
        initiator: raw.initiator,
        channel_id: term(TermKind::Channel, raw.channel),
        campaign_id: term(TermKind::Campaign, raw.campaign),
        device_id: term(TermKind::Device, raw.device),
        ua_id: raw.agent.map(|agent| UserAgentKey(keys.agents[agent as usize])),
        address_id: raw.address.map(|one| AddressKey(u64::from(keys.addresses[one as usize]))),
        place_id: keys.place(raw.place, raw.address).map(PlaceKey),
        pages: length(&raw.views),
        events: length(&raw.events),
        goals: raw.goals,
        outcomes: raw.outcomes,
        value: raw.value,
        raw_bytes: Bytes(raw.raw_bytes),
        parse_state: raw.state,
    }
}

/// Adds the views, events and traffic of a visit. How many rows they are.
fn push_details(
    rows: &mut VisitRows,
    batch: &Batch,
    keys: &BatchKeys,
    raw: &RawVisit,
    id: InteractionKey,
) -> usize {
    let before = rows.views.len() + rows.events.len();
    let term = |kind: TermKind, number: Option<u32>| number.map(|number| keys.term(kind, number));
    for view in &batch.views[raw.views.start as usize..raw.views.end as usize] {
        rows.views.push(PageView {
            interaction_id: id,
            seq: view.seq,
            ts_utc: view.time.map(Utc),
            path_id: view.path.map(|path| PathKey(keys.paths[path as usize])),
            item_id: term(TermKind::Item, view.item),
            language: term(TermKind::Language, view.language),
            duration_ms: view.duration.map(Millis),
            raw_bytes: Bytes(view.bytes),
        });
    }
    for event in &batch.events[raw.events.start as usize..raw.events.end as usize] {
        rows.events.push(VisitEvent {
            interaction_id: id,
            seq: event.seq,
            type_id: term(TermKind::EventType, event.kind),
            definition_id: term(TermKind::Definition, event.definition),
            ts_utc: event.time.map(Utc),
            raw_bytes: Bytes(event.bytes),
        });
    }
    rows.traffic.extend(raw.traffic.map(|traffic| VisitTraffic {
        interaction_id: id,
        requests: traffic.requests,
        assets: traffic.assets,
        heads: traffic.heads,
        client_errors: traffic.client_errors,
        robots_txt: traffic.robots_txt,
        distinct_paths: traffic.distinct_paths,
        sent_bytes: Bytes(traffic.sent_bytes),
    }));
    rows.views.len() + rows.events.len() - before + usize::from(raw.traffic.is_some())
}
