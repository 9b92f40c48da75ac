//! Versions of one row that come in any order: one of them counts, and always the same one.

use std::path::{Path, PathBuf};

use culprit_audit::schema::{
    Address, Contact, InteractionId, InteractionRow, PageView, PathText, StoredPlace, VisitEvent,
};
use culprit_audit::{ImportOptions, SourceFormat, Store};

use crate::imports::{import_options, run};

const CONTACT: &str = "22def722-a7fa-42a4-8ce5-bbc796b35e31";
const VISIT: &str = "00000000-0000-4000-8000-000000000001";

/// What a store says of its visits and contacts, without keys: these follow the order of the imports.
fn facts(store: &Path) -> Vec<String> {
    let store = Store::open(store).unwrap();
    let (places, addresses) =
        (store.read::<StoredPlace>().unwrap(), store.read::<Address>().unwrap());
    let (paths, contacts) = (store.read::<PathText>().unwrap(), store.read::<Contact>().unwrap());
    let (views, events) = (store.read::<PageView>().unwrap(), store.read::<VisitEvent>().unwrap());
    let at = |key: u64| usize::try_from(key).unwrap();
    let visit = |row: InteractionRow| {
        let place = row.place_id.map(|key| &places[at(u64::from(key.0))]);
        let place = place.map(|place| (place.country.clone(), place.city.clone()));
        let address = row.address_id.map(|key| addresses[at(key.0)].text.clone());
        let contact = &contacts[at(row.contact_id.0)];
        let own = views.iter().filter(|view| view.interaction_id == row.interaction_id);
        let own: Vec<_> = own
            .map(|view| (view.seq, view.path_id.map(|path| &paths[at(u64::from(path.0))].text)))
            .collect();
        let others = events.iter().filter(|event| event.interaction_id == row.interaction_id);
        let others: Vec<_> = others.map(|event| event.seq).collect();
        let (start, length) = (row.start_utc, row.duration_ms);
        let guid = contact.guid_high;
        format!(
            "{guid:x} {start:?} {length:?} {place:?} {address:?} {own:?} {others:?} {} {}",
            row.goals, row.raw_bytes.0
        )
    };
    let mut all: Vec<String> =
        store.read::<InteractionRow>().unwrap().into_iter().map(visit).collect();
    all.extend(contacts.iter().map(|one| {
        let classes = (one.classification, one.override_classification);
        format!("{:x} {classes:?} {:?} {}", one.guid_high, one.reported_interactions, one.recorded)
    }));
    all.sort();
    all
}

/// All orders of these numbers.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(count - 1);
    let insert = |order: &Vec<usize>, at: usize| {
        let mut order = order.clone();
        order.insert(at, count - 1);
        order
    };
    shorter.iter().flat_map(|order| (0..count).map(|at| insert(order, at))).collect()
}

/// The facts of stores of these files: imported at once and one by one, in all orders.
fn in_all_orders(folder: &Path, format: SourceFormat, files: &[String]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for (number, order) in orders(files.len()).into_iter().enumerate() {
        let inner = folder.join(format!("{number}"));
        std::fs::create_dir_all(&inner).unwrap();
        let write = |(at, file): (usize, &usize)| {
            let path = inner.join(format!("{at}.txt"));
            std::fs::write(&path, &files[*file]).unwrap();
            path
        };
        let paths: Vec<PathBuf> = order.iter().enumerate().map(write).collect();
        let (once, steps) = (inner.join("once"), inner.join("steps"));
        let options = |store: &Path, sources: &[PathBuf]| ImportOptions {
            tolerance: 1.0,
            ..import_options(store, format, sources)
        };
        run(&options(&once, &paths)).unwrap();
        all.push(facts(&once));
        for path in &paths {
            run(&options(&steps, std::slice::from_ref(path))).unwrap();
        }
        all.push(facts(&steps));
        // Nothing of it is new to either store.
        for path in &paths {
            let again = run(&options(&steps, std::slice::from_ref(path))).unwrap();
            assert_eq!((again.changed, again.counts.interactions), (false, 0), "{order:?}");
        }
    }
    all
}

fn assert_equal(all: &[Vec<String>]) {
    for one in all {
        assert_eq!(one, &all[0]);
    }
}

#[test]
fn the_newest_facet_counts_in_whatever_order_facets_and_rows_are_imported() {
    let folder = tempfile::tempdir().unwrap();
    let visit = format!(
        "{{\"InteractionId\":\"{VISIT}\",\"ContactId\":\"{CONTACT}\",\"LastModified\":\"2026-05-20\",\
         \"StartDateTime\":\"2026-05-01T01:00:00Z\"}}\n{{\"ContactId\":\"{CONTACT}\",\
         \"LastModified\":\"2026-05-20\",\"Percentile\":0.5}}"
    );
    let place = |day: u32, data: &str| {
        format!(
            "{{\"InteractionId\":\"{VISIT}\",\"FacetKey\":\"IpInfo\",\"LastModified\":\"2026-05-{day:02}\",\
             \"FacetData\":{data}}}"
        )
    };
    let facet = |name: &str, day: u32, data: &str| {
        format!(
            "\n{{\"ContactId\":\"{CONTACT}\",\"FacetKey\":\"{name}\",\"LastModified\":\"2026-05-{day:02}\",\
             \"FacetData\":{data}}}"
        )
    };
    let measures = |day, count| {
        facet("EngagementMeasures", day, &format!("{{\"TotalInteractionCount\":{count}}}"))
    };
    let class =
        |day, level| facet("Classification", day, &format!("{{\"ClassificationLevel\":{level}}}"));
    // The counts are newer than the class, and both are older than the contact's row.
    let old = place(2, "{\"City\":\"Lviv\",\"Country\":\"UA\",\"IpAddress\":\"192.0.2.1\"}");
    let new = place(3, "{\"City\":\"Dnipro\",\"Country\":\"UA\",\"IpAddress\":\"192.0.2.2\"}");
    let old = old + &class(4, 0) + &measures(9, 7);
    let new = new + &measures(10, 8) + &class(5, 925);
    let all = in_all_orders(folder.path(), SourceFormat::XdbJson, &[visit, old, new]);
    assert_equal(&all);
    let text = all[0].join("\n");
    assert!(text.contains("Dnipro") && text.contains("192.0.2.2"), "{text}");
    assert!(text.contains("(Some(925), None) Some(8) true"), "{text}");
}

/// An address that was made anonymous is gone from the store, too.
#[test]
fn a_newer_facet_takes_back_what_it_does_not_say_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let place = |day: u32, data: &str| {
        format!(
            "{{\"InteractionId\":\"{VISIT}\",\"FacetKey\":\"IpInfo\",\"LastModified\":\"2026-05-{day:02}\",\
             \"FacetData\":{data}}}\n"
        )
    };
    let row = |changed: u32, day: u32| {
        format!(
            "{{\"InteractionId\":\"{VISIT}\",\"ContactId\":\"{CONTACT}\",\
             \"LastModified\":\"2026-05-{changed:02}\",\"StartDateTime\":\"2026-05-{day:02}T01:00:00Z\"}}\n"
        )
    };
    let full = "{\"City\":\"Lviv\",\"Country\":\"UA\",\"IpAddress\":\"192.0.2.1\"}";
    let files = [row(5, 1), place(2, full), place(3, "{\"Country\":\"UA\"}") + &row(6, 2)];
    let all = in_all_orders(folder.path(), SourceFormat::XdbJson, &files);
    assert_equal(&all);
    let text = all[0].join("\n");
    assert!(text.contains("(Some(\"UA\"), None)) None"), "{text}");
}

const COLUMNS: usize = 131;

fn snowplow(cells: &[(usize, &str)]) -> String {
    let mut all = vec![""; COLUMNS];
    for (at, text) in [(5, "page_view"), (123, "session"), (126, "page_view")] {
        all[at] = text;
    }
    for (at, text) in cells {
        all[*at] = text;
    }
    all.join("\t") + "\n"
}

#[test]
fn events_of_one_moment_make_one_visit_in_whatever_order_they_are_imported() {
    let (first, last) = ("2026-11-28 23:12:14.534", "2026-11-28 23:20:00.000");
    let event = |id, time, user, country, path| {
        snowplow(&[(6, id), (15, user), (18, country), (35, path), (124, time)])
    };
    let (a, b) = (event("1", first, "ann", "UA", "/a"), event("2", first, "bob", "PL", "/b"));
    let (c, d) = (event("3", last, "ann", "FR", "/c"), event("4", last, "ann", "DE", "/d"));
    let folder = tempfile::tempdir().unwrap();
    let visits = |facts: &[String]| {
        facts.iter().filter(|fact| fact.contains("Utc(")).cloned().collect::<Vec<_>>()
    };
    // The third file has all events, the last one other ones of the same times and sizes.
    let files = [
        a.clone() + &c,
        b.clone() + &d + &a + &c,
        event("5", first, "eve", "SE", "/e") + &event("6", last, "eve", "SE", "/f"),
    ];
    let whole = in_all_orders(&folder.path().join("whole"), SourceFormat::SnowplowTsv, &files[..2]);
    let whole: Vec<_> = whole.iter().map(|facts| visits(facts)).collect();
    assert_equal(&whole);
    assert_eq!((whole[0].len(), whole[0][0].matches("Some(\"/").count()), (1, 4), "{whole:?}");
    let pair = [files[0].clone(), files[2].clone()];
    let pair = in_all_orders(&folder.path().join("pair"), SourceFormat::SnowplowTsv, &pair);
    // Imported at once, four events are one visit; one by one, one of two versions counts.
    let (once, steps): (Vec<_>, Vec<_>) =
        pair.into_iter().enumerate().partition(|(n, _)| n % 2 == 0);
    let of =
        |all: Vec<(usize, Vec<String>)>| all.into_iter().map(|(_, one)| one).collect::<Vec<_>>();
    assert_equal(&of(once));
    let steps: Vec<_> = of(steps).iter().map(|facts| visits(facts)).collect();
    assert_equal(&steps);
}

#[test]
fn two_events_of_one_moment_and_size_count_twice_and_one_delivered_again_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let click = |id, label, got| {
        let time = "2026-11-28 23:12:14.534";
        let cells = [(3, got), (5, "struct"), (6, id), (15, "ann"), (55, label), (124, time)];
        snowplow(&[&cells[..], &[(126, "link_click")]].concat())
    };
    let (early, late) = ("2026-11-28 23:12:15", "2026-11-28 23:59:59");
    let text = click("1", "ab", early) + &click("2", "cd", early) + &click("1", "ab", late);
    for all in in_all_orders(folder.path(), SourceFormat::SnowplowTsv, &[text]) {
        let visit = all.iter().find(|fact| fact.contains("Utc(")).unwrap();
        assert!(visit.contains("[0, 1] 0"), "{visit}");
    }
    let view = |page: &str| {
        format!(
            "{{\"event_timestamp\":\"1795907534534000\",\"event_name\":\"click\",\"event_params\":[\
             {{\"key\":\"ga_session_id\",\"value\":{{\"int_value\":\"7\"}}}},\
             {{\"key\":\"label\",\"value\":{{\"string_value\":\"{page}\"}}}}],\
             \"user_pseudo_id\":\"1.2\"}}\n"
        )
    };
    let files = [view("a") + &view("b") + &view("a")];
    for all in in_all_orders(&folder.path().join("ga4"), SourceFormat::Ga4Json, &files) {
        let visit = all.iter().find(|fact| fact.contains("Utc(")).unwrap();
        assert!(visit.contains("[0, 1] 0"), "{visit}");
    }
}

#[test]
fn of_two_exports_of_a_matomo_visit_the_later_counts_in_whatever_order_they_are_imported() {
    let folder = tempfile::tempdir().unwrap();
    let head = "idvisit\tidvisitor\tvisit_first_action_time\tvisit_last_action_time\t\
                visit_goal_converted\tlocation_ip\tlocation_country\tlocation_city\n";
    let visit = |last: &str, goal: u32, city: &str| {
        format!(
            "{head}7\t0x1A2B\t2026-11-28 23:12:14\t2026-11-28 {last}\t{goal}\tCB007109\tua\t{city}\n"
        )
    };
    let files =
        [visit("23:15:00", 1, "Lviv"), visit("23:16:00", 0, "Kyiv"), visit("23:16:00", 1, "Odes")];
    let all = in_all_orders(folder.path(), SourceFormat::Matomo, &files);
    let visits = |facts: &Vec<String>| facts.iter().find(|fact| fact.contains("Utc(")).cloned();
    for facts in &all[..] {
        let visit = visits(facts).unwrap();
        assert!(visit.contains("Millis(226000)"), "{visit}");
    }
    let once: Vec<_> = all.iter().step_by(2).map(visits).collect();
    assert!(once.iter().all(|one| one == &once[0]), "{once:?}");
    assert!(once[0].as_ref().unwrap().contains("Odes"), "{once:?}");
    let steps: Vec<_> = all.iter().skip(1).step_by(2).map(visits).collect();
    assert!(steps.iter().all(|one| one == &steps[0]), "{steps:?}");
}

#[test]
fn the_rank_of_a_version_begins_with_its_number_of_events() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("events.tsv");
    std::fs::write(&file, snowplow(&[(15, "ann"), (124, "2026-11-28 23:12:14")])).unwrap();
    let store = folder.path().join("store");
    run(&import_options(&store, SourceFormat::SnowplowTsv, &[file])).unwrap();
    let ids = Store::open(&store).unwrap().read::<InteractionId>().unwrap();
    assert_eq!(ids.iter().filter_map(|id| id.version_rank).map(|rank| rank >> 32).max(), Some(1));
}
