//! Stores with a few rows in memory.

use culprit_audit::AuditStore;
use culprit_audit::schema::{
    Address, AddressKey, Contact, ContactKey, Initiator, InteractionKey, InteractionRow, Millis,
    ParseState, PlaceKey, PlaceOrigin, StoredPlace, UserAgent, UserAgentKey, Utc,
};
use culprit_query::{Limits, Stop};

pub(crate) const LIMITS: Limits = Limits { memory_bytes: 256 << 20, threads: 2 };
/// 2026-03-28 00:00 UTC: the day before clocks change in Europe.
pub(crate) const BEFORE_CHANGE: i64 = 1_774_656_000_000;
pub(crate) const HOUR_MS: i64 = 3_600_000;

/// A visit as tests write it.
#[derive(Clone, Copy)]
pub(crate) struct Visit {
    pub(crate) contact: u64,
    pub(crate) shard: u32,
    pub(crate) start: i64,
    pub(crate) seconds: u64,
    pub(crate) agent: u32,
    pub(crate) address: u64,
    pub(crate) place: u32,
    pub(crate) pages: u32,
}

impl Default for Visit {
    fn default() -> Self {
        Self {
            contact: 1,
            shard: 0,
            start: BEFORE_CHANGE,
            seconds: 60,
            agent: 1,
            address: 1,
            place: 1,
            pages: 1,
        }
    }
}

/// Rows of `interactions`.
pub(crate) fn interactions(visits: &[Visit]) -> Vec<InteractionRow> {
    let row = |(number, visit): (u64, &Visit)| InteractionRow {
        interaction_id: InteractionKey(number),
        contact_id: ContactKey(visit.contact),
        shard: visit.shard,
        start_utc: Some(Utc(visit.start)),
        duration_ms: Some(Millis(visit.seconds * 1000)),
        initiator: Initiator::Contact,
        channel_id: None,
        campaign_id: None,
        device_id: None,
        ua_id: Some(UserAgentKey(visit.agent)),
        address_id: Some(AddressKey(visit.address)),
        place_id: Some(PlaceKey(visit.place)),
        pages: visit.pages,
        events: 0,
        goals: 0,
        outcomes: 0,
        value: 0,
        raw_bytes: culprit_audit::schema::Bytes(500),
        parse_state: ParseState::Whole,
    };
    (1..).zip(visits).map(row).collect()
}

/// One contact.
pub(crate) fn contact(key: u64) -> Contact {
    Contact {
        recorded: true,
        shards: 1,
        facets_bytes: culprit_audit::schema::Bytes(100),
        ..Contact::named(ContactKey(key), [key, 0], 0)
    }
}

/// One place.
pub(crate) fn place(key: u32, country: &str, postal: &str) -> StoredPlace {
    StoredPlace {
        place_id: PlaceKey(key),
        country: Some(country.into()),
        region: None,
        city: None,
        postal: Some(postal.into()),
        latitude_e6: Some(48_464_700),
        longitude_e6: Some(35_046_200),
        asn: None,
        organisation: None,
        time_zone: None,
        origin: PlaceOrigin::Stored,
    }
}

/// One user agent.
pub(crate) fn agent(key: u32, text: &str) -> UserAgent {
    UserAgent { ua_id: UserAgentKey(key), text: text.into() }
}

/// One address.
pub(crate) fn address(key: u64, text: &str) -> Address {
    Address {
        address_id: AddressKey(key),
        text: Some(text.into()),
        network: None,
        hash: key,
        network_hash: key >> 8,
    }
}

/// A store with these visits; contacts, places 1 (UA 49000) and 2 (FR 49000), user agent 1 (a
/// browser) and 2 (a robot) exist.
pub(crate) fn store(visits: &[Visit]) -> AuditStore {
    let mut contacts: Vec<u64> = visits.iter().map(|visit| visit.contact).collect();
    contacts.sort_unstable();
    contacts.dedup();
    let contacts: Vec<Contact> = contacts.into_iter().map(contact).collect();
    empty()
        .with_rows(&interactions(visits))
        .and_then(|store| store.with_rows(&contacts))
        .and_then(|store| store.with_rows(&[place(1, "UA", "49000"), place(2, "FR", "49000")]))
        .and_then(|store| store.with_rows(&[agent(1, BROWSER), agent(2, ROBOT)]))
        .and_then(|store| store.with_rows(&[address(1, "203.0.113.7")]))
        .expect("rows")
}

/// A store without rows.
pub(crate) fn empty() -> AuditStore {
    AuditStore::new(Vec::new(), LIMITS, Stop::default())
}

pub(crate) const BROWSER: &str =
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
pub(crate) const ROBOT: &str = "AcmeSpider/2.0 (+http://spider.example/about)";
