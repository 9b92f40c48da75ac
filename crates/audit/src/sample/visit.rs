//! One visit of a sample: who, when, from where, which pages. Everything is drawn from the seed and
//! the visit's number, so nothing has to be kept.

use chrono::{LocalResult, TimeZone as _, Utc as ChronoUtc};

use super::random::Random;
use super::robots::{Robot, Visitor};
use super::world::{BROWSERS, CITIES, City, DATA_CENTRE, HOURS, PAGES, REFERRERS};
use crate::time::{DAY_MS, HOUR_MS};

/// What numbers are drawn for; a different stream each.
pub(crate) mod stream {
    pub(crate) const CONTACT: u64 = 1;
    pub(crate) const VISIT: u64 = 2;
    pub(crate) const DAY: u64 = 3;
    pub(crate) const GUID_CONTACT: u64 = 4;
    pub(crate) const GUID_VISIT: u64 = 5;
    pub(crate) const FACETS: u64 = 6;
    pub(crate) const MISSING: u64 = 7;
    pub(crate) const MEASURES: u64 = 8;
}

/// Times a thousand: visits of people with one page.
const SINGLE_PAGE: u64 = 420;
/// Times a thousand: people who leave after each further page.
const LEAVES: u64 = 280;
/// Pages of a visit at most.
const MOST_PAGES: usize = 40;

/// A page view.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub(crate) at: i64,
    pub(crate) duration_ms: i64,
    pub(crate) page: &'static str,
}

/// What one contact is, drawn from its number.
#[derive(Debug)]
pub(crate) struct Person {
    pub(crate) guid: [u64; 2],
    pub(crate) city: &'static City,
    pub(crate) postal: &'static str,
    pub(crate) address: [u8; 4],
    pub(crate) user_agent: String,
    pub(crate) phone: bool,
}

/// A visit.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) number: u64,
    pub(crate) contact: u64,
    pub(crate) visitor: Visitor,
    pub(crate) guid: [u64; 2],
    pub(crate) person: Person,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) views: Vec<View>,
    pub(crate) referrer: String,
    pub(crate) goal: bool,
    pub(crate) outcome: bool,
    pub(crate) campaign: Option<usize>,
    pub(crate) channel: usize,
    /// The first request is for `/robots.txt`.
    pub(crate) robots_txt: bool,
    /// Pages bring their images, styles and scripts.
    pub(crate) loads_assets: bool,
}

/// A GUID of version 4.
fn guid(seed: u64, stream: u64, number: u64) -> [u64; 2] {
    let mut random = Random::new(seed, stream, number);
    let (high, low) = (random.next(), random.next());
    [high & !0xf000 | 0x4000, low & !(0xc0 << 56) | 0x80 << 56]
}

/// The person with this number.
pub(crate) fn person(seed: u64, contact: u64) -> Person {
    let mut random = Random::new(seed, stream::CONTACT, contact);
    let city_at = random.weighted(CITIES.iter().map(|city| city.weight));
    let city = &CITIES[city_at];
    let browser = random.weighted(BROWSERS.iter().map(|browser| browser.3));
    let (template, first, versions, _) = BROWSERS[browser];
    // New versions are more usual than old ones.
    let version = first + versions - 1 - random.skewed(versions);
    let version = version.to_string();
    let [_, second, third, fourth, ..] = random.next().to_be_bytes();
    Person {
        guid: guid(seed, stream::GUID_CONTACT, contact),
        city,
        postal: city.postal[random.index(city.postal.len())],
        // A /12 of the private 10.0.0.0/8 a city.
        address: [10, u8::try_from(city_at * 16).unwrap_or(0) | second & 15, third, fourth],
        user_agent: template.replace("{0}", &version).replace("{}", &version),
        phone: template.contains("Mobile"),
    }
}

fn machine(seed: u64, robot: &Robot, contact: u64, random: &mut Random) -> Person {
    let network = random.below(robot.networks);
    let third = u64::from(robot.network[2]) + network;
    let host = match robot.kind {
        Visitor::Poller | Visitor::ServerSide | Visitor::Crawler => 7,
        _ => 1 + random.below(254),
    };
    let low = |number: u64| u8::try_from(number % 256).unwrap_or(0);
    Person {
        guid: guid(seed, stream::GUID_CONTACT, contact),
        city: &DATA_CENTRE,
        postal: DATA_CENTRE.postal[0],
        address: [robot.network[0], robot.network[1], low(third), low(host)],
        user_agent: robot.user_agent.to_owned(),
        phone: false,
    }
}

/// A visit of a person in the UTC day that begins at `day`.
pub(crate) fn human(seed: u64, number: u64, contact: u64, day: i64) -> Visit {
    let mut random = Random::new(seed, stream::VISIT, number);
    let person = person(seed, contact);
    let start = local_time(&person.city.zone, day, &mut random);
    let single = random.chance(SINGLE_PAGE);
    let mut views = Vec::new();
    let (mut at, mut page) = (start, entry(&mut random));
    loop {
        let stays = 2_000 + i64::try_from(random.skewed(240_000)).unwrap_or(0);
        views.push(View { at, duration_ms: stays, page });
        if single || views.len() >= MOST_PAGES || (views.len() > 1 && random.chance(LEAVES)) {
            break;
        }
        at += stays;
        page = PAGES[random.index(PAGES.len())];
    }
    let goal = views.len() > 2 && random.chance(80);
    let outcome = goal && random.chance(250);
    let referrer = REFERRERS[random.index(REFERRERS.len())].to_owned();
    Visit {
        number,
        contact,
        visitor: Visitor::Human,
        guid: guid(seed, stream::GUID_VISIT, number),
        start,
        end: views.last().map_or(start, |view| view.at + view.duration_ms),
        views,
        referrer: oversized(referrer, &mut random),
        goal,
        outcome,
        campaign: random.chance(60).then(|| random.index(3)),
        channel: random.index(4),
        robots_txt: false,
        loads_assets: true,
        person,
    }
}

/// The entry page: every other visit begins at the first one.
fn entry(random: &mut Random) -> &'static str {
    if random.chance(500) { PAGES[0] } else { PAGES[random.index(PAGES.len())] }
}

/// A moment of the day that begins at `day` (UTC), at an hour when people of that zone are awake.
fn local_time(zone: &chrono_tz::Tz, day: i64, random: &mut Random) -> i64 {
    let hour = i64::try_from(random.weighted(HOURS.iter().copied())).unwrap_or(0);
    let within = i64::try_from(random.below(HOUR_MS.unsigned_abs())).unwrap_or(0);
    let offset = offset_ms(zone, day + hour * HOUR_MS);
    let local = hour * HOUR_MS + within - offset;
    day + local.rem_euclid(DAY_MS)
}

/// What is added to UTC in a zone at a moment.
pub(crate) fn offset_ms(zone: &chrono_tz::Tz, utc_ms: i64) -> i64 {
    use chrono::Offset as _;
    let LocalResult::Single(at) = ChronoUtc.timestamp_millis_opt(utc_ms) else { return 0 };
    i64::from(zone.offset_from_utc_datetime(&at.naive_utc()).fix().local_minus_utc()) * 1000
}

/// Values that no limit holds back: a referrer with everything in it, base64, session tokens.
pub(crate) fn oversized(referrer: String, random: &mut Random) -> String {
    let junk = random.below(10_000);
    let length = match junk {
        0 => 28_000,
        1..=4 => 6_000,
        5..=40 => 900,
        41..=160 => 160,
        _ => return referrer,
    };
    let mut text = String::with_capacity(length + 80);
    match junk % 3 {
        0 => text.push_str("https://mail.example/redirect?data=data:image/png;base64,"),
        1 => text.push_str("https://login.example/cb?sessionid=8f3a&jsessionid="),
        _ => text.push_str("https://ads.example/click?utm_source=a&utm_source=a&payload="),
    }
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    while text.len() < length {
        let bits = random.next();
        text.extend((0..10).map(|at| char::from(LETTERS[(bits >> (at * 6) & 63) as usize])));
    }
    text
}

/// A visit of a robot: the `at`th of `of` of this robot in the day.
pub(crate) fn robot(
    seed: u64,
    robot: &Robot,
    (number, contact): (u64, u64),
    day: i64,
    (at, of): (u64, u64),
) -> Visit {
    let mut random = Random::new(seed, stream::VISIT, number);
    let person = machine(seed, robot, contact, &mut random);
    let within = match robot.kind {
        // The middle of equal parts of the day, to the millisecond.
        Visitor::Poller => DAY_MS.unsigned_abs() * (2 * at + 1) / (2 * of.max(1)),
        _ => random.below(DAY_MS.unsigned_abs()),
    };
    let start = day + i64::try_from(within).unwrap_or(0);
    let pages = if robot.kind == Visitor::Crawler { 2 + random.index(14) } else { 1 };
    let mut views = Vec::new();
    let mut at = start;
    for _ in 0..pages {
        let stays = if robot.kind == Visitor::Crawler {
            180 + i64::try_from(random.below(500)).unwrap_or(0)
        } else {
            0
        };
        let page = match robot.kind {
            Visitor::Poller | Visitor::ServerSide => PAGES[0],
            _ => PAGES[random.index(PAGES.len())],
        };
        views.push(View { at, duration_ms: stays, page });
        at += stays;
    }
    let asks = matches!(robot.kind, Visitor::Fleet | Visitor::LeakedFleet | Visitor::Search);
    Visit {
        number,
        contact,
        visitor: robot.kind,
        guid: guid(seed, stream::GUID_VISIT, number),
        start,
        end: at,
        views,
        referrer: String::new(),
        goal: false,
        outcome: false,
        campaign: None,
        channel: 0,
        robots_txt: asks && random.chance(900),
        loads_assets: false,
        person,
    }
}
