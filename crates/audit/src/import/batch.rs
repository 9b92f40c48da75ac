//! What one chunk of a source holds: rows whose texts are numbers of the chunk's own dictionaries.
//!
//! Chunks are read on all cores at once; the gatherer takes their batches in the order of the
//! source and turns the numbers into keys of the store. So the same sources give the same keys, on
//! any number of cores.

use std::hash::{BuildHasher as _, Hash};
use std::ops::Range;

use culprit_model::Label as _;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::json::{Paths, Role};
use crate::schema::{Initiator, JsonState, OwnerKind, ParseState, TermKind};

/// A GUID, or 128 bits of a hash.
pub(crate) type Guid = [u64; 2];

/// Texts, each once, in the order of first sight.
#[derive(Debug, Default)]
pub(crate) struct Words {
    /// Numbers of the texts, found by the texts' hashes.
    map: HashTable<u32>,
    pub(crate) words: Vec<Box<str>>,
    /// The text that was asked for last: lines of one visitor often follow each other.
    last: u32,
}

impl Words {
    /// The number of a text.
    #[inline]
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        self.number_of(text.as_bytes())
    }

    /// The number of a text in UTF-8; what is none is replaced.
    #[inline]
    pub(crate) fn number_of(&mut self, text: &[u8]) -> u32 {
        if self.words.get(self.last as usize).is_some_and(|last| last.as_bytes() == text) {
            return self.last;
        }
        let (hash, words) = (FxBuildHasher.hash_one(text), &self.words);
        let found = self.map.find(hash, |number| words[*number as usize].as_bytes() == text);
        self.last = match found {
            Some(number) => *number,
            None => self.add(hash, text),
        };
        self.last
    }

    fn add(&mut self, hash: u64, text: &[u8]) -> u32 {
        let text = match std::str::from_utf8(text) {
            Ok(text) => text,
            Err(_) => return self.number(&String::from_utf8_lossy(text)),
        };
        let number = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
        self.words.push(text.into());
        let words = &self.words;
        let again = |number: &u32| FxBuildHasher.hash_one(words[*number as usize].as_bytes());
        self.map.insert_unique(hash, number, again);
        number
    }
}

/// What is known of a place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct PlaceFacts<T = Box<str>> {
    pub(crate) country: Option<T>,
    pub(crate) region: Option<T>,
    pub(crate) city: Option<T>,
    pub(crate) postal: Option<T>,
    pub(crate) latitude_e6: Option<i64>,
    pub(crate) longitude_e6: Option<i64>,
    pub(crate) asn: Option<u32>,
    pub(crate) organisation: Option<T>,
    pub(crate) time_zone: Option<T>,
    pub(crate) from_geoip: bool,
}

impl<T: AsRef<str>> PlaceFacts<T> {
    /// True when nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.numbers() == (None, None, None) && self.texts() == [None; 6]
    }

    fn texts(&self) -> [Option<&str>; 6] {
        fn some<T: AsRef<str>>(text: &Option<T>) -> Option<&str> {
            text.as_ref().map(AsRef::as_ref)
        }
        let Self { country, region, city, postal, organisation, time_zone, .. } = self;
        let (country, region, city) = (some(country), some(region), some(city));
        [country, region, city, some(postal), some(organisation), some(time_zone)]
    }

    fn numbers(&self) -> (Option<i64>, Option<i64>, Option<u32>) {
        (self.latitude_e6, self.longitude_e6, self.asn)
    }

    fn is_same<U: AsRef<str>>(&self, other: &PlaceFacts<U>) -> bool {
        self.texts() == other.texts()
            && self.numbers() == other.numbers()
            && self.from_geoip == other.from_geoip
    }

    fn owned(&self) -> PlaceFacts {
        let [country, region, city, postal, organisation, time_zone] =
            self.texts().map(|text| text.map(Box::from));
        let Self { latitude_e6, longitude_e6, asn, from_geoip, .. } = *self;
        PlaceFacts {
            country,
            region,
            city,
            postal,
            latitude_e6,
            longitude_e6,
            asn,
            organisation,
            time_zone,
            from_geoip,
        }
    }
}

/// An interaction; texts are numbers of the batch.
#[derive(Debug, Default)]
pub(crate) struct RawVisit {
    /// Where the visit began, if in another chunk: then `row` counts from the source's beginning.
    pub(crate) source: Option<usize>,
    pub(crate) row: u64,
    pub(crate) guid: Guid,
    pub(crate) contact: Guid,
    pub(crate) shard: u32,
    pub(crate) last_modified: Option<i64>,
    pub(crate) start: Option<i64>,
    pub(crate) duration: Option<u64>,
    pub(crate) initiator: Initiator,
    pub(crate) channel: Option<u32>,
    pub(crate) campaign: Option<u32>,
    pub(crate) device: Option<u32>,
    pub(crate) agent: Option<u32>,
    pub(crate) address: Option<u32>,
    pub(crate) place: Option<u32>,
    pub(crate) goals: u32,
    pub(crate) outcomes: u32,
    pub(crate) value: i64,
    pub(crate) raw_bytes: u64,
    pub(crate) state: ParseState,
    pub(crate) views: Range<u32>,
    pub(crate) events: Range<u32>,
    pub(crate) traffic: Option<Traffic>,
    /// Of two versions that were changed at one time the one with the larger number counts.
    pub(crate) rank: Option<u64>,
    /// True when the source is a log: the contact needs no row of its own.
    pub(crate) from_log: bool,
}

/// What a visit of a log requested.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Traffic {
    pub(crate) requests: u32,
    pub(crate) assets: u32,
    pub(crate) heads: u32,
    pub(crate) client_errors: u32,
    pub(crate) robots_txt: u32,
    pub(crate) distinct_paths: u32,
    pub(crate) sent_bytes: u64,
}

/// A page view.
#[derive(Debug)]
pub(crate) struct RawView {
    pub(crate) seq: u32,
    pub(crate) time: Option<i64>,
    pub(crate) path: Option<u32>,
    pub(crate) item: Option<u32>,
    pub(crate) language: Option<u32>,
    pub(crate) duration: Option<u64>,
    pub(crate) bytes: u64,
}

/// Another event.
#[derive(Debug)]
pub(crate) struct RawEvent {
    pub(crate) seq: u32,
    pub(crate) kind: Option<u32>,
    pub(crate) definition: Option<u32>,
    pub(crate) time: Option<i64>,
    pub(crate) bytes: u64,
}

/// A row of `Contacts`.
#[derive(Debug)]
pub(crate) struct RawContact {
    pub(crate) row: u64,
    pub(crate) guid: Guid,
    pub(crate) shard: u32,
    pub(crate) created: Option<i64>,
    pub(crate) last_modified: Option<i64>,
    pub(crate) token: Option<Guid>,
}

/// An identifier of a contact.
#[derive(Debug)]
pub(crate) struct RawIdentifier {
    pub(crate) guid: Guid,
    pub(crate) shard: u32,
    pub(crate) known: bool,
}

/// What a facet says that other tables need. The newest facet of a name says all of it: what it leaves
/// out is not known any more.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) enum FacetFacts {
    /// Nothing that other tables need.
    #[default]
    Other,
    /// Where an interaction came from.
    Located { place: Option<u32>, address: Option<u32> },
    /// How the source classifies a contact.
    Classified { level: Option<i64>, override_level: Option<i64> },
    /// How many interactions a contact has.
    Measured { interactions: Option<u32> },
}

/// When the source changed a facet: later than any facet that was never seen, also without a time.
pub(crate) fn facet_time(last_modified: Option<i64>) -> i64 {
    last_modified.map_or(UNSEEN + 1, |time| time.max(UNSEEN + 1))
}

/// The time of a facet that was never seen.
pub(crate) const UNSEEN: i64 = i64::MIN;

/// A facet.
#[derive(Debug)]
pub(crate) struct RawFacet {
    pub(crate) row: u64,
    /// True for the events of an interaction: they are part of its row, not a row of their own.
    pub(crate) is_events: bool,
    pub(crate) owner_kind: OwnerKind,
    pub(crate) owner: Guid,
    pub(crate) shard: u32,
    pub(crate) key: u32,
    pub(crate) last_modified: Option<i64>,
    pub(crate) chars: u64,
    pub(crate) utf8: u64,
    pub(crate) utf16: u64,
    pub(crate) state: JsonState,
    pub(crate) facts: FacetFacts,
    pub(crate) longs: Range<u32>,
}

/// A long text in a facet.
#[derive(Debug)]
pub(crate) struct RawLong {
    /// Facet's tree, and the node in it.
    pub(crate) path: (u32, u32),
    pub(crate) utf8: u64,
    pub(crate) utf16: u64,
    pub(crate) hash: u64,
    pub(crate) host: Option<u32>,
    pub(crate) junk: Option<u32>,
}

/// A row that could not be read.
#[derive(Debug)]
pub(crate) struct Reject {
    pub(crate) row: u64,
    pub(crate) reason: &'static str,
    pub(crate) bytes: u64,
    pub(crate) sample: String,
}

/// Everything that one chunk holds.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) rows: u64,
    pub(crate) visits: Vec<RawVisit>,
    pub(crate) views: Vec<RawView>,
    pub(crate) events: Vec<RawEvent>,
    pub(crate) contacts: Vec<RawContact>,
    pub(crate) identifiers: Vec<RawIdentifier>,
    pub(crate) facets: Vec<RawFacet>,
    pub(crate) longs: Vec<RawLong>,
    pub(crate) rejects: Vec<Reject>,
    /// Rows of tables that a store does not need.
    pub(crate) ignored: u64,
    /// Rows that belong to no visit because their source does not say to which.
    pub(crate) without_visit: u64,
    /// Times that a local clock never showed, and those that it showed twice.
    pub(crate) times_skipped: u64,
    pub(crate) times_repeated: u64,
    /// Times that name no offset.
    pub(crate) times_local: u64,
    pub(crate) agents: Words,
    pub(crate) paths: Words,
    pub(crate) addresses: Words,
    pub(crate) terms: [Words; TermKind::ALL.len()],
    /// Numbers of the places, found by the places' hashes.
    places: HashTable<u32>,
    pub(crate) place_facts: Vec<PlaceFacts>,
    /// The trees of JSON paths by facet name (a term of this batch).
    pub(crate) trees: Vec<(u32, Paths)>,
}

/// Rejected rows of one chunk that are kept with a sample.
const KEPT_REJECTS: usize = 1000;
/// Bytes of a sample at most.
const SAMPLE: usize = 160;

impl Batch {
    /// The number of a term.
    #[inline]
    pub(crate) fn term(&mut self, kind: TermKind, text: &str) -> u32 {
        self.term_of(kind, text.as_bytes())
    }

    /// The number of a term in UTF-8.
    #[inline]
    pub(crate) fn term_of(&mut self, kind: TermKind, text: &[u8]) -> u32 {
        self.terms[usize::from(kind.code())].number_of(text)
    }

    /// The number of a place; none when nothing is known of it.
    pub(crate) fn place<T: AsRef<str> + Hash>(&mut self, facts: &PlaceFacts<T>) -> Option<u32> {
        if facts.is_empty() {
            return None;
        }
        // All kinds of texts have one hash.
        let (hash, places) = (FxBuildHasher.hash_one(facts), &mut self.place_facts);
        let known = self.places.find(hash, |number| places[*number as usize].is_same(facts));
        if let Some(number) = known {
            return Some(*number);
        }
        let number = u32::try_from(places.len()).ok()?;
        places.push(facts.owned());
        let again = |number: &u32| FxBuildHasher.hash_one(&places[*number as usize]);
        self.places.insert_unique(hash, number, again);
        Some(number)
    }

    /// The number of the tree of a facet's paths; `roles` says what a new one's paths are for.
    pub(crate) fn tree(&mut self, facet: u32, roles: fn(u32, &str) -> Role) -> usize {
        if let Some(at) = self.trees.iter().position(|(key, _)| *key == facet) {
            return at;
        }
        self.trees.push((facet, Paths::new(roles)));
        self.trees.len() - 1
    }

    /// Its counts and rejects, without its dictionaries and rows.
    pub(crate) fn without_texts(self) -> Self {
        Self {
            rows: self.rows,
            rejects: self.rejects,
            ignored: self.ignored,
            without_visit: self.without_visit,
            times_skipped: self.times_skipped,
            times_repeated: self.times_repeated,
            times_local: self.times_local,
            ..Self::default()
        }
    }

    /// Notes a row that could not be read.
    pub(crate) fn reject(&mut self, row: u64, reason: &'static str, text: &[u8]) {
        let sample = if self.rejects.len() < KEPT_REJECTS { redacted(text) } else { String::new() };
        self.rejects.push(Reject { row, reason, bytes: text.len() as u64, sample });
    }
}

/// The beginning of a row with all letters and digits replaced: its form, without what it says.
fn redacted(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(SAMPLE)]);
    let letter = |c: char| match c {
        c if c.is_ascii_digit() => '0',
        c if c.is_alphanumeric() => 'a',
        c if c.is_control() => ' ',
        c => c,
    };
    text.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_shows_the_form_only() {
        assert_eq!(redacted(b"10.0.0.7 - anna [\"GET /"), "00.0.0.0 - aaaa [\"aaa /");
        assert!(redacted(&[b'x'; 500]).len() == SAMPLE);
    }
}
