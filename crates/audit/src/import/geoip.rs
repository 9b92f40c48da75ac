//! Where addresses are: databases in the MaxMind format, of cities and of networks (AS).
//!
//! A database is read when the import begins. Damage that shows only when an address is looked up
//! ends the import, too: the store changes in one step at the end.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use maxminddb::{MaxMindDbError, Reader};
use serde::Deserialize;

use super::batch::PlaceFacts;
use crate::error::Error;

/// What records of all kinds of databases say; each has some of it.
#[derive(Debug, Default, Deserialize)]
struct Record<'a> {
    #[serde(borrow, default)]
    country: Named<'a>,
    #[serde(borrow, default)]
    registered_country: Named<'a>,
    #[serde(borrow, default)]
    subdivisions: Vec<Named<'a>>,
    #[serde(borrow, default)]
    city: Named<'a>,
    #[serde(borrow, default)]
    postal: Postal<'a>,
    #[serde(borrow, default)]
    location: Location<'a>,
    autonomous_system_number: Option<u32>,
    autonomous_system_organization: Option<&'a str>,
}

#[derive(Debug, Default, Deserialize)]
struct Named<'a> {
    iso_code: Option<&'a str>,
    #[serde(borrow, default)]
    names: Names<'a>,
}

#[derive(Debug, Default, Deserialize)]
struct Names<'a> {
    en: Option<&'a str>,
}

#[derive(Debug, Default, Deserialize)]
struct Postal<'a> {
    code: Option<&'a str>,
}

#[derive(Debug, Default, Deserialize)]
struct Location<'a> {
    latitude: Option<f64>,
    longitude: Option<f64>,
    time_zone: Option<&'a str>,
}

/// Databases, opened.
#[derive(Debug, Default)]
pub(crate) struct GeoIp {
    databases: Vec<(PathBuf, Reader<Vec<u8>>)>,
}

impl GeoIp {
    /// Opens databases.
    ///
    /// # Errors
    /// When one cannot be read or is damaged.
    pub(crate) fn open(paths: &[PathBuf]) -> Result<Self, Error> {
        let mut all = Self::default();
        for path in paths {
            let bytes = std::fs::read(path).map_err(|error| Error::io("read", path, error))?;
            all.add(path, bytes)?;
        }
        Ok(all)
    }

    fn add(&mut self, path: &Path, bytes: Vec<u8>) -> Result<(), Error> {
        let reader = Reader::from_source(bytes).map_err(|error| damaged(path, &error))?;
        self.databases.push((path.to_owned(), reader));
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.databases.is_empty()
    }

    /// Where an address is; none for a text that is no address, and for one in no database.
    ///
    /// # Errors
    /// When a database is damaged.
    pub(crate) fn locate(&self, address: &str) -> Result<Option<PlaceFacts>, Error> {
        let Ok(address) = address.parse::<IpAddr>() else { return Ok(None) };
        let mut facts = PlaceFacts { from_geoip: true, ..PlaceFacts::default() };
        for (path, reader) in &self.databases {
            // A database of IPv4 knows nothing of IPv6.
            if address.is_ipv6() && reader.metadata().ip_version == 4 {
                continue;
            }
            let found = reader.lookup(address).and_then(|found| found.decode::<Record<'_>>());
            if let Some(record) = found.map_err(|error| damaged(path, &error))? {
                fill(&mut facts, &record);
            }
        }
        Ok((!facts.is_empty()).then_some(facts))
    }
}

/// Adds what a record says to what others have said.
fn fill(facts: &mut PlaceFacts, record: &Record<'_>) {
    fn set(slot: &mut Option<Box<str>>, text: Option<&str>) {
        if slot.is_none() {
            *slot = text.filter(|text| !text.is_empty()).map(Box::from);
        }
    }
    let name = |named: &Named<'_>| named.names.en.map(str::to_owned);
    set(&mut facts.country, record.country.iso_code.or(record.registered_country.iso_code));
    set(&mut facts.region, record.subdivisions.first().and_then(name).as_deref());
    set(&mut facts.city, name(&record.city).as_deref());
    set(&mut facts.postal, record.postal.code);
    set(&mut facts.organisation, record.autonomous_system_organization);
    set(&mut facts.time_zone, record.location.time_zone);
    #[expect(clippy::cast_possible_truncation, reason = "between -180 and 180 millions")]
    let millionths = |degrees: Option<f64>| {
        degrees
            .filter(|degrees| degrees.abs() <= 180.0)
            .map(|degrees| (degrees * 1e6).round() as i64)
    };
    facts.latitude_e6 = facts.latitude_e6.or(millionths(record.location.latitude));
    facts.longitude_e6 = facts.longitude_e6.or(millionths(record.location.longitude));
    facts.asn = facts.asn.or(record.autonomous_system_number);
}

/// A damaged database, with the byte at which the damage was seen.
fn damaged(path: &Path, error: &MaxMindDbError) -> Error {
    let why = match error {
        MaxMindDbError::InvalidDatabase { message, offset: Some(at) } => {
            format!("at byte {at}: {message}")
        }
        MaxMindDbError::Decoding { message, offset: Some(at), .. } => {
            format!("at byte {at} of its data: {message}")
        }
        other => other.to_string(),
    };
    let why = format!("it is damaged or no MaxMind database: {why}");
    Error::Source { path: path.to_owned(), why }
}

#[cfg(test)]
#[path = "../../tests/it/mmdb.rs"]
mod mmdb;

#[cfg(test)]
mod tests {
    use super::mmdb::{Value, database};
    use super::*;

    #[test]
    fn a_byte_of_any_value_anywhere_is_an_error_or_an_answer() {
        let city = Value::Map(vec![("names", Value::Map(vec![("en", Value::Text("Dnipro"))]))]);
        let record = Value::Map(vec![
            ("city", city),
            ("location", Value::Map(vec![("latitude", Value::Degrees(48.4))])),
            ("subdivisions", Value::List(vec![Value::Map(Vec::new())])),
            ("autonomous_system_number", Value::Number(64_500)),
        ]);
        let whole = database("Test", &[("203.0.113.0/24", record)]);
        let looked_up = |bytes: Vec<u8>| {
            let mut all = GeoIp::default();
            all.add(Path::new("x.mmdb"), bytes)?;
            all.locate("203.0.113.9")
        };
        let found = looked_up(whole.clone()).unwrap().unwrap();
        assert_eq!((found.city.as_deref(), found.asn), (Some("Dnipro"), Some(64_500)));
        let mut errors = 0;
        for at in 0..whole.len() {
            for byte in [0, 0x3f, 0xff, whole[at] ^ 1, whole[at] ^ 0x80] {
                let mut bytes = whole.clone();
                bytes[at] = byte;
                errors += usize::from(looked_up(bytes).is_err());
            }
            errors += usize::from(looked_up(whole[..at].to_vec()).is_err());
        }
        assert!(errors > whole.len(), "{errors}");
    }
}
