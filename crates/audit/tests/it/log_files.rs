//! Files of logs: copies, files that overlap, cut and vanished ones, names of fields.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use culprit_audit::schema::VisitTraffic;
use culprit_audit::{
    Error, ImportOptions, LATE_MS, LogField, RefreshOptions, Refreshed, SourceFormat, Store,
    refresh,
};

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
