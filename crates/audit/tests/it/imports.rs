//! Imports against the truth of samples, and with hostile input.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use culprit_audit::schema::{
    Contact, Facet, InteractionId, InteractionRow, JsonState, LongValue, PageView, ParseState,
    RejectedRow, StoredPlace, Term,
};
use culprit_audit::{Error, ImportOptions, Imported, SampleOptions, SourceFormat, Store, import};

use crate::support::{options, sample};

pub(crate) fn import_options(
    store: &Path,
    format: SourceFormat,
    sources: &[PathBuf],
) -> ImportOptions {
    ImportOptions::new(store.to_owned(), format, sources.to_vec())
}

pub(crate) fn run(options: &ImportOptions) -> Result<Imported, Error> {
    import(options, &AtomicBool::new(false), &mut |_| {})
}

/// The store that an import of these lines makes.
fn of_lines(folder: &Path, lines: &[&str]) -> (Imported, Store) {
    let file = folder.join("rows.ndjson");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let store = folder.join("store");
    let options = import_options(&store, SourceFormat::XdbJson, &[file]);
    let imported = run(&ImportOptions { tolerance: 1.0, ..options }).unwrap();
    (imported, Store::open(&store).unwrap())
}

/// The rows of a table by file, as they are stored.
fn tables(folder: &Path, store: &Store) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for table in culprit_audit::schema::TABLES {
        let name = table.table.name;
        if matches!(name, "runs" | "sources" | "interaction_ids" | "facets" | "contacts") {
            continue;
        }
        for file in store.files(name) {
            all.push((file.path.clone(), std::fs::read(folder.join(&file.path)).unwrap()));
        }
    }
    all
}

#[test]
fn every_xdb_export_gives_the_store_that_the_truth_describes() {
    let folder = tempfile::tempdir().unwrap();
    let truth = sample(folder.path(), &options(2000));
    let mut stores = Vec::new();
    for format in [SourceFormat::XdbJson, SourceFormat::XdbCsv, SourceFormat::Bcp] {
        let path = folder.path().join(format!("store-{format}"));
        let source = folder.path().join(format.to_string());
        let imported = run(&import_options(&path, format, &[source])).unwrap();
        assert_eq!(imported.counts.rejected, 0, "{format}");
        let store = Store::open(&path).unwrap();
        let rows = store.read::<InteractionRow>().unwrap();
        let contacts = store.read::<Contact>().unwrap();
        assert_eq!(rows.len() as u64, truth.visits);
        assert_eq!(rows.iter().map(|row| u64::from(row.pages)).sum::<u64>(), truth.pages);
        assert_eq!(store.rows("page_views"), truth.pages);
        assert_eq!(rows.iter().map(|row| u64::from(row.goals)).sum::<u64>(), truth.goals);
        assert_eq!(rows.iter().map(|row| u64::from(row.outcomes)).sum::<u64>(), truth.outcomes);
        assert!(rows.iter().all(|row| row.parse_state == ParseState::Whole));
        assert_eq!(contacts.len() as u64, truth.contacts);
        let count = |is: fn(&Contact) -> bool| contacts.iter().filter(|c| is(c)).count() as u64;
        assert_eq!(count(|contact| contact.known), truth.known_contacts);
        assert_eq!(count(|contact| !contact.recorded), truth.contacts_without_row);
        let facets = store.read::<Facet>().unwrap();
        let terms = store.read::<Term>().unwrap();
        for (name, facet) in &truth.facets {
            let of = facets.iter().filter(|row| *terms[row.facet_key.0 as usize].text == **name);
            assert_eq!(of.clone().count() as u64, facet.values, "{name}");
            assert_eq!(of.clone().map(|row| row.bytes_utf8.0).sum::<u64>(), facet.bytes, "{name}");
            assert!(of.clone().all(|row| row.json_state == JsonState::Valid));
        }
        let longs = store.read::<LongValue>().unwrap();
        let longest = longs.iter().map(|long| long.bytes_utf8.0).max().unwrap();
        assert!(longest >= truth.longest_referrer_bytes);
        let places = store.read::<StoredPlace>().unwrap();
        let dnipro = places.iter().find(|place| {
            place.postal.as_deref() == Some("49000") && place.country.as_deref() == Some("UA")
        });
        let dnipro = dnipro.unwrap().place_id;
        let visits = truth.places["UA 49000"].values().map(|day| day.visits + day.robot_visits);
        let found = rows.iter().filter(|row| row.place_id == Some(dnipro)).count();
        assert_eq!(found as u64, visits.sum::<u64>());
        stores.push((path, store));
    }
    let [json, csv, bcp] = &stores[..] else { panic!("three stores") };
    let views = |(_, store): &(PathBuf, Store)| store.read::<PageView>().unwrap();
    assert!(views(json) == views(csv) && views(csv) == views(bcp));
}

#[test]
fn a_second_import_adds_nothing_and_the_same_import_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    sample(folder.path(), &options(500));
    let source = [folder.path().join("xdb-json")];
    let (first, second) = (folder.path().join("a"), folder.path().join("b"));
    let options = import_options(&first, SourceFormat::XdbJson, &source);
    assert!(run(&options).unwrap().changed);
    let before = std::fs::read(first.join("store.json")).unwrap();
    let again = run(&options).unwrap();
    assert!(!again.changed);
    assert_eq!(again.counts.interactions, 0);
    assert!(before == std::fs::read(first.join("store.json")).unwrap());
    run(&ImportOptions { store: second.clone(), ..options }).unwrap();
    let open = |path: &Path| tables(path, &Store::open(path).unwrap());
    assert!(open(&first) == open(&second));
}

const CONTACT: &str = "22def722-a7fa-42a4-8ce5-bbc796b35e31";

fn interaction(at: u32, rest: &str) -> String {
    format!(
        "{{\"InteractionId\":\"00000000-0000-4000-8000-{at:012}\",\"ContactId\":\"{CONTACT}\",{rest}}}"
    )
}

#[test]
fn the_newer_version_of_a_row_replaces_the_older_with_all_that_belongs_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let version = |day: u32, start: u32, pages: usize| {
        let view = r##"{"@odata.type":"#x.PageViewEvent","Url":"/a"}"##;
        let events = vec![view; pages].join(",");
        interaction(
            1,
            &format!(
                "\"LastModified\":\"2026-05-{day:02}\",\"StartDateTime\":\"2026-05-{start:02}T01:00:00Z\",\
                 \"EndDateTime\":\"2026-05-{start:02}T01:02:00Z\",\"Events\":[{events}]"
            ),
        )
    };
    // Within one file, out of order, and to another day.
    let (_, store) =
        of_lines(folder.path(), &[&version(1, 1, 1), &version(3, 1, 3), &version(2, 1, 2)]);
    assert_eq!((store.rows("interactions"), store.rows("page_views")), (1, 3));
    let (imported, store) = of_lines(folder.path(), &[&version(2, 1, 2), &version(4, 9, 4)]);
    assert_eq!((imported.counts.interactions, imported.counts.unchanged), (1, 1));
    assert_eq!((store.rows("interactions"), store.rows("page_views")), (1, 4));
    let ids = store.read::<InteractionId>().unwrap();
    assert_eq!((ids.len(), ids[0].interaction_id.0), (1, 0));
    let days: Vec<_> = store.files("interactions").map(|file| file.path.clone()).collect();
    assert_eq!(days, ["interactions/day=2026-05-09/shard=0/g2.parquet"]);
    assert_eq!(std::fs::read_dir(folder.path().join("store/interactions")).unwrap().count(), 1);
}

/// An export of changed rows has no facet that did not change.
#[test]
fn a_newer_interaction_keeps_the_place_of_its_facet() {
    let folder = tempfile::tempdir().unwrap();
    let version = |changed: u32, day: u32| {
        interaction(
            1,
            &format!(
                "\"LastModified\":\"2026-05-{changed:02}\",\"StartDateTime\":\"2026-05-{day:02}T01:00:00Z\""
            ),
        )
    };
    let place = "{\"InteractionId\":\"00000000-0000-4000-8000-000000000001\",\"FacetKey\":\"IpInfo\",\
                 \"FacetData\":{\"City\":\"Dnipro\",\"IpAddress\":\"192.0.2.1\"}}";
    let (_, store) = of_lines(folder.path(), &[&version(1, 1), place]);
    let located = |store: &Store| {
        let rows = store.read::<InteractionRow>().unwrap();
        rows.iter()
            .map(|row| (row.place_id.is_some(), row.address_id.is_some()))
            .collect::<Vec<_>>()
    };
    assert_eq!(located(&store), [(true, true)]);
    // On the same day, and on another one.
    for (changed, day) in [(2, 1), (3, 7)] {
        let (imported, store) = of_lines(folder.path(), &[&version(changed, day)]);
        assert_eq!((imported.counts.interactions, imported.counts.replaced), (1, 1));
        assert_eq!(located(&store), [(true, true)], "day {day}");
    }
}

#[test]
fn damage_is_kept_apart_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let start = "\"StartDateTime\":\"2026-05-01T01:00:00Z\"";
    let facet = |name: &str, data: &str| {
        format!("{{\"ContactId\":\"{CONTACT}\",\"FacetKey\":\"{name}\",\"FacetData\":{data}}}")
    };
    let huge = facet("Huge", &format!("\"\\\"{}\\\"\"", "x".repeat(9 << 20)));
    let (imported, store) = of_lines(
        folder.path(),
        &[
            "{\"InteractionId\":\"cut",
            "no JSON",
            "{\"Colour\":\"red\"}",
            "{\"InteractionId\":\"x\",\"ContactId\":\"y\"}",
            &interaction(
                1,
                "\"StartDateTime\":\"0001-01-01T00:00:00Z\",\"EndDateTime\":\"9999-12-31\"",
            ),
            &interaction(2, &format!("{start},\"EndDateTime\":\"2026-05-01T00:00:00Z\"")),
            &interaction(
                3,
                &format!("{start},\"EndDateTime\":\"2026-05-01T02:00:00Z\",\"Events\":\"[{{\""),
            ),
            &facet("Cut", "\"{\\\"a\\\":1\""),
            &facet("Wrong", "\"{a}\""),
            &facet("Twice", "{\"a\":1,\"a\":2}"),
            &facet("Half", "{\"a\":\"\\ud83d\"}"),
            &facet("Four", "{\"a\":\"😀\"}"),
            &facet("Deep", &format!("{}{}", "[".repeat(100), "]".repeat(100))),
            &facet("Empty", "\"\""),
            &huge,
            &format!(
                "{{\"ContactId\":\"{CONTACT}\",\"LastModified\":\"2026-05-01\",\"ShardKey\":\"0x01\"}}"
            ),
            &format!(
                "{{\"ContactId\":\"{CONTACT}\",\"LastModified\":\"2026-05-02\",\"ShardKey\":\"0xF1\"}}"
            ),
        ],
    );
    assert_eq!((imported.counts.rows, imported.counts.rejected), (17, 4));
    let rejects = store.read::<RejectedRow>().unwrap();
    let rejects: Vec<_> = rejects.iter().map(|row| (row.source_row, row.reason.as_str())).collect();
    assert_eq!(
        rejects,
        [
            (1, "the row is no JSON object"),
            (2, "the row is no JSON object"),
            (3, "no table has these columns"),
            (4, "`InteractionId` is no GUID"),
        ]
    );
    let rows = store.read::<InteractionRow>().unwrap();
    let states: Vec<_> = rows.iter().map(|row| row.parse_state).collect();
    assert_eq!(states.len(), 3);
    for state in [ParseState::BadDate, ParseState::EndBeforeStart, ParseState::BadEvents] {
        assert!(states.contains(&state), "{states:?}");
    }
    let terms = store.read::<Term>().unwrap();
    let facets = store.read::<Facet>().unwrap();
    let of = |name: &str| {
        let found = facets.iter().find(|row| *terms[row.facet_key.0 as usize].text == *name);
        let found = found.unwrap();
        (found.json_state, found.bytes_utf8.0, found.bytes_utf16.0)
    };
    assert_eq!(of("Cut"), (JsonState::Truncated, 6, 12));
    assert_eq!(of("Wrong"), (JsonState::Malformed, 3, 6));
    assert_eq!(of("Twice"), (JsonState::DuplicateKey, 13, 26));
    assert_eq!(of("Half"), (JsonState::LoneSurrogate, 14, 28));
    assert_eq!(of("Four"), (JsonState::Valid, 12, 20));
    assert_eq!(of("Deep").0, JsonState::Valid);
    assert_eq!(of("Empty"), (JsonState::Empty, 0, 0));
    assert_eq!(of("Huge"), (JsonState::Valid, (9 << 20) + 2, (18 << 20) + 4));
    let contacts = store.read::<Contact>().unwrap();
    assert_eq!((contacts.len(), contacts[0].shards, contacts[0].recorded), (1, 2, true));
}

#[test]
fn too_many_rejects_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let truth = sample(folder.path(), &SampleOptions { malformed: 5_000, ..options(1000) });
    assert_eq!(truth.malformed, 5);
    for format in [SourceFormat::XdbJson, SourceFormat::XdbCsv, SourceFormat::Bcp] {
        let store = folder.path().join(format!("store-{format}"));
        let good = import_options(&store, format, &[folder.path().join(format.to_string())]);
        let error = run(&ImportOptions { strict: true, ..good.clone() }).unwrap_err();
        assert!(matches!(error, Error::TooManyRejects { strict: true, .. }), "{error}");
        assert!(!error.is_refusal() && !store.exists());
        let error = run(&ImportOptions { tolerance: 0.001, ..good.clone() }).unwrap_err();
        assert!(error.is_refusal() && !store.exists());
        let imported = run(&good).unwrap();
        assert_eq!((imported.counts.rejected, imported.counts.interactions), (5, truth.visits));
    }
}

#[test]
fn an_interrupted_import_leaves_the_store_and_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let truth = sample(folder.path(), &options(4000));
    let (whole, path) = (folder.path().join("whole"), folder.path().join("store"));
    let source = [folder.path().join("xdb-json")];
    let all = run(&import_options(&whole, SourceFormat::XdbJson, &source)).unwrap();
    let options = import_options(&path, SourceFormat::XdbJson, &source);
    let stop = AtomicBool::new(false);
    let mut before = 0;
    let error = import(&options, &stop, &mut |at| {
        before = at.rows;
        stop.fetch_or(at.rows > 2000, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(matches!(error, Err(Error::Stopped { resumable: true })), "{error:?}");
    assert!(matches!(Store::open(&path), Err(Error::NoStore { .. })));
    let imported = run(&options).unwrap();
    assert!(imported.resumed && imported.changed);
    assert_eq!(before + imported.counts.rows, all.counts.rows, "each row is counted in one run");
    let store = Store::open(&path).unwrap();
    assert_eq!(store.rows("interactions"), truth.visits);
    let (resumed, at_once) = (store, Store::open(&whole).unwrap());
    assert!(
        resumed.read::<PageView>().unwrap() == at_once.read::<PageView>().unwrap(),
        "the same rows with the same keys"
    );
    assert_eq!(resumed.rows("facets"), at_once.rows("facets"));
    let strays = std::fs::read_dir(&path).unwrap().flatten();
    assert!(
        strays
            .map(|entry| entry.file_name())
            .all(|name| name != ".parts" && name != ".resume.json")
    );
}

#[test]
fn addresses_are_not_stored_with_a_key() {
    let folder = tempfile::tempdir().unwrap();
    sample(folder.path(), &options(200));
    let store = folder.path().join("store");
    let open = import_options(&store, SourceFormat::XdbJson, &[folder.path().join("xdb-json")]);
    let keyed = ImportOptions { hash_ip: Some("secret".to_owned()), ..open.clone() };
    run(&keyed).unwrap();
    let addresses = Store::open(&store).unwrap().read::<culprit_audit::schema::Address>().unwrap();
    assert!(!addresses.is_empty());
    assert!(addresses.iter().all(|row| row.text.is_none() && row.network.is_none()));
    assert!(matches!(run(&open), Err(Error::Options(_))), "another key would tell addresses apart");
    assert!(!run(&keyed).unwrap().changed);
}

#[test]
fn an_access_log_becomes_visits_that_a_second_import_does_not_double() {
    let folder = tempfile::tempdir().unwrap();
    let truth = sample(folder.path(), &SampleOptions { malformed: 2_000, ..options(1000) });
    let store = folder.path().join("store");
    let log = import_options(&store, SourceFormat::AccessLog, &[folder.path().join("access.log")]);
    let imported = run(&log).unwrap();
    assert_eq!(
        (imported.counts.rows, imported.counts.rejected),
        (truth.files["access.log"].rows, 2)
    );
    // A visitor whose visits are less than 30 minutes apart has one visit of them.
    assert!(imported.counts.interactions <= truth.visits);
    assert_eq!(imported.counts.page_views, truth.pages);
    let opened = Store::open(&store).unwrap();
    let traffic = opened.read::<culprit_audit::schema::VisitTraffic>().unwrap();
    assert_eq!(
        traffic.iter().map(|row| u64::from(row.requests)).sum::<u64>(),
        imported.counts.rows - 2
    );
    assert!(opened.read::<Contact>().unwrap().iter().all(|contact| contact.recorded));
    let again = run(&log).unwrap();
    assert!(!again.changed && again.counts.interactions == 0);
}
