//! Snowplow's canonical events: one event a line, 131 columns without a header, separated by tabs.

use super::hit::{BY_GAP, Hit, HitKind, Hits, digest};
use crate::import::batch::{Batch, PlaceFacts};
use crate::import::xdb::path_of;
use crate::schema::TermKind;
use crate::values::{degrees_e6, is_plausible, time};

/// Columns of a line.
pub(crate) const COLUMNS: usize = 131;

/// Where the columns are that a store needs, counted from 0.
mod column {
    pub(super) const COLLECTOR_TIME: usize = 3;
    pub(super) const EVENT: usize = 5;
    pub(super) const EVENT_ID: usize = 6;
    pub(super) const USER_ADDRESS: usize = 13;
    pub(super) const DOMAIN_USER: usize = 15;
    pub(super) const SESSION_INDEX: usize = 16;
    pub(super) const NETWORK_USER: usize = 17;
    pub(super) const COUNTRY: usize = 18;
    pub(super) const REGION: usize = 19;
    pub(super) const CITY: usize = 20;
    pub(super) const POSTAL: usize = 21;
    pub(super) const LATITUDE: usize = 22;
    pub(super) const LONGITUDE: usize = 23;
    pub(super) const ISP: usize = 25;
    pub(super) const ORGANISATION: usize = 26;
    pub(super) const PAGE_URL: usize = 29;
    pub(super) const PAGE_PATH: usize = 35;
    pub(super) const CAMPAIGN: usize = 51;
    pub(super) const AGENT: usize = 77;
    pub(super) const LANGUAGE: usize = 83;
    pub(super) const DEVICE: usize = 101;
    pub(super) const TIME_ZONE: usize = 115;
    pub(super) const SESSION: usize = 123;
    pub(super) const DERIVED_TIME: usize = 124;
    pub(super) const EVENT_NAME: usize = 126;
}

/// Reads the events of a chunk.
pub(crate) fn read_snowplow(chunk: &[u8]) -> Hits {
    let mut out = Hits::default();
    let mut cells = Vec::with_capacity(COLUMNS);
    for line in chunk.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        out.lines.rows += 1;
        cells.clear();
        cells.extend(line.split(|byte| *byte == b'\t').map(String::from_utf8_lossy));
        if let Err(reason) = event(line, &cells, &mut out) {
            let row = out.lines.rows;
            out.lines.reject(row, reason, line);
        }
    }
    out
}

fn event(
    line: &[u8],
    cells: &[std::borrow::Cow<'_, str>],
    out: &mut Hits,
) -> Result<(), &'static str> {
    if cells.len() != COLUMNS {
        return Err("the line has not the 131 columns of canonical events");
    }
    let cell = |at: usize| Some(&*cells[at]).filter(|text| !text.is_empty());
    // The tracker's clock corrected, else when the collector got the event.
    let at = cell(column::DERIVED_TIME).or(cell(column::COLLECTOR_TIME));
    let at = at.and_then(|at| time(at.as_bytes())).map(|(ms, _)| ms);
    let ms = at.filter(|ms| is_plausible(*ms)).ok_or("the event has no time")?;
    let name = cell(column::EVENT_NAME).or(cell(column::EVENT)).ok_or("the event has no name")?;
    let user = cell(column::DOMAIN_USER).or(cell(column::NETWORK_USER));
    let (address, agent) = (cell(column::USER_ADDRESS), cell(column::AGENT));
    let visitor = match user {
        Some(user) => user.to_owned(),
        None => format!("{} {}", address.unwrap_or_default(), agent.unwrap_or_default()),
    };
    if visitor == " " {
        return Err("the event has neither user nor address");
    }
    let session = match (cell(column::SESSION), user, cell(column::SESSION_INDEX)) {
        (Some(session), ..) => session.to_owned(),
        (None, Some(user), Some(index)) => format!("{user} {index}"),
        _ => format!("{BY_GAP}{visitor}"),
    };
    let place = place(&cell);
    let lines = &mut out.lines;
    let kind = kind(&cell, name, lines);
    out.hits.push(Hit {
        row: lines.rows,
        ms,
        bytes: u32::try_from(line.len()).unwrap_or(u32::MAX),
        session: out.sessions.number(&session),
        contact: out.contacts.number(&visitor),
        agent: agent.map(|agent| lines.agents.number(agent)),
        address: address.map(|address| lines.addresses.number(address)),
        place: lines.place(&place),
        campaign: cell(column::CAMPAIGN).map(|text| lines.term(TermKind::Campaign, text)),
        device: cell(column::DEVICE).map(|text| lines.term(TermKind::Device, text)),
        kind,
        duration: None,
        order: 0,
        identity: digest(cell(column::EVENT_ID).map_or(line, str::as_bytes)),
        digest: digest(line),
    });
    Ok(())
}

/// What an event is.
fn kind<'a>(cell: &impl Fn(usize) -> Option<&'a str>, name: &str, lines: &mut Batch) -> HitKind {
    match cell(column::EVENT) {
        Some("page_view" | "pv") => {
            let path = cell(column::PAGE_PATH).or(cell(column::PAGE_URL)).map(path_of);
            let language = cell(column::LANGUAGE);
            HitKind::View(
                path.map(|path| lines.paths.number(path)),
                language.map(|language| lines.term(TermKind::Language, language)),
            )
        }
        Some("transaction" | "tr") => HitKind::Outcome(lines.term(TermKind::EventType, name)),
        // The browser says every few seconds that the page is still open.
        Some("page_ping" | "pp") => HitKind::Mark,
        _ => HitKind::Event(lines.term(TermKind::EventType, name)),
    }
}

fn place<'a>(cell: &impl Fn(usize) -> Option<&'a str>) -> PlaceFacts {
    let text = |at| cell(at).map(Box::from);
    let degrees = |at| cell(at).and_then(|text: &str| degrees_e6(text.as_bytes()));
    PlaceFacts {
        country: text(column::COUNTRY),
        region: text(column::REGION),
        city: text(column::CITY),
        postal: text(column::POSTAL),
        latitude_e6: degrees(column::LATITUDE),
        longitude_e6: degrees(column::LONGITUDE),
        asn: None,
        organisation: text(column::ORGANISATION).or(text(column::ISP)),
        time_zone: text(column::TIME_ZONE),
        from_geoip: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(cells: &[(usize, &str)]) -> String {
        let mut all = vec![""; COLUMNS];
        for (at, text) in cells {
            all[*at] = text;
        }
        all.join("\t")
    }

    #[test]
    fn an_event_has_its_page_place_and_session() {
        let view = line(&[
            (3, "2026-11-28 23:12:15.000"),
            (5, "page_view"),
            (13, "203.0.113.9"),
            (15, "user-1"),
            (18, "UA"),
            (21, "49000"),
            (22, "48.46"),
            (29, "https://www.site.example/a?b"),
            (77, "Mozilla/5.0"),
            (123, "session-1"),
            (124, "2026-11-28 23:12:14.534"),
            (126, "page_view"),
        ]);
        let ping = line(&[(3, "2026-11-28 23:12:15"), (5, "page_ping"), (17, "n"), (16, "2")]);
        let none = line(&[(3, "2026-11-28 23:12:15"), (5, "struct")]);
        let cut = &view[..60];
        let read = read_snowplow([&view, &ping, &none, cut].join("\n").as_bytes());
        let hit = &read.hits[0];
        assert_eq!((hit.ms, hit.kind), (1_795_907_534_534, HitKind::View(Some(0), None)));
        assert_eq!(&*read.lines.paths.words[0], "/a");
        let place = &read.lines.place_facts[0];
        assert_eq!((place.postal.as_deref(), place.latitude_e6), (Some("49000"), Some(48_460_000)));
        assert_eq!(read.hits[1].kind, HitKind::Mark);
        assert_eq!(
            read.sessions.words.iter().map(|one| &**one).collect::<Vec<_>>(),
            ["session-1", "n 2"]
        );
        let reasons: Vec<_> = read.lines.rejects.iter().map(|one| (one.row, one.reason)).collect();
        assert_eq!(
            reasons,
            [
                (3, "the event has neither user nor address"),
                (4, "the line has not the 131 columns of canonical events"),
            ]
        );
    }
}
