//! Mixtures with a known share of robots: the estimate, false alarms, precision and recall.
//!
//! `cargo test ... mixtures -- --ignored --nocapture` prints the table of docs/audit-robots.md.

use culprit_audit::Visitor;
use culprit_audit::lists::{ListSet, stock_lists};
use culprit_audit::robots::{GroupBy, Preset, RobotOptions, RobotReport, robots};

use crate::imported::{Imported, imported};

/// Interactions of the table.
const INTERACTIONS: u64 = 100_000;
/// Those that show a mistake in a few seconds.
const FEW: u64 = 25_000;

fn judged(sample: &Imported, lists: &ListSet, by: GroupBy) -> RobotReport {
    let options = RobotOptions { by, preset: Preset::Balanced, lists, networks: None };
    robots(&sample.open(256), &options).unwrap()
}

/// Interactions that are robots' and called so, robots' and not, people's and called robots'.
fn compared(sample: &Imported, report: &RobotReport) -> [u64; 3] {
    let mut counts = [0; 3];
    for group in &report.groups {
        let agent = group.user_agent.as_deref().unwrap_or_default();
        let is_robot = sample.truth.robots.get(agent).is_some_and(|truth| truth.visitor.is_robot());
        let called = group.verdict.band.is_robot(report.preset);
        match (is_robot, called) {
            (true, true) => counts[0] += group.counts.interactions,
            (true, false) => counts[1] += group.counts.interactions,
            (false, true) => counts[2] += group.counts.interactions,
            (false, false) => {}
        }
    }
    counts
}

#[test]
fn the_estimate_is_within_two_points_of_the_share() {
    estimate(FEW, &[0.05, 0.6]);
}

#[test]
#[ignore = "long: make accuracy"]
fn the_estimate_is_within_two_points_at_every_share() {
    estimate(INTERACTIONS, &[0.0, 0.01, 0.05, 0.2, 0.6]);
}

#[expect(clippy::print_stdout, reason = "the table of the docs")]
fn estimate(interactions: u64, shares: &[f64]) {
    let lists = ListSet::new(stock_lists(), Vec::new());
    println!("| robots | estimate | precision | recall |\n|---|---|---|---|");
    for &share in shares {
        let sample = imported(interactions, share);
        assert_eq!(sample.truth.visits, interactions);
        let report = judged(&sample, &lists, GroupBy::UserAgent);
        assert_eq!(report.interactions, interactions);
        let [right, missed, wrong] = compared(&sample, &report);
        let part = |part: u64, other: u64| {
            let all = part + other;
            if all == 0 { 1.0 } else { part as f64 / all as f64 }
        };
        let (precision, recall) = (part(right, wrong), part(right, missed));
        println!(
            "| {:.0} % | {:.2} % | {:.1} % | {:.1} % |",
            share * 100.0,
            report.robot_share() * 100.0,
            precision * 100.0,
            recall * 100.0
        );
        let off = (report.robot_share() - share).abs();
        let bands: Vec<_> = report
            .groups
            .iter()
            .filter(|group| {
                sample.truth.robots.contains_key(group.user_agent.as_deref().unwrap_or_default())
            })
            .map(|group| (&group.user_agent, &group.verdict))
            .collect();
        assert!(off <= 0.02, "{share}: {} {bands:#?}", report.robot_share());
    }
}

#[test]
fn without_robots_fewer_than_one_group_in_a_thousand_is_called_one() {
    let lists = ListSet::new(stock_lists(), Vec::new());
    let sample = imported(FEW, 0.0);
    for by in [GroupBy::UserAgent, GroupBy::UserAgentAndNetwork, GroupBy::Contact, GroupBy::Address]
    {
        let report = judged(&sample, &lists, by);
        let alarms: Vec<_> = report
            .groups
            .iter()
            .filter(|group| group.verdict.band.is_robot(report.preset))
            .collect();
        assert!(alarms.len() * 1000 <= report.groups.len(), "{by:?}: {:#?}", alarms.first());
    }
    let servers = sample.truth.visits_by_visitor.get(&Visitor::ServerSide);
    assert!(servers.is_some_and(|visits| *visits > 0), "servers are exempt, and there are some");
}
