//! Orphans, blacklists, large values, limits and their effect, on stores with a few rows.

use culprit_audit::lists::{ListSet, stock_lists};
use culprit_audit::robots::{GroupBy, Preset, RobotOptions, robots};
use culprit_audit::schema::{
    Bytes, Contact, Facet, JsonPath, JsonState, LongValue, OwnerKind, SourceKey, Term, TermKey,
    TermKind, Utc, ValueKind,
};
use culprit_audit::{AuditError, AuditStore, blacklist, bloat, cap, impact, orphans};

use crate::rows::{
    BEFORE_CHANGE, HOUR_MS, ROBOT, Visit, agent, contact, empty, interactions, store,
};

#[test]
fn each_kind_of_orphan_is_counted_exactly() {
    let visits = [
        Visit { contact: 1, ..Visit::default() },
        Visit { contact: 1, ..Visit::default() },
        Visit { contact: 9, ..Visit::default() },
    ];
    let contacts = [
        Contact { reported_interactions: Some(2), ..contact(1) },
        Contact { known: true, reported_interactions: Some(5), ..contact(2) },
        Contact { shards: 2, ..contact(3) },
        // Only interactions name it.
        Contact { recorded: false, ..contact(9) },
    ];
    let facets = [
        facet(OwnerKind::Contact, 1, 10, 100),
        facet(OwnerKind::Contact, 9, 10, 30),
        facet(OwnerKind::Interaction, 2, 10, 40),
        facet(OwnerKind::Interaction, 77, 10, 50),
    ];
    let store = store(&visits).with_rows(&contacts).unwrap().with_rows(&facets).unwrap();
    let found = orphans(&store).unwrap();
    assert_eq!((found.contacts, found.without, found.without_known), (3, 2, 1));
    assert_eq!((found.unrecorded, found.unrecorded_visits), (1, 1));
    assert_eq!((found.reported, found.wrong_total), (2, 1));
    assert_eq!((found.reported_more, found.reported_less, found.in_several_shards), (5, 0, 1));
    let orphaned =
        found.facets.iter().map(|f| (f.owner.as_str(), f.facets, f.orphans, f.orphan_bytes));
    assert_eq!(orphaned.collect::<Vec<_>>(), [("contact", 2, 1, 30), ("interaction", 2, 1, 50)]);
    assert_eq!(found.finding().unwrap().id, "contacts-without-interactions");
}

fn with_agents(agents: &[&str]) -> AuditStore {
    let agents: Vec<_> = (1..).zip(agents).map(|(key, text)| agent(key, text)).collect();
    let visits: Vec<Visit> = (1..=agents.len())
        .map(|n| Visit { agent: u32::try_from(n).unwrap(), ..Visit::default() })
        .collect();
    store(&visits).with_rows(&agents).unwrap()
}

fn compare(store: &AuditStore, list: &str) -> culprit_audit::BlacklistReport {
    let lists = ListSet::new(stock_lists(), Vec::new());
    let options = RobotOptions {
        by: GroupBy::UserAgent,
        preset: Preset::Balanced,
        lists: &lists,
        networks: None,
    };
    let robots = robots(store, &options).unwrap();
    blacklist(store, "ExcludeRobots.config", list, &robots).unwrap()
}

#[test]
fn a_list_s_leaks_are_repaired_by_its_patch_and_what_may_work_stays() {
    let stored = ["IndexCrawl/1.4", "Two  Blanks/1", "A & B/2", "Exact/1"];
    let list = "<c>\n<excludedUserAgents>\n  indexcrawl/1.4\n  Two Blanks/1\n  A &amp;amp; B/2\n  \
                Exact/1\n  Never/0\n  EXACT/1\n  Exact/1\n  index\n</excludedUserAgents>\n</c>\n";
    let found = compare(&with_agents(&stored), list);
    let seen: Vec<(usize, u64, &str, bool)> = found
        .entries
        .iter()
        .map(|e| (e.line, e.exact, e.leaks.first().map_or("", |l| &l.differs), e.is_unseen()))
        .collect();
    assert_eq!(
        seen,
        [
            (3, 0, "case", false),
            (4, 0, "blanks", false),
            (5, 0, "entity", false),
            (6, 1, "", false),
            (7, 0, "", true),
            (8, 0, "", false),
            (9, 1, "", false),
            (10, 0, "", true),
        ]
    );
    // `EXACT/1` is spelled in another way, `Exact/1` stands twice; what was never seen may work.
    let dead: Vec<usize> = found.entries.iter().filter(|e| e.is_dead()).map(|e| e.line).collect();
    assert_eq!(dead, [3, 4, 5, 8, 9]);
    assert_eq!((found.leaked_interactions, found.interactions), (3, 4));
    assert_eq!((found.entries[6].doubles, found.entries[7].begins), (Some(6), 1));
    for line in ["+  IndexCrawl/1.4\n", "+  A &amp; B/2\n", "-  Exact/1\n"] {
        assert!(found.patch.contains(line), "{line}{}", found.patch);
    }
    // Entries that work leave nothing in the store.
    let removed = found.patch.lines().filter(|line| line.starts_with("-  ")).count();
    assert_eq!(removed, 1, "{}", found.patch);
    assert_eq!(found.finding().unwrap().id, "blacklist-leak");
    let repaired = compare(&with_agents(&stored), &apply(list, &found.patch));
    assert!(repaired.patch.is_empty() && repaired.finding().is_none(), "{repaired:#?}");
}

/// The list after a patch with one hunk or more.
fn apply(list: &str, patch: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ExcludeRobots.config");
    std::fs::write(&file, list).unwrap();
    let hunks = patch.split("@@").skip(1).collect::<Vec<_>>();
    let mut lines: Vec<String> = list.split_inclusive('\n').map(str::to_owned).collect();
    // From the last hunk to the first, so that earlier numbers stay right.
    for pair in hunks.chunks(2).rev() {
        let [head, body] = pair else { panic!("{patch}") };
        let start: usize =
            head.trim().trim_start_matches('-').split([',', ' ']).next().unwrap().parse().unwrap();
        let body: Vec<&str> = body.split_inclusive('\n').skip(1).collect();
        let old = body.iter().filter(|line| !line.starts_with('+')).count();
        let new =
            body.iter().filter(|line| !line.starts_with('-')).map(|line| line[1..].to_owned());
        lines.splice(start - 1..start - 1 + old, new.collect::<Vec<_>>());
    }
    lines.concat()
}

#[test]
fn an_entry_that_hits_people_is_removed() {
    let browser = crate::rows::BROWSER;
    let visits: Vec<Visit> = (0..200)
        .map(|n| Visit { contact: n, pages: if n % 2 == 0 { 1 } else { 4 }, ..Visit::default() })
        .collect();
    let found = compare(&store(&visits), &format!("{browser}\n"));
    assert_eq!(found.entries[0].people, [browser]);
    assert!(found.patch.contains(&format!("-{browser}")), "{}", found.patch);
}

fn facet(owner_kind: OwnerKind, owner_id: u64, key: u32, bytes: u64) -> Facet {
    Facet {
        owner_kind,
        owner_id,
        shard: 0,
        facet_key: TermKey(key),
        last_modified: Some(Utc(BEFORE_CHANGE)),
        chars: bytes,
        bytes_utf8: Bytes(bytes),
        bytes_utf16: Bytes(2 * bytes),
        json_state: JsonState::Valid,
        source_id: SourceKey(1),
        source_row: 1,
    }
}

fn long(owner_id: u64, bytes: u64, hash: u64) -> LongValue {
    LongValue {
        owner_kind: OwnerKind::Contact,
        owner_id,
        shard: 0,
        facet_key: TermKey(1),
        path_id: TermKey(2),
        bytes_utf8: Bytes(bytes),
        bytes_utf16: Bytes(2 * bytes),
        hash,
        host: Some(TermKey(3)),
        junk: Some(TermKey(4)),
    }
}

fn term(key: u32, kind: TermKind, text: &str) -> Term {
    Term { term_id: TermKey(key), kind, text: text.into() }
}

/// 10,000 referrers: one of 28,000 bytes, 50 of 100 bytes, 40 of which are equal.
fn bloated() -> AuditStore {
    let mut values: Vec<LongValue> =
        (0..50).map(|n| long(n, 100, if n < 40 { u64::MAX } else { n })).collect();
    values.push(long(7, 28_000, 99));
    let path = JsonPath {
        facet_key: TermKey(1),
        path_id: TermKey(2),
        kind: ValueKind::Text,
        values: 10_000,
        bytes_utf8: Bytes(28_000 + 5_000 + 20_000),
        bytes_utf16: Bytes(106_000),
        max_utf8: Bytes(28_000),
        elements: 0,
        max_elements: 0,
    };
    let facets: Vec<Facet> = (0..100)
        .map(|n| facet(OwnerKind::Contact, n, 1, if n == 7 { 30_000 } else { 500 }))
        .collect();
    let terms = [
        term(1, TermKind::FacetKey, "InteractionsCache"),
        term(2, TermKind::JsonPath, "InteractionCaches[].Referrers[]"),
        term(3, TermKind::Host, "https://mail.example"),
        term(4, TermKind::Junk, "address+base64"),
    ];
    empty()
        .with_rows(&values)
        .and_then(|store| store.with_rows(&[path]))
        .and_then(|store| store.with_rows(&facets))
        .and_then(|store| store.with_rows(&terms))
        .unwrap()
}

#[test]
fn large_values_are_found_with_exact_quantiles_and_without_their_text() {
    let found = bloat(&bloated(), 3).unwrap();
    let facet = &found.facets[0];
    assert_eq!(
        (facet.facet.as_str(), facet.sizes.values, facet.sizes.bytes),
        ("InteractionsCache", 100, 79_500)
    );
    assert_eq!(
        (facet.sizes.p50, facet.sizes.p99, facet.sizes.p999, facet.sizes.max),
        (Some(500), Some(500), Some(30_000), 30_000)
    );
    let path = &found.paths[0];
    assert_eq!(path.path, "InteractionsCache.InteractionCaches[].Referrers[]");
    assert_eq!((path.sizes.p50, path.sizes.p999, path.sizes.max), (None, Some(100), 28_000));
    // 39 of 40 equal values of 100 bytes; their hash fills all 64 bits.
    assert_eq!(path.repeated_bytes, Some(3_900));
    assert_eq!(found.top.len(), 3);
    assert_eq!(
        (found.top[0].bytes, found.top[0].host.as_deref()),
        (28_000, Some("https://mail.example"))
    );
    let junk: Vec<_> = found.junk.iter().map(|j| (j.junk.as_str(), j.values, j.bytes)).collect();
    assert_eq!(junk, [("address", 51, 33_000), ("base64", 51, 33_000)]);
    assert_eq!(found.growth_per_day(), Some(79_500.0));
    assert_eq!(found.finding().unwrap().id, "oversized-values");
}

/// Four of five facets that imports read were replaced: their paths are not all there any more.
#[test]
fn paths_of_facets_that_went_are_estimated_by_what_is_left() {
    let root = JsonPath {
        facet_key: TermKey(1),
        path_id: TermKey(5),
        kind: ValueKind::Object,
        values: 500,
        bytes_utf8: Bytes(5 * 79_500),
        bytes_utf16: Bytes(10 * 79_500),
        max_utf8: Bytes(30_000),
        elements: 0,
        max_elements: 0,
    };
    let referrers = JsonPath {
        path_id: TermKey(2),
        kind: ValueKind::Text,
        values: 10_000,
        bytes_utf8: Bytes(53_000),
        ..root.clone()
    };
    let terms = [
        term(1, TermKind::FacetKey, "InteractionsCache"),
        term(2, TermKind::JsonPath, "InteractionCaches[].Referrers[]"),
        term(5, TermKind::JsonPath, ""),
    ];
    let store = bloated().with_rows(&[root, referrers]).and_then(|store| store.with_rows(&terms));
    let store = store.unwrap();
    let found = bloat(&store, 3).unwrap();
    let path = found.paths.iter().find(|path| path.kind == "text").unwrap();
    assert_eq!((path.sizes.values, path.sizes.bytes, path.estimated), (2_000, 10_600, true));
    let found = cap(&store, "InteractionsCache.Referrers[]", 512).unwrap();
    assert_eq!((found.values, found.bytes, found.estimated), (2_000, 10_600, true));
}

/// Of 10,000 owners one has long values: 999 of 1,000 have none.
#[test]
fn owners_without_long_values_are_owners() {
    let facets: Vec<Facet> = (0..10_000).map(|n| facet(OwnerKind::Contact, n, 1, 500)).collect();
    let store =
        bloated().with_rows(&facets).and_then(|store| store.with_rows(&[long(7, 28_000, 99)]));
    let found = cap(&store.unwrap(), "InteractionsCache.Referrers[]", 512).unwrap();
    assert_eq!((found.container_max, found.container_p999), (28_000, 0));
}

#[test]
fn a_limit_is_tried_and_one_is_suggested() {
    let found = cap(&bloated(), "ContactFacets.InteractionsCache.Referrers[]", 512).unwrap();
    assert_eq!((found.asked.cut, found.asked.saved, found.asked.owners), (1, 27_488, 1));
    assert_eq!((found.values, found.suggested, found.container_max), (10_000, Some(128), 28_100));
    // 51 owners have long values, and 49 none.
    assert_eq!((found.container_p999, found.estimated), (28_100, false));
    assert_eq!(found.curve[0].cut, 51);
    assert_eq!(found.curve.last().unwrap().cut, 0, "the curve ends where nothing is cut");
    for (path, limit) in [("InteractionsCache.Nothing", 512), ("InteractionsCache.Referrers[]", 63)]
    {
        assert!(matches!(cap(&bloated(), path, limit), Err(AuditError::Asked { .. })), "{path}");
    }
}

#[test]
fn the_impact_of_robots_is_exact() {
    let visit = |n: u64, agent, pages| Visit {
        contact: n,
        agent,
        pages,
        start: BEFORE_CHANGE + i64::try_from(n).unwrap() * 24 * HOUR_MS,
        ..Visit::default()
    };
    let visits = [visit(0, 1, 3), visit(0, 1, 5), visit(0, 2, 1), visit(1, 2, 1)];
    let mut goal = interactions(&visits);
    goal[1].goals = 1;
    let contacts = [contact(0), contact(1), contact(2)];
    let store = store(&visits)
        .with_rows(&goal)
        .and_then(|store| store.with_rows(&contacts))
        .and_then(|store| store.with_rows(&[agent(1, "x"), agent(2, ROBOT)]))
        .unwrap();
    let found = impact(&store, &[2]).unwrap();
    assert_eq!((found.before.visits, found.after.visits), (4, 2));
    assert_eq!((found.before.pages_mean(), found.after.pages_mean()), (2.5, 4.0));
    assert_eq!(
        [found.before.conversion(true), found.after.conversion(true)],
        [Some(0.25), Some(0.5)]
    );
    assert_eq!((found.before.single_share(), found.after.single_share()), (0.5, 0.0));
    assert_eq!((found.contacts_before, found.contacts_after), (3, 1));
    assert_eq!((found.contacts_of_robots, found.contacts_without), (1, 1));
    assert_eq!(found.storage(), (4 * 500 + 300, 2 * 500 + 100));
    let term = |key, text: &str| Term {
        term_id: TermKey(key),
        kind: TermKind::FacetKey,
        text: text.into(),
    };
    // The third interaction is a robot's. Events are in the rows.
    let facets = [
        facet(OwnerKind::Interaction, 1, 10, 40),
        facet(OwnerKind::Interaction, 3, 10, 7),
        facet(OwnerKind::Interaction, 1, 11, 9_000),
    ];
    let with_facets = store
        .clone()
        .with_rows(&[term(10, "IpInfo"), term(11, "Events")])
        .and_then(|store| store.with_rows(&facets))
        .unwrap();
    let found = impact(&with_facets, &[2]).unwrap();
    assert_eq!(found.storage(), (4 * 500 + 300 + 47, 2 * 500 + 100 + 40));
    assert_eq!(found.days.len(), 2);
    let none = impact(&empty(), &[]).unwrap();
    assert_eq!((none.before.visits, none.contacts_before), (0, 0));
}
