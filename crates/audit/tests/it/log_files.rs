//! Files of logs: copies, files that overlap, cut and vanished ones, names of fields.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use culprit_audit::schema::{Address, RejectedRow, VisitTraffic};
use culprit_audit::{
    Error, ImportOptions, LATE_MS, LogField, RefreshOptions, Refreshed, SourceFormat, Store,
    refresh,
};

use culprit_audit::visits::Zone;

use crate::imports::{import_options, run};

fn line(visitor: u32, clock: &str) -> String {
    format!(
        "10.0.0.{visitor} - - [28/Nov/2026:{clock} +0000] \"GET /{visitor} HTTP/1.1\" 200 17 \"-\" \
         \"a\"\n"
    )
}

fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn log_options(folder: &Path, sources: &[PathBuf]) -> ImportOptions {
    import_options(&folder.join("store"), SourceFormat::AccessLog, sources)
}

fn requests(folder: &Path) -> u32 {
    let store = Store::open(folder.join("store")).unwrap();
    store.read::<VisitTraffic>().unwrap().iter().map(|row| row.requests).sum()
}

fn refreshed(folder: &Path) -> Refreshed {
    let options = RefreshOptions {
        store: folder.join("store"),
        hash_ip: None,
        tolerance: 0.01,
        late_ms: LATE_MS,
        verify: true,
    };
    refresh(&options, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

#[test]
fn a_copy_of_a_log_is_left_out_also_a_compressed_one() {
    let folder = tempfile::tempdir().unwrap();
    let text = line(1, "10:00:00") + &line(2, "10:00:01");
    let packed = folder.path().join("b.log.gz");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    std::fs::write(&packed, gz.finish().unwrap()).unwrap();
    let one = file(folder.path(), "a.log", &text);
    let imported = run(&log_options(folder.path(), &[one.clone(), packed, one])).unwrap();
    assert_eq!(requests(folder.path()), 2);
    assert_eq!(imported.warnings.len(), 2, "{:?}", imported.warnings);
    assert!(imported.warnings[0].contains("was left out: its content is that of"));
    assert_eq!(refreshed(folder.path()).files_read, 0, "the copy is known");
}

#[test]
fn lines_of_two_files_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let first = line(1, "10:00:00") + &line(2, "10:00:01") + &line(2, "10:00:01");
    let one = file(folder.path(), "a.log", &first);
    let other = file(folder.path(), "b.log", &(line(2, "10:00:01") + &line(3, "10:00:02")));
    let imported = run(&log_options(folder.path(), &[one, other])).unwrap();
    assert_eq!(imported.warnings.len(), 1);
    assert!(imported.warnings[0].starts_with("1 line stands in two files"), "{imported:?}");
}

#[test]
fn a_cut_file_is_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for n in 0..2000 {
        gz.write_all(line(n % 250, "10:00:00").as_bytes()).unwrap();
    }
    let bytes = gz.finish().unwrap();
    let path = folder.path().join("a.log.gz");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let error = run(&log_options(folder.path(), &[path])).unwrap_err();
    assert!(matches!(error, Error::Source { .. }) && error.to_string().contains("is cut"));
    assert!(!error.is_refusal());
}

/// A log was read in the middle of a second.
#[test]
fn a_visit_that_goes_on_within_a_second_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "a.log", &(line(1, "10:00:00") + &line(1, "10:00:09")));
    run(&log_options(folder.path(), std::slice::from_ref(&path))).unwrap();
    let grown = std::fs::read_to_string(&path).unwrap() + &line(1, "10:00:09");
    file(folder.path(), "a.log", &grown);
    let done = refreshed(folder.path());
    assert_eq!(done.differences.as_deref(), Some(&[][..]));
    assert_eq!((requests(folder.path()), done.imports[0].counts.replaced), (3, 1));
}

#[test]
fn a_file_that_vanished_is_named_and_its_rows_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "a.log", &line(1, "10:00:00"));
    run(&log_options(folder.path(), std::slice::from_ref(&path))).unwrap();
    std::fs::remove_file(&path).unwrap();
    let done = refreshed(folder.path());
    assert_eq!((done.gone.len(), done.files_read, requests(folder.path())), (1, 0, 1));
    assert!(done.differences.is_some_and(|all| !all.is_empty()));
}

#[test]
fn a_field_that_no_line_has_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = "{\"time\":\"2026-05-01T10:00:00Z\",\"client\":\"10.0.0.1\",\"path\":\"/\",\"status\":200}\n";
    let path = file(folder.path(), "a.log", text);
    let options = import_options(&folder.path().join("store"), SourceFormat::JsonLog, &[path]);
    let named = |field, name: &str| (field, name.to_owned());
    let fields = vec![named(LogField::Address, "client"), named(LogField::Agent, "browserr")];
    let imported = run(&ImportOptions { fields, ..options }).unwrap();
    assert_eq!(imported.warnings, ["no line has the field `browserr` of `--field agent=browserr`"]);
}

#[test]
fn a_store_with_visits_of_two_programs_and_a_log_without_requests_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    crate::support::sample(folder.path(), &crate::support::options(50));
    let store = folder.path().join("store");
    let warnings = |store: &Path, format, name: &str| {
        let options = import_options(store, format, &[folder.path().join(name)]);
        run(&options).unwrap().warnings
    };
    let found = warnings(&store, SourceFormat::XdbJson, "xdb-json");
    assert!(found.is_empty(), "{found:?}");
    let found = warnings(&store, SourceFormat::AccessLog, "access.log");
    assert!(found.len() == 1 && found[0].starts_with("the store has visits of xDB"), "{found:?}");
    // Logs of one server in two formats have the same visits.
    let logs = folder.path().join("logs");
    assert!(warnings(&logs, SourceFormat::AccessLog, "access.log").is_empty());
    assert!(warnings(&logs, SourceFormat::Iis, "iis.log").is_empty());
    let found = warnings(&folder.path().join("none"), SourceFormat::JsonLog, "ga4.ndjson");
    assert!(found.len() == 1 && found[0].starts_with("no row of `"), "{found:?}");
}

/// `vhost_combined` of Apache.
#[test]
fn a_log_with_the_virtual_host_first_has_the_addresses_of_its_clients() {
    let folder = tempfile::tempdir().unwrap();
    let plain: String = (1..5).map(|visitor| line(visitor, "10:00:00")).collect();
    let hosts: String =
        plain.lines().map(|line| format!("www.site.example:443 {line}\n")).collect();
    let addresses = |name: &str, text: &str| -> Vec<String> {
        let path = file(folder.path(), name, text);
        let store = folder.path().join(format!("store-of-{name}"));
        run(&import_options(&store, SourceFormat::Auto, &[path])).unwrap();
        let rows = Store::open(&store).unwrap().read::<Address>().unwrap();
        rows.iter()
            .filter_map(|row| row.text.as_ref())
            .map(|text| text.as_str().to_owned())
            .collect()
    };
    let found = addresses("hosts.log", &hosts);
    assert_eq!(found, ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]);
    assert_eq!(found, addresses("plain.log", &plain));
}

#[test]
fn addresses_that_are_none_and_days_that_never_were_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let good = line(1, "10:00:00");
    let bad = [
        good.replace("10.0.0.1", "unix:"),
        good.replace("28/Nov/2026", "31/Feb/2026"),
        good.replace("28/Nov/2026", "29/Feb/2025"),
    ];
    let path = file(folder.path(), "a.log", &(good + &bad.concat()));
    let options = log_options(folder.path(), &[path]);
    let imported = run(&ImportOptions { tolerance: 1.0, ..options }).unwrap();
    assert_eq!((imported.counts.rejected, imported.counts.interactions), (3, 1));
    let store = Store::open(folder.path().join("store")).unwrap();
    let rejects = store.read::<RejectedRow>().unwrap();
    let reasons: Vec<_> = rejects.iter().map(|row| row.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "the address is neither an IP address nor the name of a host",
            "the time cannot be read",
            "the time cannot be read",
        ]
    );
}

#[test]
fn a_log_whose_lines_all_have_one_address_or_names_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let warnings = |name: &str, format, text: &str, key: Option<&str>| {
        let path = file(folder.path(), name, text);
        let options = import_options(&folder.path().join(format!("store-{name}")), format, &[path]);
        let hash_ip = key.map(str::to_owned);
        run(&ImportOptions { hash_ip, ..options }).unwrap().warnings
    };
    let proxy = line(1, "10:00:00").repeat(100);
    let found = warnings("proxy", SourceFormat::AccessLog, &proxy, None);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("100 of 100 lines of `"), "{found:?}");
    assert!(found[0].contains("have the same address, `10.0.0.1`: nearly all"), "{found:?}");
    assert!(!found[0].contains("--field"), "its fields have no names: {found:?}");
    // An address that must not be stored is not shown.
    let found = warnings("hashed", SourceFormat::AccessLog, &proxy, Some("key"));
    assert!(found.len() == 1 && !found[0].contains("10.0.0.1"), "{found:?}");
    let object = "{\"time\":\"2026-05-01T10:00:00Z\",\"remote_addr\":\"10.0.0.1\",\"path\":\"/\",\"status\":200}\n";
    let found = warnings("json", SourceFormat::JsonLog, &object.repeat(100), None);
    assert!(found.len() == 1 && found[0].ends_with("`--field address=NAME`"), "{found:?}");
    let names: String = (0..100)
        .map(|n| line(1, "10:00:00").replace("10.0.0.1", &format!("client-{}.example", n % 9)))
        .collect();
    let found = warnings("names", SourceFormat::AccessLog, &names, None);
    assert!(found.len() == 1 && found[0].contains("such as `client-0.example`"), "{found:?}");
    let few = line(1, "10:00:00").repeat(99);
    assert!(warnings("few", SourceFormat::AccessLog, &few, None).is_empty());
}

#[test]
fn fields_with_unknown_names_are_said_to_need_the_option() {
    let folder = tempfile::tempdir().unwrap();
    let import = |text: &str, fields: &[(LogField, &str)]| {
        let path = file(folder.path(), "a.json", &text.repeat(3));
        let options = import_options(&folder.path().join("store"), SourceFormat::JsonLog, &[path]);
        let fields = fields.iter().map(|(field, name)| (*field, (*name).to_owned())).collect();
        run(&ImportOptions { fields, ..options })
    };
    let foreign = "{\"when\":\"2026-05-01T10:00:00Z\",\"client\":\"10.0.0.1\",\"target\":\"/\",\"code\":200}\n";
    let imported = import(foreign, &[]).unwrap();
    assert_eq!((imported.changed, imported.counts.ignored), (false, 3));
    assert!(imported.warnings[0].contains("`--field address=NAME`"), "{:?}", imported.warnings);
    let error = import(foreign, &[(LogField::Path, "target")]).unwrap_err();
    assert!(error.to_string().ends_with("no field is known as the client's address"), "{error}");
    assert!(error.hints().iter().any(|hint| hint.contains("`--field MEANING=NAME`")), "{error}");
    // A field that is there and cannot be read needs no other name.
    let damaged = "{\"time\":\"2026-02-31T10:00:00\",\"remote_addr\":\"10.0.0.1\",\"path\":\"/\",\"status\":200}\n";
    let error = import(damaged, &[]).unwrap_err();
    assert!(error.to_string().ends_with("the time cannot be read"), "{error}");
}

#[test]
fn a_zone_without_effect_and_another_one_than_before_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let warnings = |name: &str, format, text: &str, zone: Option<&str>| {
        let path = file(folder.path(), name, text);
        let options = import_options(&folder.path().join(format!("store-{name}")), format, &[path]);
        let zone = zone.map(|zone| Zone::parse(zone).unwrap());
        run(&ImportOptions { zone, ..options }).unwrap().warnings
    };
    let kyiv = Some("Europe/Kyiv");
    let offsets = line(1, "10:00:00");
    assert!(warnings("offsets", SourceFormat::AccessLog, &offsets, None).is_empty());
    let found = warnings("offsets", SourceFormat::AccessLog, &offsets, kyiv);
    assert_eq!(found, ["`--tz` has no effect: all times of the sources name their offset"]);
    // The log's visits have no keys: they are there twice.
    let local = offsets.replace(" +0000", "");
    assert!(warnings("local", SourceFormat::AccessLog, &local, None).is_empty());
    assert!(warnings("local", SourceFormat::AccessLog, &local, None).is_empty());
    let found = warnings("local", SourceFormat::AccessLog, &local, kyiv);
    assert!(found.len() == 1 && found[0].contains("in the zone UTC"), "{found:?}");
    assert!(found[0].ends_with("a new store with `--tz Europe/Kyiv`"), "{found:?}");
    // Rows of tables have keys: they stay.
    let table = "InteractionId,ContactId,StartDateTime,EndDateTime\n\
                 00000000-0000-4000-8000-000000000001,22def722-a7fa-42a4-8ce5-bbc796b35e31,\
                 2026-05-01 10:00:00,2026-05-01 10:01:00\n";
    assert!(warnings("table.csv", SourceFormat::XdbCsv, table, None).is_empty());
    assert!(warnings("table.csv", SourceFormat::XdbCsv, table, Some("UTC")).is_empty());
    let found = warnings("table.csv", SourceFormat::XdbCsv, table, kyiv);
    assert!(found.len() == 1 && found[0].contains("the zone UTC, and"), "{found:?}");
    assert!(found[0].contains("already in the store keep their times (1 row)"), "{found:?}");
}
