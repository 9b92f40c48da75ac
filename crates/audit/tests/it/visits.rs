//! Visits of places, on stores with a few rows.

use culprit_audit::visits::{
    Attribute, Bucket, NoExtrapolation, PlaceSpec, RobotVisits, VisitOptions, VisitReport, Zone,
    visits,
};

use crate::rows::{BEFORE_CHANGE, HOUR_MS, Visit, store};

fn options(place: &str, zone: &str) -> VisitOptions {
    VisitOptions {
        place: PlaceSpec::parse(place).expect("a place"),
        zone: Zone::parse(zone).expect("a zone"),
        by: Bucket::Day,
        min_sessions: 0,
        attribute: Attribute::Interaction,
        robots: RobotVisits::Exclude,
        robot_agents: vec![2],
        extrapolate: true,
    }
}

fn ask(rows: &[Visit], options: &VisitOptions) -> VisitReport {
    visits(&store(rows), options).expect("an answer")
}

/// `START sessions/contacts/pages`, one a row.
fn short(report: &VisitReport) -> Vec<String> {
    let row = |row: &culprit_audit::visits::VisitRow| {
        format!("{} {}/{}/{}", row.start, row.sessions, row.contacts, row.pages)
    };
    report.rows.iter().map(row).collect()
}

fn at(hours: i64) -> Visit {
    Visit { start: BEFORE_CHANGE + hours * HOUR_MS, ..Visit::default() }
}

/// Kyiv is at +2 until 2026-03-29 01:00 UTC and at +3 after it.
#[test]
fn days_are_those_of_the_zone_also_when_clocks_change() {
    // 21:30 UTC on the 28th is 23:30 there; on the 29th it is 00:30 of the next day.
    let late =
        |day: i64| Visit { start: BEFORE_CHANGE + day * 24 * HOUR_MS + 43 * HOUR_MS / 2, ..at(0) };
    let rows = [late(0), late(1)];
    let named = ask(&rows, &options("postal=49000,country=UA", "Europe/Kyiv"));
    assert_eq!(short(&named), ["2026-03-28 1/1/1", "2026-03-30 1/1/1"]);
    assert!(named.warnings.is_empty(), "{:?}", named.warnings);
    let fixed = ask(&rows, &options("postal=49000,country=UA", "+02:00"));
    assert_eq!(short(&fixed), ["2026-03-28 1/1/1", "2026-03-29 1/1/1"]);
    assert!(fixed.warnings[0].contains("fixed shift"), "{:?}", fixed.warnings);
}

#[test]
fn a_day_s_numbers_are_exact() {
    let visit = |pages, seconds, contact| Visit { pages, seconds, contact, ..at(1) };
    let rows = [visit(1, 10, 1), visit(2, 20, 1), visit(3, 40, 2), visit(10, 1000, 3)];
    let report = ask(&rows, &options("postal=49000,country=UA", "UTC"));
    let row = &report.rows[0];
    assert_eq!((row.sessions, row.contacts, row.pages), (4, 3, 16));
    assert_eq!((row.pages_mean, row.pages_median, row.pages_p90), (4.0, 2.5, 10));
    assert_eq!((row.single_share, row.duration_median_ms), (0.25, Some(30_000.0)));
}

#[test]
fn robots_are_left_out_counted_or_split() {
    let rows = [at(1), Visit { agent: 2, ..at(2) }, Visit { agent: 2, ..at(3) }];
    let mut options = options("postal=49000,country=UA", "UTC");
    let report = ask(&rows, &options);
    assert_eq!((report.rows[0].sessions, report.rows[0].robots_excluded), (1, 2));
    options.robots = RobotVisits::Only;
    assert_eq!(short(&ask(&rows, &options)), ["2026-03-28 2/1/2"]);
    options.robots = RobotVisits::Split;
    let split = ask(&rows, &options);
    assert_eq!(short(&split), ["2026-03-28 1/1/1", "2026-03-28 2/1/2"]);
    assert!(!split.rows[0].robots && split.rows[1].robots);
}

#[test]
fn a_threshold_counts_the_sum_of_all_shards() {
    let visit = |day: i64, shard, n| Visit { shard, contact: n, ..at(day * 24 + 1) };
    // Three on each of two shards; then four on one shard alone.
    let mut rows: Vec<Visit> = (0..6).map(|n| visit(0, u32::from(n >= 3), n)).collect();
    rows.extend((0..4).map(|n| visit(1, 0, n)));
    let options = VisitOptions { min_sessions: 6, ..options("postal=49000,country=UA", "UTC") };
    let report = ask(&rows, &options);
    assert_eq!(short(&report), ["2026-03-28 6/6/6"]);
    assert_eq!(report.rows[0].shards, 2);
    // The published query asks each shard for more than 6 / 2: it loses the first day and keeps the
    // second.
    assert_eq!(report.published.rows_by_shard_threshold, Some(1));
}

#[test]
fn a_postal_code_of_two_countries_is_warned_about() {
    let rows = [at(1), Visit { place: 2, ..at(2) }];
    let report = ask(&rows, &options("postal=49000", "UTC"));
    assert_eq!(short(&report), ["2026-03-28 2/1/2"]);
    assert!(report.warnings[0].contains("FR and UA"), "{:?}", report.warnings);
    let none = ask(&rows, &options("postal=12345", "UTC"));
    assert!(none.rows.is_empty() && none.warnings[0].contains("no interaction"));
}

#[test]
fn a_missing_shard_is_named_and_the_rows_are_those_of_the_others() {
    let rows = [Visit { shard: 0, ..at(1) }, Visit { shard: 2, ..at(2) }];
    let report = ask(&rows, &options("postal=49000,country=UA", "UTC"));
    assert_eq!((report.rows[0].sessions, report.shards, report.shards_missing), (2, 2, 1));
    assert!(report.warnings[0].contains("2 of 3 shards"), "{:?}", report.warnings);
    // One visit in each of two shards: three in all, and nothing speaks against it.
    let all = report.extrapolated.unwrap().expect("extrapolated");
    assert_eq!((all.visits, all.low, all.high), (3.0, 3.0, 3.0));
    let alone = [Visit { shard: 2, ..at(2) }];
    let alone = ask(&alone, &options("postal=49000,country=UA", "UTC"));
    assert_eq!(alone.extrapolated, Some(Err(NoExtrapolation::OneShard)));
    // Nothing tells of shards after the last one but the number that the import was given.
    let ends = [Visit { shard: 0, ..at(1) }, Visit { shard: 1, ..at(2) }];
    let options = options("postal=49000,country=UA", "UTC");
    let ends = visits(&store(&ends).with_shards(4), &options).expect("an answer");
    assert_eq!((ends.shards, ends.shards_missing), (2, 2));
    let visits = ends.extrapolated.unwrap().expect("extrapolated").visits;
    assert!((visits - 4.0).abs() < 1e-9, "{visits}");
    let complete = ask(&[at(1)], &options);
    assert_eq!(complete.extrapolated, Some(Err(NoExtrapolation::Complete)));
}

#[test]
fn the_published_query_counts_visits_from_elsewhere_and_forgets_old_ones() {
    let day = 24;
    let rows = [
        // Contact 1 was here and then elsewhere: all of it counts there.
        at(1),
        Visit { place: 2, ..at(day) },
        // Contact 2 was here 40 days before its last visit: its cache has forgotten.
        Visit { contact: 2, ..at(2) },
        Visit { contact: 2, place: 2, ..at(42 * day) },
    ];
    let report = ask(&rows, &options("postal=49000,country=UA", "UTC"));
    assert_eq!(report.rows.iter().map(|row| row.sessions).sum::<u64>(), 2);
    let published = &report.published;
    assert_eq!((published.contacts, published.cached_contacts), (2, 1));
    assert_eq!((published.sessions, published.own_sessions), (2, 2));
    let by_contact =
        VisitOptions { attribute: Attribute::Contact, ..options("postal=49000,country=UA", "UTC") };
    let all: u64 = ask(&rows, &by_contact).rows.iter().map(|row| row.sessions).sum();
    assert_eq!(all, 4);
}

#[test]
fn networks_and_circles_are_places_too() {
    let rows = [at(1)];
    for (place, sessions) in [
        ("cidr=203.0.113.0/24", 1),
        ("cidr=198.51.100.0/24", 0),
        ("within=48.4647,35.0462,5", 1),
        ("within=50.4501,30.5234,5", 0),
        ("country=ua", 1),
    ] {
        let report = ask(&rows, &options(place, "UTC"));
        let found: u64 = report.rows.iter().map(|row| row.sessions).sum();
        assert_eq!(found, sessions, "{place}");
    }
}

#[test]
fn hours_and_weeks_begin_where_people_expect_them() {
    let mut options = options("country=UA", "Europe/Kyiv");
    options.by = Bucket::Hour;
    assert_eq!(short(&ask(&[at(1)], &options)), ["2026-03-28 03:00 1/1/1"]);
    options.by = Bucket::Week;
    // 2026-03-28 is a Saturday; the week began on Monday, the 23rd.
    assert_eq!(short(&ask(&[at(1)], &options)), ["2026-03-23 1/1/1"]);
}

#[test]
fn the_chain_says_what_each_step_left() {
    let rows = [at(1), Visit { agent: 2, ..at(2) }, Visit { place: 2, ..at(3) }];
    let report = ask(&rows, &options("postal=49000,country=UA", "UTC"));
    let steps: Vec<u64> = report.steps.iter().map(|step| step.rows).collect();
    assert_eq!(steps, [3, 3, 3, 2, 2, 1, 2, 1]);
}
