//! Verdicts on stores with a few rows.

use culprit_audit::lists::{ListSet, stock_lists};
use culprit_audit::robots::{
    Band, Baseline, GroupBy, Preset, RobotGroup, RobotOptions, RobotReport, robots,
};

use crate::rows::{BEFORE_CHANGE, HOUR_MS, ROBOT, Visit, agent, empty, store};

fn judged(store: &culprit_audit::AuditStore, by: GroupBy) -> RobotReport {
    let lists = ListSet::new(stock_lists(), Vec::new());
    let options = RobotOptions { by, preset: Preset::Balanced, lists: &lists, networks: None };
    robots(store, &options).expect("a report")
}

/// 300 people of whom 70 % stay on one page, and a robot with 60 contacts.
fn mixture() -> Vec<Visit> {
    let minute = HOUR_MS / 60;
    let person = |n: i64| Visit {
        contact: n.unsigned_abs() + 1000,
        start: BEFORE_CHANGE + n * n % 997 * minute,
        pages: if n % 10 < 7 { 1 } else { 4 },
        address: n.unsigned_abs() + 1000,
        ..Visit::default()
    };
    let robot = |n: i64| Visit {
        contact: n.unsigned_abs(),
        agent: 2,
        start: BEFORE_CHANGE + n * n % 991 * minute,
        address: n.unsigned_abs(),
        ..Visit::default()
    };
    (1..=300).map(person).chain((1..=60).map(robot)).collect()
}

#[test]
fn a_listed_fleet_is_certain_and_its_share_is_counted() {
    let report = judged(&store(&mixture()), GroupBy::UserAgent);
    let Baseline::Rate { q, interactions, groups } = report.baseline else {
        panic!("{:?}", report.baseline)
    };
    assert_eq!((q, interactions, groups), (0.7, 300, 1));
    let robot = report.groups.iter().find(|g| g.user_agent.as_deref() == Some(ROBOT)).unwrap();
    assert_eq!(robot.verdict.band, Band::Certain, "{robot:#?}");
    assert_eq!((robot.counts.contacts, robot.counts.addresses), (60, 60));
    assert!((report.robot_interactions() - 60.0).abs() < 1e-9);
    assert!((report.robot_share() - 60.0 / 360.0).abs() < 1e-12);
    assert!(report.chance_hits > 0.0 && report.lists.len() == 3);
}

#[test]
fn a_crawler_on_a_library_is_a_crawler_in_each_of_its_contacts() {
    // Each contact of it walks through four pages in a second once, which alone is no habit.
    let crawler =
        |n: u64| Visit { contact: n + 5000, agent: 3, seconds: 1, pages: 4, ..Visit::default() };
    let reporter = |n: u64| Visit { contact: n + 6000, agent: 4, pages: 1, ..Visit::default() };
    let visits: Vec<Visit> =
        (1..=60).flat_map(|n| [crawler(n), reporter(n)]).chain(mixture()).collect();
    let store = store(&visits)
        .with_rows(&[agent(3, "Scrapy/2.11 (+https://scrapy.example)"), agent(4, "okhttp/4.12.0")])
        .expect("rows");
    for by in [GroupBy::UserAgent, GroupBy::UserAgentAndNetwork, GroupBy::Contact] {
        let report = judged(&store, by);
        let exempt = |name: &str| {
            let of = |group: &&RobotGroup| {
                group.user_agent.as_deref().is_some_and(|text| text.starts_with(name))
            };
            let groups = report.groups.iter().filter(of);
            let mut exempt: Vec<bool> =
                groups.map(|group| group.verdict.band == Band::Exempt).collect();
            exempt.dedup();
            exempt
        };
        assert_eq!((exempt("Scrapy"), exempt("okhttp")), (vec![false], vec![true]), "{by:?}");
    }
}

#[test]
fn every_grouping_counts_every_interaction_once() {
    let store = store(&mixture());
    for by in [GroupBy::UserAgent, GroupBy::UserAgentAndNetwork, GroupBy::Contact, GroupBy::Address]
    {
        let report = judged(&store, by);
        assert_eq!(report.interactions, 360, "{by:?}");
        let of_bands: u64 = report.bands.iter().map(|(_, sum)| sum.interactions).sum();
        assert_eq!(of_bands, 360, "{by:?}");
    }
}

#[test]
fn a_store_without_rows_has_no_rate_and_no_robots() {
    let report = judged(&empty(), GroupBy::UserAgent);
    assert!(matches!(report.baseline, Baseline::Undefined { .. }));
    assert_eq!((report.interactions, report.robot_share()), (0, 0.0));
}

#[test]
fn two_runs_give_the_same_report() {
    let store = store(&mixture());
    assert_eq!(judged(&store, GroupBy::Contact), judged(&store, GroupBy::Contact));
}
