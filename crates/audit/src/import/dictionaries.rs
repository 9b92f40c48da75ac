//! The store's dictionaries during an import: texts to keys, old and new ones.

use std::net::IpAddr;

use culprit_model::{Label as _, Row, Text};
use rustc_hash::FxHashMap;

use super::address::AddressHasher;
use super::batch::{Batch, PlaceFacts};
use crate::error::Error;
use crate::schema::{
    Address, AddressKey, PathKey, PathText, PlaceKey, PlaceOrigin, StoredPlace, Term, TermKey,
    TermKind, UserAgent, UserAgentKey,
};
use crate::store::{Draft, FilePlace, Store, stored_text};

/// Texts and their keys, in the order of the keys.
#[derive(Debug, Default)]
struct Texts {
    map: FxHashMap<Text, u32>,
    rows: Vec<Text>,
    /// Texts that are stored cut.
    cut: u64,
    stored: usize,
}

impl Texts {
    fn key(&mut self, text: &str) -> u32 {
        // Most texts are known; those that are stored cut are found by their beginning.
        if let Some(key) = self.map.get(text) {
            return *key;
        }
        let (text, cut) = stored_text(text);
        if let Some(key) = self.map.get(&text) {
            return *key;
        }
        self.cut += u64::from(cut);
        let key = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        self.rows.push(text.clone());
        self.map.insert(text, key);
        key
    }

    fn fill(&mut self, texts: impl Iterator<Item = Text>) {
        for text in texts {
            let key = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
            self.map.insert(text.clone(), key);
            self.rows.push(text);
        }
        self.stored = self.rows.len();
    }
}

/// All dictionaries.
#[derive(Debug, Default)]
pub(crate) struct Dictionaries {
    agents: Texts,
    paths: Texts,
    terms: FxHashMap<(TermKind, Text), u32>,
    term_rows: Vec<Term>,
    stored_terms: usize,
    places: FxHashMap<PlaceFacts, u32>,
    place_rows: Vec<StoredPlace>,
    stored_places: usize,
    addresses: FxHashMap<(u64, u64), u32>,
    address_rows: Vec<Address>,
    stored_addresses: usize,
}

/// The keys of one batch's numbers.
#[derive(Debug, Default)]
pub(crate) struct BatchKeys {
    pub(crate) agents: Vec<u32>,
    pub(crate) paths: Vec<u32>,
    pub(crate) terms: Vec<Vec<u32>>,
    pub(crate) places: Vec<u32>,
    pub(crate) addresses: Vec<u32>,
    /// For each address the place that `--geoip` gives; empty without it.
    pub(crate) located: Vec<Option<u32>>,
}

impl BatchKeys {
    /// The key of a place that the source names, else of the one that an address has.
    pub(crate) fn place(&self, named: Option<u32>, address: Option<u32>) -> Option<u32> {
        let named = named.map(|place| self.places[place as usize]);
        named.or_else(|| *self.located.get(address? as usize)?)
    }

    /// The key of a term of the batch.
    pub(crate) fn term(&self, kind: TermKind, number: u32) -> TermKey {
        TermKey(self.terms[usize::from(kind.code())][number as usize])
    }
}

impl Dictionaries {
    /// The dictionaries of a store.
    ///
    /// # Errors
    /// When a table cannot be read.
    pub(crate) fn read(store: &Store) -> Result<Self, Error> {
        let mut all = Self::default();
        all.agents.fill(store.read::<UserAgent>()?.into_iter().map(|row| row.text));
        all.paths.fill(store.read::<PathText>()?.into_iter().map(|row| row.text));
        all.term_rows = store.read::<Term>()?;
        all.stored_terms = all.term_rows.len();
        for row in &all.term_rows {
            all.terms.insert((row.kind, row.text.clone()), row.term_id.0);
        }
        all.place_rows = store.read::<StoredPlace>()?;
        all.stored_places = all.place_rows.len();
        for row in &all.place_rows {
            all.places.insert(facts(row), row.place_id.0);
        }
        all.address_rows = store.read::<Address>()?;
        all.stored_addresses = all.address_rows.len();
        for (row, at) in all.address_rows.iter().zip(0_u32..) {
            all.addresses.insert((row.hash, row.network_hash), at);
        }
        Ok(all)
    }

    /// The keys of a batch's numbers; new texts get the next keys.
    pub(crate) fn keys(&mut self, batch: &Batch, hasher: &AddressHasher) -> BatchKeys {
        let agents = batch.agents.words.iter().map(|text| self.agents.key(text)).collect();
        let paths = batch.paths.words.iter().map(|text| self.paths.key(text)).collect();
        let terms = TermKind::ALL
            .iter()
            .zip(&batch.terms)
            .map(|(kind, words)| words.words.iter().map(|text| self.term(*kind, text).0).collect());
        let terms = terms.collect();
        let places = batch.place_facts.iter().map(|facts| self.place(facts)).collect();
        let addresses = batch.addresses.words.iter();
        let addresses = addresses.map(|text| self.address(text, hasher)).collect();
        BatchKeys { agents, paths, terms, places, addresses, located: Vec::new() }
    }

    /// The key of a term. GUIDs are stored in lower case without braces.
    pub(crate) fn term(&mut self, kind: TermKind, text: &str) -> TermKey {
        let is_guid = crate::values::guid(text.as_bytes()).is_some();
        let text = match is_guid {
            true => text.trim_matches(['{', '}']).to_ascii_lowercase().into(),
            false => stored_text(text).0,
        };
        if let Some(key) = self.terms.get(&(kind, text.clone())) {
            return TermKey(*key);
        }
        let key = u32::try_from(self.term_rows.len()).unwrap_or(u32::MAX);
        self.term_rows.push(Term { term_id: TermKey(key), kind, text: text.clone() });
        self.terms.insert((kind, text), key);
        TermKey(key)
    }

    /// The key of a term that the store has.
    pub(crate) fn known_term(&self, kind: TermKind, text: &str) -> Option<TermKey> {
        self.terms.get(&(kind, Text::from(text))).map(|key| TermKey(*key))
    }

    /// The key of a place.
    pub(crate) fn place(&mut self, facts: &PlaceFacts) -> u32 {
        if let Some(key) = self.places.get(facts) {
            return *key;
        }
        let key = u32::try_from(self.place_rows.len()).unwrap_or(u32::MAX);
        self.place_rows.push(row(key, facts));
        self.places.insert(facts.clone(), key);
        key
    }

    fn address(&mut self, text: &str, hasher: &AddressHasher) -> u32 {
        let network = network(text);
        let hash = hasher.hash(text);
        let network_hash = hasher.hash(network.as_deref().unwrap_or(text));
        if let Some(key) = self.addresses.get(&(hash, network_hash)) {
            return *key;
        }
        let key = u32::try_from(self.address_rows.len()).unwrap_or(u32::MAX);
        let plain = !hasher.is_keyed();
        self.address_rows.push(Address {
            address_id: AddressKey(u64::from(key)),
            text: plain.then(|| stored_text(text).0),
            network: network.filter(|_| plain).map(Text::from),
            hash,
            network_hash,
        });
        self.addresses.insert((hash, network_hash), key);
        key
    }

    /// Texts that are stored cut.
    pub(crate) fn cut(&self) -> u64 {
        self.agents.cut + self.paths.cut
    }

    /// Writes the dictionaries that have grown. True when one has.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn write(&self, draft: &Draft) -> Result<bool, Error> {
        let place = FilePlace::default();
        let mut grown = false;
        let agents = self.agents.rows.iter().zip(0..);
        let agents =
            agents.map(|(text, id)| UserAgent { ua_id: UserAgentKey(id), text: text.clone() });
        grown |= put(draft, &place, self.agents.stored, &agents.collect::<Vec<_>>())?;
        let paths = self.paths.rows.iter().zip(0..);
        let paths = paths.map(|(text, id)| PathText { path_id: PathKey(id), text: text.clone() });
        grown |= put(draft, &place, self.paths.stored, &paths.collect::<Vec<_>>())?;
        grown |= put(draft, &place, self.stored_terms, &self.term_rows)?;
        grown |= put(draft, &place, self.stored_places, &self.place_rows)?;
        grown |= put(draft, &place, self.stored_addresses, &self.address_rows)?;
        Ok(grown)
    }
}

fn put<R: Row>(draft: &Draft, place: &FilePlace, stored: usize, rows: &[R]) -> Result<bool, Error> {
    if rows.len() == stored {
        return Ok(false);
    }
    draft.replace(place, rows)?;
    Ok(true)
}

fn facts(row: &StoredPlace) -> PlaceFacts {
    let text = |text: &Option<Text>| text.as_ref().map(|text| Box::from(text.as_str()));
    PlaceFacts {
        country: text(&row.country),
        region: text(&row.region),
        city: text(&row.city),
        postal: text(&row.postal),
        latitude_e6: row.latitude_e6,
        longitude_e6: row.longitude_e6,
        asn: row.asn,
        organisation: text(&row.organisation),
        time_zone: text(&row.time_zone),
        from_geoip: row.origin == PlaceOrigin::GeoIp,
    }
}

fn row(key: u32, facts: &PlaceFacts) -> StoredPlace {
    let text = |text: &Option<Box<str>>| text.as_deref().map(Text::from);
    StoredPlace {
        place_id: PlaceKey(key),
        country: text(&facts.country),
        region: text(&facts.region),
        city: text(&facts.city),
        postal: text(&facts.postal),
        latitude_e6: facts.latitude_e6,
        longitude_e6: facts.longitude_e6,
        asn: facts.asn,
        organisation: text(&facts.organisation),
        time_zone: text(&facts.time_zone),
        origin: if facts.from_geoip { PlaceOrigin::GeoIp } else { PlaceOrigin::Stored },
    }
}

/// The network of an address: 24 bits of IPv4, 48 of IPv6.
pub(crate) fn network(text: &str) -> Option<String> {
    match text.parse().ok()? {
        // There is one way to write such an address.
        IpAddr::V4(_) => Some([&text[..text.rfind('.')?], ".0/24"].concat()),
        IpAddr::V6(address) => {
            let [a, b, c, ..] = address.segments();
            let network = std::net::Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0);
            Some(format!("{network}/48"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_24_or_48_bits() {
        assert_eq!(network("203.0.113.77").as_deref(), Some("203.0.113.0/24"));
        assert_eq!(network("2001:db8:1:2::3").as_deref(), Some("2001:db8:1::/48"));
        assert_eq!(network("unknown"), None);
    }
}
