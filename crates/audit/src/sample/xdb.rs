//! The tables of an xDB, in two shards.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use culprit_model::Label as _;

use super::export::{Cell, TableFile, put_guid, put_json_text};
use super::random::Random;
use super::truth::Truth;
use super::visit::{Visit, oversized, person, stream};
use super::world::{CAMPAIGNS, CHANNELS, DATA_CENTRE, DEVICES, GOALS, OUTCOME, PAGES, REFERRERS};
use super::{ContactState, SampleError, SampleFormat};
use crate::time::put_xdb;

/// Shards of a sample.
pub(crate) const SHARDS: usize = 2;

const INTERACTIONS: &[&str] = &[
    "InteractionId",
    "LastModified",
    "Created",
    "ConcurrencyToken",
    "ContactId",
    "StartDateTime",
    "EndDateTime",
    "Initiator",
    "DeviceProfileId",
    "ChannelId",
    "VenueId",
    "CampaignId",
    "Events",
    "UserAgent",
    "EngagementValue",
    "Percentile",
    "ShardKey",
];
const INTERACTION_FACETS: &[&str] = &[
    "InteractionId",
    "FacetKey",
    "ContactId",
    "LastModified",
    "ConcurrencyToken",
    "FacetData",
    "ShardKey",
];
const CONTACTS: &[&str] =
    &["ContactId", "LastModified", "Created", "ConcurrencyToken", "Percentile", "ShardKey"];
const CONTACT_FACETS: &[&str] =
    &["ContactId", "FacetKey", "LastModified", "ConcurrencyToken", "FacetData", "ShardKey"];
const IDENTIFIERS: &[&str] =
    &["ContactId", "Source", "Identifier", "IdentifierHash", "IdentifierType", "ShardKey"];

/// The interaction and the row's end: a person's row is written shortly after the visit.
const WRITTEN_AFTER_MS: i64 = 900;
/// Entries of a list in the cache facet at most, as the vendor's default is.
const CACHE_ENTRIES: u32 = 50;

/// Appends the JSON of a visit's facet.
type PutVisitFacet = fn(&mut Vec<u8>, &Visit);
/// Appends the JSON of a facet of the contact with this seed and number.
type PutContactFacet = fn(&mut Vec<u8>, u64, u64, &ContactState);

#[derive(Debug)]
struct Shard {
    folder: PathBuf,
    interactions: TableFile,
    interaction_facets: TableFile,
    contacts: TableFile,
    contact_facets: TableFile,
    identifiers: TableFile,
}

/// The export of all shards in one format, under way.
#[derive(Debug)]
pub(crate) struct XdbExport {
    seed: u64,
    shards: Vec<Shard>,
    events: Vec<u8>,
    facet: Vec<u8>,
}

/// The one-byte key that decides the shard.
fn shard_key(contact: [u64; 2]) -> u8 {
    u8::try_from(contact[0] >> 56).unwrap_or(0)
}

fn shard_of(key: u8) -> usize {
    usize::from(key) * SHARDS / 256
}

impl XdbExport {
    pub(crate) fn create(
        folder: &Path,
        format: SampleFormat,
        seed: u64,
    ) -> Result<Self, SampleError> {
        let mut shards = Vec::new();
        for shard in 0..SHARDS {
            let folder = folder.join(format.word()).join(format!("shard-{shard}"));
            std::fs::create_dir_all(&folder)
                .map_err(|source| SampleError { path: folder.clone(), source })?;
            let file = |table, columns| TableFile::create(&folder, table, columns, format);
            shards.push(Shard {
                interactions: file("Interactions", INTERACTIONS)?,
                interaction_facets: file("InteractionFacets", INTERACTION_FACETS)?,
                contacts: file("Contacts", CONTACTS)?,
                contact_facets: file("ContactFacets", CONTACT_FACETS)?,
                identifiers: file("ContactIdentifiers", IDENTIFIERS)?,
                folder,
            });
        }
        Ok(Self { seed, shards, events: Vec::new(), facet: Vec::new() })
    }

    /// Writes a visit's rows; with `broken`, the first half of its row first.
    pub(crate) fn visit(
        &mut self,
        visit: &Visit,
        broken: bool,
        truth: &mut Truth,
    ) -> Result<(), SampleError> {
        let key = shard_key(visit.person.guid);
        self.events.clear();
        put_events(&mut self.events, visit);
        let shard = &mut self.shards[shard_of(key)];
        let written = visit.end + WRITTEN_AFTER_MS;
        let token = [visit.guid[1], visit.guid[0]];
        let value = if visit.outcome { 100 } else { i64::from(visit.goal) * 10 };
        let cells = [
            Cell::Guid(visit.guid),
            Cell::Time(written),
            Cell::Time(written),
            Cell::Guid(token),
            Cell::Guid(visit.person.guid),
            Cell::Time(visit.start),
            Cell::Time(visit.end),
            Cell::Int(1),
            Cell::Text(DEVICES[usize::from(visit.person.phone)]),
            Cell::Text(CHANNELS[visit.channel]),
            Cell::Null,
            visit.campaign.map_or(Cell::Null, |at| Cell::Text(CAMPAIGNS[at])),
            Cell::Json(&self.events),
            Cell::Text(&visit.person.user_agent),
            Cell::Int(value),
            Cell::Int(i64::try_from(visit.guid[1] % 100).unwrap_or(0)),
            Cell::Byte(key),
        ];
        if broken {
            shard.interactions.half_row(&shard.folder, &cells)?;
        }
        shard.interactions.row(&shard.folder, &cells)?;
        let facets: [(&str, PutVisitFacet); 2] =
            [("IpInfo", put_ip_info), ("WebVisit", put_web_visit)];
        for (name, put) in facets {
            self.facet.clear();
            put(&mut self.facet, visit);
            truth.facet(name, self.facet.len());
            let cells = [
                Cell::Guid(visit.guid),
                Cell::Text(name),
                Cell::Guid(visit.person.guid),
                Cell::Time(written),
                Cell::Guid(token),
                Cell::Json(&self.facet),
                Cell::Byte(key),
            ];
            shard.interaction_facets.row(&shard.folder, &cells)?;
        }
        Ok(())
    }

    /// Writes a contact's rows.
    pub(crate) fn contact(
        &mut self,
        number: u64,
        state: &ContactState,
        truth: &mut Truth,
    ) -> Result<(), SampleError> {
        let who = person(self.seed, number);
        let key = shard_key(who.guid);
        let shard = &mut self.shards[shard_of(key)];
        let token = [who.guid[1], who.guid[0]];
        let times = [Cell::Time(state.last + WRITTEN_AFTER_MS), Cell::Time(state.first)];
        let row = [
            Cell::Guid(who.guid),
            times[0],
            times[1],
            Cell::Guid(token),
            Cell::Int(0),
            Cell::Byte(key),
        ];
        let missing = is_missing(self.seed, number, state);
        if !missing {
            shard.contacts.row(&shard.folder, &row)?;
        }
        let facets: [(&str, PutContactFacet); 3] = [
            ("Classification", put_classification),
            ("EngagementMeasures", put_measures),
            ("InteractionsCache", put_cache),
        ];
        for (name, put) in facets {
            if state.interactions == 0 && name == "InteractionsCache" {
                continue;
            }
            self.facet.clear();
            put(&mut self.facet, self.seed, number, state);
            truth.facet(name, self.facet.len());
            truth.facets_without_contact += u64::from(missing);
            let cells = [
                Cell::Guid(who.guid),
                Cell::Text(name),
                times[0],
                Cell::Guid(token),
                Cell::Json(&self.facet),
                Cell::Byte(key),
            ];
            shard.contact_facets.row(&shard.folder, &cells)?;
        }
        let known = is_known(self.seed, number, state);
        truth.contact(state, known, missing);
        truth.contacts_with_wrong_total +=
            u64::from(reported(self.seed, number, state) != state.interactions);
        let tracker = format!("{:016x}", who.guid[1]);
        let mail = format!("visitor{number}@mail.example");
        for (source, identifier, kind) in [("xDB.Tracker", &tracker, 0), ("website", &mail, 1)] {
            if kind == 1 && !known {
                continue;
            }
            let cells = [
                Cell::Guid(who.guid),
                Cell::Text(source),
                Cell::Text(identifier),
                Cell::Byte(key),
                Cell::Int(kind),
                Cell::Byte(key),
            ];
            shard.identifiers.row(&shard.folder, &cells)?;
        }
        Ok(())
    }

    /// Rows and bytes of each file.
    pub(crate) fn finish(self, truth: &mut Truth) -> Result<(), SampleError> {
        for (at, shard) in self.shards.into_iter().enumerate() {
            let folder = shard.folder;
            for (table, file) in [
                ("Interactions", shard.interactions),
                ("InteractionFacets", shard.interaction_facets),
                ("Contacts", shard.contacts),
                ("ContactFacets", shard.contact_facets),
                ("ContactIdentifiers", shard.identifiers),
            ] {
                let (rows, bytes) = file.finish(&folder)?;
                let format = folder.parent().and_then(Path::file_name).unwrap_or_default();
                truth.file(
                    &format!("{}/shard-{at}/{table}", format.to_string_lossy()),
                    rows,
                    bytes,
                );
            }
        }
        Ok(())
    }
}

/// One person in twelve has given a mail address.
fn is_known(seed: u64, contact: u64, state: &ContactState) -> bool {
    state.robot.is_none() && Random::new(seed, stream::FACETS, contact).chance(83)
}

/// One contact with interactions in five hundred has lost its row.
fn is_missing(seed: u64, contact: u64, state: &ContactState) -> bool {
    state.interactions > 0 && Random::new(seed, stream::MISSING, contact).chance(2)
}

/// The stored number of interactions, which is one too many for one contact in 250.
fn reported(seed: u64, contact: u64, state: &ContactState) -> u32 {
    state.interactions + u32::from(Random::new(seed, stream::MEASURES, contact).chance(4))
}

fn put_events(out: &mut Vec<u8>, visit: &Visit) {
    let end = visit.views.last().map_or(visit.start, |view| view.at);
    for (at, view) in visit.views.iter().enumerate() {
        out.push(if at == 0 { b'[' } else { b',' });
        let page = PAGES.iter().position(|page| *page == view.page).unwrap_or(0) as u64;
        begin_event(
            out,
            "PageViewEvent",
            "9326cb1e-cec8-48f2-9a3e-91c7dbb2166c",
            visit,
            at,
            view.at,
        );
        out.extend_from_slice(b",\"ItemId\":\"");
        put_guid(out, [0x110d_559f_dea5_42ea | page << 32, 0x9c1c_8a5d_f7e7_0ef9]);
        let _ =
            write!(out, "\",\"ItemLanguage\":\"{}\",\"ItemVersion\":1", visit.person.city.language);
        let _ = write!(
            out,
            ",\"Duration\":\"PT{}.{:03}S\"",
            view.duration_ms / 1000,
            view.duration_ms % 1000
        );
        let _ = write!(
            out,
            ",\"SitecoreRenderingDevice\":{{\"Id\":\"fe5d7fdf-89c0-4d99-9aa3-b5fbd009c9f3\",\"Name\":\"Default\"}},\"Url\":\"{}\"}}",
            view.page
        );
    }
    for (wanted, kind, definition) in
        [(visit.goal, "Goal", GOALS[0]), (visit.outcome, "Outcome", OUTCOME)]
    {
        if wanted {
            out.push(b',');
            begin_event(out, kind, definition, visit, visit.views.len(), end);
            out.extend_from_slice(b",\"EngagementValue\":10,\"Text\":\"\"}");
        }
    }
    out.push(b']');
}

fn begin_event(
    out: &mut Vec<u8>,
    kind: &str,
    definition: &str,
    visit: &Visit,
    at: usize,
    when: i64,
) {
    let _ = write!(
        out,
        "{{\"@odata.type\":\"#Sitecore.XConnect.Collection.Model.{kind}\",\"CustomValues\":[],\"DefinitionId\":\"{definition}\",\"Id\":\""
    );
    put_guid(out, [visit.guid[1] ^ at as u64, visit.guid[0]]);
    out.extend_from_slice(b"\",\"Timestamp\":\"");
    put_xdb(out, when);
    out.push(b'"');
}

fn put_ip_info(out: &mut Vec<u8>, visit: &Visit) {
    let city = visit.person.city;
    let [a, b, c, d] = visit.person.address;
    let _ = write!(
        out,
        "{{\"@odata.type\":\"#Sitecore.XConnect.Collection.Model.IpInfo\",\"AreaCode\":\"\",\"BusinessName\":\"\",\"City\":\"{}\",\"Country\":\"{}\",\"Dns\":\"\",\"IpAddress\":\"{a}.{b}.{c}.{d}\",\"Isp\":\"\",\"Latitude\":{},\"Longitude\":{},\"MetroCode\":\"\",\"PostalCode\":\"{}\",\"Region\":\"{}\",\"Url\":\"\"}}",
        city.name, city.country, city.position.0, city.position.1, visit.person.postal, city.region
    );
}

fn put_web_visit(out: &mut Vec<u8>, visit: &Visit) {
    let (width, height) = if visit.person.phone { (412, 915) } else { (1920, 1080) };
    let _ = write!(
        out,
        "{{\"@odata.type\":\"#Sitecore.XConnect.Collection.Model.WebVisit\",\"Browser\":{{\"BrowserMajorName\":\"\",\"BrowserMinorName\":\"\",\"BrowserVersion\":\"\"}},\"IsSelfReferrer\":false,\"Language\":\"{}\",\"OperatingSystem\":{{\"MajorVersion\":\"\",\"MinorVersion\":\"\",\"Name\":\"\"}},\"Referrer\":",
        visit.person.city.language
    );
    put_json_text(out, &visit.referrer);
    let _ = write!(
        out,
        ",\"Screen\":{{\"ScreenHeight\":{height},\"ScreenWidth\":{width}}},\"SearchKeywords\":\"\",\"SiteName\":\"website\"}}"
    );
}

fn put_classification(out: &mut Vec<u8>, _: u64, _: u64, state: &ContactState) {
    // The database knows the search engine only.
    let level = if state.robot == Some(super::robots::Visitor::Search) { 925 } else { 0 };
    let _ = write!(
        out,
        "{{\"@odata.type\":\"#Sitecore.XConnect.Collection.Model.Classification\",\"ClassificationLevel\":{level},\"OverrideClassificationLevel\":0}}"
    );
}

fn put_measures(out: &mut Vec<u8>, seed: u64, number: u64, state: &ContactState) {
    let _ = write!(
        out,
        "{{\"@odata.type\":\"#Sitecore.XConnect.Collection.Model.EngagementMeasures\",\"TotalInteractionCount\":{},\"TotalPageViewCount\":{},\"TotalValue\":0,\"MostRecentInteractionStartDateTime\":\"",
        reported(seed, number, state),
        state.pages
    );
    put_xdb(out, state.last);
    out.extend_from_slice(b"\"}");
}

/// What the database caches of a contact's visits: lists with at most 50 entries each.
fn put_cache(out: &mut Vec<u8>, seed: u64, number: u64, state: &ContactState) {
    let who = person(seed, number);
    let (city, postal) = match state.robot {
        None => (who.city, who.postal),
        Some(_) => (&DATA_CENTRE, DATA_CENTRE.postal[0]),
    };
    let mut random = Random::new(seed, stream::FACETS, number);
    let entries = state.interactions.min(CACHE_ENTRIES);
    let _ = write!(
        out,
        "{{\"@odata.type\":\"#Sitecore.XConnect.Collection.Model.InteractionsCache\",\"InteractionsCount\":{entries},\"Locations\":[{{\"City\":\"{}\",\"Country\":\"{}\",\"PostalCode\":\"{}\"}}],\"Referrers\":[",
        city.name, city.country, postal
    );
    for at in 0..entries {
        if at > 0 {
            out.push(b',');
        }
        let referrer = REFERRERS[random.index(REFERRERS.len())].to_owned();
        put_json_text(out, &oversized(referrer, &mut random));
    }
    out.extend_from_slice(b"]}");
}
