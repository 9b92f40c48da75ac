//! Requests of one visitor become visits.
//!
//! A log knows no people. A visitor is an address with a user agent; a visit ends when the visitor
//! requests nothing for 30 minutes. Lines may be out of order by less than that.

use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};

use super::clients::{Clients, UnusualClients};
use super::request::{Request, Requests};
use crate::import::address::AddressHasher;
use crate::import::batch::{Batch, RawView, RawVisit, Traffic, Words};
use crate::import::zone::LogTime;
use crate::schema::ParseState;

/// Without a request for this long, a visit has ended.
pub(crate) const VISIT_ENDS_MS: i64 = 30 * 60 * 1000;
/// A server writes a line when the request ends, so a line may be this much older than the one
/// before it.
const DISORDER_MS: i64 = 5 * 60 * 1000;
/// Lines after which visits that have ended are written.
const SWEEP: usize = 400_000;
/// Lines of overlapping sources that are remembered: about half a gigabyte.
const REMEMBERED_LINES: usize = 20_000_000;
/// Endings of what a page needs besides itself.
const ASSETS: [&str; 22] = [
    "css", "js", "mjs", "map", "png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "ico", "bmp",
    "woff", "woff2", "ttf", "otf", "eot", "mp4", "webm", "mp3", "wasm",
];

/// A visit that goes on.
#[derive(Debug, Default)]
struct Open {
    source: usize,
    row: u64,
    address: u32,
    agent: u32,
    first: i64,
    last: i64,
    bytes: u64,
    views: Vec<(i64, u32, u32)>,
    traffic: Traffic,
}

/// Visits of a log that go on from chunk to chunk.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    addresses: Words,
    agents: Words,
    paths: Words,
    /// By path, whether it is an asset.
    assets: Vec<bool>,
    /// The number of `/robots.txt` among the paths.
    robots_txt: Option<u32>,
    open: FxHashMap<(u32, u32), Open>,
    ended: Vec<Open>,
    since: usize,
    latest: i64,
    /// The source that is being read, and the latest time of its lines.
    reading: (usize, i64),
    repeated: RepeatedLines,
    clients: Clients,
}

/// Lines that stand in two sources: their visits count them twice.
#[derive(Debug, Default)]
struct RepeatedLines {
    /// By source, when the first line of a later source was written. Earlier lines are in no other.
    next_first: Vec<i64>,
    /// By hash of the line, the source that had it first.
    seen: FxHashMap<u64, usize>,
    count: u64,
}

impl RepeatedLines {
    fn note(&mut self, hash: u64, ms: i64, source: usize) {
        match self.seen.get(&hash) {
            Some(first) => self.count += u64::from(*first != source),
            None => {
                let next = self.next_first.get(source).copied().unwrap_or(i64::MAX);
                if ms.saturating_add(DISORDER_MS) >= next && self.seen.len() < REMEMBERED_LINES {
                    self.seen.insert(hash, source);
                }
            }
        }
    }
}

impl Sessions {
    /// None yet, of sources whose first lines were written at these times, none when unknown.
    pub(crate) fn new(first_ms: &[Option<i64>]) -> Self {
        let mut next_first = vec![i64::MAX; first_ms.len()];
        for at in (1..first_ms.len()).rev() {
            next_first[at - 1] = next_first[at].min(first_ms[at].unwrap_or(i64::MIN));
        }
        let repeated = RepeatedLines { next_first, ..RepeatedLines::default() };
        Self { repeated, ..Self::default() }
    }

    /// Lines that stood in another source before, and whether there may be more.
    pub(crate) fn repeated_lines(&self) -> (u64, bool) {
        (self.repeated.count, self.repeated.seen.len() >= REMEMBERED_LINES)
    }

    /// Sources whose addresses are hardly those of clients; after the last batch.
    pub(crate) fn unusual_clients(&self) -> &[UnusualClients] {
        self.clients.unusual()
    }

    /// Takes the next chunk's requests, of a source that had `rows` lines before it.
    pub(crate) fn take(&mut self, (source, rows): (usize, u64), chunk: &Requests) {
        let number = |words: &mut Words, texts: &Words| -> Vec<u32> {
            texts.words.iter().map(|text| words.number(text)).collect()
        };
        if self.reading.0 != source {
            self.reading = (source, i64::MIN);
        }
        let addresses = number(&mut self.addresses, &chunk.addresses);
        let agents = number(&mut self.agents, &chunk.agents);
        let paths = number(&mut self.paths, &chunk.paths);
        for path in &self.paths.words[self.assets.len()..] {
            if &**path == "/robots.txt" {
                self.robots_txt = u32::try_from(self.assets.len()).ok();
            }
            self.assets.push(is_asset(path));
        }
        for request in &chunk.requests {
            let address = addresses[request.address as usize];
            let agent = agents[request.agent as usize];
            let at = (source, rows + request.row);
            self.clients.note(source, address, &self.addresses.words);
            self.request(request, (address, agent), paths[request.path as usize], at);
        }
        self.since += chunk.requests.len();
    }

    fn request(
        &mut self,
        request: &Request,
        visitor: (u32, u32),
        path: u32,
        (source, row): (usize, u64),
    ) {
        let ms = self.moment(request.time);
        self.repeated.note(request.hash, ms, source);
        self.latest = self.latest.max(ms);
        // Before it by as much, too: files may come in any order.
        let is_new =
            |open: &Open| ms - open.last > VISIT_ENDS_MS || open.first - ms > VISIT_ENDS_MS;
        let begin = || Open {
            source,
            row,
            address: visitor.0,
            agent: visitor.1,
            first: ms,
            last: ms,
            ..Open::default()
        };
        let open = match self.open.entry(visitor) {
            Entry::Vacant(place) => place.insert(begin()),
            Entry::Occupied(place) => {
                let open = place.into_mut();
                if is_new(open) {
                    self.ended.push(std::mem::replace(open, begin()));
                }
                open
            }
        };
        open.first = open.first.min(ms);
        open.last = open.last.max(ms);
        open.bytes += u64::from(request.line_bytes);
        let asset = self.assets[path as usize];
        let robots = self.robots_txt == Some(path);
        let traffic = &mut open.traffic;
        traffic.requests += 1;
        traffic.assets += u32::from(asset);
        traffic.heads += u32::from(request.head);
        traffic.client_errors += u32::from((400..500).contains(&request.status));
        traffic.robots_txt += u32::from(robots);
        traffic.sent_bytes = traffic.sent_bytes.saturating_add(request.sent);
        // What was answered with a page: not a redirect, an error, or the head alone.
        let page = (200..300).contains(&request.status) || request.status == 304;
        if page && !asset && !robots && !request.head {
            open.views.push((ms, path, request.line_bytes));
        }
    }

    /// When a request was. Where the clock showed its time twice, lines in order decide: the later
    /// moment counts once the source's lines have come past the earlier one.
    fn moment(&mut self, time: LogTime) -> i64 {
        let past = time.ms.saturating_add(DISORDER_MS) < self.reading.1;
        let ms = time.ms + if past { time.again_ms } else { 0 };
        self.reading.1 = ms.max(self.reading.1);
        ms
    }

    /// The visits that have ended, as a batch; with `all`, also those that go on. None when it is
    /// not worth the while yet.
    pub(crate) fn batch(&mut self, all: bool, hasher: &AddressHasher) -> Option<Batch> {
        if !all && self.since < SWEEP {
            return None;
        }
        if all {
            self.clients.end(&self.addresses.words);
        }
        self.since = 0;
        let until = self.latest - VISIT_ENDS_MS;
        let ended: Vec<(u32, u32)> = self
            .open
            .iter()
            .filter(|(_, open)| all || open.last < until)
            .map(|(visitor, _)| *visitor)
            .collect();
        for visitor in ended {
            self.ended.extend(self.open.remove(&visitor));
        }
        let mut visits = std::mem::take(&mut self.ended);
        visits.sort_by_key(|visit| (visit.first, visit.row));
        let mut batch = Batch::default();
        for visit in visits {
            self.add(&mut batch, visit, hasher);
        }
        Some(batch)
    }

    fn add(&self, batch: &mut Batch, mut visit: Open, hasher: &AddressHasher) {
        let address = &self.addresses.words[visit.address as usize];
        let agent = &self.agents.words[visit.agent as usize];
        let contact = hasher.hash128(&[address.as_bytes(), agent.as_bytes()]);
        let first = visit.first.to_le_bytes();
        let guid = hasher.hash128(&[address.as_bytes(), agent.as_bytes(), &first]);
        visit.views.sort_by_key(|view| view.0);
        let number = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let from = number(batch.views.len());
        let mut distinct = FxHashSet::default();
        for (at, (ms, path, bytes)) in visit.views.iter().enumerate() {
            distinct.insert(*path);
            let next = visit.views.get(at + 1);
            batch.views.push(RawView {
                seq: number(at),
                time: Some(*ms),
                path: Some(batch.paths.number(&self.paths.words[*path as usize])),
                item: None,
                language: None,
                duration: next.and_then(|next| u64::try_from(next.0 - ms).ok()),
                bytes: u64::from(*bytes),
            });
        }
        let traffic = Traffic { distinct_paths: number(distinct.len()), ..visit.traffic };
        let none = number(batch.events.len());
        batch.visits.push(RawVisit {
            source: Some(visit.source),
            row: visit.row,
            guid,
            contact,
            last_modified: Some(visit.last),
            start: Some(visit.first),
            duration: u64::try_from(visit.last - visit.first).ok(),
            agent: Some(batch.agents.number(agent)),
            address: Some(batch.addresses.number(address)),
            raw_bytes: visit.bytes,
            state: ParseState::Whole,
            views: from..number(batch.views.len()),
            events: none..none,
            traffic: Some(traffic),
            from_log: true,
            ..RawVisit::default()
        });
    }
}

fn is_asset(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ASSETS.iter().any(|asset| ending.eq_ignore_ascii_case(asset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::logs::read_combined;
    use crate::import::zone::LocalTimes;
    use crate::visits::Zone;

    fn read(text: &str) -> Requests {
        read_combined(text.as_bytes(), &LocalTimes::new(Zone::parse("Europe/Kyiv").unwrap()))
    }

    fn visits(lines: &[&str]) -> Batch {
        let mut sessions = Sessions::default();
        sessions.take((0, 0), &read(&lines.join("\n")));
        sessions.batch(true, &AddressHasher::new(None)).unwrap()
    }

    fn line(address: &str, time: &str, request: &str, status: u16) -> String {
        format!(
            "{address} - - [28/Nov/2026:{time} +0100] \"{request}\" {status} 17 \"-\" \"a \\\"b\\\"\""
        )
    }

    #[test]
    fn requests_of_one_visitor_become_visits() {
        let lines = [
            line("10.0.0.1", "23:00:00", "GET /robots.txt HTTP/1.1", 200),
            line("10.0.0.1", "23:00:01", "GET /a?x=1 HTTP/1.1", 200),
            line("10.0.0.2", "23:00:01", "GET /a HTTP/1.1", 404),
            line("10.0.0.1", "23:00:02", "GET /site.CSS HTTP/1.1", 200),
            line("10.0.0.1", "23:30:02", "HEAD /b HTTP/1.1", 200),
            line("10.0.0.1", "23:59:59", "GET /b HTTP/1.1", 304),
            line("10.0.0.1", "23:59:59", "-", 400),
            "10.0.0.1 - - [28/Nov/2026:23:59:59 +0100] \"GET / HTTP/1.1\" 200 1 \"-\" \"open"
                .to_owned(),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let batch = visits(&lines);
        let found: Vec<_> = batch
            .visits
            .iter()
            .map(|visit| {
                let traffic = visit.traffic.unwrap();
                (
                    visit.row,
                    visit.views.len(),
                    traffic.requests,
                    traffic.assets,
                    traffic.heads,
                    traffic.client_errors,
                )
            })
            .collect();
        assert_eq!(found, [(1, 2, 6, 1, 1, 1), (3, 0, 1, 0, 0, 1)]);
        assert_eq!(batch.visits[0].duration, Some(3_599_000));
        assert_eq!(&*batch.agents.words[0], "a \\\"b\\\"");
        let rejects = read(lines[7]).lines.rejects;
        assert_eq!(rejects[0].reason, "the user agent has no closing quote");
        let later = line("10.0.0.1", "23:30:03", "GET / HTTP/1.1", 200);
        assert_eq!(visits(&[lines[0], &later]).visits.len(), 2, "more than 30 minutes");
    }

    #[test]
    fn the_hour_that_comes_twice_is_told_apart_by_the_order_of_the_lines() {
        // 2026-10-25: at 01:00 UTC 04:00 becomes 03:00 again.
        let line = |clock: &str| {
            format!("10.0.0.1 - - [25/Oct/2026:{clock}] \"GET /a HTTP/1.1\" 200 1 \"-\" \"a\"")
        };
        let clocks = [
            "02:50:00", "03:10:00", "03:30:00", "03:50:00", "03:05:00", "03:25:00", "03:24:00",
            "03:45:00", "04:05:00",
        ];
        let lines: Vec<String> = clocks.iter().map(|clock| line(clock)).collect();
        let requests = read(&lines.join("\n"));
        assert_eq!((requests.lines.times_repeated, requests.lines.times_skipped), (7, 0));
        let mut sessions = Sessions::default();
        sessions.take((0, 0), &requests);
        let batch = sessions.batch(true, &AddressHasher::new(None)).unwrap();
        assert_eq!(batch.visits.len(), 1);
        assert_eq!(
            batch.visits[0].duration,
            Some((75 + 60) * 60_000),
            "02:50 to 04:05, an hour more"
        );
        assert_eq!(read(&line("03:30:00").replace("25/Oct", "29/Mar")).lines.times_skipped, 1);
    }
}
