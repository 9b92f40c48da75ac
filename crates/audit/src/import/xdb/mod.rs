//! Rows of an xDB, whatever they were exported as: cells by column become rows of a batch.
//!
//! `columns` names the columns, `events` and `facets` read the JSON in two of them, `json` and
//! `separated` find the cells in a text.

mod columns;
mod events;
mod facets;
mod json;
mod separated;
mod text;

use std::borrow::Cow;

use self::columns::ReadCell;
use self::events::{ReadEvents, read_events};
use self::facets::{ReadFacet, read_facet};
use self::text::{JsonText, Owner};
use crate::import::batch::{Batch, FacetFacts, RawContact, RawIdentifier, RawVisit};
use crate::import::zone::LocalTimes;
use crate::json::Scanner;
use crate::schema::{Initiator, OwnerKind, ParseState, TermKind};
use crate::values::{guid, is_plausible, time, whole};

pub(crate) use columns::{Cells, Column, DumpTable};
pub(crate) use events::{EVENTS, path_of};
pub(crate) use facets::{CLASSIFICATION, IP_INFO, MEASURES};
pub(crate) use json::read_json;
pub(crate) use separated::{Header, Separation, csv_cell, read_separated};

/// What decides about all rows of a source.
#[derive(Debug, Clone)]
pub(crate) struct XdbRules {
    /// Shards: the one-byte shard keys are divided among them evenly.
    pub(crate) shards: u32,
    /// The clock of times that name no offset.
    pub(crate) times: LocalTimes,
}

impl XdbRules {
    /// A point in time, in UTC.
    fn time(&self, text: &[u8]) -> Option<i64> {
        let (ms, names_offset) = time(text)?;
        Some(if names_offset { ms } else { self.times.utc(ms).ms })
    }
}

/// Adds one row of any table, which has so many bytes in its source.
///
/// # Errors
/// Why it cannot be read.
pub(crate) fn add_row(
    batch: &mut Batch,
    rules: &XdbRules,
    (row, bytes): (u64, usize),
    cells: &mut Cells<'_>,
) -> Result<(), &'static str> {
    match cells.table() {
        Some(DumpTable::Interactions) => visit(batch, rules, (row, bytes), cells),
        Some(DumpTable::InteractionFacets) => {
            facet(batch, rules, row, OwnerKind::Interaction, cells)
        }
        Some(DumpTable::ContactFacets) => facet(batch, rules, row, OwnerKind::Contact, cells),
        Some(DumpTable::Contacts) => contact(batch, rules, row, cells),
        Some(DumpTable::ContactIdentifiers) => identifier(batch, rules, cells),
        Some(DumpTable::Other) => {
            batch.ignored += 1;
            Ok(())
        }
        None => Err("no table has these columns"),
    }
}

/// A GUID that a row cannot do without.
fn key(cells: &Cells<'_>, column: Column, missing: &'static str) -> Result<[u64; 2], &'static str> {
    cells.text(column).and_then(guid).ok_or(missing)
}

/// A GUID as a term; none for a missing or empty one, and for all zeros.
fn term(batch: &mut Batch, kind: TermKind, text: Option<&[u8]>) -> Option<u32> {
    let text = std::str::from_utf8(text?).ok()?.trim();
    let zeros = text.bytes().all(|byte| matches!(byte, b'0' | b'-' | b'{' | b'}'));
    (!zeros).then(|| batch.term(kind, text))
}

fn visit(
    batch: &mut Batch,
    rules: &XdbRules,
    (row, bytes): (u64, usize),
    cells: &mut Cells<'_>,
) -> Result<(), &'static str> {
    let guid = key(cells, Column::InteractionId, "`InteractionId` is no GUID")?;
    let contact = key(cells, Column::ContactId, "`ContactId` is no GUID")?;
    let date = |column| cells.text(column).and_then(|text| rules.time(text));
    let start = start(batch, rules, cells);
    let end = date(Column::EndDateTime).filter(|ms| is_plausible(*ms));
    let state = match (start, end) {
        (Some(start), Some(end)) if end < start => ParseState::EndBeforeStart,
        (Some(_), Some(_)) => ParseState::Whole,
        _ => ParseState::BadDate,
    };
    let duration = start.zip(end).and_then(|(start, end)| u64::try_from(end - start).ok());
    let mut visit = RawVisit {
        row,
        guid,
        contact,
        shard: cells.shard(rules.shards),
        last_modified: date(Column::LastModified),
        start,
        duration,
        initiator: initiator(cells.text(Column::Initiator)),
        channel: term(batch, TermKind::Channel, cells.text(Column::ChannelId)),
        campaign: term(batch, TermKind::Campaign, cells.text(Column::CampaignId)),
        device: term(batch, TermKind::Device, cells.text(Column::DeviceProfileId)),
        agent: cells.text(Column::UserAgent).map(|agent| batch.agents.number_of(agent)),
        value: cells.text(Column::EngagementValue).and_then(whole).unwrap_or(0),
        raw_bytes: bytes as u64,
        state,
        ..RawVisit::default()
    };
    add_events(batch, rules, &mut visit, cells);
    batch.visits.push(visit);
    Ok(())
}

/// When a visit began; times of local clocks are counted.
fn start(batch: &mut Batch, rules: &XdbRules, cells: &Cells<'_>) -> Option<i64> {
    let (ms, names_offset) = cells.text(Column::StartDateTime).and_then(time)?;
    if names_offset {
        return Some(ms).filter(|ms| is_plausible(*ms));
    }
    let start = rules.times.utc(ms);
    batch.times_skipped += u64::from(start.never);
    batch.times_repeated += u64::from(start.again_ms > 0);
    batch.times_local += 1;
    Some(start.ms).filter(|ms| is_plausible(*ms))
}

/// Adds the events of a visit, and their text as one of its facets.
fn add_events(batch: &mut Batch, rules: &XdbRules, visit: &mut RawVisit, cells: &mut Cells<'_>) {
    let read = match (cells.read.take(), cells.text(Column::Events)) {
        (Some(ReadCell::Events(read)), _) => read,
        (_, Some(text)) => read_events(batch, rules, JsonText::Cell(text)),
        _ => ReadEvents::none(batch),
    };
    (visit.views, visit.events) = (read.views, read.events);
    (visit.goals, visit.outcomes) = (read.goals, read.outcomes);
    let Some(text) = read.text else { return };
    if text.is_broken {
        visit.state = ParseState::BadEvents;
    }
    let owner = Owner {
        row: visit.row,
        kind: OwnerKind::Interaction,
        guid: visit.guid,
        shard: visit.shard,
        last_modified: visit.last_modified,
    };
    batch.facets.push(text.facet(owner, true, FacetFacts::default()));
}

fn facet(
    batch: &mut Batch,
    rules: &XdbRules,
    row: u64,
    kind: OwnerKind,
    cells: &mut Cells<'_>,
) -> Result<(), &'static str> {
    let (column, missing) = match kind {
        OwnerKind::Contact => (Column::ContactId, "`ContactId` is no GUID"),
        OwnerKind::Interaction => (Column::InteractionId, "`InteractionId` is no GUID"),
    };
    let owner = Owner {
        row,
        kind,
        guid: key(cells, column, missing)?,
        shard: cells.shard(rules.shards),
        last_modified: cells.text(Column::LastModified).and_then(|text| rules.time(text)),
    };
    let read = cells.read.take();
    let name = facet_name(cells).ok_or("`FacetKey` is empty")?;
    let text = cells.text(Column::FacetData).unwrap_or_default();
    let ReadFacet { text, facts } = match read {
        Some(ReadCell::Facet(read)) => read,
        _ => read_facet(batch, &name, JsonText::Cell(text)),
    };
    batch.facets.push(text.facet(owner, false, facts));
    Ok(())
}

/// The name of a row's facet; none when it is empty.
fn facet_name<'a>(cells: &'a Cells<'_>) -> Option<Cow<'a, str>> {
    cells.text(Column::FacetKey).map(String::from_utf8_lossy).filter(|name| !name.is_empty())
}

/// Reads the JSON that is next in a row, if it is known by now what it is.
fn read_next(
    batch: &mut Batch,
    rules: &XdbRules,
    column: Column,
    (cells, scanner): (&Cells<'_>, &mut Scanner<'_>),
) -> Option<ReadCell> {
    match column {
        Column::Events if cells.has(Column::InteractionId) && !cells.has(Column::FacetKey) => {
            Some(ReadCell::Events(read_events(batch, rules, JsonText::Next(scanner))))
        }
        Column::FacetData => {
            let name = facet_name(cells)?;
            Some(ReadCell::Facet(read_facet(batch, &name, JsonText::Next(scanner))))
        }
        _ => None,
    }
}

fn initiator(text: Option<&[u8]>) -> Initiator {
    match text {
        Some(b"1" | b"Contact") => Initiator::Contact,
        Some(b"2" | b"Brand") => Initiator::Brand,
        _ => Initiator::Unknown,
    }
}

fn contact(
    batch: &mut Batch,
    rules: &XdbRules,
    row: u64,
    cells: &Cells<'_>,
) -> Result<(), &'static str> {
    let guid = key(cells, Column::ContactId, "`ContactId` is no GUID")?;
    let date = |column| cells.text(column).and_then(|text| rules.time(text));
    let created = cells.text(Column::Created).and_then(time);
    batch.times_local += u64::from(created.is_some_and(|(_, names_offset)| !names_offset));
    batch.contacts.push(RawContact {
        row,
        guid,
        shard: cells.shard(rules.shards),
        created: date(Column::Created),
        last_modified: date(Column::LastModified),
        token: cells.text(Column::ConcurrencyToken).and_then(crate::values::guid),
    });
    Ok(())
}

fn identifier(batch: &mut Batch, rules: &XdbRules, cells: &Cells<'_>) -> Result<(), &'static str> {
    let guid = key(cells, Column::ContactId, "`ContactId` is no GUID")?;
    let known = matches!(cells.text(Column::IdentifierType), Some(b"1" | b"Known"));
    batch.identifiers.push(RawIdentifier { guid, shard: cells.shard(rules.shards), known });
    Ok(())
}
