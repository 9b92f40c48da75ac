//! Samples: made-up exports of an analytics database and the access log of the same visits, with a
//! known truth.
//!
//! The same options give the same bytes. Visits are made day by day, so memory holds one day of
//! visits and 32 bytes a contact, however large the sample is.
//!
//! ```text
//! world, robots     cities, user agents, pages, programs
//! visit             one visit, drawn from the seed and its number
//! xdb, log, export  its rows and lines; lines has the forms of logs
//! truth             what questions must answer
//! ```

mod export;
mod lines;
mod log;
mod random;
mod robots;
mod truth;
mod visit;
mod world;
mod xdb;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

pub(crate) use self::export::put_guid;
use self::log::AccessLog;
use self::random::Random;
use self::robots::{BLACKLIST, ROBOTS, SERVER_SIDE};
use self::visit::{Visit, stream};
use self::world::WEEKDAYS;
use self::xdb::XdbExport;
use crate::time::{DAY_MS, Date, days};

pub use self::robots::Visitor;
pub use self::truth::{FacetTruth, FileTruth, PlaceDay, RobotTruth, Truth};

culprit_model::labels! {
    /// What a sample is written as.
    SampleFormat ("format of samples") {
        /// JSON lines, one file a table and shard.
        XdbJson = "xdb-json",
        /// CSV with a header, one file a table and shard.
        XdbCsv = "xdb-csv",
        /// `bcp` in character mode, one file a table and shard.
        Bcp = "bcp",
        /// An access log in the combined format.
        AccessLog = "accesslog",
        /// A log of IIS.
        Iis = "iis",
        /// A standard log of CloudFront.
        CloudFront = "cloudfront",
        /// A log of an application load balancer.
        Elb = "elb",
        /// A log of one JSON object a line, with the names of nginx.
        JsonLog = "json-log",
        /// Snowplow's canonical events.
        SnowplowTsv = "snowplow-tsv",
        /// Events of Google Analytics 4.
        Ga4Json = "ga4-json",
    }
}

impl SampleFormat {
    /// What its files' names end with.
    fn ending(self) -> &'static str {
        match self {
            Self::XdbJson | Self::JsonLog | Self::Ga4Json => "ndjson",
            Self::XdbCsv => "csv",
            Self::Bcp => "dat",
            Self::AccessLog | Self::Iis | Self::CloudFront | Self::Elb => "log",
            Self::SnowplowTsv => "tsv",
        }
    }

    fn is_xdb(self) -> bool {
        matches!(self, Self::XdbJson | Self::XdbCsv | Self::Bcp)
    }
}

/// A file of the sample could not be written.
#[derive(Debug, Error)]
#[error("cannot write `{}`: {source}", path.display())]
pub struct SampleError {
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

/// What to make.
#[derive(Debug, Clone)]
pub struct SampleOptions {
    /// Visits.
    pub interactions: u64,
    /// Share of the visits that robots make, from 0 to 1.
    pub robots: f64,
    /// The same seed gives the same sample.
    pub seed: u64,
    /// Days, the last one of which is 2026-06-30.
    pub days: u32,
    /// What to write it as.
    pub formats: Vec<SampleFormat>,
    /// Broken lines per million visits, in each kind of file.
    pub malformed: u32,
}

/// What has to be kept of a contact until its row is written.
#[derive(Debug, Clone)]
pub(crate) struct ContactState {
    first: i64,
    last: i64,
    interactions: u32,
    pages: u32,
    robot: Option<Visitor>,
}

/// The day after the last one.
const END: Date = Date { year: 2026, month: 7, day: 1 };
/// Of a thousand visits of people, those of somebody who was here before.
const RETURNING: u64 = 380;
/// Among how many of the last visitors they are.
const RECENT: usize = 50_000;
/// Of a thousand visits that are not robots', those that a server reports.
const SERVERS: u64 = 10;
/// Contacts without interactions: 7.5 % of all, so 75 on 925 with some.
const WITHOUT: (u64, u64) = (75, 925);

/// Writes a sample into a folder and returns its truth, which is also in `truth.json`. Ends early,
/// with what is written so far, when `stop` is set.
///
/// # Errors
/// When a file cannot be written.
pub fn write_sample(
    folder: &Path,
    options: &SampleOptions,
    stop: &AtomicBool,
) -> Result<Truth, SampleError> {
    let mut sample = Sample::begin(folder, options)?;
    let weights: Vec<u64> = (0..u64::from(options.days)).map(|day| sample.weight(day)).collect();
    let all: u64 = weights.iter().sum();
    let (mut before, mut made) = (0, 0);
    for (day, weight) in (0..).zip(weights) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        before += weight;
        let until = share(options.interactions, before, all);
        sample.day(day, until - made)?;
        made = until;
    }
    sample.finish()
}

/// The part of a whole, rounded down, without overflow.
fn share(whole: u64, part: u64, of: u64) -> u64 {
    u64::try_from(u128::from(whole) * u128::from(part) / u128::from(of.max(1))).unwrap_or(whole)
}

struct Sample<'a> {
    folder: &'a Path,
    options: &'a SampleOptions,
    /// Robots' share in millionths.
    robots: u64,
    contacts: Vec<ContactState>,
    recent: Vec<u64>,
    exports: Vec<XdbExport>,
    logs: Vec<AccessLog>,
    truth: Truth,
    numbers: u64,
    robot_visits: u64,
}

impl<'a> Sample<'a> {
    fn begin(folder: &'a Path, options: &'a SampleOptions) -> Result<Self, SampleError> {
        let failed = |source| SampleError { path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let mut exports = Vec::new();
        let mut logs = Vec::new();
        for format in &options.formats {
            if format.is_xdb() {
                exports.push(XdbExport::create(folder, *format, options.seed)?);
            } else {
                logs.push(AccessLog::create(folder, *format)?);
            }
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share from 0 to 1"
        )]
        let robots = (options.robots.clamp(0.0, 1.0) * 1e6).round() as u64;
        let truth = Truth { seed: options.seed, ..Truth::default() };
        Ok(Self {
            folder,
            options,
            robots,
            contacts: Vec::new(),
            recent: Vec::new(),
            exports,
            logs,
            truth,
            numbers: 0,
            robot_visits: 0,
        })
    }

    /// The first moment of a day, counted from 0.
    fn start_of(&self, day: u64) -> i64 {
        let first = days(END) - i64::from(self.options.days);
        (first + i64::try_from(day).unwrap_or(0)) * DAY_MS
    }

    fn weight(&self, day: u64) -> u64 {
        // 1970-01-01 was a Thursday, which is day 3 of the week.
        let weekday = (self.start_of(day) / DAY_MS + 3).rem_euclid(7);
        WEEKDAYS[usize::try_from(weekday).unwrap_or(0)]
    }

    fn day(&mut self, day: u64, visits: u64) -> Result<(), SampleError> {
        let start = self.start_of(day);
        let until = share(self.truth.visits + visits, self.robots, 1_000_000);
        let robots = until.saturating_sub(self.robot_visits).min(visits);
        self.robot_visits += robots;
        let mut all = Vec::new();
        self.robots(start, robots, &mut all);
        self.people(day, start, visits - robots, &mut all);
        all.sort_by_key(|visit| (visit.start, visit.number));
        let every = 1_000_000_u64.checked_div(u64::from(self.options.malformed)).unwrap_or(0);
        for visit in &all {
            let broken = every > 0 && self.truth.visits % every == every - 1;
            self.truth.malformed += u64::from(broken);
            self.truth.visit(visit);
            self.note(visit);
            // Facets are counted once, however many formats there are.
            let mut ignored = Truth::default();
            for (at, export) in self.exports.iter_mut().enumerate() {
                let truth = if at == 0 { &mut self.truth } else { &mut ignored };
                export.visit(visit, broken, truth)?;
            }
            for log in &mut self.logs {
                log.visit(visit, broken);
            }
        }
        self.logs.iter_mut().try_for_each(|log| log.write_until(start + DAY_MS))
    }

    fn robots(&mut self, start: i64, robots: u64, all: &mut Vec<Visit>) {
        let weights: u64 = ROBOTS.iter().map(|robot| robot.weight).sum();
        let (mut before, mut made) = (0, 0);
        for robot in ROBOTS {
            before += robot.weight;
            let until = share(robots, before, weights);
            for at in 0..until - made {
                let contact = self.new_contact(start, Some(robot.kind));
                let number = self.number();
                let visit = visit::robot(
                    self.options.seed,
                    robot,
                    (number, contact),
                    start,
                    (at, until - made),
                );
                all.push(visit);
            }
            made = until;
        }
    }

    fn people(&mut self, day: u64, start: i64, people: u64, all: &mut Vec<Visit>) {
        let mut random = Random::new(self.options.seed, stream::DAY, day);
        for _ in 0..people {
            let returns = !self.recent.is_empty() && random.chance(RETURNING);
            let contact = if returns {
                self.recent[random.index(self.recent.len())]
            } else {
                let contact = self.new_contact(start, None);
                if self.recent.len() < RECENT {
                    self.recent.push(contact);
                } else {
                    let at = random.index(RECENT);
                    self.recent[at] = contact;
                }
                contact
            };
            let number = self.number();
            let seed = self.options.seed;
            all.push(if random.chance(SERVERS) {
                visit::robot(seed, &SERVER_SIDE, (number, contact), start, (0, 1))
            } else {
                visit::human(seed, number, contact, start)
            });
        }
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn new_contact(&mut self, first: i64, robot: Option<Visitor>) -> u64 {
        let state = ContactState { first, last: first, interactions: 0, pages: 0, robot };
        self.contacts.push(state);
        self.contacts.len() as u64 - 1
    }

    fn note(&mut self, visit: &Visit) {
        let at = usize::try_from(visit.contact).unwrap_or(usize::MAX);
        let Some(contact) = self.contacts.get_mut(at) else { return };
        contact.interactions += 1;
        contact.pages += u32::try_from(visit.views.len()).unwrap_or(u32::MAX);
        contact.last = contact.last.max(visit.end);
    }

    fn finish(mut self) -> Result<Truth, SampleError> {
        let without = share(self.contacts.len() as u64, WITHOUT.0, WITHOUT.1);
        let first = self.start_of(0);
        for _ in 0..without {
            self.new_contact(first, None);
        }
        let mut ignored = Truth::default();
        for (number, state) in (0..).zip(&self.contacts) {
            for (at, export) in self.exports.iter_mut().enumerate() {
                let truth = if at == 0 { &mut self.truth } else { &mut ignored };
                export.contact(number, state, truth)?;
            }
        }
        for export in self.exports {
            export.finish(&mut self.truth)?;
        }
        for log in self.logs {
            log.finish(&mut self.truth)?;
        }
        self.truth.leaked = robots::leaked();
        let put = |name: &str, bytes: &[u8]| {
            let path = self.folder.join(name);
            std::fs::write(&path, bytes).map_err(|source| SampleError { path, source })
        };
        put("ExcludeRobots.config", blacklist().as_bytes())?;
        let json = serde_json::to_vec_pretty(&self.truth).map_err(io::Error::from);
        let json = json.map_err(|source| SampleError { path: self.folder.to_owned(), source })?;
        put("truth.json", &json)?;
        Ok(self.truth)
    }
}

/// The site's list of robots in the form of its configuration file.
fn blacklist() -> String {
    let entries = BLACKLIST.join("\n        ");
    format!(
        "<configuration>\n  <sitecore>\n    <analyticsExcludeRobots>\n      <excludedUserAgents>\n        \
         {entries}\n      </excludedUserAgents>\n    </analyticsExcludeRobots>\n  </sitecore>\n</configuration>\n"
    )
}
