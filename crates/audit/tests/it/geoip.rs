//! Places of addresses: `--geoip`.

use std::path::{Path, PathBuf};

use culprit_audit::schema::{InteractionRow, PlaceOrigin, StoredPlace};
use culprit_audit::{Error, ImportOptions, SourceFormat, Store};

use crate::imports::{import_options, run};
use crate::mmdb::{Value, database};

fn named(name: &'static str) -> Value {
    Value::Map(vec![(
        "names",
        Value::Map(vec![("de", Value::Text("?")), ("en", Value::Text(name))]),
    )])
}

fn cities() -> Vec<u8> {
    let dnipro = Value::Map(vec![
        ("city", named("Dnipro")),
        ("country", Value::Map(vec![("iso_code", Value::Text("UA"))])),
        (
            "location",
            Value::Map(vec![
                ("latitude", Value::Degrees(48.4647)),
                ("longitude", Value::Degrees(35.0462)),
                ("time_zone", Value::Text("Europe/Kyiv")),
            ]),
        ),
        ("postal", Value::Map(vec![("code", Value::Text("49000"))])),
        ("subdivisions", Value::List(vec![named("Dnipropetrovsk")])),
    ]);
    let six =
        Value::Map(vec![("registered_country", Value::Map(vec![("iso_code", Value::Text("DE"))]))]);
    database("GeoIP2-City", &[("203.0.113.0/24", dnipro), ("2001:db8::/32", six)])
}

fn networks() -> Vec<u8> {
    let record = Value::Map(vec![
        ("autonomous_system_number", Value::Number(64_500)),
        ("autonomous_system_organization", Value::Text("Example Net")),
    ]);
    database("GeoLite2-ASN", &[("203.0.113.0/25", record)])
}

const LOG: &str = "203.0.113.9 - - [28/Nov/2026:23:12:14 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"a\"\n\
                   203.0.113.200 - - [28/Nov/2026:23:12:15 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"a\"\n\
                   2001:db8::7 - - [28/Nov/2026:23:12:16 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"a\"\n\
                   10.0.0.1 - - [28/Nov/2026:23:12:17 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"a\"\n";

/// Options for an import of the log with these databases.
fn options(folder: &Path, databases: &[Vec<u8>]) -> ImportOptions {
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let log = file("access.log", LOG.as_bytes());
    let geoip: Vec<PathBuf> =
        (0..).zip(databases).map(|(at, bytes)| file(&format!("{at}.mmdb"), bytes)).collect();
    let options = import_options(&folder.join("store"), SourceFormat::AccessLog, &[log]);
    ImportOptions { geoip, ..options }
}

#[test]
fn several_databases_say_together_where_an_address_is() {
    let folder = tempfile::tempdir().unwrap();
    let imported = run(&options(folder.path(), &[networks(), cities()])).unwrap();
    assert_eq!(imported.counts.located, 3);
    let store = Store::open(folder.path().join("store")).unwrap();
    let places = store.read::<StoredPlace>().unwrap();
    let rows = store.read::<InteractionRow>().unwrap();
    let of = |row: &InteractionRow| row.place_id.map(|place| &places[place.0 as usize]);
    let (near, far, six) = (of(&rows[0]).unwrap(), of(&rows[1]).unwrap(), of(&rows[2]).unwrap());
    assert_eq!(near.postal.as_deref(), Some("49000"));
    assert_eq!(near.city.as_deref(), Some("Dnipro"));
    assert_eq!(near.region.as_deref(), Some("Dnipropetrovsk"));
    assert_eq!((near.latitude_e6, near.longitude_e6), (Some(48_464_700), Some(35_046_200)));
    assert_eq!(near.time_zone.as_deref(), Some("Europe/Kyiv"));
    assert_eq!((near.asn, near.organisation.as_deref()), (Some(64_500), Some("Example Net")));
    assert_eq!((far.asn, far.city.as_deref()), (None, Some("Dnipro")));
    assert_eq!(six.country.as_deref(), Some("DE"));
    assert!(of(&rows[3]).is_none());
    assert!(places.iter().all(|place| place.origin == PlaceOrigin::GeoIp));
}

#[test]
fn a_place_of_the_source_goes_before_the_database_s() {
    let folder = tempfile::tempdir().unwrap();
    let row = |name: &str, rest: &str| {
        format!(
            "{{\"InteractionId\":\"00000000-0000-4000-8000-00000000000{name}\",\"ContactId\":\
             \"22def722-a7fa-42a4-8ce5-bbc796b35e31\",{rest}}}"
        )
    };
    let start = "\"StartDateTime\":\"2026-05-01T01:00:00Z\"";
    let address = |place: &str| {
        format!("\"FacetKey\":\"IpInfo\",\"FacetData\":{{\"IpAddress\":\"203.0.113.9\"{place}}}")
    };
    let rows = [
        row("1", start),
        row("1", &address(",\"City\":\"Kyiv\",\"Country\":\"UA\"")),
        row("2", start),
        row("2", &address("")),
    ];
    let file = folder.path().join("rows.ndjson");
    std::fs::write(&file, rows.join("\n")).unwrap();
    let geoip = options(folder.path(), &[cities()]).geoip;
    let store = folder.path().join("store");
    let options = import_options(&store, SourceFormat::XdbJson, &[file]);
    run(&ImportOptions { geoip, ..options }).unwrap();
    let store = Store::open(store).unwrap();
    let places = store.read::<StoredPlace>().unwrap();
    let cities: Vec<_> = store
        .read::<InteractionRow>()
        .unwrap()
        .iter()
        .map(|row| row.place_id.and_then(|place| places[place.0 as usize].city.clone()).unwrap())
        .collect();
    assert_eq!(cities, ["Kyiv", "Dnipro"]);
}

#[test]
fn rows_that_are_in_the_store_before_get_no_place_and_the_import_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let with = options(folder.path(), &[cities()]);
    let without = ImportOptions { geoip: Vec::new(), ..with.clone() };
    assert!(run(&without).unwrap().warnings.is_empty());
    let imported = run(&with).unwrap();
    assert_eq!(imported.counts.located, 0);
    let warnings = imported.warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("already in the store stay as they are (4 visits)"),
        "{warnings:?}"
    );
    assert!(warnings[0].contains("a new store with `--geoip`"), "{warnings:?}");
    // A store that was made with the database has the places.
    let store = folder.path().join("located");
    let with = ImportOptions { store, ..with };
    for _ in 0..2 {
        let imported = run(&with).unwrap();
        assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
    }
}

#[test]
fn a_damaged_database_stops_the_import_before_anything_is_written() {
    let whole = cities();
    let marker = whole.windows(3).rposition(|three| three == b"\xab\xcd\xef").unwrap();
    let mut damaged: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("text", b"no database".to_vec()),
        ("without its description", whole[..marker].to_vec()),
        ("half", whole[..whole.len() / 2].to_vec()),
    ];
    // The kind of the first record becomes a pointer to beyond the data.
    let data = whole.windows(4).position(|four| four == b"city").unwrap() - 2;
    let mut pointer = whole.clone();
    pointer[data..data + 5].copy_from_slice(&[0x38, 0xff, 0xff, 0xff, 0xff]);
    damaged.push(("pointer", pointer));
    for (what, bytes) in damaged {
        let folder = tempfile::tempdir().unwrap();
        let options = options(folder.path(), &[bytes]);
        let error = run(&options).unwrap_err();
        assert!(matches!(error, Error::Source { .. }), "{what}: {error}");
        assert!(error.to_string().contains("0.mmdb"), "{what}: {error}");
        assert!(!options.store.exists(), "{what}");
        if what == "pointer" {
            assert!(error.to_string().contains("at byte "), "{error}");
        }
    }
}
