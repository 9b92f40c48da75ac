//! Sums of days, what changed between days and stores, and what groups are called.

use std::collections::BTreeMap;
use std::net::IpAddr;

use culprit_audit::lists::{ListSet, stock_lists};
use culprit_audit::robots::{GroupBy, Preset, RobotOptions, robots};
use culprit_audit::schema::{DayRollup, InteractionRow};
use culprit_audit::{AuditStore, Days, DiffSide, Store, diff};

use crate::imported::imported;

const DAY_MS: i64 = 86_400_000;

fn side<'a>(store: &'a AuditStore, days: Option<&str>) -> DiffSide<'a> {
    DiffSide { store, days: days.map(|days| Days::parse(days).unwrap()), robot_agents: vec![1, 2] }
}

#[test]
fn sums_of_days_are_those_of_the_rows() {
    let sample = imported(3000, 0.2);
    let store = Store::open(&sample.store).unwrap();
    let mut wanted: BTreeMap<_, [u64; 5]> = BTreeMap::new();
    for row in store.read::<InteractionRow>().unwrap() {
        let Some(start) = row.start_utc else { continue };
        let day = start.0.div_euclid(DAY_MS) * DAY_MS;
        let sums = wanted.entry((day, row.place_id, row.shard)).or_default();
        let length = row.duration_ms.map(|ms| ms.0);
        let (pages, single) = (u64::from(row.pages), u64::from(row.pages <= 1));
        let one = [1, pages, single, length.unwrap_or(0), u64::from(length.is_some())];
        sums.iter_mut().zip(one).for_each(|(sum, one)| *sum += one);
    }
    let rows = store.read::<DayRollup>().unwrap();
    let sums =
        |row: &DayRollup| [row.sessions, row.pages, row.single, row.duration_ms, row.with_duration];
    let found: BTreeMap<_, _> =
        rows.iter().map(|row| ((row.day.0, row.place_id, row.shard), sums(row))).collect();
    assert_eq!(found.len(), rows.len());
    assert_eq!(found, wanted);
    assert!(rows.iter().all(|row| row.label.is_none() && row.time_zone.as_str() == "UTC"));
}

#[test]
fn a_store_does_not_differ_from_itself_and_days_do() {
    let sample = imported(3000, 0.2);
    let store = sample.open(256);
    let same = diff(&side(&store, None), &side(&store, None)).unwrap();
    assert_eq!((same.before, same.before.all.visits), (same.after, 3000));
    let places = same.places.as_ref().unwrap();
    assert!(same.agents.iter().chain(places).all(|group| group.change() == 0));
    let days = ("2026-06-10", "2026-06-17..2026-06-19");
    let found = diff(&side(&store, Some(days.0)), &side(&store, Some(days.1))).unwrap();
    let rows = Store::open(&sample.store).unwrap().read::<InteractionRow>().unwrap();
    let visits = |first: i64, last: i64| {
        let days = first..=last;
        let on = rows.iter().filter_map(|row| row.start_utc).map(|at| at.0.div_euclid(DAY_MS));
        on.filter(|day| days.contains(day)).count() as u64
    };
    // 2026-06-10 is the 20,614th day.
    assert_eq!(found.before.all.visits, visits(20_614, 20_614));
    assert_eq!(found.after.all.visits, visits(20_621, 20_623));
    assert_eq!((found.before.days, found.after.days), (Some(1), Some(3)));
    for groups in [&found.agents, found.places.as_ref().unwrap()] {
        let sum =
            |side: fn(&(u64, u64)) -> u64| groups.iter().map(|g| side(&g.visits)).sum::<u64>();
        assert_eq!(sum(|visits| visits.0), found.before.all.visits);
        assert_eq!(sum(|visits| visits.1), found.after.all.visits);
        assert!(groups.windows(2).all(|two| two[0].change() >= two[1].change()));
    }
    let robots: u64 = found.agents.iter().filter(|g| g.robot).map(|g| g.visits.1).sum();
    assert_eq!(found.after.people.visits, found.after.all.visits - robots);
}

#[test]
fn groups_are_called_as_people_know_them() {
    let sample = imported(2000, 0.2);
    let store = sample.open(256);
    let lists = ListSet::new(stock_lists(), Vec::new());
    let names = |by| {
        let options = RobotOptions { by, preset: Preset::Balanced, lists: &lists, networks: None };
        let report = robots(&store, &options).unwrap();
        let groups: Vec<_> = report.groups.iter().take(50).collect();
        report.names(&store, &groups).unwrap()
    };
    assert!(names(GroupBy::UserAgent).iter().all(Option::is_none));
    let is_guid = |name: &String| {
        let parts: Vec<usize> = name.split('-').map(str::len).collect();
        parts == [8, 4, 4, 4, 12] && name.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
    };
    assert!(names(GroupBy::Contact).iter().all(|name| name.as_ref().is_some_and(is_guid)));
    let known = |names: Vec<Option<String>>| names.into_iter().flatten().collect::<Vec<_>>();
    let addresses = known(names(GroupBy::Address));
    assert!(addresses.len() > 40, "{addresses:?}");
    assert!(addresses.iter().all(|name| name.parse::<IpAddr>().is_ok()), "{addresses:?}");
    let networks = known(names(GroupBy::UserAgentAndNetwork));
    let is_network = |name: &String| name.ends_with("/24") || name.ends_with("/48");
    assert!(!networks.is_empty() && networks.iter().all(is_network), "{networks:?}");
}
