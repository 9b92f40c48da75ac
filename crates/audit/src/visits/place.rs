//! Which place is meant: `postal=49000,country=UA`, `cidr=10.0.0.0/8`, `within=48.46,35.05,20`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use culprit_query::Value;

use crate::fold::fold;
use crate::opened::{AuditError, AuditStore, Cells};
use crate::robots::Cidr;

/// A place to ask about. All parts must agree.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlaceSpec {
    /// As it was typed.
    pub text: String,
    postal: Option<String>,
    country: Option<String>,
    region: Option<String>,
    city: Option<String>,
    organisation: Option<String>,
    /// Latitude, longitude, radius in kilometres.
    within: Option<[f64; 3]>,
    cidr: Option<Cidr>,
}

/// The rows of the store that are the place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChosenPlace {
    /// The column of `interactions` that says where an interaction is from.
    pub(crate) column: &'static str,
    /// Its values that are the place.
    pub(crate) keys: Vec<i64>,
    /// Countries of these places.
    pub(crate) countries: BTreeSet<String>,
}

impl PlaceSpec {
    /// Reads a place.
    ///
    /// # Errors
    /// When a part is unknown or makes no sense; the text says which.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut place = Self { text: text.to_owned(), ..Self::default() };
        let mut parts: Vec<(String, String)> = Vec::new();
        for part in text.split(',') {
            match (part.split_once('='), parts.last_mut()) {
                (Some((key, value)), _) => {
                    parts.push((key.trim().to_lowercase(), value.to_owned()))
                }
                // The numbers of `within` and cities such as `Washington, D.C.` have commas.
                (None, Some((_, value))) => *value = format!("{value},{part}"),
                (None, None) => return Err(format!("expected KEY=VALUE, found `{part}`")),
            }
        }
        for (key, value) in parts {
            place.set(&key, value.trim())?;
        }
        let located = Self { cidr: None, text: String::new(), ..place.clone() };
        if place.cidr.is_some() && located != Self::default() {
            return Err("`cidr` cannot be combined with another part".to_owned());
        }
        Ok(place)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        if value.is_empty() {
            return Err(format!("`{key}` has no value"));
        }
        let folded = Some(fold(value));
        match key {
            "postal" => self.postal = folded,
            "country" => self.country = folded,
            "region" => self.region = folded,
            "city" => self.city = folded,
            "org" => self.organisation = folded,
            "cidr" => {
                let cidr = Cidr::parse(value);
                self.cidr = Some(cidr.ok_or_else(|| format!("`{value}` is not a network"))?);
            }
            "within" => self.within = Some(within(value)?),
            _ => {
                return Err(format!(
                    "unknown part `{key}`; use postal, country, region, city, org, within or cidr"
                ));
            }
        }
        Ok(())
    }

    /// True when a postal code was given without its country.
    pub(crate) fn lacks_country(&self) -> bool {
        self.postal.is_some() && self.country.is_none()
    }

    /// Finds the place in a store.
    pub(crate) fn choose(&self, store: &AuditStore) -> Result<ChosenPlace, AuditError> {
        if let Some(cidr) = self.cidr {
            return addresses(store, cidr);
        }
        let mut chosen =
            ChosenPlace { column: "place_id", keys: Vec::new(), countries: BTreeSet::new() };
        for row in store.ask("places", &[])?.rows {
            let cells = Cells(&row);
            if let Some(key) = cells.int(0).filter(|_| self.is(cells)) {
                chosen.keys.push(key);
                chosen.countries.extend(cells.text(1).map(str::to_owned));
            }
        }
        Ok(chosen)
    }

    fn is(&self, cells: Cells<'_>) -> bool {
        let same = |wanted: &Option<String>, at: usize| {
            wanted.as_ref().is_none_or(|wanted| cells.text(at).is_some_and(|t| fold(t) == *wanted))
        };
        same(&self.country, 1)
            && same(&self.region, 2)
            && same(&self.city, 3)
            && same(&self.postal, 4)
            && same(&self.organisation, 7)
            && self.within.is_none_or(|[latitude, longitude, radius]| {
                let (Some(north), Some(east)) = (degrees(cells, 5), degrees(cells, 6)) else {
                    return false;
                };
                distance_km([latitude, longitude], [north, east]) <= radius
            })
    }
}

fn addresses(store: &AuditStore, cidr: Cidr) -> Result<ChosenPlace, AuditError> {
    let rows = store.ask("addresses", &[])?.rows;
    let known = |row: &Vec<Value>| Cells(row).text(1).is_some();
    if !rows.is_empty() && !rows.iter().any(known) {
        return Err(AuditError::Asked {
            what: "cannot find a network: the addresses were imported as hashes".to_owned(),
            hint: "import again without `--hash-ip`, or ask by place".to_owned(),
        });
    }
    let inside = |row: &Vec<Value>| {
        let address: IpAddr = Cells(row).text(1)?.parse().ok()?;
        Cells(row).int(0).filter(|_| cidr.contains(address))
    };
    let keys = rows.iter().filter_map(inside).collect();
    Ok(ChosenPlace { column: "address_id", keys, countries: BTreeSet::new() })
}

fn within(value: &str) -> Result<[f64; 3], String> {
    let numbers: Vec<f64> = value.split(',').filter_map(|n| n.trim().parse().ok()).collect();
    match numbers[..] {
        [latitude, longitude, radius]
            if latitude.abs() <= 90.0 && longitude.abs() <= 180.0 && radius > 0.0 =>
        {
            Ok([latitude, longitude, radius])
        }
        _ => Err(format!("expected `within=LATITUDE,LONGITUDE,KILOMETRES`, found `{value}`")),
    }
}

#[expect(clippy::cast_precision_loss, reason = "millionths of degrees")]
fn degrees(cells: Cells<'_>, at: usize) -> Option<f64> {
    cells.int(at).map(|millionths| millionths as f64 / 1e6)
}

/// The distance of two places on a sphere, by the haversine formula.
fn distance_km([north, east]: [f64; 2], [other_north, other_east]: [f64; 2]) -> f64 {
    const EARTH_KM: f64 = 6371.0;
    let half = |a: f64, b: f64| ((a - b).to_radians() / 2.0).sin().powi(2);
    let cosines = north.to_radians().cos() * other_north.to_radians().cos();
    let h = half(north, other_north) + cosines * half(east, other_east);
    2.0 * EARTH_KM * h.clamp(0.0, 1.0).sqrt().asin()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_with_their_commas() {
        let place = PlaceSpec::parse("city=Washington, D.C.,country=us").unwrap();
        assert_eq!(place.city.as_deref(), Some("washington, d.c."));
        assert_eq!(place.country.as_deref(), Some("us"));
        let place = PlaceSpec::parse("within=48.46,35.05,20").unwrap();
        assert_eq!(place.within, Some([48.46, 35.05, 20.0]));
        assert!(PlaceSpec::parse("postal=49000").unwrap().lacks_country());
        for wrong in [
            "x",
            "planet=Mars",
            "postal=",
            "within=1,2",
            "within=100,0,5",
            "cidr=x",
            "cidr=10.0.0.0/8,country=UA",
        ] {
            assert!(PlaceSpec::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn distances_follow_the_sphere() {
        // Kyiv and Dnipro are 393 km apart.
        let km = distance_km([50.4501, 30.5234], [48.4647, 35.0462]);
        assert!((km - 393.0).abs() < 3.0, "{km}");
        assert!(distance_km([0.0, 179.9], [0.0, -179.9]) < 23.0);
    }
}
