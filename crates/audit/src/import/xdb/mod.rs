//! Rows of an xDB, whatever they were exported as: cells by column become rows of a batch.
//!
//! `columns` names the columns, `events` and `facets` read the JSON in two of them, `json` and
//! `separated` find the cells in a text.

mod columns;
mod events;
mod facets;
mod json;
mod separated;

use crate::import::batch::{Batch, RawContact, RawIdentifier, RawVisit};
use crate::import::zone::LocalTimes;
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

/// Adds one row of any table. `bytes` is the row's text.
pub(crate) fn add_row(
    batch: &mut Batch,
    rules: &XdbRules,
    row: u64,
    cells: &Cells<'_>,
    text: &[u8],
) {
    let table = cells.table();
    let result = match table {
        Some(DumpTable::Interactions) => visit(batch, rules, (row, text.len()), cells),
        Some(DumpTable::InteractionFacets) => {
            facets::facet(batch, rules, row, OwnerKind::Interaction, cells)
        }
        Some(DumpTable::ContactFacets) => {
            facets::facet(batch, rules, row, OwnerKind::Contact, cells)
        }
        Some(DumpTable::Contacts) => contact(batch, rules, row, cells),
        Some(DumpTable::ContactIdentifiers) => identifier(batch, rules, cells),
        Some(DumpTable::Other) => {
            batch.ignored += 1;
            Ok(())
        }
        None => Err("no table has these columns"),
    };
    if let Err(reason) = result {
        batch.reject(row, reason, text);
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
    cells: &Cells<'_>,
) -> Result<(), &'static str> {
    let guid = key(cells, Column::InteractionId, "`InteractionId` is no GUID")?;
    let contact = key(cells, Column::ContactId, "`ContactId` is no GUID")?;
    let date = |column| cells.text(column).and_then(|text| rules.time(text));
    if let Some((local, false)) = cells.text(Column::StartDateTime).and_then(time) {
        let start = rules.times.utc(local);
        batch.times_skipped += u64::from(start.never);
        batch.times_repeated += u64::from(start.again_ms > 0);
        batch.times_local += 1;
    }
    let start = date(Column::StartDateTime).filter(|ms| is_plausible(*ms));
    let end = date(Column::EndDateTime).filter(|ms| is_plausible(*ms));
    let state = match (start, end) {
        (Some(start), Some(end)) if end < start => ParseState::EndBeforeStart,
        (Some(_), Some(_)) => ParseState::Whole,
        _ => ParseState::BadDate,
    };
    let duration = start.zip(end).and_then(|(start, end)| u64::try_from(end - start).ok());
    let agent = cells.text(Column::UserAgent).map(String::from_utf8_lossy);
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
        agent: agent.map(|agent| batch.agents.number(&agent)),
        value: cells.text(Column::EngagementValue).and_then(whole).unwrap_or(0),
        raw_bytes: bytes as u64,
        state,
        ..RawVisit::default()
    };
    events::events(batch, rules, &mut visit, cells);
    batch.visits.push(visit);
    Ok(())
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
