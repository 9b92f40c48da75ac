//! Access logs: lines become requests, requests of one visitor become visits.
//!
//! A log knows no people. A visitor is an address with a user agent; a visit ends when the visitor
//! requests nothing for 30 minutes. Lines may be out of order by less than that.

use rustc_hash::{FxHashMap, FxHashSet};

use super::address::AddressHasher;
use super::batch::{Batch, RawView, RawVisit, Traffic, Words};
use super::xdb::path_of;
use crate::schema::ParseState;
use crate::time::{DAY_MS, Date, days};

/// Without a request for this long, a visit has ended.
const VISIT_ENDS_MS: i64 = 30 * 60 * 1000;
/// Lines after which visits that have ended are written.
const SWEEP: usize = 400_000;
/// Endings of what a page needs besides itself.
const ASSETS: [&str; 22] = [
    "css", "js", "mjs", "map", "png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "ico", "bmp",
    "woff", "woff2", "ttf", "otf", "eot", "mp4", "webm", "mp3", "wasm",
];

/// One request; texts are numbers of the chunk's dictionaries.
#[derive(Debug)]
pub(crate) struct Request {
    row: u64,
    ms: i64,
    address: u32,
    agent: u32,
    path: u32,
    head: bool,
    status: u16,
    sent: u64,
    line_bytes: u32,
}

/// The requests of one chunk.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    requests: Vec<Request>,
    addresses: Words,
    agents: Words,
    paths: Words,
    /// How many lines there are, and those that could not be read.
    pub(crate) lines: Batch,
}

impl Requests {
    /// When the first request was; none without one.
    pub(crate) fn first_ms(&self) -> Option<i64> {
        self.requests.first().map(|request| request.ms)
    }
}

/// Reads lines of the combined (or common) log format.
pub(crate) fn read_combined(chunk: &[u8]) -> Requests {
    let mut out = Requests::default();
    for line in chunk.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        out.lines.rows += 1;
        if let Err(reason) = combined(line, &mut out) {
            let row = out.lines.rows;
            out.lines.reject(row, reason, line);
        }
    }
    out
}

/// Adds the request of a line such as
/// `10.0.0.1 - - [28/Nov/2026:23:12:14 +0000] "GET /a HTTP/1.1" 200 17 "-" "agent"`.
fn combined(line: &[u8], out: &mut Requests) -> Result<(), &'static str> {
    let space = memchr::memchr(b' ', line).ok_or("the line has no address")?;
    let open = memchr::memchr(b'[', line).ok_or("the line has no time")?;
    let close = open + memchr::memchr(b']', &line[open..]).ok_or("the line has no time")?;
    let ms = log_time(&line[open + 1..close]).ok_or("the time cannot be read")?;
    let rest = line[close + 1..].strip_prefix(b" ").ok_or("the line has no request")?;
    let (request, rest) = quoted(rest).ok_or("the request has no closing quote")?;
    let mut words = rest.trim_ascii_start().splitn(3, |byte| *byte == b' ');
    let status = words.next().and_then(crate::values::whole).and_then(|n| u16::try_from(n).ok());
    let status = status.ok_or("the status is no number")?;
    let sent = words.next().and_then(crate::values::whole).unwrap_or(0);
    let agent = match words.next() {
        None => &b""[..],
        Some(rest) => {
            let (_, rest) = quoted(rest).ok_or("the referrer has no closing quote")?;
            quoted(rest.trim_ascii_start()).ok_or("the user agent has no closing quote")?.0
        }
    };
    let mut parts = request.split(|byte| *byte == b' ');
    let method = parts.next().unwrap_or_default();
    let target = String::from_utf8_lossy(parts.next().unwrap_or(b"/"));
    out.requests.push(Request {
        row: out.lines.rows,
        ms,
        address: out.addresses.number(&String::from_utf8_lossy(&line[..space])),
        agent: out.agents.number(&String::from_utf8_lossy(agent)),
        path: out.paths.number(path_of(&target)),
        head: method == b"HEAD",
        status,
        sent: u64::try_from(sent).unwrap_or(0),
        line_bytes: u32::try_from(line.len()).unwrap_or(u32::MAX),
    });
    Ok(())
}

/// What stands between quotes, and what follows. A backslash protects a quote.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = text.strip_prefix(b"\"")?;
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', inner.get(at..)?)?;
        if inner[at] == b'"' {
            return Some((&inner[..at], &inner[at + 1..]));
        }
        at += 2;
    }
}

/// `28/Nov/2026:23:12:14 +0100` in milliseconds since 1970 UTC.
fn log_time(text: &[u8]) -> Option<i64> {
    const MONTHS: [&[u8]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    let number = |from: usize, to: usize| {
        text.get(from..to)?.iter().try_fold(0_i64, |number, byte| {
            byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
        })
    };
    let month = MONTHS.iter().position(|month| text.get(3..6) == Some(*month))?;
    let (day, year) = (number(0, 2)?, number(7, 11)?);
    let [hour, minute, second] = [number(12, 14)?, number(15, 17)?, number(18, 20)?];
    if !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let month = i64::try_from(month).ok()? + 1;
    let local = ((hour * 60 + minute) * 60 + second) * 1000;
    let offset = match text.get(20..26) {
        Some([b' ', sign @ (b'+' | b'-'), ..]) => {
            let minutes = number(22, 24)? * 60 + number(24, 26)?;
            if *sign == b'-' { -minutes } else { minutes }
        }
        _ => 0,
    };
    Some(days(Date { year, month, day }) * DAY_MS + local - offset * 60_000)
}

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
    open: FxHashMap<(u32, u32), Open>,
    ended: Vec<Open>,
    since: usize,
    latest: i64,
}

impl Sessions {
    /// Takes the next chunk's requests, of a source that had `rows` lines before it.
    pub(crate) fn take(&mut self, (source, rows): (usize, u64), chunk: &Requests) {
        let number = |words: &mut Words, texts: &Words| -> Vec<u32> {
            texts.words.iter().map(|text| words.number(text)).collect()
        };
        let addresses = number(&mut self.addresses, &chunk.addresses);
        let agents = number(&mut self.agents, &chunk.agents);
        let paths = number(&mut self.paths, &chunk.paths);
        for path in &self.paths.words[self.assets.len()..] {
            self.assets.push(is_asset(path));
        }
        for request in &chunk.requests {
            let address = addresses[request.address as usize];
            let agent = agents[request.agent as usize];
            let at = (source, rows + request.row);
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
        self.latest = self.latest.max(request.ms);
        // Before it by as much, too: files may come in any order.
        let is_new = |open: &Open| {
            request.ms - open.last > VISIT_ENDS_MS || open.first - request.ms > VISIT_ENDS_MS
        };
        if self.open.get(&visitor).is_some_and(is_new) {
            self.ended.extend(self.open.remove(&visitor));
        }
        let open = self.open.entry(visitor).or_insert_with(|| Open {
            source,
            row,
            address: visitor.0,
            agent: visitor.1,
            first: request.ms,
            last: request.ms,
            ..Open::default()
        });
        open.first = open.first.min(request.ms);
        open.last = open.last.max(request.ms);
        open.bytes += u64::from(request.line_bytes);
        let asset = self.assets[path as usize];
        let robots = &*self.paths.words[path as usize] == "/robots.txt";
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
            open.views.push((request.ms, path, request.line_bytes));
        }
    }

    /// The visits that have ended, as a batch; with `all`, also those that go on. None when it is
    /// not worth the while yet.
    pub(crate) fn batch(&mut self, all: bool, hasher: &AddressHasher) -> Option<Batch> {
        if !all && self.since < SWEEP {
            return None;
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

    fn visits(lines: &[&str]) -> Batch {
        let mut sessions = Sessions::default();
        sessions.take((0, 0), &read_combined(lines.join("\n").as_bytes()));
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
        let rejects = read_combined(lines[7].as_bytes()).lines.rejects;
        assert_eq!(rejects[0].reason, "the user agent has no closing quote");
        let later = line("10.0.0.1", "23:30:03", "GET / HTTP/1.1", 200);
        assert_eq!(visits(&[lines[0], &later]).visits.len(), 2, "more than 30 minutes");
    }

    #[test]
    fn times_of_logs_are_read() {
        assert_eq!(log_time(b"01/Jan/1970:01:00:01 +0100"), Some(1000));
        assert_eq!(log_time(b"01/Jan/1970:00:00:01 -0130"), Some(5_401_000));
        assert_eq!(log_time(b"01/Foo/1970:00:00:01 +0000"), None);
        assert_eq!(log_time(b""), None);
    }
}
