//! How often a site is visited from a place.

use std::collections::BTreeMap;

use culprit_query::Parameter;

use super::calendar::{Bucket, bucket_text};
use super::extrapolate::{Extrapolated, NoExtrapolation, extrapolated};
use super::order::Histogram;
use super::place::{ChosenPlace, PlaceSpec};
use super::published::{Published, published};
use super::zone::Zone;
use crate::opened::{AuditError, AuditStore, Cells};
use crate::robots::formulas::float;

/// What counts as a visit from the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Attribute {
    /// Interactions from there.
    #[default]
    Interaction,
    /// All interactions of contacts that ever came from there.
    Contact,
}

/// What happens to the visits of robots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RobotVisits {
    /// They are left out, and counted.
    #[default]
    Exclude,
    /// Only they are counted.
    Only,
    /// Each day has a row for robots and one for all others.
    Split,
}

/// What to ask.
#[derive(Debug, Clone)]
pub struct VisitOptions {
    /// The place.
    pub place: PlaceSpec,
    /// Whose days.
    pub zone: Zone,
    /// Days, weeks or hours.
    pub by: Bucket,
    /// The least sessions of a row, after all shards were added up.
    pub min_sessions: u64,
    /// What counts.
    pub attribute: Attribute,
    /// What happens to robots.
    pub robots: RobotVisits,
    /// Keys of the user agents that are robots.
    pub robot_agents: Vec<i64>,
    /// Whether to estimate the visits of missing shards.
    pub extrapolate: bool,
}

/// One day, week or hour.
#[derive(Debug, Clone, PartialEq)]
pub struct VisitRow {
    /// `2026-03-29`, the Monday of a week, or `2026-03-29 14:00`; in the zone's time.
    pub start: String,
    /// True for the row of robots.
    pub robots: bool,
    /// Interactions.
    pub sessions: u64,
    /// Distinct contacts of the row. Those of several rows do not add up.
    pub contacts: u64,
    /// Page views.
    pub pages: u64,
    /// Page views an interaction.
    pub pages_mean: f64,
    /// The median of the page views.
    pub pages_median: f64,
    /// Nine in ten interactions have at most so many.
    pub pages_p90: u64,
    /// Share of interactions with at most one page.
    pub single_share: f64,
    /// The median length in milliseconds; none when no interaction has one.
    pub duration_median_ms: Option<f64>,
    /// Interactions that the row leaves out because of `robots`.
    pub robots_excluded: u64,
    /// Shards with an interaction in the row.
    pub shards: u64,
}

/// One step of the chain from all interactions to the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisitStep {
    /// What was kept.
    pub what: String,
    /// How many rows.
    pub rows: u64,
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct VisitReport {
    /// The rows, the earliest first.
    pub rows: Vec<VisitRow>,
    /// Shards that have rows.
    pub shards: u64,
    /// Shards of the source that have none.
    pub shards_missing: u64,
    /// Where it was asked for: the visits of the rows in all shards, missing ones included; or why that cannot
    /// be said.
    pub extrapolated: Option<Result<Extrapolated, NoExtrapolation>>,
    /// Rows that the imports rejected.
    pub rows_rejected: u64,
    /// The chain with its row counts.
    pub steps: Vec<VisitStep>,
    /// Where the published query would differ.
    pub published: Published,
    /// What the reader must know.
    pub warnings: Vec<String>,
}

/// What all questions of a run have in common.
pub(super) struct Run<'a> {
    pub(super) store: &'a AuditStore,
    pub(super) options: &'a VisitOptions,
    pub(super) chosen: ChosenPlace,
    pub(super) span: Span,
}

/// The store as a whole.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Span {
    first_ms: i64,
    last_ms: i64,
    pub(super) shards: u64,
    pub(super) missing: u64,
}

/// Counts visits.
///
/// # Errors
/// When a question cannot be answered within the limits, or the addresses are hashes.
pub fn visits(store: &AuditStore, options: &VisitOptions) -> Result<VisitReport, AuditError> {
    let chosen = options.place.choose(store)?;
    let run = Run { store, options, chosen, span: span(store)? };
    let mut all = run.sums()?;
    run.medians(&mut all)?;
    run.shards(&mut all)?;
    let rows_rejected = store.ask("rejected", &[])?.rows.first().map_or(0, |r| Cells(r).count(1));
    let before = all.len() as u64;
    let by_shard = |sums: &Sums| sums.by_shard.values().copied().collect();
    let per_shard: Vec<Vec<u64>> = all.values().map(by_shard).collect();
    let extrapolated = options
        .extrapolate
        .then(|| extrapolated(store, &run.of_shards(&all), run.span.missing))
        .transpose()?;
    let rows = run.rows(all);
    let published = published(&run, &per_shard, &rows)?;
    Ok(VisitReport {
        steps: run.steps(before, rows.len() as u64)?,
        warnings: run.warnings(),
        rows,
        shards: run.span.shards,
        shards_missing: run.span.missing,
        extrapolated,
        rows_rejected,
        published,
    })
}

fn span(store: &AuditStore) -> Result<Span, AuditError> {
    let rows = store.ask("span", &[])?.rows;
    let Some(row) = rows.first() else { return Ok(Span::default()) };
    let cells = Cells(row);
    let shards = cells.count(4);
    let greatest = cells.int(5).and_then(|greatest| u64::try_from(greatest).ok());
    let all = greatest.map_or(0, |greatest| greatest + 1).max(store.shards().unwrap_or(0).into());
    Ok(Span {
        first_ms: cells.int(2).unwrap_or(0),
        last_ms: cells.int(3).unwrap_or(0),
        shards,
        missing: all.saturating_sub(shards),
    })
}

/// Day or hour, and robot or not.
type Key = (i64, bool);

/// Sums of one row while they are gathered.
#[derive(Debug, Clone, Default)]
struct Sums {
    sessions: u64,
    contacts: u64,
    pages: u64,
    single: u64,
    histogram: Histogram,
    duration_ms: Option<f64>,
    /// Its sessions by the number of the shard.
    by_shard: BTreeMap<i64, u64>,
}

impl Run<'_> {
    /// The parameters that the visit questions share.
    pub(super) fn parameters(&self) -> Vec<(&'static str, Parameter)> {
        let Self { options, chosen, span, .. } = self;
        let by_contact = i64::from(options.attribute == Attribute::Contact);
        let offset = options.zone.parameter("i.start_utc", span.first_ms, span.last_ms);
        vec![
            ("place_key", Parameter::Part(chosen.column)),
            ("chosen", Parameter::Ints(chosen.keys.clone())),
            ("by_contact", Parameter::Int(by_contact)),
            ("robots", Parameter::Ints(options.robot_agents.clone())),
            ("offset", offset),
            ("bucket_ms", Parameter::Float(options.by.length_ms())),
            ("shift_ms", Parameter::Int(options.by.shift_ms())),
        ]
    }

    fn sums(&self) -> Result<BTreeMap<Key, Sums>, AuditError> {
        let mut all: BTreeMap<Key, Sums> = BTreeMap::new();
        for row in self.store.ask("visit_sums", &self.parameters())?.rows {
            let cells = Cells(&row);
            let sums = all.entry(self.key(cells)).or_default();
            sums.sessions += cells.count(2);
            sums.contacts += cells.count(3);
            sums.pages += cells.count(4);
            sums.single += cells.count(5);
        }
        Ok(all)
    }

    fn key(&self, cells: Cells<'_>) -> Key {
        (cells.int(0).unwrap_or(0), cells.int(1) == Some(1))
    }

    fn medians(&self, all: &mut BTreeMap<Key, Sums>) -> Result<(), AuditError> {
        for row in self.store.ask("visit_pages", &self.parameters())?.rows {
            let cells = Cells(&row);
            let sums = all.entry(self.key(cells)).or_default();
            sums.histogram.add(cells.count(2), cells.count(3));
        }
        for row in self.store.ask("visit_durations", &self.parameters())?.rows {
            let cells = Cells(&row);
            all.entry(self.key(cells)).or_default().duration_ms = Some(cells.float(2));
        }
        Ok(())
    }

    fn shards(&self, all: &mut BTreeMap<Key, Sums>) -> Result<(), AuditError> {
        for row in self.store.ask("visit_shards", &self.parameters())?.rows {
            let cells = Cells(&row);
            let (bucket, shard) = (cells.int(0).unwrap_or(0), cells.int(1).unwrap_or(0));
            let (sessions, robots) = (cells.count(2), cells.count(3));
            for (robot, part) in [(false, sessions - robots.min(sessions)), (true, robots)] {
                if let Some(sums) = all.get_mut(&(bucket, robot)).filter(|_| part > 0) {
                    sums.by_shard.insert(shard, part);
                }
            }
        }
        Ok(())
    }

    /// True for what becomes a row.
    fn is_row(&self, (_, robot): Key, sums: &Sums) -> bool {
        let wanted = match self.options.robots {
            RobotVisits::Exclude => !robot,
            RobotVisits::Only => robot,
            RobotVisits::Split => true,
        };
        // Once, after all shards were added up.
        wanted && sums.sessions >= self.options.min_sessions.max(1)
    }

    /// The sessions of all rows in each shard of the store, also in those that have none.
    fn of_shards(&self, all: &BTreeMap<Key, Sums>) -> Vec<u64> {
        let mut of_shards: BTreeMap<i64, u64> = BTreeMap::new();
        for (_, sums) in all.iter().filter(|(key, sums)| self.is_row(**key, sums)) {
            for (shard, sessions) in &sums.by_shard {
                *of_shards.entry(*shard).or_default() += sessions;
            }
        }
        let mut of_shards: Vec<u64> = of_shards.into_values().collect();
        of_shards.resize(usize::try_from(self.span.shards).unwrap_or(of_shards.len()), 0);
        of_shards
    }

    fn rows(&self, all: BTreeMap<Key, Sums>) -> Vec<VisitRow> {
        let options = self.options;
        let robots: BTreeMap<i64, u64> =
            all.iter().filter(|(key, _)| key.1).map(|(key, sums)| (key.0, sums.sessions)).collect();
        let kept = all.into_iter().filter(|(key, sums)| self.is_row(*key, sums));
        let row = |((bucket, robot), sums): (Key, Sums)| VisitRow {
            start: bucket_text(options.by, bucket),
            robots: robot,
            sessions: sums.sessions,
            contacts: sums.contacts,
            pages: sums.pages,
            pages_mean: float(sums.pages) / float(sums.sessions.max(1)),
            pages_median: sums.histogram.median(),
            pages_p90: sums.histogram.at_share(0.9),
            single_share: float(sums.single) / float(sums.sessions.max(1)),
            duration_median_ms: sums.duration_ms,
            robots_excluded: match options.robots {
                RobotVisits::Exclude => robots.get(&bucket).copied().unwrap_or(0),
                RobotVisits::Only | RobotVisits::Split => 0,
            },
            shards: sums.by_shard.len() as u64,
        };
        kept.map(row).collect()
    }

    fn steps(&self, buckets: u64, kept: u64) -> Result<Vec<VisitStep>, AuditError> {
        let rows = self.store.ask("visit_steps", &self.parameters())?.rows;
        let Some(row) = rows.first() else { return Ok(Vec::new()) };
        let cells = Cells(row);
        let place = &self.options.place.text;
        let step = |what: &str, rows: u64| VisitStep { what: what.to_owned(), rows };
        Ok(vec![
            step("all visits in the store", cells.count(0)),
            step("visits with a readable start", cells.count(1)),
            step("visits with a known place or address", cells.count(2)),
            step(&format!("visits at {place}"), cells.count(3)),
            step(&format!("visits at {place} with a readable start"), cells.count(4)),
            step("of these, visits of robots", cells.count(5)),
            step("rows before `--robots` and `--min-sessions`", buckets),
            step("rows after them", kept),
        ])
    }

    fn warnings(&self) -> Vec<String> {
        let Self { options, chosen, span, .. } = self;
        let mut warnings = Vec::new();
        if chosen.keys.is_empty() && chosen.column == "place_id" && !self.store.has("places") {
            warnings.push(
                "no visit in the store has a place: import the source into a new store with \
                 `--geoip FILE`, or ask for a network, such as `cidr=203.0.113.0/24`"
                    .to_owned(),
            );
        } else if chosen.keys.is_empty() {
            warnings.push(format!("no interaction has the place `{}`", options.place.text));
        }
        if options.place.lacks_country() && chosen.countries.len() > 1 {
            let countries: Vec<&str> = chosen.countries.iter().map(String::as_str).collect();
            warnings.push(format!(
                "`{}` is in {}: add `country=` to count one of them",
                options.place.text,
                countries.join(" and ")
            ));
        }
        if let Zone::Fixed(_) = options.zone {
            warnings.push(format!(
                "{} is a fixed shift: where clocks change, days begin an hour off for half of the \
                 year. Give a zone such as Europe/Kyiv",
                options.zone.name()
            ));
        }
        if span.missing > 0 {
            let way_out =
                if options.extrapolate { "" } else { ", or estimate all with `--extrapolate`" };
            warnings.push(format!(
                "{} of {} shards are in the store, and the rows count only these: import the \
                 others{way_out}",
                span.shards,
                span.shards + span.missing
            ));
        }
        warnings
    }
}
