//! Events of one session become a visit.

use culprit_model::Label as _;
use rustc_hash::FxHashSet;

use super::hit::{BY_GAP, Hit, HitKind, Hits};
use crate::import::address::AddressHasher;
use crate::import::batch::{Batch, RawEvent, RawView, RawVisit, Words};
use crate::import::logs::VISIT_ENDS_MS;
use crate::schema::{ParseState, TermKind};

/// Events of all chunks, until the last one.
#[derive(Debug, Default)]
pub(crate) struct HitVisits {
    hits: Vec<(usize, Hit)>,
    sessions: Words,
    contacts: Words,
    /// The dictionaries of the events; its visits are made at the end.
    batch: Batch,
}

/// The numbers of a chunk's texts among those of all chunks.
struct Numbers {
    sessions: Vec<u32>,
    contacts: Vec<u32>,
    agents: Vec<u32>,
    addresses: Vec<u32>,
    paths: Vec<u32>,
    places: Vec<Option<u32>>,
    terms: Vec<Vec<u32>>,
}

fn numbers(words: &mut Words, texts: &Words) -> Vec<u32> {
    texts.words.iter().map(|text| words.number(text)).collect()
}

impl Numbers {
    fn new(all: &mut HitVisits, chunk: &Hits) -> Self {
        let (batch, lines) = (&mut all.batch, &chunk.lines);
        let places = lines.place_facts.iter().map(|facts| batch.place(facts)).collect();
        Self {
            sessions: numbers(&mut all.sessions, &chunk.sessions),
            contacts: numbers(&mut all.contacts, &chunk.contacts),
            agents: numbers(&mut batch.agents, &lines.agents),
            addresses: numbers(&mut batch.addresses, &lines.addresses),
            paths: numbers(&mut batch.paths, &lines.paths),
            places,
            terms: batch.terms.iter_mut().zip(&lines.terms).map(|(a, b)| numbers(a, b)).collect(),
        }
    }

    fn term(&self, kind: TermKind, number: u32) -> u32 {
        self.terms[usize::from(kind.code())][number as usize]
    }

    fn hit(&self, hit: &Hit, rows: u64) -> Hit {
        let of = |list: &[u32], number: Option<u32>| number.map(|number| list[number as usize]);
        let term = |kind, number: Option<u32>| number.map(|number| self.term(kind, number));
        Hit {
            row: rows + hit.row,
            session: self.sessions[hit.session as usize],
            contact: self.contacts[hit.contact as usize],
            agent: of(&self.agents, hit.agent),
            address: of(&self.addresses, hit.address),
            place: hit.place.and_then(|place| self.places[place as usize]),
            campaign: term(TermKind::Campaign, hit.campaign),
            device: term(TermKind::Device, hit.device),
            kind: match hit.kind {
                HitKind::View(path, language) => {
                    HitKind::View(of(&self.paths, path), term(TermKind::Language, language))
                }
                HitKind::Event(kind) => HitKind::Event(self.term(TermKind::EventType, kind)),
                HitKind::Goal(kind) => HitKind::Goal(self.term(TermKind::EventType, kind)),
                HitKind::Outcome(kind) => HitKind::Outcome(self.term(TermKind::EventType, kind)),
                HitKind::Mark => HitKind::Mark,
            },
            ..*hit
        }
    }
}

impl HitVisits {
    /// Takes the next chunk's events, of a source that had `rows` rows before it.
    pub(crate) fn take(&mut self, (source, rows): (usize, u64), chunk: &Hits) {
        let hits = self.numbered(rows, chunk);
        self.hits.extend(hits.into_iter().map(|hit| (source, hit)));
    }

    /// A chunk's events with the numbers of all chunks, of a source that had `rows` rows before it.
    pub(super) fn numbered(&mut self, rows: u64, chunk: &Hits) -> Vec<Hit> {
        let numbers = Numbers::new(self, chunk);
        chunk.hits.iter().map(|hit| numbers.hit(hit, rows)).collect()
    }

    /// Adds an event whose numbers are already those of all chunks.
    pub(super) fn push(&mut self, source: usize, hit: Hit) {
        self.hits.push((source, hit));
    }

    /// The number of a path.
    pub(super) fn path(&mut self, path: &str) -> u32 {
        self.batch.paths.number(path)
    }

    /// The number of a type of events.
    pub(super) fn event_type(&mut self, kind: &str) -> u32 {
        self.batch.term(TermKind::EventType, kind)
    }

    /// All visits as a batch; none without an event.
    pub(crate) fn batch(&mut self, hasher: &AddressHasher) -> Option<Batch> {
        let Self { mut hits, sessions, contacts, mut batch } = std::mem::take(self);
        hits.sort_by_key(|(source, hit)| {
            (hit.session, hit.ms, hit.order, hit.digest, *source, hit.row)
        });
        drop_copies(&mut hits);
        let ends = |(_, a): &(usize, Hit), (_, b): &(usize, Hit)| {
            let by_gap = sessions.words[a.session as usize].starts_with(BY_GAP);
            a.session != b.session || (by_gap && b.ms - a.ms > VISIT_ENDS_MS)
        };
        let mut visits: Vec<&[(usize, Hit)]> =
            hits.chunk_by(|before, after| !ends(before, after)).collect();
        visits.sort_by_key(|visit| visit.first().map(|(source, hit)| (hit.ms, *source, hit.row)));
        for visit in &visits {
            let Some((_, first)) = visit.first() else { continue };
            let session = &sessions.words[first.session as usize];
            let start = first.ms.to_le_bytes();
            let guid = hasher.hash128(&[b"session", session.as_bytes(), &start]);
            let contact = &contacts.words[first.contact as usize];
            let contact = hasher.hash128(&[b"contact", contact.as_bytes()]);
            add(&mut batch, visit, (guid, contact), rank(visit, hasher));
        }
        (!visits.is_empty()).then_some(batch)
    }
}

/// Leaves of each event the earliest copy: a delivery "at least once" makes more of them. The events are
/// ordered by session.
fn drop_copies(hits: &mut Vec<(usize, Hit)>) {
    let (mut session, mut seen) = (u32::MAX, FxHashSet::default());
    hits.retain(|(_, hit)| {
        if std::mem::replace(&mut session, hit.session) != hit.session {
            seen.clear();
        }
        seen.insert(hit.identity)
    });
}

/// What decides between two versions of a visit with one last event: how many events it has, then a
/// hash of them.
fn rank(hits: &[(usize, Hit)], hasher: &AddressHasher) -> u64 {
    let digests: Vec<[u8; 8]> = hits.iter().map(|(_, hit)| hit.digest.to_le_bytes()).collect();
    let [hash, _] = hasher.hash128(&[b"version", digests.as_flattened()]);
    let events = u32::try_from(hits.len()).unwrap_or(u32::MAX);
    (u64::from(events) << 32) | (hash >> 32)
}

/// Adds a visit of these events, which are in the order of their times.
fn add(batch: &mut Batch, hits: &[(usize, Hit)], (guid, contact): ([u64; 2], [u64; 2]), rank: u64) {
    let number = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let ([(source, first), ..], [.., (_, last)]) = (hits, hits) else { return };
    let (views, events) = (number(batch.views.len()), number(batch.events.len()));
    let mut visit = RawVisit {
        source: Some(*source),
        row: first.row,
        guid,
        contact,
        last_modified: Some(last.ms),
        start: Some(first.ms),
        duration: u64::try_from(last.ms - first.ms).ok(),
        state: ParseState::Whole,
        rank: Some(rank),
        from_log: true,
        ..RawVisit::default()
    };
    for (seq, (_, hit)) in (0..).zip(hits) {
        visit.agent = visit.agent.or(hit.agent);
        visit.address = visit.address.or(hit.address);
        visit.place = visit.place.or(hit.place);
        visit.campaign = visit.campaign.or(hit.campaign);
        visit.device = visit.device.or(hit.device);
        visit.raw_bytes += u64::from(hit.bytes);
        let kind = match hit.kind {
            HitKind::View(path, language) => {
                batch.views.push(RawView {
                    seq,
                    time: Some(hit.ms),
                    path,
                    item: None,
                    language,
                    duration: hit.duration.map(u64::from),
                    bytes: u64::from(hit.bytes),
                });
                continue;
            }
            HitKind::Mark => continue,
            HitKind::Event(kind) => kind,
            HitKind::Goal(kind) => {
                visit.goals += 1;
                kind
            }
            HitKind::Outcome(kind) => {
                visit.outcomes += 1;
                kind
            }
        };
        batch.events.push(RawEvent {
            seq,
            kind: Some(kind),
            definition: None,
            time: Some(hit.ms),
            bytes: u64::from(hit.bytes),
        });
    }
    visit.views = views..number(batch.views.len());
    visit.events = events..number(batch.events.len());
    batch.visits.push(visit);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(events: &[(&str, i64, HitKind)]) -> Hits {
        let mut all = Hits::default();
        all.lines.paths.number("/a");
        for (row, (session, ms, kind)) in (1..).zip(events) {
            let session = all.sessions.number(session);
            let contact = all.contacts.number("c");
            all.hits.push(Hit {
                row,
                ms: *ms,
                bytes: 10,
                session,
                contact,
                agent: None,
                address: None,
                place: None,
                campaign: None,
                device: None,
                kind: *kind,
                duration: None,
                order: 0,
                // Events with one text at one time are copies.
                identity: (*ms).cast_unsigned(),
                digest: (*ms).cast_unsigned(),
            });
        }
        all
    }

    const VIEW: HitKind = HitKind::View(Some(0), None);

    fn visits(chunks: &[&Hits]) -> Vec<(u64, i64, usize, u64)> {
        let mut all = HitVisits::default();
        for chunk in chunks {
            all.take((0, 0), chunk);
        }
        let Some(batch) = all.batch(&AddressHasher::new(None)) else { return Vec::new() };
        let one = |visit: &RawVisit| {
            (visit.row, visit.start.unwrap(), visit.views.len(), visit.raw_bytes / 10)
        };
        batch.visits.iter().map(one).collect()
    }

    #[test]
    fn events_of_one_session_are_one_visit_in_any_order() {
        let (first, second) = (
            hits(&[("a", 5_000, VIEW), ("b", 2_000, VIEW), ("a", 4_000, HitKind::Mark)]),
            hits(&[("a", 9_000_000, VIEW), ("b", 2_000, VIEW)]),
        );
        let found = visits(&[&first, &second]);
        assert_eq!(
            found,
            [(2, 2_000, 1, 1), (3, 4_000, 2, 3)],
            "the second `b` is the first again"
        );
        assert_eq!(visits(&[]), []);
    }

    #[test]
    fn visits_of_a_visitor_end_after_a_pause() {
        let found = visits(&[&hits(&[
            ("~a", 0, VIEW),
            ("~a", VISIT_ENDS_MS, VIEW),
            ("~a", 2 * VISIT_ENDS_MS + 1, VIEW),
        ])]);
        assert_eq!(found, [(1, 0, 2, 2), (3, 2 * VISIT_ENDS_MS + 1, 1, 1)]);
    }
}
