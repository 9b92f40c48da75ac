use super::*;
use crate::lists::Votes;
use crate::robots::{Baseline, Gaps, Network, Traffic};

const Q: Baseline = Baseline::Rate { q: 0.7, interactions: 10_000, groups: 20 };

fn counts(interactions: u64, visitors: u64, max_pages: u64) -> GroupCounts {
    GroupCounts {
        interactions,
        single: if max_pages > 1 { interactions * 7 / 10 } else { interactions },
        max_pages,
        contacts: visitors,
        ..GroupCounts::default()
    }
}

fn votes(lists: &[&str], tags: &[&str]) -> Votes {
    Votes {
        lists: lists.iter().map(|list| (*list).to_owned()).collect(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        allowed_by: None,
    }
}

fn verdict(counts: &GroupCounts, votes: &Votes, preset: Preset) -> Verdict {
    let thresholds = preset.thresholds();
    let crawls = counts.crawls(thresholds.robots_txt);
    let group =
        Group { counts, user_agent: None, votes, baseline: &Q, thresholds: &thresholds, crawls };
    judge(&group, preset)
}

fn check(counts: &GroupCounts, votes: &Votes, band: Band) {
    let found = verdict(counts, votes, Preset::Balanced);
    assert_eq!(found.band, band, "{found:#?}");
}

#[test]
fn a_fleet_alone_is_likely_and_with_a_list_certain() {
    let fleet = counts(400, 60, 1);
    check(&fleet, &votes(&[], &[]), Band::Likely);
    check(&fleet, &votes(&["isbot"], &[]), Band::Certain);
    // 39 visitors suffice for q = 0.7, 38 do not.
    check(&counts(39, 39, 1), &votes(&[], &[]), Band::Likely);
    check(&counts(38, 38, 1), &votes(&[], &[]), Band::HumanLike);
}

#[test]
fn one_loyal_reader_of_one_page_is_no_robot_and_a_clock_is() {
    let reader = counts(300, 1, 1);
    check(&reader, &votes(&[], &[]), Band::Unsure);
    let gaps = Some(Gaps { count: 299, sum: 299.0 * 300.0, squares: 299.0 * 300.0 * 300.0 });
    check(&GroupCounts { gaps, ..reader }, &votes(&[], &[]), Band::Likely);
}

#[test]
fn a_fake_browser_without_assets_is_certain_and_a_real_one_is_not_named() {
    let fake = GroupCounts {
        traffic: Some(Traffic { requests: 99, pages: 52, robots_txt: 47, ..Traffic::default() }),
        ..counts(52, 45, 1)
    };
    check(&fake, &votes(&[], &[]), Band::Certain);
    let safari = GroupCounts {
        traffic: Some(Traffic { requests: 91, assets: 75, pages: 16, ..Traffic::default() }),
        ..counts(50, 45, 1)
    };
    check(&safari, &votes(&[], &[]), Band::Unsure);
}

#[test]
fn lists_alone_are_likely_and_one_vote_is_not_enough() {
    let people = counts(1000, 800, 12);
    check(&people, &votes(&[], &[]), Band::HumanLike);
    check(&counts(3, 3, 1), &votes(&["isbot"], &[]), Band::Unsure);
    check(&counts(3, 3, 1), &votes(&["isbot", "crawlerdetect"], &[]), Band::Likely);
    // A device that one list takes for a robot, and whose owners read on.
    check(&people, &votes(&["isbot"], &[]), Band::HumanLike);
}

#[test]
fn exemptions_come_first() {
    let many = votes(&["a", "b", "c"], &["http-library"]);
    check(&counts(9000, 900, 1), &many, Band::Exempt);
    let own = Votes { allowed_by: Some("^Monitor".to_owned()), ..votes(&["a", "b"], &[]) };
    let found = verdict(&counts(9000, 900, 1), &own, Preset::Classic);
    assert_eq!((found.band, found.exempt.unwrap().contains("^Monitor")), (Band::Exempt, true));
}

#[test]
fn a_library_that_walks_through_pages_is_not_exempt() {
    let crawler = GroupCounts { single: 0, hurried: 900, ..counts(1000, 900, 12) };
    check(&crawler, &votes(&["a", "b"], &["http-library"]), Band::Certain);
}

#[test]
fn a_helper_is_verified_by_its_network_and_a_spoof_is_named() {
    let search = votes(&["a", "b"], &["search-engine"]);
    let from = |cloud, verified| GroupCounts {
        network: Some(Network { cloud, verified, compared: 100 }),
        ..counts(100, 9, 40)
    };
    check(&from(0, 95), &search, Band::VerifiedHelper);
    let spoof = verdict(&from(100, 0), &search, Preset::Balanced);
    assert!(spoof.signals.iter().any(|signal| signal.id == "R9"), "{spoof:#?}");
}

#[test]
fn the_classic_rule_counts_only_interactions_and_pages() {
    for (interactions, max_pages, band) in
        [(501, 1, Band::Certain), (500, 1, Band::HumanLike), (501, 2, Band::HumanLike)]
    {
        let found = verdict(&counts(interactions, 1, max_pages), &votes(&[], &[]), Preset::Classic);
        assert_eq!(found.band, band);
    }
}

#[test]
fn a_mixed_group_s_share_is_reported_and_the_group_is_kept() {
    let mixed = GroupCounts { single: 820, ..counts(1000, 900, 9) };
    let found = verdict(&mixed, &votes(&[], &[]), Preset::Balanced);
    assert!((found.pages.mixed_share.unwrap() - 0.4).abs() < 1e-9);
    assert!(!found.band.is_robot(Preset::Balanced));
    // 30 standard deviations above, and only 10 % of it robots: people differ that much.
    let large = GroupCounts { single: 73_000, ..counts(100_000, 90_000, 9) };
    assert_eq!(verdict(&large, &votes(&[], &[]), Preset::Balanced).pages.mixed_share, None);
}

#[test]
fn without_a_baseline_lists_still_work() {
    let baseline = Baseline::Undefined { why: "no group".to_owned() };
    let thresholds = Preset::Balanced.thresholds();
    let (counts, votes) = (counts(9000, 900, 1), votes(&["a", "b"], &[]));
    let group = Group {
        counts: &counts,
        user_agent: None,
        votes: &votes,
        baseline: &baseline,
        thresholds: &thresholds,
        crawls: false,
    };
    let found = judge(&group, Preset::Balanced);
    assert_eq!(found.band, Band::Likely);
    assert!(found.signals.iter().all(|signal| signal.id != "R2"));
}
