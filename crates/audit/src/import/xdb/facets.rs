//! The JSON of facets: the few fields that other tables need.

use std::borrow::Cow;

use super::events::{EVENTS, role_in_events};
use super::text::{JsonText, ReadText, read_text};
use crate::import::batch::{Batch, FacetFacts, PlaceFacts};
use crate::json::{NO_ROLE, Role, Seen};
use crate::values::{degrees_e6, whole};

/// The facet that says where an interaction came from.
pub(crate) const IP_INFO: &str = "IpInfo";
/// The facet that says whether a contact is a robot.
pub(crate) const CLASSIFICATION: &str = "Classification";
/// The facet that says how many interactions a contact has.
pub(crate) const MEASURES: &str = "EngagementMeasures";

/// What the paths of facets are for.
mod role {
    use crate::json::Role;

    pub(super) const COUNTRY: Role = 1;
    pub(super) const REGION: Role = 2;
    pub(super) const CITY: Role = 3;
    pub(super) const POSTAL: Role = 4;
    pub(super) const LATITUDE: Role = 5;
    pub(super) const LONGITUDE: Role = 6;
    pub(super) const ORGANISATION: Role = 7;
    pub(super) const ADDRESS: Role = 8;
    pub(super) const LEVEL: Role = 9;
    pub(super) const OVERRIDE_LEVEL: Role = 10;
    pub(super) const INTERACTIONS: Role = 11;
}

fn role_in_ip_info(depth: u32, key: &str) -> Role {
    match (depth, key) {
        (1, "Country") => role::COUNTRY,
        (1, "Region") => role::REGION,
        (1, "City") => role::CITY,
        (1, "PostalCode") => role::POSTAL,
        (1, "Latitude") => role::LATITUDE,
        (1, "Longitude") => role::LONGITUDE,
        (1, "BusinessName" | "Isp") => role::ORGANISATION,
        (1, "IpAddress") => role::ADDRESS,
        _ => NO_ROLE,
    }
}

fn role_in_classification(depth: u32, key: &str) -> Role {
    match (depth, key) {
        (1, "ClassificationLevel") => role::LEVEL,
        (1, "OverrideClassificationLevel") => role::OVERRIDE_LEVEL,
        _ => NO_ROLE,
    }
}

fn role_in_measures(depth: u32, key: &str) -> Role {
    match (depth, key) {
        (1, "TotalInteractionCount") => role::INTERACTIONS,
        _ => NO_ROLE,
    }
}

/// What the paths of the facet of this name are for.
fn roles(name: &str) -> fn(u32, &str) -> Role {
    match name {
        IP_INFO => role_in_ip_info,
        CLASSIFICATION => role_in_classification,
        MEASURES => role_in_measures,
        // One of this name shares its sums with the events of interactions.
        EVENTS => role_in_events,
        _ => |_, _| NO_ROLE,
    }
}

/// A facet's text, and what other tables need of it.
#[derive(Debug)]
pub(crate) struct ReadFacet {
    pub(super) text: ReadText,
    pub(super) facts: FacetFacts,
}

/// Reads the facet of this name.
pub(super) fn read_facet(batch: &mut Batch, name: &str, text: JsonText<'_, '_>) -> ReadFacet {
    let mut reader = FactReader::default();
    let text = read_text(batch, (name, roles(name)), text, |_, role, seen| match seen {
        Seen::Text(text, _) => reader.take(role, text),
        Seen::Plain(text) if text != b"null" => reader.take(role, Cow::Borrowed(text)),
        _ => {}
    });
    ReadFacet { text, facts: reader.finish(batch, name) }
}

/// Collects the fields that other tables need.
#[derive(Debug, Default)]
struct FactReader<'a> {
    place: PlaceFacts<Cow<'a, str>>,
    address: Option<Cow<'a, str>>,
    level: Option<i64>,
    override_level: Option<i64>,
    interactions: Option<u32>,
}

impl<'a> FactReader<'a> {
    fn take(&mut self, role: Role, value: Cow<'a, [u8]>) {
        match role {
            role::COUNTRY => self.place.country = trimmed(value).map(country),
            role::REGION => self.place.region = trimmed(value),
            role::CITY => self.place.city = trimmed(value),
            role::POSTAL => self.place.postal = trimmed(value),
            role::LATITUDE => self.place.latitude_e6 = degrees_e6(&value),
            role::LONGITUDE => self.place.longitude_e6 = degrees_e6(&value),
            role::ORGANISATION => {
                self.place.organisation = trimmed(value).or(self.place.organisation.take());
            }
            role::ADDRESS => self.address = trimmed(value),
            role::LEVEL => self.level = whole(&value),
            role::OVERRIDE_LEVEL => self.override_level = whole(&value),
            role::INTERACTIONS => {
                self.interactions = whole(&value).and_then(|count| u32::try_from(count).ok());
            }
            _ => {}
        }
    }

    fn finish(self, batch: &mut Batch, name: &str) -> FacetFacts {
        match name {
            IP_INFO => FacetFacts::Located {
                place: batch.place(&self.place),
                address: self.address.map(|text| batch.addresses.number(&text)),
            },
            CLASSIFICATION => {
                FacetFacts::Classified { level: self.level, override_level: self.override_level }
            }
            MEASURES => FacetFacts::Measured { interactions: self.interactions },
            _ => FacetFacts::Other,
        }
    }
}

/// A text without white space around it; none when nothing is left.
fn trimmed(value: Cow<'_, [u8]>) -> Option<Cow<'_, str>> {
    let text = match value {
        Cow::Borrowed(bytes) => Cow::Borrowed(std::str::from_utf8(bytes).ok()?.trim()),
        Cow::Owned(bytes) => Cow::Owned(std::str::from_utf8(&bytes).ok()?.trim().to_owned()),
    };
    (!text.is_empty()).then_some(text)
}

/// A country's two letters in upper case; other names as they are.
fn country(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_lower = |byte: u8| byte.is_ascii_lowercase();
    if text.len() == 2 && text.bytes().any(is_lower) {
        return Cow::Owned(text.to_ascii_uppercase());
    }
    text
}
