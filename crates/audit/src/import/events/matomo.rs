//! Tables of Matomo: `log_visit`, `log_link_visit_action` and `log_action`, exported with a header.
//! Rows of the three may come in any order and are joined when all are read. Times are UTC. Matomo
//! stores no user agents.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use culprit_model::counted;
use rustc_hash::FxHashMap;

use super::hit::{Hit, HitKind, Hits, digest};
use super::table::TableHeader;
use super::visits::HitVisits;
use crate::import::batch::{Batch, PlaceFacts, Reject};
use crate::import::xdb::path_of;
use crate::schema::TermKind;
use crate::values::{degrees_e6, is_plausible, time, whole};

/// A table, known by its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatomoTable {
    Visit,
    Link,
    Action,
}

impl MatomoTable {
    /// The table that has these columns.
    pub(crate) fn of_header(header: &TableHeader) -> Option<Self> {
        let has = |names: &[&str]| names.iter().all(|name| header.column(name).is_some());
        if has(&["idlink_va", "idvisit", "idaction_url", "server_time"]) {
            return Some(Self::Link);
        }
        if has(&["idvisit", "idvisitor", "visit_first_action_time", "visit_last_action_time"]) {
            return Some(Self::Visit);
        }
        has(&["idaction", "name", "type"]).then_some(Self::Action)
    }
}

/// A row of `log_action`.
#[derive(Debug)]
struct Action {
    id: i64,
    kind: i64,
    text: String,
}

/// A row of `log_link_visit_action`.
#[derive(Debug, Clone, Copy)]
struct Link {
    /// `idlink_va`, which tells rows of two exports apart; a hash when it is no number.
    id: u64,
    digest: u64,
    row: u64,
    visit: i64,
    ms: i64,
    action: Option<i64>,
    event: bool,
    /// Time on the page in seconds.
    spent: Option<i64>,
    bytes: u32,
}

/// What a row of `log_visit` says besides its first action.
#[derive(Debug, Clone, Copy)]
struct VisitEnd {
    id: i64,
    last_ms: i64,
    converted: bool,
}

/// Rows of one chunk. A visit's row is a [`Hit`] at its first action, and how it ended.
#[derive(Debug, Default)]
pub(crate) struct MatomoTables {
    hits: Hits,
    visits: Vec<VisitEnd>,
    actions: Vec<Action>,
    links: Vec<Link>,
}

/// Reads the rows of a chunk.
pub(crate) fn read_matomo(chunk: &[u8], table: MatomoTable, header: &TableHeader) -> MatomoTables {
    let mut out = MatomoTables::default();
    header.rows(chunk, |text, cells| {
        out.hits.lines.rows += 1;
        let result = match cells {
            None => Err("the row has another number of cells than the header"),
            Some(cells) => {
                let cell = |name: &str| {
                    let cell = header.column(name).and_then(|at| cells.get(at)?.as_ref());
                    cell.map(|cell| &**cell).filter(|cell| !cell.is_empty())
                };
                match table {
                    MatomoTable::Visit => visit(text, &cell, &mut out),
                    MatomoTable::Link => link(text, &cell, &mut out),
                    MatomoTable::Action => action(&cell, &mut out),
                }
            }
        };
        if let Err(reason) = result {
            let row = out.hits.lines.rows;
            out.hits.lines.reject(row, reason, text);
        }
    });
    out
}

/// A point in time within the years of visits.
fn moment(text: &[u8]) -> Option<i64> {
    time(text).map(|(ms, _)| ms).filter(|ms| is_plausible(*ms))
}

fn visit<'a>(
    row: &[u8],
    cell: &impl Fn(&str) -> Option<&'a [u8]>,
    out: &mut MatomoTables,
) -> Result<(), &'static str> {
    let id = cell("idvisit").and_then(whole).ok_or("`idvisit` is no number")?;
    let at = |name: &str| cell(name).and_then(moment);
    let first = at("visit_first_action_time").ok_or("`visit_first_action_time` is no time")?;
    let last = at("visit_last_action_time").ok_or("`visit_last_action_time` is no time")?;
    let visitor = cell("idvisitor").map(hexadecimal).ok_or("`idvisitor` is empty")?;
    let text = |name: &str| cell(name).map(|text| Box::from(&*String::from_utf8_lossy(text)));
    let degrees = |name: &str| cell(name).and_then(degrees_e6);
    let country: Option<Box<str>> = text("location_country");
    let country = country.filter(|country| &**country != "xx");
    let place = PlaceFacts {
        country: country.map(|country| country.to_ascii_uppercase().into()),
        region: text("location_region"),
        city: text("location_city"),
        latitude_e6: degrees("location_latitude"),
        longitude_e6: degrees("location_longitude"),
        organisation: text("location_provider"),
        ..PlaceFacts::default()
    };
    let value = cell("visit_goal_converted").and_then(whole).unwrap_or(0);
    let Hits { hits, sessions, contacts, lines } = &mut out.hits;
    let device = text("config_device_type").map(|text| lines.term(TermKind::Device, &text));
    let campaign = cell("referer_type").filter(|kind| *kind == b"6");
    let campaign = campaign.and_then(|_| text("referer_name"));
    hits.push(Hit {
        row: lines.rows,
        ms: first,
        bytes: u32::try_from(row.len()).unwrap_or(u32::MAX),
        session: sessions.number(&id.to_string()),
        contact: contacts.number(&visitor),
        agent: None,
        address: cell("location_ip").and_then(address).map(|text| lines.addresses.number(&text)),
        place: lines.place(&place),
        campaign: campaign.map(|text| lines.term(TermKind::Campaign, &text)),
        device,
        kind: match value {
            0 => HitKind::Mark,
            _ => HitKind::Goal(lines.term(TermKind::EventType, "goal")),
        },
        duration: None,
        order: 0,
        identity: digest(b"first"),
        digest: digest(row),
    });
    out.visits.push(VisitEnd { id, last_ms: last.max(first), converted: value != 0 });
    Ok(())
}

fn link<'a>(
    row: &[u8],
    cell: &impl Fn(&str) -> Option<&'a [u8]>,
    out: &mut MatomoTables,
) -> Result<(), &'static str> {
    let visit = cell("idvisit").and_then(whole).ok_or("`idvisit` is no number")?;
    let ms = cell("server_time").and_then(moment).ok_or("`server_time` is no time")?;
    out.links.push(Link {
        id: cell("idlink_va").and_then(whole).map_or(digest(row), i64::cast_unsigned),
        digest: digest(row),
        row: out.hits.lines.rows,
        visit,
        ms,
        action: cell("idaction_url").and_then(whole).filter(|id| *id != 0),
        event: cell("idaction_event_category").and_then(whole).is_some_and(|id| id != 0),
        spent: cell("time_spent").and_then(whole),
        bytes: u32::try_from(row.len()).unwrap_or(u32::MAX),
    });
    Ok(())
}

fn action<'a>(
    cell: &impl Fn(&str) -> Option<&'a [u8]>,
    out: &mut MatomoTables,
) -> Result<(), &'static str> {
    let id = cell("idaction").and_then(whole).ok_or("`idaction` is no number")?;
    let kind = cell("type").and_then(whole).ok_or("`type` is no number")?;
    let text = String::from_utf8_lossy(cell("name").unwrap_or_default()).into_owned();
    // Addresses are stored without their scheme, which `url_prefix` names.
    let is_address = kind == 1 && !text.contains("://") && cell("url_prefix").is_some();
    let text = if is_address { format!("https://{text}") } else { text };
    out.actions.push(Action { id, kind, text });
    Ok(())
}

/// The text of a binary value: `0x2A`, `2A`, or what else is there as it is.
fn hexadecimal(text: &[u8]) -> String {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    String::from_utf8_lossy(digits).to_ascii_lowercase()
}

/// An address as text or in hexadecimal digits, 8 for IPv4 and 32 for IPv6.
fn address(text: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(text).ok()?;
    if text.parse::<std::net::IpAddr>().is_ok() {
        return Some(Cow::Borrowed(text));
    }
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let number = u128::from_str_radix(digits, 16).ok()?;
    match digits.len() {
        8 => Some(Ipv4Addr::from(u32::try_from(number).ok()?).to_string().into()),
        32 => Some(Ipv6Addr::from(number).to_string().into()),
        _ => None,
    }
}

/// A version of a row of `log_visit`.
#[derive(Debug, Clone, Copy)]
struct VisitVersion {
    source: usize,
    end: VisitEnd,
    first: Hit,
}

impl VisitVersion {
    /// Of two versions the one with the later last action counts; of these one that reached a goal; of
    /// these the one whose text has the larger hash. So the order of the files changes nothing.
    fn rank(&self) -> (i64, bool, u64) {
        (self.end.last_ms, self.end.converted, self.first.digest)
    }

    /// That nothing but the visit's end was seen.
    fn last(&self) -> Hit {
        let digest = self.first.digest.wrapping_add(1);
        let identity = self.first.identity.wrapping_add(1);
        let (ms, kind) = (self.end.last_ms, HitKind::Mark);
        Hit { ms, bytes: 0, kind, order: u64::MAX, identity, digest, ..self.first }
    }
}

/// What the tables give together.
#[derive(Debug, Default)]
pub(crate) struct MatomoVisits {
    pub(crate) all: HitVisits,
    /// Actions of visits that are in no source, with their sources.
    pub(crate) orphans: Vec<(usize, Reject)>,
    /// Actions whose row of `log_action` is in no source.
    unnamed: u64,
    /// True when there are visits and no actions at all.
    without_actions: bool,
}

impl MatomoVisits {
    /// What the reader must know of tables that are missing.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.without_actions {
            warnings.push(
                "no source has rows of `log_link_visit_action`, so no visit has a page view: import it \
                 together with `log_visit`"
                    .to_owned(),
            );
        }
        if self.unnamed > 0 {
            warnings.push(format!(
                "{} whose row of `log_action` is in no source: they count as page views without a path, \
                 also downloads and links out. Import `log_action` together with the other tables",
                counted(self.unnamed, "action")
            ));
        }
        warnings
    }
}

/// All rows, until the last one.
#[derive(Debug, Default)]
pub(crate) struct MatomoJoin {
    visits: BTreeMap<i64, VisitVersion>,
    all: HitVisits,
    actions: FxHashMap<i64, (i64, String)>,
    links: Vec<(usize, Link)>,
}

impl MatomoJoin {
    /// Takes the next chunk's rows, of a source that had `rows` rows before it. How many they are,
    /// and those that could not be read.
    pub(crate) fn take(&mut self, at: (usize, u64), chunk: MatomoTables) -> Batch {
        let MatomoTables { hits, visits, actions, links } = chunk;
        let firsts = self.all.numbered(at.1, &hits);
        for (end, first) in visits.into_iter().zip(firsts) {
            let version = VisitVersion { source: at.0, end, first };
            let known = self.visits.entry(end.id).or_insert(version);
            if version.rank() > known.rank() {
                *known = version;
            }
        }
        for Action { id, kind, text } in actions {
            let known = self.actions.entry(id).or_default();
            *known = std::mem::take(known).max((kind, text));
        }
        let moved = links.into_iter().map(|link| (at.0, Link { row: at.1 + link.row, ..link }));
        self.links.extend(moved);
        hits.lines
    }

    /// All visits, and actions of visits that are in no source, with their sources.
    pub(crate) fn finish(&mut self) -> MatomoVisits {
        let Self { visits, mut all, actions, mut links } = std::mem::take(self);
        // Of two versions of a row the one with the time on the page counts.
        links.sort_by_key(|(source, link)| {
            (link.id, std::cmp::Reverse(link.spent), link.digest, *source, link.row)
        });
        links.dedup_by_key(|(_, link)| link.id);
        let (mut orphans, mut unnamed) = (Vec::new(), 0);
        let without_actions = links.is_empty() && !visits.is_empty();
        for (source, link) in links {
            let Some(visit) = visits.get(&link.visit) else {
                let reason = "its visit is in no source";
                let bytes = u64::from(link.bytes);
                orphans
                    .push((source, Reject { row: link.row, reason, bytes, sample: String::new() }));
                continue;
            };
            let action = link.action.and_then(|id| actions.get(&id));
            unnamed += u64::from(link.action.is_some() && action.is_none());
            let kind = match action {
                // Type 1 is the address of a page; 2 is a link out, 3 a download.
                Some((1, text)) if !link.event => {
                    HitKind::View(Some(all.path(path_of(text))), None)
                }
                None if !link.event => HitKind::View(None, None),
                Some((2, _)) if !link.event => HitKind::Event(all.event_type("outlink")),
                Some((3, _)) if !link.event => HitKind::Event(all.event_type("download")),
                _ => HitKind::Event(all.event_type("event")),
            };
            let spent = link.spent.and_then(|seconds| u32::try_from(seconds).ok());
            let duration = spent.map(|seconds| seconds.saturating_mul(1000));
            let Link { row, ms, bytes, id: order, digest, .. } = link;
            let identity = self::digest(&order.to_le_bytes());
            let hit =
                Hit { row, ms, bytes, kind, duration, order, identity, digest, ..visit.first };
            all.push(source, hit);
        }
        for version in visits.values() {
            all.push(version.source, version.first);
            all.push(version.source, version.last());
        }
        MatomoVisits { all, orphans, unnamed, without_actions }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::address::AddressHasher;
    use crate::import::events::table_header;

    const VISITS: &str = "idvisit\tidvisitor\tvisit_first_action_time\tvisit_last_action_time\t\
        visit_goal_converted\tlocation_ip\tlocation_country\tlocation_city\n\
        7\t0x1A2B\t2026-11-28 23:12:14\t2026-11-28 23:15:00\t1\tCB007109\tua\tDnipro\n\
        8\t0x1A2B\tnever\t2026-11-28 23:15:00\t0\t\\N\t\\N\t\\N\n";
    const LINKS: &str = "idlink_va\tidvisit\tidaction_url\tidaction_event_category\tserver_time\ttime_spent\n\
        1\t7\t100\t\\N\t2026-11-28 23:12:14\t20\n\
        2\t7\t101\t\\N\t2026-11-28 23:12:34\t\\N\n\
        3\t7\t100\t55\t2026-11-28 23:12:40\t\\N\n\
        4\t9\t100\t\\N\t2026-11-28 23:12:40\t\\N\n";
    const ACTIONS: &str = "idaction,name,hash,type,url_prefix\n100,www.site.example/a?b,1,1,2\n101,https://out.example/,1,2,\n";

    fn read(text: &str) -> MatomoTables {
        let (header, end) = table_header(text.as_bytes());
        let table = MatomoTable::of_header(&header).unwrap();
        read_matomo(&text.as_bytes()[end..], table, &header)
    }

    #[test]
    fn the_three_tables_are_joined_in_any_order() {
        for order in [[VISITS, LINKS, ACTIONS], [ACTIONS, LINKS, VISITS], [LINKS, VISITS, ACTIONS]]
        {
            let mut join = MatomoJoin::default();
            let mut rejects = Vec::new();
            for text in order {
                let lines = join.take((0, 0), read(text));
                rejects.extend(lines.rejects.iter().map(|one| one.reason));
            }
            assert_eq!(rejects, ["`visit_first_action_time` is no time"]);
            let found = join.finish();
            assert!(found.warnings().is_empty(), "{:?}", found.warnings());
            let MatomoVisits { mut all, orphans, .. } = found;
            assert_eq!((orphans.len(), orphans[0].1.row), (1, 4));
            let batch = all.batch(&AddressHasher::new(None)).unwrap();
            let [visit] = &batch.visits[..] else { panic!("one visit") };
            assert_eq!((visit.duration, visit.goals), (Some(166_000), 1));
            assert_eq!((visit.views.len(), visit.events.len()), (1, 3));
            assert_eq!(&*batch.paths.words[0], "/a");
            assert_eq!(batch.views[0].duration, Some(20_000));
            assert_eq!(&*batch.addresses.words[0], "203.0.113.9");
            assert_eq!(batch.place_facts[0].country.as_deref(), Some("UA"));
        }
    }

    #[test]
    fn a_missing_table_is_named() {
        let warnings = |texts: &[&str]| {
            let mut join = MatomoJoin::default();
            for text in texts {
                join.take((0, 0), read(text));
            }
            join.finish().warnings()
        };
        let found = warnings(&[VISITS]);
        assert!(found.len() == 1 && found[0].contains("log_link_visit_action"), "{found:?}");
        let found = warnings(&[VISITS, LINKS]);
        assert!(found.len() == 1 && found[0].starts_with("3 actions whose row"), "{found:?}");
        assert!(warnings(&[ACTIONS]).is_empty());
    }

    #[test]
    fn addresses_are_text_or_digits() {
        let read = |text: &'static str| address(text.as_bytes()).map(Cow::into_owned);
        assert_eq!(read("0xCB007109").as_deref(), Some("203.0.113.9"));
        assert_eq!(read("20010DB8000000000000000000000009").as_deref(), Some("2001:db8::9"));
        assert_eq!(read("2001:db8::9").as_deref(), Some("2001:db8::9"));
        assert_eq!(read("ff"), None);
    }
}
