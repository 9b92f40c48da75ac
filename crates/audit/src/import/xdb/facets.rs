//! The JSON of facets: sizes, what is large, and the few fields that other tables need.

use super::{Cells, Column, XdbRules, key};
use crate::import::batch::{Batch, FacetFacts, PlaceFacts, RawFacet};
use crate::import::long::long_value;
use crate::json::{LONG, Problem, Seen, Walk};
use crate::schema::{JsonState, OwnerKind, TermKind};
use crate::values::{degrees_e6, whole};

/// Reads a facet.
pub(super) fn facet(
    batch: &mut Batch,
    rules: &XdbRules,
    row: u64,
    owner_kind: OwnerKind,
    cells: &Cells<'_>,
) -> Result<(), &'static str> {
    let (column, missing) = match owner_kind {
        OwnerKind::Contact => (Column::ContactId, "`ContactId` is no GUID"),
        OwnerKind::Interaction => (Column::InteractionId, "`InteractionId` is no GUID"),
    };
    let owner = key(cells, column, missing)?;
    let name = cells.text(Column::FacetKey).map(String::from_utf8_lossy).unwrap_or_default();
    if name.is_empty() {
        return Err("`FacetKey` is empty");
    }
    let text = cells.text(Column::FacetData).unwrap_or_default();
    let facet = batch.term(TermKind::FacetKey, &name);
    let number = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let (tree, first) = (batch.tree(facet), number(batch.longs.len()));
    let mut paths = std::mem::take(&mut batch.trees[tree].1);
    let mut reader = FactReader::new(&name);
    let walk = paths.walk(text, &mut |depth, key, node, seen| match seen {
        Seen::Text(text, utf16) => {
            if text.len() >= LONG {
                long_value(batch, (number(tree), node), &text, utf16);
            }
            if depth == 1 {
                reader.take(key, text.as_bytes());
            }
        }
        Seen::Plain(text) if depth == 1 && text != b"null" => reader.take(key, text),
        _ => {}
    });
    batch.trees[tree].1 = paths;
    let (chars, utf16) = text_sizes(text);
    let facts = reader.finish(batch);
    batch.facets.push(RawFacet {
        row,
        is_events: false,
        owner_kind,
        owner,
        shard: cells.shard(rules.shards),
        key: facet,
        last_modified: cells.text(Column::LastModified).and_then(|text| rules.time(text)),
        chars,
        utf8: text.len() as u64,
        utf16,
        state: json_state(&walk, text),
        facts,
        longs: first..number(batch.longs.len()),
    });
    Ok(())
}

/// What a text is, after a walk over it.
pub(super) fn json_state(walk: &Walk, text: &[u8]) -> JsonState {
    match walk.problem {
        _ if text.trim_ascii().is_empty() => JsonState::Empty,
        Some(Problem::Truncated) => JsonState::Truncated,
        Some(Problem::Malformed(_)) => JsonState::Malformed,
        Some(Problem::TooDeep) => JsonState::TooDeep,
        None if walk.lone_surrogate => JsonState::LoneSurrogate,
        None if walk.duplicate_key => JsonState::DuplicateKey,
        None => JsonState::Valid,
    }
}

/// Characters of a text, and its bytes in UTF-16.
pub(super) fn text_sizes(text: &[u8]) -> (u64, u64) {
    if text.is_ascii() {
        return (text.len() as u64, text.len() as u64 * 2);
    }
    let text = String::from_utf8_lossy(text);
    (text.chars().count() as u64, text.encode_utf16().count() as u64 * 2)
}

/// Which facet is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    IpInfo,
    Classification,
    Measures,
    Other,
}

/// The facet that says where an interaction came from.
pub(crate) const IP_INFO: &str = "IpInfo";
/// The facet that says whether a contact is a robot.
pub(crate) const CLASSIFICATION: &str = "Classification";
/// The facet that says how many interactions a contact has.
pub(crate) const MEASURES: &str = "EngagementMeasures";

/// Collects the fields that other tables need.
#[derive(Debug)]
struct FactReader {
    known: Known,
    place: PlaceFacts,
    address: Option<Box<str>>,
    level: Option<i64>,
    override_level: Option<i64>,
    interactions: Option<u32>,
}

impl FactReader {
    fn new(name: &str) -> Self {
        let known = match name {
            IP_INFO => Known::IpInfo,
            CLASSIFICATION => Known::Classification,
            MEASURES => Known::Measures,
            _ => Known::Other,
        };
        Self {
            known,
            place: PlaceFacts::default(),
            address: None,
            level: None,
            override_level: None,
            interactions: None,
        }
    }

    fn take(&mut self, key: &str, value: &[u8]) {
        let text = || {
            let text = std::str::from_utf8(value).ok()?.trim();
            (!text.is_empty()).then(|| Box::from(text))
        };
        match (self.known, key) {
            (Known::Other, _) => {}
            (Known::IpInfo, "Country") => self.place.country = text().map(country),
            (Known::IpInfo, "Region") => self.place.region = text(),
            (Known::IpInfo, "City") => self.place.city = text(),
            (Known::IpInfo, "PostalCode") => self.place.postal = text(),
            (Known::IpInfo, "Latitude") => self.place.latitude_e6 = degrees_e6(value),
            (Known::IpInfo, "Longitude") => self.place.longitude_e6 = degrees_e6(value),
            (Known::IpInfo, "BusinessName" | "Isp") => {
                self.place.organisation = text().or(self.place.organisation.take());
            }
            (Known::IpInfo, "IpAddress") => self.address = text(),
            (Known::Classification, "ClassificationLevel") => self.level = whole(value),
            (Known::Classification, "OverrideClassificationLevel") => {
                self.override_level = whole(value);
            }
            (Known::Measures, "TotalInteractionCount") => {
                self.interactions = whole(value).and_then(|count| u32::try_from(count).ok());
            }
            _ => {}
        }
    }

    fn finish(self, batch: &mut Batch) -> FacetFacts {
        match self.known {
            Known::IpInfo => FacetFacts::Located {
                place: batch.place(self.place),
                address: self.address.map(|text| batch.addresses.number(&text)),
            },
            Known::Classification => {
                FacetFacts::Classified { level: self.level, override_level: self.override_level }
            }
            Known::Measures => FacetFacts::Measured { interactions: self.interactions },
            Known::Other => FacetFacts::Other,
        }
    }
}

/// A country's two letters in upper case; other names as they are.
fn country(text: Box<str>) -> Box<str> {
    if text.len() == 2 { text.to_ascii_uppercase().into() } else { text }
}
